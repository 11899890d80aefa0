"""The clocks of review processes, to the microsecond (rules.md section 2)."""

import pytest

from tests.ledgers import ledger_of, rows
from tests.views.lines import aci, acp, answered, at, finished, refusal, started


def process(history, as_of):
    with ledger_of(history) as reader:
        [row] = rows(reader, "process_state", at(as_of))
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


def test_an_unknown_review_type_has_the_clock_of_an_aci_and_no_deadline_of_its_own():
    row = process([acp(type="SOMETHING_NEW")], "2026-03-01T12:00:00")
    assert (row["review_type"], row["state"], row["deadline_mismatch"]) == (None, "OVERDUE", False)


def test_nothing_is_known_before_the_event_was_received():
    with ledger_of([acp(occurred_at="2026-03-01T13:00:00Z")]) as reader:
        assert rows(reader, "process_state", at("2026-03-01T12:59:59.999999")) == []
        assert len(rows(reader, "process_state", at("2026-03-01T13:00:00"))) == 1


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
    assert row["overdue_at"] == at("2026-05-31T12:00:00")


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


def test_of_two_deliveries_of_one_event_the_earlier_counts_and_then_the_smaller_digest():
    # SHA-256 of the bodies: "…s2…" and "…s3…" differ in the customer alone; whichever digest is
    # the smaller counts, in either order of recording.
    one, other = acp(customer_id="s2"), acp(customer_id="s3")
    there = process([one, other], "2026-03-02T00:00:00")["seller_id"]
    back = process([other, one], "2026-03-02T00:00:00")["seller_id"]
    assert there == back
    later = acp(customer_id="s4", occurred_at="2026-03-01T11:59:59.999999Z")
    assert process([one, other, later], "2026-03-02T00:00:00")["seller_id"] == "s4"
