"""One event id with several contents: each is a version, and none is dropped.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

from tests.oracle.builders import process, review, seller_event
from tests.support import oracle
from tests.support.lines import at, finished, started, webhook

NOW = "2026-03-05T00:00:00"


def altered(history: list[dict], as_of: str = NOW) -> list[tuple]:
    return [
        (row["seq"], row["found_at"], row["detail"], row["process_id"], row["seller_id"])
        for row in oracle.rows("findings", history, at(as_of))
        if row["rule"] == "event_altered"
    ]


def test_each_version_of_a_review_event_counts_for_the_process_that_it_names():
    history = [
        review("e1"),
        review("e1", process_id="p2", customer_id="s2", occurred_at="2026-03-01T13:00:00Z"),
    ]
    rows = oracle.rows("process_state", history, at(NOW))
    assert [(row["process_id"], row["seller_id"]) for row in rows] == [("p1", "s1"), ("p2", "s2")]
    assert altered(history) == [(2, at("2026-03-01T13:00:00"), "e1", "p2", "s2")]
    assert altered(history, "2026-03-01T12:59:59") == []


def test_a_finish_in_an_altered_redelivery_finishes():
    history = [
        review("e1"),
        review("e1", "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", status="FINISHED"),
    ]
    row = process(history, "2026-06-01T00:00:00")
    assert (row["state"], row["finished_at"], row["finished_by"]) == (
        "FINISHED",
        at("2026-03-02T12:00:00"),
        "platform",
    )


def test_the_first_version_is_the_earliest_whatever_the_order_of_recording():
    history = [
        review(occurred_at="2026-03-01T13:00:00Z", deadline_at="2026-05-30T12:00:00Z"),
        review(occurred_at="2026-03-01T12:00:00Z"),
    ]
    assert altered(history) == [(1, at("2026-03-01T13:00:00"), "e1", "p1", "s1")]
    rows = oracle.rows("deliveries", history, at(NOW))
    assert [(row["is_redelivery"], row["is_altered"]) for row in rows] == [
        (False, True),
        (True, False),
    ]
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
    [row] = oracle.rows("redeliveries", history, at(NOW))
    assert (row["deliveries"], row["altered"]) == (5, 3)


def test_versions_at_one_instant_are_settled_by_the_smaller_sha256():
    # sha256sum says 46402304... of x and edf356b1... of y.
    history = [webhook('{"id":"e","type":"x"}'), webhook('{"id":"e","type":"y"}')]
    for order in (history, history[::-1]):
        rows = oracle.rows("deliveries", order, at(NOW))
        assert {row["event_type"]: row["is_altered"] for row in rows} == {"x": False, "y": True}


def test_of_other_events_only_the_latest_version_as_of_the_instant_counts():
    history = [
        seller_event("denied", "e1", retry=True),
        seller_event("enabled", "e1", "2026-03-02T12:00:00Z", occurred_at="2026-03-03T12:00:00Z"),
    ]
    [before] = oracle.rows("seller_state", history, at("2026-03-03T11:59:59"))
    [after] = oracle.rows("seller_state", history, at("2026-03-03T12:00:00"))
    assert (before["status"], before["denials"]) == ("denied", 1)
    assert (after["status"], after["denials"]) == ("enabled", 0)
    # The latest by the order of events, which is not the one that came last.
    history[1]["body"]["created_at"] = "2026-03-01T11:00:00Z"
    [row] = oracle.rows("seller_state", history, at("2026-03-04T00:00:00"))
    assert row["status"] == "denied"


def test_a_review_and_a_seller_event_under_one_id_both_count():
    history = [review("e1"), seller_event("enabled", "e1", occurred_at="2026-03-01T13:00:00Z")]
    assert process(history, NOW)["state"] == "PENDING"
    [row] = oracle.rows("seller_state", history, at(NOW))
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
        [row] = oracle.rows("submission_attempts", order, at(NOW))
        assert row["status"] == 500
