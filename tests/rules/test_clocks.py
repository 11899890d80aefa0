"""The clocks of docs/rules.md#review-processes.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import found, process, review
from tests.support.ledgers import asked
from tests.support.lines import at, finished, started


@pytest.mark.parametrize("status", ["SUSPENDED", "", None, 3])
def test_a_missing_or_unknown_status_ranks_nowhere(status):
    row = process([review(status=status)], "2026-03-02T00:00:00")
    assert row["state"] == "PENDING"
    assert row["status_disagrees"] is False


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
    assert before["deadline_changed"] is None
    after = process(history, "2026-03-02T00:00:01")
    assert (after["state"], after["finished_by"]) == ("FINISHED", "submission")
    assert after["finished_late"] is None
    assert asked(history, "deadline_calendar", at("2026-03-03T00:00:00")) == []


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
