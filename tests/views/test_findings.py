"""Every rule of rules.md section 6: a history that breaks it, and a near miss that does not.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

from typing import Any

import pytest

from tests.ledgers import ledger_of, rows
from tests.views.lines import (
    ADDRESS,
    aci,
    acp,
    act,
    answered,
    at,
    finished,
    invited,
    live,
    refusal,
    seller,
    started,
    webhook,
)

NOON = "2026-03-01T12:00:00"


def found(rule: str, history: list[dict[str, Any]], as_of: str) -> list[tuple]:
    with ledger_of(history) as reader:
        return [
            (
                row["severity"],
                row["process_id"],
                row["seller_id"],
                row["seq"],
                row["detail"],
                row["found_at"],
            )
            for row in rows(reader, "findings", at(as_of))
            if row["rule"] == rule
        ]


def breach(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("breach", process, process and "s1", seq, detail, at(found_at))


def risk(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("risk", process, process and "s1", seq, detail, at(found_at))


def notice(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("notice", process, process and "s1", seq, detail, at(found_at))


# --- clocks and reports ---


def test_expired_unfinished_from_the_deadline_on():
    history = [acp()]
    assert found("expired_unfinished", history, "2026-04-30T11:59:59.999999") == []
    assert found("expired_unfinished", history, "2026-04-30T12:00:00") == [
        breach(1, "2026-04-30T12:00:00")
    ]


def test_expired_unfinished_from_the_first_report_of_it():
    history = [acp(), acp("e2", "2026-04-01T00:00:00Z", status="EXPIRED")]
    assert found("expired_unfinished", history, "2026-05-30T00:00:00") == [
        breach(2, "2026-04-01T00:00:00")
    ]


def test_expired_unfinished_ends_with_the_finish():
    history = [
        acp(),
        started("a1", "2026-05-01T00:00:00Z"),
        finished("a1", 200, "2026-05-01T00:00:01Z"),
    ]
    assert found("expired_unfinished", history, "2026-05-01T00:00:01") == []


@pytest.mark.parametrize(
    ("finished_at", "expected"),
    [
        ("2026-04-30T11:59:59.999999Z", []),
        ("2026-04-30T12:00:00Z", [breach(3, "2026-04-30T12:00:00")]),
    ],
)
def test_finished_late_at_the_deadline_or_after(finished_at, expected):
    history = [acp(), started("a1", "2026-04-30T11:59:00Z"), finished("a1", 200, finished_at)]
    assert found("finished_late", history, "2026-05-10T00:00:00") == expected


def test_finished_elsewhere_without_a_200_of_ours():
    reported = acp("e2", "2026-03-05T00:00:00Z", status="FINISHED")
    lost = [acp(), started(), finished("a1", 500), reported]
    assert found("finished_elsewhere", lost, "2026-03-06T00:00:00") == [
        breach(4, "2026-03-05T00:00:00")
    ]


def test_not_finished_elsewhere_where_a_200_came_later():
    reported = acp("e2", "2026-03-02T00:00:00.500000Z", status="FINISHED")
    answered_later = [acp(), started(), finished(), reported]
    assert found("finished_elsewhere", answered_later, "2026-03-06T00:00:00") == []


def test_overdue_unstarted_after_a_day_without_a_journey():
    history = [aci(), invited()]
    assert found("overdue_unstarted", history, "2026-03-02T11:59:59.999999") == []
    assert found("overdue_unstarted", history, "2026-03-02T12:00:00") == [
        risk(1, "2026-03-02T12:00:00")
    ]


@pytest.mark.parametrize("step", ["opened", "answered", "confirmed"])
def test_not_overdue_unstarted_once_the_seller_did_something(step):
    history = [aci(), invited(step=step)]
    assert found("overdue_unstarted", history, "2026-03-10T00:00:00") == []


def test_overdue_unstarted_from_an_early_report():
    history = [acp(), acp("e2", "2026-03-10T00:00:00Z", status="OVERDUE")]
    assert found("overdue_unstarted", history, "2026-03-11T00:00:00") == [
        risk(2, "2026-03-11T00:00:00")
    ]


def test_open_after_finish():
    reopened = acp("e2", "2026-03-02T00:00:01.000001Z", status="PENDING")
    history = [acp(), started(), finished(), reopened]
    assert found("open_after_finish", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T00:00:01.000001")
    ]
    at_once = acp("e2", "2026-03-02T00:00:01Z", status="PENDING")
    history = [acp(), started(), finished(), at_once]
    assert found("open_after_finish", history, "2026-03-03T00:00:00") == []


def test_status_disagrees():
    history = [acp(), acp("e2", "2026-03-31T10:59:59.999999Z", status="OVERDUE")]
    assert found("status_disagrees", history, "2026-04-02T00:00:00") == [
        risk(2, "2026-03-31T10:59:59.999999")
    ]
    history = [acp(), acp("e2", "2026-03-31T11:00:00Z", status="OVERDUE")]
    assert found("status_disagrees", history, "2026-04-02T00:00:00") == []


def test_deadline_mismatch():
    history = [aci(deadline_at="2026-04-01T12:00:00.000001Z")]
    assert found("deadline_mismatch", history, NOON) == [risk(1, NOON)]
    history = [aci(deadline_at="2026-04-01T12:00:00Z")]
    assert found("deadline_mismatch", history, NOON) == []


def test_deadline_changed():
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T12:00:00.000001Z")]
    assert found("deadline_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T13:00:00+01:00")]
    assert found("deadline_changed", history, "2026-03-05T00:00:00") == []


def test_identity_changed():
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", customer_id="s2")]
    assert found("identity_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z")]
    assert found("identity_changed", history, "2026-03-05T00:00:00") == []


# --- evidence ---


@pytest.mark.parametrize(
    ("collection", "is_found"),
    [
        (answered("2026-03-02T00:00:00Z"), False),  # at the very start
        (answered("2026-03-02T00:00:00.000001Z"), True),
        (answered(fields={"revenue": "1000_to_5001"}), True),
        (answered(fields={"revenue.band": "1000_to_5000"}), True),
        (answered(process_id="p2", journey_id="j2"), True),
        (invited(step="confirmed"), True),
    ],
)
def test_field_without_evidence(collection, is_found):
    history = [acp(), collection, started()]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == (
        [breach(3, "2026-03-02T00:00:00", "revenue")] if is_found else []
    )


def test_a_number_is_no_evidence_for_the_same_digits_in_a_string():
    payload = {"process_id": "p1", "type": "individual", "revenue": 1000}
    history = [acp(), answered(fields={"revenue": "1000"}), started(body=payload)]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]


def test_a_refusal_needs_no_evidence_and_a_leaf_is_found_once():
    history = [
        acp(),
        *refusal("a1", "2026-03-02T00:00:00Z"),
        started("a2", "2026-03-02T01:00:00Z"),
        started("a3", "2026-03-02T02:00:00Z"),
    ]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == [
        breach(4, "2026-03-02T01:00:00", "revenue")
    ]


def test_source_not_seller():
    history = [acp(), answered(source="bureau"), started()]
    assert found("source_not_seller", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]
    assert found("field_without_evidence", history, "2026-03-03T00:00:00") == []


def test_not_source_not_seller_where_the_seller_said_the_same():
    history = [
        acp(),
        answered("2026-03-01T17:00:00Z"),
        answered("2026-03-01T18:00:00Z", source="bureau"),
        started(),
    ]
    assert found("source_not_seller", history, "2026-03-03T00:00:00") == []


def test_evidence_before_request():
    history = [acp(), answered("2026-03-01T11:59:59.999999Z"), started()]
    assert found("evidence_before_request", history, "2026-03-03T00:00:00") == [
        breach(3, "2026-03-02T00:00:00", "revenue")
    ]
    history = [acp(), answered("2026-03-01T12:00:00Z"), started()]
    assert found("evidence_before_request", history, "2026-03-03T00:00:00") == []


def test_evidence_recorded_late_after_the_start():
    history = [
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00.000001Z"),
    ]
    assert found("evidence_recorded_late", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:00.000001")
    ]
    history = [
        acp(),
        live(started()),
        live(answered("2026-03-01T18:00:00Z"), "2026-03-02T00:00:00Z"),
    ]
    assert found("evidence_recorded_late", history, "2026-03-03T00:00:00") == []


def test_evidence_recorded_late_a_day_after_it_happened():
    late = live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00.000001Z")
    history = [acp(), late, live(started("a1", "2026-03-05T00:00:00Z"))]
    assert found("evidence_recorded_late", history, "2026-03-06T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    in_time = live(answered("2026-03-01T18:00:00Z"), "2026-03-02T18:00:00Z")
    history = [acp(), in_time, live(started("a1", "2026-03-05T00:00:00Z"))]
    assert found("evidence_recorded_late", history, "2026-03-06T00:00:00") == []


def test_evidence_reused_a_journey_in_two_processes():
    other = acp("e2", process_id="p2")
    history = [acp(), other, answered(), answered("2026-03-01T19:00:00Z", process_id="p2")]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
        breach(4, "2026-03-01T19:00:00", "j1", process="p2")
    ]
    history[3]["journey_id"] = "j2"
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == []


def test_evidence_reused_an_artifact_in_two_processes():
    digest = "ab" * 32
    screen = [{"name": "screen.png", "media_type": "image/png", "sha256": digest}]
    other = acp("e2", process_id="p2")
    again = answered("2026-03-01T19:00:00Z", process_id="p2", journey_id="j2", artifacts=screen)
    history = [acp(), other, answered(artifacts=screen), again]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == [
        risk(4, "2026-03-01T19:00:00", digest, process="p2")
    ]
    shown = invited("2026-03-01T19:00:00Z", process_id="p2", journey_id="j2", artifacts=screen)
    history = [acp(), other, answered(artifacts=screen), shown]
    assert found("evidence_reused", history, "2026-03-02T00:00:00") == []


def test_values_reused():
    payload = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    later = started("a2", "2026-03-02T01:00:00Z", process_id="p2", body=payload)
    accepted = finished("a2", 200, "2026-03-02T01:00:01Z", process_id="p2")
    history = [acp(), acp("e2", process_id="p2"), started(), later, accepted]
    assert found("values_reused", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:01", "a2", process="p2")
    ]
    later["body"] = {**payload, "address": {"city": "Recife"}}
    assert found("values_reused", history, "2026-03-03T00:00:00") == []
    later["body"], later["seller_id"] = payload, "s2"
    assert found("values_reused", history, "2026-03-03T00:00:00") == []


# --- payloads ---

FULL = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}


def test_acp_incomplete():
    without_city = {key: it for key, it in ADDRESS.items() if key != "city"}
    history = [acp(), started(body={**FULL, "address": without_city})]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address.city")
    ]
    assert found("acp_incomplete", [acp(), started(body=FULL)], "2026-03-03T00:00:00") == []


def test_acp_incomplete_without_the_owner_of_a_business():
    owner = {"revenue": "1000_to_5000", "address": ADDRESS}
    business = {**FULL, "type": "business"}
    history = [acp(), started(body=business)]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(
            2,
            "2026-03-02T00:00:00",
            "owner.address.city, owner.address.country_code, owner.address.line1, "
            "owner.address.line3, owner.address.postal_code, owner.address.state, owner.revenue",
        )
    ]
    history = [acp(), started(body={**business, "owner": owner})]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


def test_acp_incomplete_by_the_event_received_by_the_start():
    asked_later = acp(
        "e2", "2026-03-01T13:00:00Z", "2026-03-02T00:00:00.000001Z", requested_fields=["documents"]
    )
    history = [acp(), started(body=FULL), asked_later]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []
    asked_before = acp(
        "e2", "2026-03-01T13:00:00Z", "2026-03-02T00:00:00Z", requested_fields=["documents"]
    )
    history = [acp(), started(body=FULL), asked_before]
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "documents")
    ]
    history[1]["body"] = {**FULL, "documents": {"selfie": "x"}}
    assert found("acp_incomplete", history, "2026-03-03T00:00:00") == []


def test_aci_extra_field():
    history = [aci(requested_fields=["address"]), started()]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "revenue")
    ]
    assert found("aci_extra_field", [aci(), started()], "2026-03-03T00:00:00") == []


def test_a_requested_path_covers_what_is_under_it_and_not_its_namesakes():
    payload = {"process_id": "p1", "type": "individual", "address": ADDRESS}
    history = [aci(requested_fields=["address"]), started(body=payload)]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == []
    payload = {"process_id": "p1", "type": "individual", "address_2": "Rua A"}
    history = [aci(requested_fields=["address"]), started(body=payload)]
    assert found("aci_extra_field", history, "2026-03-03T00:00:00") == [
        breach(2, "2026-03-02T00:00:00", "address_2")
    ]


OTHER_PAYLOAD = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}


def test_payload_changed_on_retry():
    history = [
        acp(),
        started(),
        finished("a1", 500),
        started("a2", "2026-03-02T01:00:00Z", body=OTHER_PAYLOAD),
    ]
    assert found("payload_changed_on_retry", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T01:00:00", "a2")
    ]
    replaced = [*history, act("replacement", "2026-03-02T00:30:00Z")]
    assert found("payload_changed_on_retry", replaced, "2026-03-03T00:00:00") == []
    after_a_400 = [*history[:2], finished("a1", 400), history[3]]
    assert found("payload_changed_on_retry", after_a_400, "2026-03-03T00:00:00") == []


@pytest.mark.parametrize(
    ("started_at", "is_found"),
    [("2026-03-02T00:00:59.999999Z", False), ("2026-03-02T00:01:00Z", True)],
)
def test_payload_changed_on_retry_once_an_unanswered_attempt_is_unknown(started_at, is_found):
    history = [acp(), started(), started("a2", started_at, body=OTHER_PAYLOAD)]
    found_at = started_at.removesuffix("Z")
    assert found("payload_changed_on_retry", history, "2026-03-03T00:00:00") == (
        [risk(3, found_at, "a2")] if is_found else []
    )


# --- tries ---


def test_retries_exhausted_after_a_day():
    history = [acp(), started(), finished("a1", 500)]
    assert found("retries_exhausted", history, "2026-03-02T23:59:59.999999") == []
    assert found("retries_exhausted", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-03T00:00:00", "a1")
    ]


@pytest.mark.parametrize(("attempts", "is_found"), [(29, False), (30, True)])
def test_retries_exhausted_after_thirty_attempts(attempts, is_found):
    history = [acp()]
    for number in range(1, attempts + 1):
        at_minute = f"2026-03-02T00:{number:02}:00Z"
        history += [
            started(f"a{number:02}", at_minute),
            finished(f"a{number:02}", 503, at_minute),
        ]
    assert found("retries_exhausted", history, "2026-03-02T01:00:00") == (
        [risk(61, "2026-03-02T00:30:00", "a30")] if is_found else []
    )


@pytest.mark.parametrize(
    "ending",
    [
        [act("replacement", "2026-03-02T12:00:00Z")],
        [started("a2", "2026-03-02T12:00:00Z", body=OTHER_PAYLOAD), finished("a2", 400)],
        [acp("e2", "2026-03-02T12:00:00Z", status="FINISHED")],
    ],
)
def test_no_retries_exhausted_once_nobody_wants_another(ending):
    history = [acp(), started(), finished("a1", 500), *ending]
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


def test_no_retries_exhausted_after_an_outcome_that_is_not_retried():
    history = [acp(), started(), finished("a1", 404)]
    assert found("retries_exhausted", history, "2026-03-04T00:00:00") == []


def test_outcome_unknown_while_the_last_attempt_is_unknown_or_in_conflict():
    history = [acp(), started()]
    assert found("outcome_unknown", history, "2026-03-02T00:00:59.999999") == []
    assert found("outcome_unknown", history, "2026-03-02T00:01:00") == [
        risk(2, "2026-03-02T00:01:00")
    ]
    history = [acp(), started(), finished("a1", 409)]
    assert found("outcome_unknown", history, "2026-03-02T00:01:00") == [
        risk(3, "2026-03-02T00:00:01")
    ]
    mended = [
        *history,
        started("a2", "2026-03-02T02:00:00Z"),
        finished("a2", 500, "2026-03-02T02:00:01Z"),
    ]
    assert found("outcome_unknown", mended, "2026-03-03T00:00:00") == []
    reported = [*history, acp("e2", "2026-03-02T03:00:00Z", status="FINISHED")]
    assert found("outcome_unknown", reported, "2026-03-03T00:00:00") == []


def test_unauthorized_until_any_later_200():
    history = [
        acp(),
        started(),
        finished("a1", 401, "2026-03-02T00:00:01Z"),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", 401, "2026-03-02T01:00:01Z"),
    ]
    assert found("unauthorized", history, "2026-03-03T00:00:00") == [
        risk(3, "2026-03-02T00:00:01", process=None)
    ]
    other = started("a3", "2026-03-02T02:00:00Z", process_id="p2")
    accepted = finished("a3", 200, "2026-03-02T02:00:01Z", process_id="p2")
    assert found("unauthorized", [*history, other, accepted], "2026-03-03T00:00:00") == []


# --- deliveries ---


def test_event_altered():
    altered = acp(occurred_at="2026-03-01T13:00:00Z", requested_fields=["address"])
    assert found("event_altered", [acp(), altered], "2026-03-02T00:00:00") == [
        risk(2, "2026-03-01T13:00:00", "e1")
    ]
    again = acp(occurred_at="2026-03-01T13:00:00Z")
    assert found("event_altered", [acp(), again], "2026-03-02T00:00:00") == []


def test_slow_record():
    history = [live(acp(), "2026-03-01T12:00:05.000001Z")]
    assert found("slow_record", history, "2026-03-02T00:00:00") == [
        notice(1, "2026-03-01T12:00:05.000001", process=None)
    ]
    assert found("slow_record", [live(acp(), "2026-03-01T12:00:05Z")], NOON) == []
    ingested = {**acp(), "recorded_at": "2026-03-05T12:00:00Z"}
    assert found("slow_record", [ingested], NOON) == []


def test_quarantined_until_it_is_replayed():
    broken = webhook("not json")
    [row] = found("quarantined", [broken], NOON)
    assert row[:4] == ("risk", None, None, 1)
    assert row[5] == at(NOON)
    replayed = {**live(acp()), "replay_of": 1}
    assert found("quarantined", [broken, replayed], NOON) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (acp(type="NEW_TYPE"), notice(1, NOON, "review type: NEW_TYPE")),
        (acp(status="SUSPENDED"), notice(1, NOON, "review status: SUSPENDED")),
        (
            acp(requested_fields=["address.city", "documents"]),
            notice(1, NOON, "requested path: documents"),
        ),
        (
            webhook({"id": "e1", "type": "seller.paused"}),
            notice(1, NOON, "event type: seller.paused", process=None),
        ),
        (
            webhook({"id": "e1", "type": "seller.created", "payload": {}}),
            notice(1, NOON, "payload: seller.created", process=None),
        ),
        (
            seller("denied", "e1", decision_reasons=[{"reason": "BAD_LUCK"}]),
            ("notice", None, "s1", 1, "reason: BAD_LUCK", at(NOON)),
        ),
        (
            seller(
                "denied", "e1", decision_reasons=[{"reason": "FRAUD_PREVENTION", "detail": "HMM"}]
            ),
            ("notice", None, "s1", 1, "detail: HMM", at(NOON)),
        ),
        (
            acp(event_id=None),
            notice(1, NOON, "event without id: regulatory.registration.review.required"),
        ),
    ],
)
def test_new_code_once_for_each_kind_and_value(line, expected):
    again = {**line, "occurred_at": "2026-03-01T13:00:00Z"}
    assert found("new_code", [line, again], "2026-03-02T00:00:00") == [expected]


def test_no_new_code_for_what_the_contract_lists():
    reasons = [{"reason": "INTERNAL_KYC_POLICY", "detail": ""}]
    history = [
        acp(requested_fields=["owner.address.line2", "owner"]),
        acp("e2", status=None),
        seller("denied", "e3", decision_reasons=reasons),
        webhook({"id": "e4", "type": "bank_account.associated", "payload": "anything"}),
    ]
    assert found("new_code", history, "2026-03-02T00:00:00") == []


def test_override():
    history = [acp(), act("override", "2026-03-02T00:00:00Z", gates=["evidence"])]
    assert found("override", history, "2026-03-02T00:00:00") == [notice(2, "2026-03-02T00:00:00")]
    assert found("override", history, "2026-03-01T23:59:59.999999") == []
    history = [acp(), act("replacement", "2026-03-02T00:00:00Z")]
    assert found("override", history, "2026-03-02T00:00:00") == []


def test_the_gravest_stands_first():
    history = [
        acp(status="SUSPENDED"),
        acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T13:00:00Z"),
    ]
    with ledger_of(history) as reader:
        severities = [
            row["severity"] for row in rows(reader, "findings", at("2026-06-01T00:00:00"))
        ]
    assert severities == ["breach", "risk", "notice"]
