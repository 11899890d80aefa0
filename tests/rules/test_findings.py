"""The findings of docs/rules.md#findings.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

from tests.rules.builders import aci, found, review
from tests.support.lines import answered, at, finished, started


def test_values_of_an_earlier_review_sent_again_are_a_risk():
    again = {"attempt_id": "a2", "process_id": "p2"}
    body = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    history = [
        started(),
        finished(status=500),
        started(**again, occurred_at="2026-03-02T01:00:00Z", body=body),
        finished(**again, occurred_at="2026-03-02T01:00:01Z"),
    ]
    assert found(history, "2026-03-03T00:00:00", "values_reused") == [
        ("values_reused", "risk", 3, at("2026-03-02T01:00:01"))
    ]
    history[2]["body"]["address"] = {"city": "Recife"}
    assert found(history, "2026-03-03T00:00:00", "values_reused") == []


def test_values_reused_with_fresh_evidence_are_a_notice():
    again = {"attempt_id": "a2", "process_id": "p2"}
    body = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    history = [
        started(),
        aci("e2", process_id="p2"),
        answered(process_id="p2"),
        started(**again, occurred_at="2026-03-02T01:00:00Z", body=body),
        finished(**again, occurred_at="2026-03-02T01:00:01Z"),
    ]
    rule, seen_at = "values_reused", at("2026-03-02T01:00:01")
    assert found(history, "2026-03-03T00:00:00", rule) == [(rule, "notice", 4, seen_at)]
    history[2]["source"] = "bureau"
    assert found(history, "2026-03-03T00:00:00", rule) == [(rule, "risk", 4, seen_at)]


def test_a_retry_and_an_attempt_at_the_same_instant_reuse_no_values():
    retried = [
        started(),
        finished(status=500),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", 200, "2026-03-02T01:00:01Z"),
    ]
    assert found(retried, "2026-03-03T00:00:00", "values_reused") == []
    together = [started(), started("a2", process_id="p2"), finished("a2", process_id="p2")]
    assert found(together, "2026-03-03T00:00:00", "values_reused") == []


FULL = {
    "line1": "Rua A, 1",
    "line3": "Centro",
    "city": "Recife",
    "state": "PE",
    "postal_code": "50000000",
    "country_code": "BR",
}
INDIVIDUAL = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": FULL,
}


def test_no_answer_and_one_at_the_same_instant_clear_no_401():
    history = [started(), finished(status=401), started("a2"), finished("a2", 200)]
    assert len(found(history, "2026-03-03T00:00:00", "unauthorized")) == 1
    history[3] = finished("a2", None, "2026-03-02T00:00:05Z", error="timeout")
    assert len(found(history, "2026-03-03T00:00:00", "unauthorized")) == 1


def test_no_entry_is_back_dated():
    history = [
        {**review("e1", occurred_at="2026-03-01T12:00:06Z"), "origin": "live"},
        {**review("e2"), "origin": "live"},
    ]
    assert found(history, "2026-03-02T00:00:00", "slow_record") == [
        ("slow_record", "notice", 2, at("2026-03-01T12:00:06"))
    ]
