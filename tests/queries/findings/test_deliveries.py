"""Rules of deliveries and overrides, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import json

import pytest

from tests.queries.findings.builders import NOON, found, notice, risk
from tests.support.ledgers import ledger_of, rows
from tests.support.lines import aci, acp, action, at, live, seller, webhook


def test_event_altered():
    altered = acp(occurred_at="2026-03-01T13:00:00Z", requested_fields=["address"])
    assert found("event_altered", [acp(), altered], "2026-03-02T00:00:00") == [
        risk(2, "2026-03-01T13:00:00", "e1")
    ]
    again = acp(occurred_at="2026-03-01T13:00:00Z")
    assert found("event_altered", [acp(), again], "2026-03-02T00:00:00") == []


def test_each_version_but_the_first_is_altered_and_about_what_it_names_itself():
    history = [
        acp(occurred_at="2026-03-01T13:00:00Z", process_id="p2", customer_id="s2"),
        acp(),
        acp(occurred_at="2026-03-01T14:00:00Z", process_id="p2", customer_id="s2"),
        seller("enabled", "e1", "2026-03-01T15:00:00Z", "s3"),
    ]
    assert found("event_altered", history, "2026-03-02T00:00:00") == [
        ("risk", None, "s3", 4, "e1", at("2026-03-01T15:00:00")),
        ("risk", "p2", "s2", 1, "e1", at("2026-03-01T13:00:00")),
    ]
    assert found("event_altered", history, "2026-03-01T12:59:59.999999") == []


def test_the_same_content_in_another_spelling_is_not_altered():
    spelled = webhook(json.dumps(acp()["body"], indent=1), "2026-03-01T13:00:00Z")
    history = [acp(), spelled]
    assert found("event_altered", history, "2026-03-02T00:00:00") == []
    with ledger_of(history) as reader:
        [row] = rows(reader, "redeliveries", at("2026-03-02T00:00:00"))
    assert (row["deliveries"], row["altered"]) == (2, 0)


def test_unreadable_part_of_a_review():
    odd = acp(requested_fields="revenue", deadline_at=None, occurred_at="2026-03-01T13:00:00Z")
    again = {**odd, "occurred_at": "2026-03-01T14:00:00Z"}
    assert found("unreadable_part", [odd, again], "2026-03-02T00:00:00") == [
        risk(1, "2026-03-01T13:00:00", "deadline_at: missing"),
        risk(1, "2026-03-01T13:00:00", 'requested_fields: "revenue"'),
    ]
    finish = acp(requested_fields=None, deadline_at=None, status="FINISHED")
    assert found("unreadable_part", [finish], "2026-03-02T00:00:00") == []


def test_unreadable_part_of_an_inconsistency_that_lists_nothing():
    assert found("unreadable_part", [aci(requested_fields=[])], NOON) == [
        risk(1, NOON, "requested_fields: []")
    ]
    assert found("unreadable_part", [acp(requested_fields=[])], NOON) == []


def test_unreadable_part_of_a_denial():
    denial = seller("denied", "v1", retry="true", decision_reasons={"reason": "X"})
    assert found("unreadable_part", [denial], NOON) == [
        ("risk", None, "s1", 1, "decision_reasons: {***}", at(NOON)),
        ("risk", None, "s1", 1, 'retry: "true"', at(NOON)),
    ]


def test_what_a_later_version_says_better_is_unreadable_no_longer():
    odd = seller("denied", "v1", retry="true")
    corrected = {**seller("denied", "v1", retry=True), "occurred_at": "2026-03-02T00:00:00Z"}
    assert len(found("unreadable_part", [odd, corrected], "2026-03-01T23:00:00")) == 1
    assert found("unreadable_part", [odd, corrected], "2026-03-02T00:00:00") == []


@pytest.mark.parametrize("what", ["created", "enabled", "denied", "disabled", "deleted"])
def test_status_after_deletion(what):
    deleted = seller("deleted", "v1", "2026-03-02T00:00:00Z")
    later = seller(what, "v2", "2026-03-02T00:00:00.000001Z")
    assert found("status_after_deletion", [deleted, later], "2026-03-03T00:00:00") == [
        ("risk", None, "s1", 2, f"seller.{what}", at("2026-03-02T00:00:00.000001"))
    ]
    at_once = seller(what, "v2", "2026-03-02T00:00:00Z")
    assert found("status_after_deletion", [deleted, at_once], "2026-03-03T00:00:00") == []


def test_an_update_after_deletion_is_no_status():
    deleted = seller("deleted", "v1", "2026-03-02T00:00:00Z")
    updated = seller("updated", "v2", "2026-03-03T00:00:00Z")
    assert found("status_after_deletion", [deleted, updated], "2026-03-04T00:00:00") == []


def test_deleted_with_open():
    history = [
        acp(),
        seller("deleted", "v1", "2026-03-02T00:00:00Z"),
        acp("e2", "2026-03-03T00:00:00Z", process_id="p2"),
        acp("e3", process_id="p3", status="FINISHED"),
        acp("e4", process_id="p4", customer_id="s2"),
    ]
    assert found("deleted_with_open", history, "2026-03-04T00:00:00") == [
        risk(3, "2026-03-03T00:00:00", process="p2"),
        risk(2, "2026-03-02T00:00:00"),
    ]
    assert found("deleted_with_open", history, "2026-03-01T23:59:59.999999") == []


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
        (acp(requested_fields=["revenue", ""]), notice(1, NOON, "requested path: ")),
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
    history = [acp(), action("override", "2026-03-02T00:00:00Z", gates=["evidence"])]
    assert found("override", history, "2026-03-02T00:00:00") == [notice(2, "2026-03-02T00:00:00")]
    assert found("override", history, "2026-03-01T23:59:59.999999") == []
    history = [acp(), action("replacement", "2026-03-02T00:00:00Z")]
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
