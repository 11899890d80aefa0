"""The findings of docs/rules.md#findings.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

import pytest

from tests.oracle.builders import aci, found, review, seller_event
from tests.support import oracle
from tests.support.lines import answered, at, finished, started, webhook


def test_expired_is_found_at_the_earlier_of_the_deadline_and_the_first_report():
    assert found([aci()], "2026-03-31T11:59:59.999999", "expired_unfinished") == []
    assert found([aci()], "2026-03-31T12:00:00", "expired_unfinished") == [
        ("expired_unfinished", "breach", 1, at("2026-03-31T12:00:00"))
    ]
    reported = [aci(), aci("e2", created_at="2026-03-10T12:00:00Z", status="EXPIRED")]
    assert found(reported, "2026-04-10T00:00:00", "expired_unfinished") == [
        ("expired_unfinished", "breach", 2, at("2026-03-10T12:00:00"))
    ]


def test_finished_elsewhere_is_cleared_by_a_200_of_ours():
    history = [
        aci(),
        aci("e2", created_at="2026-03-01T13:00:00Z", status="FINISHED"),
        started(),
        finished(),
    ]
    assert found(history[:2], "2026-03-03T00:00:00", "finished_elsewhere") == [
        ("finished_elsewhere", "breach", 2, at("2026-03-01T13:00:00"))
    ]
    assert found(history, "2026-03-03T00:00:00", "finished_elsewhere") == []


def test_overdue_for_a_day_without_an_opened_journey_is_a_risk():
    history = [aci(), answered(step="invited")]
    rule = "overdue_unstarted"
    assert found(history, "2026-03-02T11:59:59.999999", rule) == []
    assert found(history, "2026-03-02T12:00:00", rule) == [
        (rule, "risk", 1, at("2026-03-02T12:00:00"))
    ]
    assert found([*history, answered(step="opened")], "2026-03-02T12:00:00", rule) == []
    assert found([review()], "2026-04-01T11:59:59.999999", rule) == []
    assert found([review()], "2026-04-01T12:00:00", rule) == [
        (rule, "risk", 1, at("2026-04-01T12:00:00"))
    ]


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


@pytest.mark.parametrize(
    ("body", "requested", "incomplete"),
    [
        (INDIVIDUAL, ["revenue"], False),
        (INDIVIDUAL, ["address.line2"], False),
        (INDIVIDUAL, ["documents.selfie"], True),
        ({**INDIVIDUAL, "documents": {"selfie": None}}, ["documents.selfie"], False),
        ({**INDIVIDUAL, "address": {**FULL, "line3": None}}, [], True),
        ({**INDIVIDUAL, "type": "business"}, [], True),
        (
            {**INDIVIDUAL, "type": "business", "owner": {"revenue": "1_to_2", "address": FULL}},
            [],
            False,
        ),
        ({"process_id": "p1", "type": "individual", "revenue": "1_to_2"}, [], True),
    ],
)
def test_an_acp_needs_every_foreseen_and_requested_field(body, requested, incomplete):
    history = [review(requested_fields=requested), started(body=body)]
    assert len(found(history, "2026-03-03T00:00:00", "acp_incomplete")) == int(incomplete)


def test_a_gateways_acp_goes_out_as_it_came_without_a_process_id():
    body = {key: INDIVIDUAL[key] for key in INDIVIDUAL if key != "process_id"}
    gateway = {"origin": "live", "via": "gateway"}
    assert found([review(), started(body=body)], "2026-03-03T00:00:00", "acp_incomplete") != []
    history = [review(), started(body=body, **gateway)]
    assert found(history, "2026-03-03T00:00:00", "acp_incomplete") == []


@pytest.mark.parametrize(
    ("requested", "extra"),
    [
        (["revenue", "address"], False),
        (["revenue", "address.city"], True),
        (["revenue"], True),
        ([], True),
    ],
)
def test_an_aci_takes_only_what_a_requested_path_covers(requested, extra):
    history = [aci(requested_fields=requested), started(body=INDIVIDUAL)]
    assert len(found(history, "2026-03-03T00:00:00", "aci_extra_field")) == int(extra)


def test_a_payload_is_judged_by_the_latest_event_received_by_the_start():
    history = [
        aci(requested_fields=["revenue", "address"]),
        aci(
            "e2",
            created_at="2026-03-01T13:00:00Z",
            occurred_at="2026-03-02T00:00:00.000001Z",
            requested_fields=["revenue"],
        ),
        started(body=INDIVIDUAL),
    ]
    assert found(history, "2026-03-03T00:00:00", "aci_extra_field") == []
    history[1]["occurred_at"] = "2026-03-02T00:00:00Z"
    assert len(found(history, "2026-03-03T00:00:00", "aci_extra_field")) == 1


def test_other_bytes_after_a_retryable_outcome_need_a_replacement():
    other = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}
    history = [
        started(),
        finished(status=500),
        started("a2", "2026-03-02T01:00:00Z", body=other),
    ]
    replacement = {
        "kind": "replacement",
        "occurred_at": "2026-03-02T00:30:00Z",
        "process_id": "p1",
        "reason": "typo",
        "actor": "ana",
    }
    rule = "payload_changed_on_retry"
    assert found(history, "2026-03-03T00:00:00", rule) == [
        (rule, "risk", 3, at("2026-03-02T01:00:00"))
    ]
    for replaced_at in ("2026-03-02T00:00:00.000001Z", "2026-03-02T01:00:00Z"):
        replaced = [*history, {**replacement, "occurred_at": replaced_at}]
        assert found(replaced, "2026-03-03T00:00:00", rule) == []
    for unrelated in (
        {"process_id": "p2"},
        {"occurred_at": "2026-03-02T00:00:00Z"},  # allowed what is sent at this instant
        {"occurred_at": "2026-03-02T01:00:00.000001Z"},
    ):
        assert found([*history, {**replacement, **unrelated}], "2026-03-03T00:00:00", rule) != []
    history[1] = finished(status=400)
    assert found(history, "2026-03-03T00:00:00", rule) == []


def test_a_try_is_given_up_after_24_hours():
    history = [review(), started(), finished(status=503)]
    rule = "retries_exhausted"
    assert found(history, "2026-03-02T23:59:59.999999", rule) == []
    assert found(history, "2026-03-03T00:00:00", rule) == [
        (rule, "risk", 3, at("2026-03-03T00:00:00"))
    ]
    ended = [*history, review("e2", "2026-03-02T12:00:00Z", status="FINISHED")]
    assert found(ended, "2026-03-04T00:00:00", rule) == []
    finished_before = [*history, review("e2", "2026-03-01T18:00:00Z", status="FINISHED")]
    assert found(finished_before, "2026-03-04T00:00:00", rule) == []
    refused_for_good = [review(), started(), finished(status=400)]
    assert found(refused_for_good, "2026-03-04T00:00:00", rule) == []


def test_a_try_is_given_up_after_30_attempts():
    history = []
    for number in range(30):
        name = f"a{number:02}"
        history.append(started(name, f"2026-03-02T00:{number:02}:00Z"))
        history.append(finished(name, 500, f"2026-03-02T00:{number:02}:01Z"))
    rule = "retries_exhausted"
    assert found(history, "2026-03-02T00:29:00.999999", rule) == []
    assert found(history, "2026-03-02T00:29:01", rule) == [
        (rule, "risk", 60, at("2026-03-02T00:29:01"))
    ]


@pytest.mark.parametrize("cleared_by", [200, 400, 409, 500])
def test_a_401_is_one_finding_until_a_later_answer_of_another_kind_on_any_process(cleared_by):
    history = [
        started(),
        finished(status=401),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2"),
        finished("a2", 401, "2026-03-02T01:00:01Z", process_id="p2"),
        started("a3", "2026-03-02T02:00:00Z", process_id="p3"),
        finished("a3", cleared_by, "2026-03-02T02:00:01Z", process_id="p3"),
    ]
    assert found(history, "2026-03-02T02:00:00", "unauthorized") == [
        ("unauthorized", "risk", 2, at("2026-03-02T00:00:01"))
    ]
    assert found(history, "2026-03-02T02:00:01", "unauthorized") == []


def test_no_answer_and_one_at_the_same_instant_clear_no_401():
    history = [started(), finished(status=401), started("a2"), finished("a2", 200)]
    assert len(found(history, "2026-03-03T00:00:00", "unauthorized")) == 1
    history[3] = finished("a2", None, "2026-03-02T00:00:05Z", error="timeout")
    assert len(found(history, "2026-03-03T00:00:00", "unauthorized")) == 1


@pytest.mark.parametrize(("later", "rows"), [(401, 0), (200, 0), (None, 1)])
def test_a_refused_handshake_is_one_finding_until_any_answer(later, rows):
    history = [
        started(),
        finished(status=None, error="tls_refused"),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2"),
        finished("a2", None, "2026-03-02T01:00:01Z", process_id="p2", error="tls_refused"),
        started("a3", "2026-03-02T02:00:00Z"),
        finished("a3", later, "2026-03-02T02:00:01Z", error=None if later else "network_error"),
    ]
    expected = [("tls_refused", "risk", 2, at("2026-03-02T00:00:01"))] * rows
    assert found(history, "2026-03-03T00:00:00", "tls_refused") == expected


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ([finished()], 1),
        ([finished(status=500)], 1),
        ([finished(status=None, error="timeout")], 0),
        ([started(), finished()], 0),
        ([started(body=None), finished()], 1),
    ],
)
def test_an_answer_to_nothing_that_is_known_is_a_risk(lines, rows):
    rule = "attempt_without_start"
    expected = [(rule, "risk", len(lines), at("2026-03-02T00:00:01"))] * rows
    assert found(lines, "2026-03-03T00:00:00", rule) == expected


@pytest.mark.parametrize(("status", "unknown"), [(409, True), (500, False), (None, True)])
def test_an_outcome_is_unknown_after_a_conflict_or_no_answer(status, unknown):
    history = [review(), started()] + ([finished(status=status)] if status else [])
    assert len(found(history, "2026-03-02T00:01:00", "outcome_unknown")) == int(unknown)


def test_a_live_delivery_recorded_over_five_seconds_after_receipt_is_slow():
    def delivered(recorded_at: str, origin: str) -> list[dict]:
        return [{**review(), "recorded_at": recorded_at, "origin": origin}]

    as_of = "2026-03-02T00:00:00"
    assert found(delivered("2026-03-01T12:00:05Z", "live"), as_of, "slow_record") == []
    assert found(delivered("2026-03-01T12:00:05.000001Z", "live"), as_of, "slow_record") == [
        ("slow_record", "notice", 1, at("2026-03-01T12:00:05.000001"))
    ]
    assert found(delivered("2026-03-09T00:00:00Z", "ingested"), as_of, "slow_record") == []


def test_no_entry_is_back_dated():
    history = [
        {**review("e1", occurred_at="2026-03-01T12:00:06Z"), "origin": "live"},
        {**review("e2"), "origin": "live"},
    ]
    assert found(history, "2026-03-02T00:00:00", "slow_record") == [
        ("slow_record", "notice", 2, at("2026-03-01T12:00:06"))
    ]


def test_each_unlisted_code_is_found_once_from_its_first_entry():
    history = [
        review("e1", occurred_at="2026-03-01T13:00:00Z", type="NEW", status="NEW"),
        review("e2", type="NEW", requested_fields=["revenue", "pet.name", "owner.address.line2"]),
        webhook({"id": "e3", "type": "seller.paused", "payload": {"object": {"id": "s9"}}}),
        webhook({"type": "bank_account.deleted", "payload": {"customer_id": "s5"}}),
        webhook({"id": 7, "type": "bank_account.deleted"}, "2026-03-01T12:30:00Z"),
        seller_event(
            "denied", "e4", decision_reasons=[{"reason": "NEW", "detail": "DOCUMENT_QUALITY"}]
        ),
    ]
    rows = [
        (row["detail"], row["seq"], row["process_id"], row["seller_id"])
        for row in oracle.rows("findings", history, at("2026-03-02T00:00:00"))
        if row["rule"] == "new_code"
    ]
    assert sorted(rows) == [
        ("event type: seller.paused", 3, None, None),
        ("event without id: bank_account.deleted", 4, None, "s5"),
        ("reason: NEW", 6, None, "s1"),
        ("requested path: pet.name", 2, "p1", "s1"),
        ("review status: NEW", 1, "p1", "s1"),
        ("review type: NEW", 2, "p1", "s1"),
    ]


def test_an_override_is_a_notice():
    line = {
        "kind": "override",
        "occurred_at": "2026-03-02T00:00:00Z",
        "process_id": "p1",
        "attempt_id": "a1",
        "gates": ["evidence"],
        "reason": "seller on the phone",
        "actor": "ana",
    }
    assert found([review(), line], "2026-03-03T00:00:00", "override") == [
        ("override", "notice", 2, at("2026-03-02T00:00:00"))
    ]
    [row] = oracle.rows("findings", [line], at("2026-03-03T00:00:00"))
    assert (row["rule"], row["process_id"], row["seller_id"]) == ("override", "p1", None)
