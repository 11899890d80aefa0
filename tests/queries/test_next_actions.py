"""The one thing to do next about each unfinished process, each with a near miss."""

import pytest

from tests.support.ledgers import asked, ledger_of, rows
from tests.support.lines import (
    ADDRESS,
    aci,
    acp,
    action,
    answered,
    at,
    finished,
    invited,
    seller,
    started,
)

WHOLE = {"revenue": "1000_to_5000", "address": ADDRESS}


def next_action(history, as_of="2026-03-04T00:00:00", process_id="p1"):
    found = asked(history, "next_actions", at(as_of))
    of_process = [it for it in found if it["process_id"] == process_id]
    return of_process[0]["next_action"] if of_process else None


def progress(history, as_of="2026-03-04T00:00:00"):
    [row] = asked(history, "next_actions", at(as_of))
    return row["fields_answered"], row["fields_required"]


# --- collecting ---


def test_a_review_that_nobody_was_asked_about_starts_with_a_collection():
    assert next_action([aci()]) == "start_collection"


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2026-03-01T13:00:00", "await_seller"),
        ("2026-03-04T12:59:59.999999", "await_seller"),
        ("2026-03-04T13:00:00", "remind_seller"),
    ],
)
def test_an_invited_seller_is_given_72_hours(as_of, expected):
    assert next_action([aci(), invited("2026-03-01T13:00:00Z")], as_of) == expected


def test_a_reminder_gives_72_hours_more():
    reminded = action("reminded", "2026-03-05T00:00:00Z", channel="phone")
    history = [aci(), invited("2026-03-01T13:00:00Z"), reminded]
    assert next_action(history, "2026-03-04T23:59:59.999999") == "remind_seller"
    assert next_action(history, "2026-03-05T00:00:00") == "await_seller"
    assert next_action(history, "2026-03-08T00:00:00") == "remind_seller"


def test_a_seller_who_opened_the_journey_without_an_invitation_is_reminded():
    assert next_action([aci(), invited(step="opened")]) == "remind_seller"


def test_an_inconsistency_is_submitted_once_every_listed_field_is_answered():
    history = [aci(requested_fields=["revenue", "address.city"]), answered()]
    assert (next_action(history), progress(history)) == ("remind_seller", (1, 2))
    whole = answered("2026-03-02T00:00:00Z", fields={"address": {"city": "Recife"}})
    assert (next_action([*history, whole]), progress([*history, whole])) == ("submit", (2, 2))


def test_a_periodic_review_needs_every_field_of_the_seller_whatever_it_lists():
    history = [acp(), answered()]
    assert (next_action(history), progress(history)) == ("remind_seller", (1, 7))
    assert next_action([acp(), answered(fields=WHOLE)]) == "submit"
    of_owner = acp(requested_fields=["owner.revenue"])
    assert progress([of_owner, answered(fields=WHOLE)]) == (7, 14)
    business = {**WHOLE, "owner": WHOLE}
    assert next_action([of_owner, answered(fields=business)]) == "submit"


@pytest.mark.parametrize(
    "answer",
    [
        answered(source="bureau"),
        answered("2026-03-01T11:59:59.999999Z"),  # before the request
        answered(process_id="p2"),
    ],
)
def test_only_the_sellers_answer_since_the_request_counts(answer):
    history = [aci(), answer]
    assert next_action(history) != "submit"
    assert progress([aci(), {**answer, "process_id": "p1"}])[0] == (
        1 if answer["process_id"] == "p2" else 0
    )


def test_an_answer_from_elsewhere_takes_the_place_of_the_sellers():
    history = [aci(), answered(), answered("2026-03-02T00:00:00Z", source="bureau")]
    assert next_action(history) == "remind_seller"


def test_a_path_that_the_contract_does_not_show_is_answered_by_what_is_under_it():
    history = [aci(requested_fields=["documents"]), answered(fields={"documents": {"id": "x"}})]
    assert (next_action(history), progress(history)) == ("submit", (1, 1))


def test_line2_may_be_left_out():
    history = [aci(requested_fields=["revenue", "address.line2"]), answered()]
    assert next_action(history) == "submit"


def test_a_business_by_its_record_has_an_owner_to_answer_for():
    """All its own fields answered was `submit`, which our rules then refused: owner missing."""
    own = [acp(), answered(fields=WHOLE)]
    business = seller("enabled", "e9", type="business")
    assert (next_action([*own, business]), progress([*own, business])) == ("remind_seller", (7, 14))
    individual = seller("enabled", "e9", type="individual")
    assert (next_action([*own, individual]), progress([*own, individual])) == ("submit", (7, 7))
    later = seller("disabled", "e10", "2026-03-02T00:00:00Z", type="individual")
    assert progress([*own, business, later]) == (7, 7)


def test_line2_alone_is_asked_of_the_seller():
    """It was a question to the platform, though it can be answered."""
    asked = aci(requested_fields=["address.line2"])
    assert (next_action([asked]), progress([asked])) == ("start_collection", (0, 1))
    history = [asked, answered(fields={"address": {"line2": "Apt 4"}})]
    assert (next_action(history), progress(history)) == ("submit", (1, 1))


def test_what_lies_below_an_identity_asks_for_nothing():
    asked = aci(requested_fields=["revenue", "type.x", "process_id.y"])
    assert progress([asked, answered()]) == (1, 1)
    only = aci(requested_fields=["process_id", "type"])
    assert (next_action([only]), progress([only])) == ("submit", (0, 0))


# --- what others have to say ---


def test_a_review_that_asks_for_nothing_is_a_question_to_the_platform():
    assert next_action([aci(requested_fields=[])]) == "ask_platform"


def test_a_process_without_an_event_has_it_to_be_found():
    assert next_action([answered()]) == "find_event"


def test_the_open_process_of_a_deleted_seller_is_a_question_to_the_platform():
    deleted = seller("deleted", "v1", "2026-03-03T00:00:00Z")
    assert next_action([aci(), deleted]) == "ask_platform"
    assert next_action([aci(), deleted], "2026-03-02T23:59:59.999999") == "start_collection"
    other = seller("deleted", "v1", "2026-03-03T00:00:00Z", "s2")
    assert next_action([aci(), other]) == "start_collection"


def test_nothing_is_next_once_it_is_finished():
    report = aci("e2", "2026-03-02T00:00:00Z", status="FINISHED")
    assert next_action([aci(), report]) is None


def test_a_ticket_is_opened_once_it_is_due_and_then_it_is_the_platforms_turn():
    history = [aci(), started(), finished("a1", 500)]
    assert next_action(history, "2026-03-02T12:00:00") == "send_again"
    assert next_action(history) == "open_ticket"
    opened = action("ticket", "2026-03-03T12:00:00Z", step="opened", number="T-1")
    assert next_action([*history, opened]) == "await_platform"
    closed = action("ticket", "2026-03-03T18:00:00Z", step="closed")
    assert next_action([*history, opened, closed]) == "open_ticket"


def test_a_refused_certificate_is_mended_by_a_person():
    history = [aci(), started(), finished("a1", None, error="tls_refused")]
    assert next_action(history, "2026-03-02T01:00:00") == "correct_certificate"


def test_an_earlier_attempt_in_flight_holds_nothing_up_once_a_later_one_is_answered():
    """Other systems' attempts may overlap. To wait for the first one's day would also keep every
    alert of its process back (docs/alerts.md#conditions)."""
    sent = started("a1", "2026-03-02T12:00:00Z", timeout_seconds=86_400)
    assert next_action([aci(), sent], "2026-03-02T14:00:00") == "await_answer"
    later = [started("a2", "2026-03-02T13:00:00Z"), finished("a2", 400, "2026-03-02T13:00:01Z")]
    assert next_action([aci(), sent, *later], "2026-03-02T14:00:00") == "correct_payload"


def test_todays_list_leaves_out_what_is_somebody_elses_turn():
    waiting = [aci(), invited("2026-03-03T00:00:00Z")]
    other = aci("e2", process_id="p2")
    with ledger_of([*waiting, other]) as reader:
        today = rows(reader, "open_actions", at("2026-03-04T00:00:00"))
    assert [(it["next_action"], it["processes"]) for it in today] == [("start_collection", 1)]


@pytest.mark.parametrize(
    ("when", "listed"),
    [
        ("2026-03-28T12:00:00", []),
        ("2026-03-28T12:00:00.000001", [("await_seller", 2, 0)]),
        ("2026-03-31T11:59:59", [("await_seller", 2, 0)]),
        ("2026-03-31T12:00:00", [("await_seller", 2, 1)]),
    ],
)
def test_todays_list_has_what_waits_once_waiting_is_no_longer_safe_for_one_of_it(when, listed):
    """With two hours left it would else say that nothing has to be done. All that wait are counted,
    since all of them stand on the page to which it leads."""
    invitations = ["2026-03-28T12:00:00Z", "2026-03-31T08:00:00Z"]
    history = [
        aci(),
        aci("e2", process_id="p2", deadline_at="2026-04-20T12:00:00Z"),
        *(invited(it, process_id=process) for it in invitations for process in ("p1", "p2")),
    ]
    with ledger_of(history) as reader:
        today = rows(reader, "open_actions", at(when))
    assert [(it["next_action"], it["processes"], it["expired"]) for it in today] == listed


def refused_and(*later):
    """A payload that the platform found invalid on 2 March at noon, and what came then."""
    return [
        acp(),
        seller("enabled", "v1", customer_type="individual"),
        answered("2026-03-01T13:00:00Z", fields={**WHOLE, "type": "individual"}),
        started("a1", "2026-03-02T12:00:00Z"),
        finished("a1", 400, "2026-03-02T12:00:01Z"),
        *later,
    ]


def confirmed_at(when, **more):
    return {**answered(when, fields={}, **more), "step": "confirmed"}


def test_what_a_seller_corrected_after_a_400_is_ready_once_they_have_confirmed_it():
    corrected = answered("2026-03-02T15:00:00Z", fields={"revenue": "1000_to_5000"})
    assert next_action(refused_and()) == "correct_payload"
    assert next_action(refused_and(corrected)) == "correct_payload"
    both = refused_and(corrected, confirmed_at("2026-03-02T15:01:00Z"))
    assert next_action(both) == "submit"
    assert next_action(both, "2026-03-02T15:00:59") == "correct_payload"
    before = refused_and(corrected, confirmed_at("2026-03-02T12:00:01Z"))
    assert next_action(before) == "correct_payload"
    elsewhere = confirmed_at("2026-03-02T15:01:00Z", source="marketplace")
    assert next_action(refused_and(corrected, elsewhere)) == "correct_payload"
    again = [started("a2", "2026-03-02T16:00:00Z"), finished("a2", 400, "2026-03-02T16:00:01Z")]
    assert next_action([*both, *again]) == "correct_payload"
