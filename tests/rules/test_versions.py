"""One event id with several contents: each is a version, and none is dropped.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

from tests.rules.builders import process, review, seller_event
from tests.support.ledgers import asked
from tests.support.lines import at, finished, started, webhook

NOW = "2026-03-05T00:00:00"


def altered(history: list[dict], as_of: str = NOW) -> list[tuple]:
    return sorted(
        (row["seq"], row["found_at"], row["detail"], row["process_id"], row["seller_id"])
        for row in asked(history, "findings", at(as_of))
        if row["rule"] == "event_altered"
    )


def test_the_first_version_is_the_earliest_whatever_the_order_of_recording():
    history = [
        review(occurred_at="2026-03-01T13:00:00Z", deadline_at="2026-05-30T12:00:00Z"),
        review(occurred_at="2026-03-01T12:00:00Z"),
    ]
    assert altered(history) == [(1, at("2026-03-01T13:00:00"), "e1", "p1", "s1")]
    rows = asked(history, "deliveries", at(NOW))
    assert {row["seq"]: (row["is_redelivery"], row["is_altered"]) for row in rows} == {
        1: (False, True),
        2: (True, False),
    }
    row = process(history, NOW)
    assert (row["deadline_at"], row["deadline_changed"]) == (at("2026-05-30T12:00:00"), True)


def test_each_version_but_the_first_is_a_finding_and_a_spelling_is_not_a_version():
    respelled = webhook('{ "type":"seller.paused", "id":"e1" }', "2026-03-01T13:00:00Z")
    history = [
        webhook('{"id":"e1","type":"seller.paused"}'),
        respelled,
        webhook('{"id":"e1","type":"seller.paused","n":1}', "2026-03-01T14:00:00Z"),
        webhook('{"id":"e1","type":"seller.paused","n":1.0}', "2026-03-01T15:00:00Z"),
        webhook('{"id":"e1","type":"seller.paused","n":1}', "2026-03-01T16:00:00Z"),
    ]
    assert altered(history) == [
        (3, at("2026-03-01T14:00:00"), "e1", None, None),
        (4, at("2026-03-01T15:00:00"), "e1", None, None),
    ]
    [row] = asked(history, "redeliveries", at(NOW))
    assert (row["deliveries"], row["altered"]) == (5, 3)


def test_versions_at_one_instant_are_settled_by_the_smaller_sha256():
    # sha256sum says 46402304... of x and edf356b1... of y.
    history = [webhook('{"id":"e","type":"x"}'), webhook('{"id":"e","type":"y"}')]
    for order in (history, history[::-1]):
        rows = asked(order, "deliveries", at(NOW))
        assert {row["event_type"]: row["is_altered"] for row in rows} == {"x": False, "y": True}


def test_of_other_events_only_the_latest_version_as_of_the_instant_counts():
    history = [
        seller_event("denied", "e1", retry=True),
        seller_event("enabled", "e1", "2026-03-02T12:00:00Z", occurred_at="2026-03-03T12:00:00Z"),
    ]
    [before] = asked(history, "seller_state", at("2026-03-03T11:59:59"))
    [after] = asked(history, "seller_state", at("2026-03-03T12:00:00"))
    assert (before["status"], before["denials"]) == ("denied", 1)
    assert (after["status"], after["denials"]) == ("enabled", 0)
    # The latest by the order of events, which is not the one that came last.
    history[1]["body"]["created_at"] = "2026-03-01T11:00:00Z"
    [row] = asked(history, "seller_state", at("2026-03-04T00:00:00"))
    assert row["status"] == "denied"


def test_a_review_and_a_seller_event_under_one_id_both_count():
    history = [review("e1"), seller_event("enabled", "e1", occurred_at="2026-03-01T13:00:00Z")]
    assert process(history, NOW)["state"] == "PENDING"
    [row] = asked(history, "seller_state", at(NOW))
    assert (row["status"], row["open_processes"]) == ("enabled", 1)
    assert altered(history) == [(2, at("2026-03-01T13:00:00"), "e1", None, "s1")]


def test_versions_that_tie_in_all_else_are_ordered_by_their_sha256():
    # sha256sum of the events' canonical JSON says 8631... with PENDING, d876... with OVERDUE.
    history = [review(status="PENDING"), review(status="OVERDUE")]
    for order in (history, history[::-1]):
        assert process(order, "2026-03-02T00:00:00")["reported_status"] == "OVERDUE"


def test_an_attempt_recorded_twice_at_one_instant_counts_by_the_smaller_sha256_of_its_content():
    # Of {"attempt_id":"a1","process_id":"p1","status":500} it says e7e9..., with 200 f811....
    both = [started(), finished(status=500), finished(status=200)]
    for order in (both, both[::-1]):
        [row] = asked(order, "submission_attempts", at(NOW))
        assert row["status"] == 500
