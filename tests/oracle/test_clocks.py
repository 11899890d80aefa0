"""The clocks of docs/rules.md#review-processes.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

import pytest

from tests.oracle.builders import aci, found, process, review
from tests.support import oracle
from tests.support.lines import at, finished, started


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
def test_an_acp_is_pending_then_overdue_then_expired_to_the_microsecond(
    as_of, state, days_to_deadline, days_to_overdue
):
    row = process([review()], as_of)
    assert row["state"] == state
    assert row["overdue_at"] == at("2026-03-31T12:00:00")
    assert (row["days_to_deadline"], row["days_to_overdue"]) == (days_to_deadline, days_to_overdue)


@pytest.mark.parametrize(
    ("as_of", "state"),
    [
        ("2026-03-01T12:00:00", "OVERDUE"),
        ("2026-03-31T11:59:59.999999", "OVERDUE"),
        ("2026-03-31T12:00:00", "EXPIRED"),
    ],
)
@pytest.mark.parametrize(
    ("type_code", "review_type"),
    [("INCONSISTENT_DATA_UPDATE_REQUIRED", "ACI"), ("SOMETHING_NEW", None)],
)
def test_an_aci_and_an_unknown_type_are_overdue_from_the_start(
    as_of, state, type_code, review_type
):
    row = process([aci(type=type_code)], as_of)
    assert (row["state"], row["review_type"]) == (state, review_type)
    assert row["overdue_at"] == at("2026-03-01T12:00:00")
    assert row["days_to_overdue"] is None


def test_an_event_counts_from_its_receipt_on():
    history = [review(occurred_at="2026-03-01T12:00:03Z")]
    assert oracle.rows("process_state", history, at("2026-03-01T12:00:02.999999")) == []
    assert process(history, "2026-03-01T12:00:03")["state"] == "PENDING"


def test_a_report_that_is_graver_than_the_clock_stands_and_a_later_milder_one_takes_nothing_back():
    history = [
        review("e1"),
        review("e2", created_at="2026-03-02T12:00:00Z", status="EXPIRED"),
        review("e3", created_at="2026-03-03T12:00:00Z", status="PENDING"),
    ]
    row = process(history, "2026-03-05T00:00:00")
    assert (row["state"], row["reported_status"]) == ("EXPIRED", "PENDING")


@pytest.mark.parametrize("status", ["SUSPENDED", "", None, 3])
def test_a_missing_or_unknown_status_ranks_nowhere(status):
    row = process([review(status=status)], "2026-03-02T00:00:00")
    assert row["state"] == "PENDING"
    assert row["status_disagrees"] is False


def test_an_extended_deadline_starts_afresh():
    history = [
        aci("e1", status="EXPIRED"),
        aci(
            "e2",
            created_at="2026-03-05T12:00:00Z",
            deadline_at="2026-04-15T12:00:00Z",
            status="OVERDUE",
        ),
    ]
    row = process(history, "2026-03-06T12:00:00")
    assert (row["state"], row["deadline_at"]) == ("OVERDUE", at("2026-04-15T12:00:00"))
    assert (row["days_to_deadline"], row["deadline_changed"]) == (40, True)


def test_one_deadline_in_two_spellings_is_not_a_change_and_carries_its_reports():
    history = [
        review("e1", status="EXPIRED"),
        review("e2", created_at="2026-03-02T00:00:00Z", deadline_at="2026-04-30T09:00:00-03:00"),
    ]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["deadline_changed"], row["state"]) == (False, "EXPIRED")


def test_type_and_seller_come_from_the_earliest_event_deadline_and_fields_from_the_latest():
    history = [
        review(
            "e2",
            created_at="2026-03-02T12:00:00Z",
            occurred_at="2026-03-02T12:00:00Z",
            type="INCONSISTENT_DATA_UPDATE_REQUIRED",
            customer_id="s2",
            deadline_at="2026-05-01T12:00:00Z",
            requested_fields=["address"],
        ),
        review("e1", occurred_at="2026-03-03T12:00:00Z"),
    ]
    row = process(history, "2026-03-04T00:00:00")
    assert (row["review_type"], row["seller_id"]) == ("ACP", "s1")
    assert (row["opened_at"], row["deadline_at"]) == (
        at("2026-03-01T12:00:00"),
        at("2026-05-01T12:00:00"),
    )
    assert row["requested_fields"] == ["address"]
    assert row["identity_changed"] is True


def test_events_created_at_one_instant_are_ordered_by_receipt_then_by_id():
    tied = {"created_at": "2026-03-01T12:00:00Z"}
    by_id = [review("e2", **tied, status="OVERDUE"), review("e10", **tied, status="PENDING")]
    assert process(by_id, "2026-03-02T00:00:00")["reported_status"] == "OVERDUE"
    by_receipt = [
        review("e2", **tied, status="OVERDUE"),
        review("e10", **tied, occurred_at="2026-03-01T12:00:01Z", status="PENDING"),
    ]
    assert process(by_receipt, "2026-03-02T00:00:00")["reported_status"] == "PENDING"


def test_a_process_without_a_review_event_is_unknown_until_a_200():
    history = [started(), finished()]
    before = process(history, "2026-03-02T00:00:00.999999")
    assert (before["state"], before["seller_id"], before["last_outcome"]) == (
        "UNKNOWN",
        "s1",
        "in_flight",
    )
    assert (before["deadline_at"], before["deadline_mismatch"], before["finished_late"]) == (
        None,
        None,
        False,
    )
    after = process(history, "2026-03-02T00:00:01")
    assert (after["state"], after["finished_by"]) == ("FINISHED", "submission")
    assert oracle.rows("deadline_calendar", history, at("2026-03-03T00:00:00")) == []


@pytest.mark.parametrize(
    ("deadline_at", "overdue_at"),
    [
        ("2026-04-30T12:00:00Z", "2026-03-31T12:00:00"),
        ("2026-05-30T12:00:00Z", "2026-03-31T12:00:00"),  # day 30 of the process comes first
        ("2026-04-20T12:00:00Z", "2026-03-21T12:00:00"),  # 30 days before the deadline do
        ("2026-03-31T11:59:59.999999Z", "2026-03-01T12:00:00"),  # never before it opened
    ],
)
def test_an_acp_is_overdue_by_its_day_30_or_30_days_before_the_deadline(deadline_at, overdue_at):
    row = process([review(deadline_at=deadline_at)], "2026-03-02T00:00:00")
    assert row["overdue_at"] == at(overdue_at)


@pytest.mark.parametrize(
    ("type_code", "deadline_at"),
    [
        ("REGISTRATION_REVIEW_REQUIRED", "2026-04-30T12:00:00"),
        ("INCONSISTENT_DATA_UPDATE_REQUIRED", "2026-03-31T12:00:00"),
        ("SOMETHING_NEW", "2026-03-31T12:00:00"),
        (None, "2026-03-31T12:00:00"),
    ],
)
@pytest.mark.parametrize("came", [None, "2026-03-20", 1_774_000_000])
def test_without_a_readable_deadline_the_contracts_total_counts(came, type_code, deadline_at):
    row = process([review(type=type_code, deadline_at=came)], "2026-03-02T00:00:00")
    assert row["deadline_at"] == at(deadline_at)
    assert (row["deadline_mismatch"], row["deadline_changed"]) == (False, False)


def test_deadline_and_fields_are_of_the_latest_event_that_carries_them_readably():
    history = [
        review("e1"),
        review("e2", "2026-03-02T12:00:00Z", deadline_at="2026-05-01T12:00:00Z"),
        review(
            "e3",
            "2026-03-03T12:00:00Z",
            deadline_at="2026-06-01",
            requested_fields=["address", {"path": "revenue"}],
        ),
        review("e4", "2026-03-04T12:00:00Z", deadline_at=None, requested_fields=None),
    ]
    row = process(history, "2026-03-05T00:00:00")
    assert row["deadline_at"] == at("2026-05-01T12:00:00")
    assert row["requested_fields"] == ["revenue"]
    assert process(history[3:], "2026-03-05T00:00:00")["requested_fields"] == []


@pytest.mark.parametrize(
    ("as_of", "seconds"),
    [
        ("2026-04-30T11:59:58.000001", 1),
        ("2026-04-30T11:59:59.000001", 0),
        ("2026-04-30T12:00:00", 0),
        ("2026-04-30T12:00:00.000001", -1),
        ("2026-04-30T12:04:00", -240),
    ],
)
def test_seconds_to_the_deadline_are_rounded_down(as_of, seconds):
    assert process([review()], as_of)["seconds_to_deadline"] == seconds


def test_a_report_without_a_deadline_counts_with_the_one_before_it():
    moved = {"deadline_at": "2026-04-15T12:00:00Z", "status": "OVERDUE"}
    expired = {"deadline_at": None, "status": "EXPIRED"}
    before_it_moved = [
        aci("e1"),
        aci("e2", created_at="2026-03-04T12:00:00Z", **expired),
        aci("e3", created_at="2026-03-05T12:00:00Z", **moved),
    ]
    assert process(before_it_moved, "2026-03-06T12:00:00")["state"] == "OVERDUE"
    after_it_moved = [*before_it_moved, aci("e4", created_at="2026-03-06T12:00:00Z", **expired)]
    assert process(after_it_moved, "2026-03-06T12:00:00")["state"] == "EXPIRED"
    before_any = [
        aci("e1", **expired),
        aci("e2", created_at="2026-03-05T12:00:00Z", **moved),
    ]
    assert process(before_any, "2026-03-06T12:00:00")["state"] == "EXPIRED"


def test_what_cannot_be_read_disagrees_with_nothing():
    unreadable = {"type": 5, "customer_id": None, "deadline_at": "2026-06-01"}
    history = [
        review("e1", **unreadable),
        review("e2", "2026-03-02T12:00:00Z"),
        review("e3", "2026-03-03T12:00:00Z", **unreadable),
    ]
    row = process(history, "2026-03-04T12:00:00")
    assert (row["identity_changed"], row["deadline_changed"]) == (False, False)
    assert (row["review_type"], row["seller_id"]) == (None, None)
    other = [*history, review("e4", "2026-03-04T12:00:00Z", customer_id="s2")]
    assert process(other, "2026-03-05T00:00:00")["identity_changed"] is True
    assert found(other, "2026-03-05T00:00:00", "identity_changed") == [
        ("identity_changed", "risk", 4, at("2026-03-04T12:00:00"))
    ]


def test_the_deadline_of_an_unknown_type_is_measured_against_thirty_days():
    history = [aci(type="SOMETHING_NEW")]
    assert process(history, "2026-03-02T00:00:00")["deadline_mismatch"] is False
    history = [review(type="SOMETHING_NEW")]
    assert process(history, "2026-03-02T00:00:00")["deadline_mismatch"] is True
