"""The clocks of review processes, to the microsecond (docs/rules.md#review-processes)."""

import hashlib
import json

import pytest

from tests.support.ledgers import asked, ledger_of, rows
from tests.support.lines import (
    ACP_DEADLINE,
    aci,
    acp,
    action,
    answered,
    at,
    finished,
    refusal,
    seller,
    started,
)


def process(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row


@pytest.mark.parametrize(
    ("as_of", "state", "days_to_deadline", "days_to_overdue"),
    [
        ("2026-03-01T12:00:00", "PENDING", 60, 30),
        ("2026-03-01T12:00:00.000001", "PENDING", 59, 29),
        ("2026-03-31T11:59:59.999999", "PENDING", 30, 0),
        ("2026-03-31T12:00:00", "OVERDUE", 30, None),
        ("2026-04-29T12:00:00", "OVERDUE", 1, None),
        ("2026-04-29T12:00:00.000001", "OVERDUE", 0, None),
        ("2026-04-30T11:59:59.999999", "OVERDUE", 0, None),
        ("2026-04-30T12:00:00", "EXPIRED", 0, None),
        ("2026-04-30T12:00:00.000001", "EXPIRED", -1, None),
        ("2026-05-01T12:00:00", "EXPIRED", -1, None),
        ("2026-05-01T12:00:00.000001", "EXPIRED", -2, None),
    ],
)
def test_an_acp_is_pending_then_overdue_then_expired(
    as_of, state, days_to_deadline, days_to_overdue
):
    row = process([acp()], as_of)
    assert (row["state"], row["days_to_deadline"], row["days_to_overdue"]) == (
        state,
        days_to_deadline,
        days_to_overdue,
    )


@pytest.mark.parametrize(
    ("as_of", "state"),
    [
        ("2026-03-01T12:00:00", "OVERDUE"),
        ("2026-03-31T11:59:59.999999", "OVERDUE"),
        ("2026-03-31T12:00:00", "EXPIRED"),
    ],
)
def test_an_aci_is_overdue_from_the_start(as_of, state):
    row = process([aci()], as_of)
    assert (row["review_type"], row["state"]) == ("ACI", state)
    assert row["overdue_at"] == at("2026-03-01T12:00:00")
    assert row["days_to_overdue"] is None


def test_an_unknown_review_type_has_the_clock_and_the_total_of_an_aci():
    row = process([acp(type="SOMETHING_NEW")], "2026-03-01T12:00:00")
    assert (row["review_type"], row["state"], row["deadline_mismatch"]) == (None, "OVERDUE", True)
    row = process(
        [acp(type="SOMETHING_NEW", deadline_at="2026-03-31T12:00:00Z")], "2026-03-01T12:00:00"
    )
    assert row["deadline_mismatch"] is False


def test_nothing_is_known_before_the_event_was_received():
    history = [acp(occurred_at="2026-03-01T13:00:00Z")]
    assert asked(history, "process_state", at("2026-03-01T12:59:59.999999")) == []
    assert len(asked(history, "process_state", at("2026-03-01T13:00:00"))) == 1


def test_a_graver_report_holds_and_a_later_milder_one_takes_nothing_back():
    history = [
        acp(),
        acp("e2", "2026-03-05T12:00:00Z", status="OVERDUE"),
        acp("e3", "2026-03-06T12:00:00Z", status="PENDING"),
    ]
    row = process(history, "2026-03-07T12:00:00")
    assert (row["state"], row["reported_status"]) == ("OVERDUE", "PENDING")


def test_an_extended_deadline_starts_afresh():
    history = [
        acp(),
        acp("e2", "2026-03-05T12:00:00Z", status="EXPIRED"),
        acp("e3", "2026-03-06T12:00:00Z", deadline_at="2026-06-30T12:00:00Z"),
    ]
    assert process(history, "2026-03-05T12:00:00")["state"] == "EXPIRED"
    row = process(history, "2026-03-06T12:00:00")
    assert (row["state"], row["deadline_changed"]) == ("PENDING", True)
    assert row["overdue_at"] == at("2026-03-31T12:00:00")  # day 30, however late the deadline


def test_the_same_deadline_in_another_spelling_is_no_change():
    history = [acp(), acp("e2", deadline_at="2026-04-30T09:00:00-03:00")]
    assert process(history, "2026-03-02T00:00:00")["deadline_changed"] is False


@pytest.mark.parametrize(
    ("finished_at", "finished_late"),
    [
        ("2026-04-30T11:59:59.999999Z", False),
        ("2026-04-30T12:00:00Z", True),
    ],
)
def test_a_finish_at_the_deadline_is_late(finished_at, finished_late):
    history = [acp(), started("a1", "2026-04-30T11:59:00Z"), finished("a1", 200, finished_at)]
    row = process(history, "2026-05-02T00:00:00")
    assert (row["state"], row["finished_by"]) == ("FINISHED", "submission")
    assert row["finished_late"] is finished_late
    assert row["days_to_deadline"] is None


@pytest.mark.parametrize(
    ("reported_at", "finished_by"),
    [
        ("2026-03-02T00:00:00.999999Z", "platform"),
        ("2026-03-02T00:00:01Z", "submission"),
        ("2026-03-02T00:00:01.000001Z", "submission"),
    ],
)
def test_the_earlier_finish_counts_and_a_tie_goes_to_the_submission(reported_at, finished_by):
    history = [acp(), started(), finished(), acp("e2", reported_at, status="FINISHED")]
    assert process(history, "2026-03-03T00:00:00")["finished_by"] == finished_by


def test_a_finish_is_the_earliest_end_of_any_attempt_answered_200():
    history = [
        acp(),
        started("a1", "2026-03-02T00:00:00Z"),
        started("a2", "2026-03-02T00:00:10Z"),
        finished("a2", 200, "2026-03-02T00:00:11Z"),
        finished("a1", 200, "2026-03-02T00:00:30Z"),
    ]
    assert process(history, "2026-03-03T00:00:00")["finished_at"] == at("2026-03-02T00:00:11")


def test_without_a_review_event_a_process_is_unknown_until_it_is_finished():
    row = process([started(), answered()], "2026-03-02T00:00:00.999999")
    assert (row["state"], row["seller_id"], row["deadline_changed"]) == ("UNKNOWN", "s1", None)
    row = process([started(), finished()], "2026-03-02T00:00:01")
    assert (row["state"], row["finished_late"]) == ("FINISHED", None)


def test_a_refusal_is_no_attempt():
    row = process([acp(), *refusal("a1", "2026-03-02T00:00:00Z")], "2026-03-03T00:00:00")
    assert (row["attempts"], row["last_outcome"], row["last_attempt_at"]) == (0, None, None)


@pytest.mark.parametrize(
    ("as_of", "outcome"),
    [("2026-03-02T00:00:59.999999", "in_flight"), ("2026-03-02T00:01:00", "unknown")],
)
def test_an_attempt_without_an_end_is_unknown_once_its_timeout_is_over(as_of, outcome):
    assert process([acp(), started()], as_of)["last_outcome"] == outcome


@pytest.mark.parametrize(
    ("deadline_at", "deadline_mismatch"),
    [
        ("2026-05-01T12:00:00Z", False),
        ("2026-05-01T12:00:00.000001Z", True),
        ("2026-04-29T12:00:00Z", False),
        ("2026-04-29T11:59:59.999999Z", True),
    ],
)
def test_a_deadline_may_be_a_day_off_sixty_days(deadline_at, deadline_mismatch):
    row = process([acp(deadline_at=deadline_at)], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is deadline_mismatch


@pytest.mark.parametrize(
    ("reported_at", "status", "status_disagrees"),
    [
        ("2026-03-31T11:00:00Z", "OVERDUE", False),  # an hour later the clock says so
        ("2026-03-31T10:59:59.999999Z", "OVERDUE", True),
        ("2026-03-31T12:59:59.999999Z", "PENDING", False),  # an hour before it said so
        ("2026-03-31T13:00:00Z", "PENDING", True),
        ("2026-03-10T12:00:00Z", "SUSPENDED", False),
        ("2026-03-10T12:00:00Z", "FINISHED", False),
    ],
)
def test_a_report_may_be_an_hour_off_the_clock(reported_at, status, status_disagrees):
    history = [acp(), acp("e2", reported_at, status=status)]
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is status_disagrees


# --- versions of an event ---


def test_a_process_under_an_event_id_that_was_used_before_exists():
    history = [acp(), acp(process_id="p2", customer_id="s2", occurred_at="2026-03-02T12:00:00Z")]
    with ledger_of(history) as reader:
        found = rows(reader, "process_state", at("2026-03-03T00:00:00"))
    assert [(it["process_id"], it["seller_id"]) for it in found] == [("p1", "s1"), ("p2", "s2")]


def test_a_finish_in_an_altered_redelivery_counts():
    history = [acp(), acp(status="FINISHED", occurred_at="2026-04-01T00:00:00Z")]
    row = process(history, "2026-05-30T00:00:00")
    assert (row["state"], row["finished_at"]) == ("FINISHED", at("2026-03-01T12:00:00"))
    assert process(history, "2026-03-31T23:59:59.999999")["state"] == "OVERDUE"


def test_the_latest_of_two_versions_of_one_instant_is_that_of_the_later_receipt():
    history = [
        acp(occurred_at="2026-03-03T00:00:00Z", requested_fields=["address"]),
        acp(occurred_at="2026-03-02T00:00:00Z"),
    ]
    row = process(history, "2026-03-04T00:00:00")
    assert row["requested_fields"] == ["address"]
    assert process(history, "2026-03-02T12:00:00")["requested_fields"] == ["revenue"]


def test_of_two_versions_of_one_instant_and_receipt_the_digest_decides_in_either_order():
    one, other = acp(customer_id="s2"), acp(customer_id="s3")
    there = process([one, other], "2026-03-02T00:00:00")
    back = process([other, one], "2026-03-02T00:00:00")
    assert there == back
    assert there["identity_changed"] is True


# --- what an event does not carry ---


@pytest.mark.parametrize("deadline_at", [None, "2026-04-30", 1_777_550_400, {"at": "noon"}])
def test_without_a_readable_deadline_the_contracts_total_counts(deadline_at):
    row = process([acp(deadline_at=deadline_at)], "2026-03-31T12:00:00")
    assert row["deadline_at"] == at("2026-04-30T12:00:00")
    assert row["overdue_at"] == at("2026-03-31T12:00:00")
    assert (row["state"], row["deadline_mismatch"]) == ("OVERDUE", False)
    row = process([aci(deadline_at=deadline_at)], "2026-03-31T12:00:00")
    assert (row["deadline_at"], row["state"]) == (at("2026-03-31T12:00:00"), "EXPIRED")


def test_the_deadline_is_that_of_the_latest_event_that_carries_one():
    history = [
        acp(),
        acp("e2", "2026-03-05T12:00:00Z", deadline_at="2026-05-10T12:00:00Z"),
        acp("e3", "2026-03-06T12:00:00Z", deadline_at=None),
    ]
    row = process(history, "2026-03-07T00:00:00")
    assert (row["deadline_at"], row["deadline_changed"]) == (at("2026-05-10T12:00:00"), True)
    assert process([history[0], history[2]], "2026-03-07T00:00:00")["deadline_changed"] is False


def test_a_report_without_a_deadline_counts_for_that_of_the_latest_event_before_it():
    expired = acp("e2", "2026-03-05T12:00:00Z", status="EXPIRED", deadline_at=None)
    extended = acp("e3", "2026-03-06T12:00:00Z", deadline_at="2026-05-30T12:00:00Z")
    assert process([acp(), expired], "2026-03-07T00:00:00")["state"] == "EXPIRED"
    assert process([acp(), expired, extended], "2026-03-07T00:00:00")["state"] == "PENDING"
    late = acp("e4", "2026-03-07T12:00:00Z", status="EXPIRED", deadline_at="soon")
    row = process([acp(), expired, extended, late], "2026-03-08T00:00:00")
    assert row["state"] == "EXPIRED"


def test_a_report_before_any_deadline_counts_for_the_current_one():
    overdue = acp(status="OVERDUE", deadline_at=None)
    dated = acp("e2", "2026-03-02T12:00:00Z")
    assert process([overdue, dated], "2026-03-03T00:00:00")["state"] == "OVERDUE"


def test_requested_fields_are_those_of_the_latest_readable_list():
    history = [
        acp(),
        acp("e2", "2026-03-05T12:00:00Z", requested_fields=["address"]),
        acp("e3", "2026-03-06T12:00:00Z", requested_fields=["revenue", 7]),
    ]
    assert process(history, "2026-03-07T00:00:00")["requested_fields"] == ["address"]
    assert process([history[2]], "2026-03-07T00:00:00")["requested_fields"] == []
    emptied = acp("e4", "2026-03-06T13:00:00Z", requested_fields=[])
    assert process([*history, emptied], "2026-03-07T00:00:00")["requested_fields"] == []


def test_type_and_seller_are_those_of_the_earliest_event_alone():
    history = [acp(type=None, customer_id=None), acp("e2", "2026-03-02T12:00:00Z")]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["review_type"], row["seller_id"], row["state"]) == (None, None, "OVERDUE")
    assert row["identity_changed"] is False


def test_a_whole_number_names_a_seller_by_its_digits():
    assert process([acp(customer_id=17)], "2026-03-03T00:00:00")["seller_id"] == "17"


# --- overdue, and time left ---


@pytest.mark.parametrize(
    ("deadline_at", "overdue_at"),
    [
        ("2026-04-30T12:00:00Z", "2026-03-31T12:00:00"),
        ("2026-04-30T11:59:59.999999Z", "2026-03-31T11:59:59.999999"),
        ("2026-04-30T12:00:00.000001Z", "2026-03-31T12:00:00"),
        ("2026-03-31T12:00:00Z", "2026-03-01T12:00:00"),
        ("2026-03-15T12:00:00Z", "2026-03-01T12:00:00"),  # never before it opened
        ("2026-02-01T12:00:00Z", "2026-03-01T12:00:00"),
    ],
)
def test_an_acp_is_overdue_on_day_30_or_30_days_before_the_deadline(deadline_at, overdue_at):
    row = process([acp(deadline_at=deadline_at)], "2026-03-01T12:00:00")
    assert row["overdue_at"] == at(overdue_at)


@pytest.mark.parametrize(
    ("as_of", "seconds"),
    [
        ("2026-04-30T11:59:58", 2),
        ("2026-04-30T11:59:58.000001", 1),
        ("2026-04-30T11:59:59.000001", 0),
        ("2026-04-30T12:00:00", 0),
        ("2026-04-30T12:00:00.000001", -1),
        ("2026-04-30T12:04:00", -240),
    ],
)
def test_seconds_to_the_deadline_are_rounded_down(as_of, seconds):
    row = process([acp()], as_of)
    assert row["seconds_to_deadline"] == seconds
    assert (row["state"] == "EXPIRED") == (as_of >= "2026-04-30T12:00:00")


def test_a_finished_process_has_no_seconds_left():
    assert process([acp(status="FINISHED")], "2026-03-02T00:00:00")["seconds_to_deadline"] is None


# --- tickets ---


def failures(hours, deadline_at=ACP_DEADLINE):
    """A review whose one try the platform could not process, at each of these hours of 2 March."""
    lines = [acp(deadline_at=deadline_at)]
    for number, hour in enumerate(hours):
        instant = f"2026-03-02T{hour:05.2f}:00Z".replace(".", ":")
        lines += [started(f"a{number}", instant), finished(f"a{number}", 500, instant)]
    return lines


@pytest.mark.parametrize(
    ("hours", "ticket_due"),
    [
        ([0.00, 0.10, 0.20, 0.40, 1.00], True),
        ([0.00, 0.10, 0.20, 0.40, 0.59], False),  # an hour is not over
        ([0.00, 0.10, 0.20, 1.00], False),  # four
    ],
)
def test_a_ticket_is_due_after_five_failures_over_an_hour(hours, ticket_due):
    row = process(failures(hours), "2026-03-02T02:00:00")
    assert row["ticket_due"] is ticket_due


@pytest.mark.parametrize(
    ("deadline_at", "hours", "ticket_due"),
    [
        ("2026-03-05T01:59:59.999999Z", [0.00, 0.01, 0.02], True),
        ("2026-03-05T02:00:00Z", [0.00, 0.01, 0.02], False),
        ("2026-03-05T00:00:00Z", [0.00, 0.01], False),
        ("2026-03-01T13:00:00Z", [0.00, 0.01, 0.02], True),  # late already
    ],
)
def test_a_ticket_is_due_after_three_failures_within_72_hours_of_the_deadline(
    deadline_at, hours, ticket_due
):
    row = process(failures(hours, deadline_at), "2026-03-02T02:00:00")
    assert row["ticket_due"] is ticket_due


def test_another_answer_than_a_failure_begins_the_run_again():
    history = failures([0.00, 0.10, 0.20, 0.40, 1.00])
    history[5:5] = [
        started("b", "2026-03-02T00:15:00Z"),
        finished("b", 429, "2026-03-02T00:15:00Z"),
    ]
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is False


def test_a_ticket_is_due_once_the_last_try_was_given_up():
    history = [acp(), started(), finished("a1", None, error="timeout")]
    assert process(history, "2026-03-02T23:59:59.999999")["ticket_due"] is False
    assert process(history, "2026-03-03T00:00:00")["ticket_due"] is True


@pytest.mark.parametrize("status", [400, 404, 409, 429])
def test_a_try_that_was_given_up_stays_so_when_its_bytes_are_sent_once_more(status):
    history = [acp(), started(), finished("a1", None, error="timeout")]
    again = [started("a2", "2026-03-04T00:00:00Z"), finished("a2", status, "2026-03-04T00:00:01Z")]
    assert process([*history, *again], "2026-03-05T00:00:00")["ticket_due"] is True
    other = {**started()["body"], "revenue": "5000_to_9000"}
    corrected = [started("a2", "2026-03-04T00:00:00Z", body=other), again[1]]
    assert process([*history, *corrected], "2026-03-04T12:00:00")["ticket_due"] is False


def test_a_run_of_failures_ends_with_the_one_that_started_last():
    """Several machines of another system may have several under way."""
    history = failures([0.00, 0.10, 0.20, 0.40, 0.50])
    history[8] = {**history[8], "occurred_at": "2026-03-02T01:30:00Z"}  # the fourth one's end
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is False
    history[10] = {**history[10], "occurred_at": "2026-03-02T01:00:00Z"}
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is True


def test_no_ticket_is_due_while_one_is_open_nor_once_finished():
    history = [acp(), started(), finished("a1", 500)]
    opened = action("ticket", "2026-03-04T00:00:00Z", step="opened", number="T-1")
    closed = action("ticket", "2026-03-05T00:00:00Z", step="closed")
    due_at = "2026-03-06T00:00:00"
    assert process(history, due_at)["ticket_due"] is True
    assert process([*history, opened], due_at)["ticket_due"] is False
    assert process([*history, opened], "2026-03-03T12:00:00")["ticket_due"] is True
    assert process([*history, opened, closed], due_at)["ticket_due"] is True
    report = acp("e2", "2026-03-05T00:00:00Z", status="FINISHED")
    assert process([*history, report], due_at)["ticket_due"] is False


# --- deleted sellers ---


def test_a_process_says_that_its_seller_was_deleted():
    history = [acp(), seller("deleted", "v1", "2026-03-02T00:00:00Z")]
    assert process(history, "2026-03-01T23:00:00")["seller_deleted_at"] is None
    row = process(history, "2026-03-03T00:00:00")
    assert row["seller_deleted_at"] == at("2026-03-02T00:00:00")
    assert row["state"] == "PENDING"


def test_deletion_is_final():
    history = [
        seller("deleted", "v1", "2026-03-02T00:00:00Z"),
        seller("enabled", "v2", "2026-03-03T00:00:00Z"),
    ]
    with ledger_of(history) as reader:
        [row] = rows(reader, "seller_state", at("2026-03-04T00:00:00"))
    assert row["status"] == "deleted"


def test_of_versions_that_are_no_reviews_the_latest_counts():
    history = [
        seller("enabled", "v1", "2026-03-02T00:00:00Z"),
        {**seller("denied", "v1", "2026-03-01T00:00:00Z"), "occurred_at": "2026-03-03T00:00:00Z"},
    ]
    for lines in (history, history[::-1]):
        with ledger_of(lines) as reader:
            [row] = rows(reader, "seller_state", at("2026-03-04T00:00:00"))
        assert (row["status"], row["denials"]) == ("enabled", 0)
    with ledger_of([history[1], seller("enabled", "v1", "2026-03-05T00:00:00Z")]) as reader:
        [before] = rows(reader, "seller_state", at("2026-03-04T00:00:00"))
        [after] = rows(reader, "seller_state", at("2026-03-05T00:00:00"))
    assert (before["status"], after["status"]) == ("denied", "enabled")


@pytest.mark.parametrize("score", [n * 1e-6 for n in range(1, 9)])
def test_of_versions_of_one_instant_the_greater_digest_of_canonical_json_is_the_latest(score):
    """Encoders differ in how they write such a number, and so in which deadline would count."""
    versions = [acp("e1", deadline_at=f"2026-0{n}-10T12:00:00Z", score=score) for n in (4, 5)]

    def digest(line):
        spelled = json.dumps(line["body"], ensure_ascii=False, sort_keys=True, separators=",:")
        return hashlib.sha256(spelled.encode()).digest()

    latest = max(versions, key=digest)["body"]["payload"]["object"]["deadline_at"]
    row = process(versions, "2026-03-02T00:00")
    assert row["deadline_at"].isoformat() + "Z" == latest
