"""The one thing to do next about each unfinished process, each with a near miss."""

import pytest

from pipeline.submit.demand import Process, wanted
from tests.support.ledgers import World, asked
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

WORLD = World()
WHOLE = {"revenue": "1000_to_5000", "address": ADDRESS}


def next_action(history, as_of="2026-03-04T00:00:00", process_id="p1"):
    found = asked(history, "next_actions", at(as_of))
    of_process = [it for it in found if it["process_id"] == process_id]
    return of_process[0]["next_action"] if of_process else None


def progress(history, as_of="2026-03-04T00:00:00"):
    [row] = asked(history, "next_actions", at(as_of))
    return row["fields_answered"], row["fields_required"]


# --- collecting ---


@WORLD.given(aci())
def test_a_review_that_nobody_was_asked_about_starts_with_a_collection(history):
    assert next_action(history) == "start_collection"


REMINDED = action("reminded", "2026-03-05T00:00:00Z", channel="phone")
REACHED = action(
    "seller_notice", "2026-03-05T00:00:00Z", message_id="n1", channel="phone", outcome="reached"
)
LATER = "2026-03-05T00:00:00"  # 72 hours after an answer have passed


@WORLD.given(aci(), invited("2026-03-01T13:00:00Z"))
def test_an_invited_seller_is_given_72_hours(history):
    assert next_action(history, "2026-03-01T13:00:00") == "await_seller"
    assert next_action(history, "2026-03-04T12:59:59.999999") == "await_seller"
    assert next_action(history, "2026-03-04T13:00:00") == "remind_seller"


@WORLD.given(aci(), invited("2026-03-01T13:00:00Z"), REACHED)
def test_a_call_that_reached_the_seller_gives_72_hours_more(history):
    assert next_action(history, "2026-03-04T23:59:59.999999") == "remind_seller"
    assert next_action(history, "2026-03-05T00:00:00") == "await_seller"
    assert next_action(history, "2026-03-08T00:00:00") == "remind_seller"


@WORLD.given(aci(), invited(step="opened"))
def test_a_seller_who_opened_the_journey_without_an_invitation_is_reminded(history):
    assert next_action(history) == "await_seller"
    assert next_action(history, LATER) == "remind_seller"


@WORLD.given(
    link=[aci(), invited(expires_at="2026-03-08T00:00:00Z")],
    of_bureau=[aci(), answered(source="bureau")],
)
def test_a_link_of_ours_and_an_answer_from_elsewhere_have_not_asked_the_seller(link, of_bureau):
    assert next_action(link) == "start_collection"
    assert next_action(of_bureau) == "start_collection"


HALF = [aci(requested_fields=["revenue", "address.city"]), answered()]


@WORLD.given(
    half=HALF,
    whole=[*HALF, answered("2026-03-02T00:00:00Z", fields={"address": {"city": "Recife"}})],
)
def test_an_inconsistency_is_submitted_once_every_listed_field_is_answered(half, whole):
    assert (next_action(half), progress(half)) == ("await_seller", (1, 2))
    assert next_action(half, LATER) == "remind_seller"
    assert (next_action(whole), progress(whole)) == ("submit", (2, 2))


OF_OWNER = acp(requested_fields=["owner.revenue"])


@WORLD.given(
    part=[acp(), answered()],
    whole=[acp(), answered(fields=WHOLE)],
    without_owner=[OF_OWNER, answered(fields=WHOLE)],
    with_owner=[OF_OWNER, answered(fields={**WHOLE, "owner": WHOLE})],
)
def test_a_periodic_review_needs_every_field_of_the_seller_whatever_it_lists(
    part, whole, without_owner, with_owner
):
    assert (next_action(part, LATER), progress(part)) == ("remind_seller", (1, 7))
    assert next_action(whole) == "submit"
    assert progress(without_owner) == (7, 14)
    assert next_action(with_owner) == "submit"


@WORLD.given(
    of_bureau=[aci(), answered(source="bureau")],
    before_the_request=[aci(), answered("2026-03-01T11:59:59.999999Z")],
    of_another_process=[aci(), answered(process_id="p2")],
    of_its_own=[aci(), answered()],
)
def test_only_the_sellers_answer_since_the_request_counts(
    of_bureau, before_the_request, of_another_process, of_its_own
):
    for history in (of_bureau, before_the_request, of_another_process):
        assert next_action(history) != "submit"
    assert progress(of_bureau)[0] == 0
    assert progress(before_the_request)[0] == 0
    assert progress(of_its_own)[0] == 1


@WORLD.given(aci(), answered(), answered("2026-03-02T00:00:00Z", source="bureau"))
def test_an_answer_from_elsewhere_takes_the_place_of_the_sellers(history):
    assert next_action(history, LATER) == "remind_seller"


@WORLD.given(aci(requested_fields=["documents"]), answered(fields={"documents": {"id": "x"}}))
def test_a_path_that_the_contract_does_not_show_is_answered_by_what_is_under_it(history):
    assert (next_action(history), progress(history)) == ("submit", (1, 1))


@WORLD.given(aci(requested_fields=["revenue", "address.line2"]), answered())
def test_line2_may_be_left_out(history):
    assert next_action(history) == "submit"


OWN = [acp(), answered(fields=WHOLE)]
OF_BUSINESS = seller("enabled", "e9", type="business")
OF_INDIVIDUAL = seller("enabled", "e9", type="individual")


@WORLD.given(
    business=[*OWN, OF_BUSINESS],
    individual=[*OWN, OF_INDIVIDUAL],
    later=[*OWN, OF_BUSINESS, seller("disabled", "e10", "2026-03-02T00:00:00Z", type="individual")],
)
def test_a_business_by_its_record_has_an_owner_to_answer_for(business, individual, later):
    """All its own fields answered was `submit`, which our rules then refused: owner missing."""
    assert (next_action(business, LATER), progress(business)) == ("remind_seller", (7, 14))
    assert (next_action(individual), progress(individual)) == ("submit", (7, 7))
    assert progress(later) == (7, 7)


@WORLD.given(business=[acp(), OF_BUSINESS], individual=[acp(), OF_INDIVIDUAL])
def test_an_acp_lacks_all_that_the_rules_ask_for(business, individual):
    """A field that the rules alone knew was never missing: what they refuse was `submit`."""
    asked_for = Process("p1", "s1", "ACP", "PENDING", 0, ("revenue",))
    for history, seller_type in ((business, "business"), (individual, "individual")):
        needed = wanted(asked_for, seller_type).needed
        assert progress(history) == (0, len(needed))


LINE2 = aci(requested_fields=["address.line2"])


@WORLD.given(alone=[LINE2], said=[LINE2, answered(fields={"address": {"line2": "Apt 4"}})])
def test_line2_alone_is_asked_of_the_seller(alone, said):
    """It was a question to the platform, though it can be answered."""
    assert (next_action(alone), progress(alone)) == ("start_collection", (0, 1))
    assert (next_action(said), progress(said)) == ("submit", (1, 1))


@WORLD.given(
    below=[aci(requested_fields=["revenue", "type.x", "process_id.y"]), answered()],
    only=[aci(requested_fields=["process_id", "type"])],
)
def test_what_lies_below_an_identity_asks_for_nothing(below, only):
    assert progress(below) == (1, 1)
    assert (next_action(only), progress(only)) == ("submit", (0, 0))


# --- what others have to say ---


@WORLD.given(aci(requested_fields=[]))
def test_a_review_that_asks_for_nothing_is_a_question_to_the_platform(history):
    assert next_action(history) == "ask_platform"


@WORLD.given(answered())
def test_a_process_without_an_event_has_it_to_be_found(history):
    assert next_action(history) == "find_event"


@WORLD.given(
    deleted=[aci(), seller("deleted", "v1", "2026-03-03T00:00:00Z")],
    other=[aci(), seller("deleted", "v1", "2026-03-03T00:00:00Z", "s2")],
)
def test_the_open_process_of_a_deleted_seller_is_a_question_to_the_platform(deleted, other):
    assert next_action(deleted) == "ask_platform"
    assert next_action(deleted, "2026-03-02T23:59:59.999999") == "start_collection"
    assert next_action(other) == "start_collection"


@WORLD.given(aci(), aci("e2", "2026-03-02T00:00:00Z", status="FINISHED"))
def test_nothing_is_next_once_it_is_finished(history):
    assert next_action(history, "2026-03-01T23:00:00") == "start_collection"
    assert next_action(history) is None


FAILED = [aci(), started(), finished("a1", 500)]
OPENED = action("ticket", "2026-03-03T12:00:00Z", step="opened", number="T-1")
CLOSED = action("ticket", "2026-03-03T18:00:00Z", step="closed")


@WORLD.given(*FAILED, opened=[*FAILED, OPENED], closed=[*FAILED, OPENED, CLOSED])
def test_a_ticket_is_opened_once_it_is_due_and_then_it_is_the_platforms_turn(
    history, opened, closed
):
    assert next_action(history, "2026-03-02T12:00:00") == "send_again"
    assert next_action(history) == "open_ticket"
    assert next_action(opened) == "await_platform"
    assert next_action(closed) == "open_ticket"


@WORLD.given(aci(), started(), finished("a1", None, error="tls_refused"))
def test_a_refused_certificate_is_corrected_by_a_person(history):
    assert next_action(history, "2026-03-02T01:00:00") == "correct_certificate"


UNDER_WAY = [aci(), started("a1", "2026-03-02T12:00:00Z", timeout_seconds=86_400)]


@WORLD.given(
    *UNDER_WAY,
    answered_later=[
        *UNDER_WAY,
        started("a2", "2026-03-02T13:00:00Z"),
        finished("a2", 400, "2026-03-02T13:00:01Z"),
    ],
)
def test_an_earlier_attempt_in_flight_holds_nothing_up_once_a_later_one_is_answered(
    history, answered_later
):
    """Other systems' attempts may overlap. To wait for the first one's day would also keep every
    alert of its process back (docs/alerts.md#conditions)."""
    assert next_action(history, "2026-03-02T14:00:00") == "await_answer"
    assert next_action(answered_later, "2026-03-02T14:00:00") == "correct_payload"


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


CORRECTED = answered("2026-03-02T15:00:00Z", fields={"revenue": "1000_to_5000"})
CONFIRMED = confirmed_at("2026-03-02T15:01:00Z")


@WORLD.given(
    refused=refused_and(),
    corrected=refused_and(CORRECTED),
    both=refused_and(CORRECTED, CONFIRMED),
    confirmed_before=refused_and(CORRECTED, confirmed_at("2026-03-02T12:00:01Z")),
    confirmed_elsewhere=refused_and(
        CORRECTED, confirmed_at("2026-03-02T15:01:00Z", source="marketplace")
    ),
    refused_again=refused_and(
        *(CORRECTED, CONFIRMED),
        started("a2", "2026-03-02T16:00:00Z"),
        finished("a2", 400, "2026-03-02T16:00:01Z"),
    ),
)
def test_what_a_seller_corrected_after_a_400_is_ready_once_they_have_confirmed_it(
    refused, corrected, both, confirmed_before, confirmed_elsewhere, refused_again
):
    assert next_action(refused) == "correct_payload"
    assert next_action(corrected) == "correct_payload"
    assert next_action(both) == "submit"
    assert next_action(both, "2026-03-02T15:00:59") == "correct_payload"
    assert next_action(confirmed_before) == "correct_payload"
    assert next_action(confirmed_elsewhere) == "correct_payload"
    assert next_action(refused_again) == "correct_payload"


# --- today's list, of all processes: in ledgers of their own ---


def test_what_is_somebody_elses_turn_stands_apart_in_todays_list():
    waiting = [aci(), invited("2026-03-03T00:00:00Z")]
    other = aci("e2", process_id="p2")
    today = asked([*waiting, other], "open_actions", at("2026-03-04T00:00:00"))
    assert [(it["queue"], it["next_action"], it["processes"]) for it in today] == [
        ("waiting_for_seller", "await_seller", 1),  # due at the same instant: by their names
        ("act_now", "start_collection", 1),
    ]


def test_todays_list_names_the_first_five_what_can_still_be_saved_first():
    """At noon on 4 April deadlines of `p1` to `p3` have passed, of `p3` last; `p5` is due before
    `p4`, and `p6` and `p7` at the same instant after both."""
    due = {
        **{"p1": "2026-03-31", "p2": "2026-04-01", "p3": "2026-04-02"},
        **{"p4": "2026-04-20", "p5": "2026-04-10", "p7": "2026-04-21", "p6": "2026-04-21"},
    }
    history = [
        aci(f"e{process}", process_id=process, deadline_at=f"{day}T12:00:00Z")
        for process, day in due.items()
    ]
    [today] = asked(history, "open_actions", at("2026-04-04T12:00:00"))
    assert today["first_processes"] == ["p5", "p4", "p6", "p7", "p3"]
    assert (today["processes"], today["expired"], today["due_within_7_days"]) == (7, 3, 1)


def test_todays_list_counts_what_is_answered_and_of_an_unknown_type_of_seller():
    """Of `p1` the seller has said the type, of `p2` nobody."""
    history = [
        aci(),
        answered("2026-03-02T00:00:00Z", fields={"revenue": "1000_to_5000", "type": "individual"}),
        aci("e2", process_id="p2"),
        answered("2026-03-02T00:00:00Z", process_id="p2"),
    ]
    [today] = asked(history, "open_actions", at("2026-03-04T00:00:00"))
    assert (today["next_action"], today["processes"], today["without_type"]) == ("submit", 2, 1)


def test_what_late_ones_wait_for_is_counted_most_first():
    """`p1` and `p2` wait for a collection, `p3` for its submission; `p4` still has time."""
    late = [aci(), aci("e2", process_id="p2"), aci("e3", process_id="p3")]
    answer = answered("2026-03-02T00:00:00Z", process_id="p3")
    open_one = aci("e4", process_id="p4", deadline_at="2026-06-01T00:00:00Z")
    rows = asked([*late, answer, open_one], "expired_actions", at("2026-04-20T00:00:00"))
    found = [(it["next_action"], it["processes"], round(it["share"], 3)) for it in rows]
    assert found == [("start_collection", 2, 0.667), ("submit", 1, 0.333)]


@pytest.mark.parametrize(
    ("when", "listed"),
    [
        ("2026-03-28T12:00:00", []),
        ("2026-03-28T12:00:00.000001", [("await_seller", 1, 0)]),
        ("2026-03-31T11:59:59", [("await_seller", 1, 0)]),
        ("2026-03-31T12:00:00", []),
    ],
)
def test_todays_list_has_what_waits_from_when_waiting_is_not_safe_to_its_deadline(when, listed):
    """With two hours left it would else say that nothing has to be done. What waits with more time
    left stands in another queue."""
    invitations = ["2026-03-28T12:00:00Z", "2026-03-31T08:00:00Z"]
    history = [
        aci(),
        aci("e2", process_id="p2", deadline_at="2026-04-20T12:00:00Z"),
        *(invited(it, process_id=process) for it in invitations for process in ("p1", "p2")),
    ]
    today = asked(history, "open_actions", at(when))
    ours = [it for it in today if it["queue"] == "act_now"]
    assert [(it["next_action"], it["processes"], it["expired"]) for it in ours] == listed


@WORLD.given(
    reminded=[aci(), REMINDED],
    with_it=[aci(), answered("2026-03-01T12:00:00Z")],
    of_business=[aci(), seller("updated", "v1", type="business"), answered()],
)
def test_a_reminder_of_old_contacts_nobody_and_an_answer_with_the_request_counts(
    reminded, with_it, of_business
):
    assert next_action(reminded, "2026-03-04T23:59:59") == "start_collection"
    assert next_action(reminded, "2026-03-05T00:00:00") == "remind_seller"
    assert (next_action(with_it), progress(with_it)) == ("submit", (1, 1))
    # An inconsistency asks for what it lists, and for no owner.
    assert (next_action(of_business), progress(of_business)) == ("submit", (1, 1))
