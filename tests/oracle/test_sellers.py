"""Sellers, their onboarding and their denials.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

from datetime import date

import pytest

from tests.oracle.builders import found, review, seller_event
from tests.support import oracle
from tests.support.lines import answered, at, started, webhook


def test_seller_created_never_replaces_another_status():
    history = [
        seller_event("enabled", "e1", "2026-03-01T12:00:00Z"),
        seller_event("created", "e2", "2026-03-01T12:05:00Z"),
        seller_event("updated", "e3", "2026-03-01T12:10:00Z", mcc="5411", status="denied"),
    ]
    [row] = oracle.rows("seller_state", history, at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["analysis_seconds"]) == ("enabled", "5411", -300.0)
    [row] = oracle.rows("seller_state", history[1:], at("2026-03-02T00:00:00"))
    assert (row["status"], row["analysis_seconds"]) == ("pending_analysis", None)
    [row] = oracle.rows("seller_state", history[2:], at("2026-03-02T00:00:00"))
    assert row["status"] == "denied"


def test_the_latest_status_event_wins_and_each_field_comes_from_the_latest_that_carries_it():
    history = [
        seller_event("deleted", "e2", "2026-03-03T12:00:00Z", mcc=None),
        seller_event("disabled", "e1", "2026-03-02T12:00:00Z", mcc="7995", is_mobile=False),
    ]
    [row] = oracle.rows("seller_state", history, at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["is_mobile"]) == ("deleted", "7995", False)


def test_a_seller_is_seen_in_a_review_an_attempt_a_collection_or_a_bank_account():
    history = [
        review(customer_id="s1"),
        started(process_id="p2", seller_id="s2"),
        answered(process_id="p3", seller_id="s3"),
        webhook({"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s4"}}),
        webhook({"id": "b2", "type": "bank_account.deleted", "payload": {"object": {"x": 1}}}),
    ]
    rows = oracle.rows("seller_state", history, at("2026-03-03T00:00:00"))
    assert [(row["seller_id"], row["status"], row["open_processes"]) for row in rows] == [
        ("s1", "unknown", 1),
        ("s2", "unknown", 0),
        ("s3", "unknown", 0),
        ("s4", "unknown", 0),
    ]
    accounts = oracle.rows("bank_accounts", history, at("2026-03-03T00:00:00"))
    assert [(row["event_id"], row["seller_id"]) for row in accounts] == [("b1", "s4"), ("b2", None)]


def test_a_seller_event_without_a_record_counts_in_deliveries_alone():
    body = {"id": "e1", "type": "seller.denied", "payload": {"object": {"retry": True}}}
    history = [webhook(body)]
    as_of = at("2026-03-02T00:00:00")
    assert len(oracle.rows("deliveries", history, as_of)) == 1
    assert oracle.rows("seller_state", history, as_of) == []
    assert oracle.rows("denials", history, as_of) == []
    assert found(history, "2026-03-02T00:00:00", "new_code") == [
        ("new_code", "notice", 1, at("2026-03-01T12:00:00"))
    ]


def test_a_record_may_be_the_payload_itself():
    body = {"id": "e1", "type": "seller.enabled", "payload": {"id": "s7", "mcc": "5411"}}
    [row] = oracle.rows("seller_state", [webhook(body)], at("2026-03-02T00:00:00"))
    assert (row["seller_id"], row["status"], row["mcc"]) == ("s7", "enabled", "5411")


def test_onboarding_analysis_counts_180_seconds_as_kept():
    history = [
        seller_event("created", "c1", "2026-03-01T23:58:00Z", "s1"),
        seller_event("enabled", "d1", "2026-03-02T00:01:00Z", "s1"),
        seller_event("created", "c2", "2026-03-02T00:00:00Z", "s2"),
        seller_event("denied", "d2", "2026-03-02T00:03:00.000001Z", "s2"),
        seller_event("created", "c3", "2026-03-02T00:00:00Z", "s3"),
    ]
    assert oracle.rows("onboarding_analysis", history, at("2026-03-03T00:00:00")) == [
        {
            "day": date(2026, 3, 2),
            "analysed": 2,
            "within_180_s": 1,
            "share": 0.5,
            "p99_seconds": 180.000001,
        }
    ]


def test_a_denial_lists_its_distinct_reasons_and_no_empty_detail():
    history = [
        seller_event(
            "denied",
            "e1",
            retry=True,
            decision_reasons=[
                {"reason": "INTERNAL_KYC_POLICY", "detail": ""},
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                {"reason": "INTERNAL_KYC_POLICY"},
                {"reason": "DOCUMENT_VALIDATION", "detail": None},
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
            ],
        )
    ]
    assert oracle.rows("denials", history, at("2026-03-02T00:00:00")) == [
        {
            "event_id": "e1",
            "seller_id": "s1",
            "denied_at": at("2026-03-01T12:00:00"),
            "seller_type": None,
            "retry": True,
            "reasons": [
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                {"reason": "DOCUMENT_VALIDATION", "detail": None},
                {"reason": "INTERNAL_KYC_POLICY", "detail": None},
            ],
        }
    ]


def test_a_denial_with_two_reasons_counts_in_each_and_a_share_leaves_out_denials_without_retry():
    quality = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
    policy = {"reason": "INTERNAL_KYC_POLICY"}
    history = [
        seller_event("denied", "e1", retry=True, decision_reasons=[quality, policy, quality]),
        seller_event("denied", "e2", seller_id="s2", retry=False, decision_reasons=[quality]),
        seller_event("denied", "e3", seller_id="s3", decision_reasons=[quality]),
        seller_event("denied", "e4", seller_id="s4", retry="yes", decision_reasons=[]),
    ]
    assert oracle.rows("denial_reasons", history, at("2026-03-02T00:00:00")) == [
        {
            "reason": "DOCUMENT_VALIDATION",
            "detail": "DOCUMENT_QUALITY",
            "denials": 3,
            "retryable": 1,
            "retryable_share": 0.5,
        },
        {
            "reason": "INTERNAL_KYC_POLICY",
            "detail": None,
            "denials": 1,
            "retryable": 1,
            "retryable_share": 1.0,
        },
    ]


def test_a_denied_seller_is_re_onboarded_by_taxpayer_digits_and_wasted_when_a_retry_is_ruled_out():
    denied = {"taxpayer_id": "123.456.789-09", "retry": False}
    history = [
        seller_event("denied", "e1", "2026-03-01T12:00:00Z", "s1", **denied),
        seller_event("denied", "e2", "2026-03-01T12:00:00Z", "s2", taxpayer_id="999", retry=True),
        seller_event("denied", "e3", "2026-03-01T12:00:00Z", "s3", retry=None),
        seller_event("enabled", "e4", "2026-03-03T12:00:00Z", "s4", taxpayer_id="12345678909"),
    ]
    history[3]["body"]["payload"]["object"]["created_at"] = "2026-03-01T12:00:00.000001Z"
    assert oracle.rows("denial_retries", history, at("2026-03-05T00:00:00")) == [
        {
            "denied_sellers": 3,
            "retryable_share": 0.5,
            "reonboarded": 1,
            "reonboarding_rate": 0.5,
            "cured": 1,
            "cure_rate": 1.0,
            "wasted_retries": 1,
        }
    ]
    history[3]["body"]["payload"]["object"]["created_at"] = "2026-03-01T12:00:00Z"
    [row] = oracle.rows("denial_retries", history, at("2026-03-05T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"], row["cure_rate"]) == (0, 0.0, None)
    del history[3]["body"]["payload"]["object"]["created_at"]
    [row] = oracle.rows("denial_retries", history, at("2026-03-05T00:00:00"))
    assert (row["reonboarded"], row["wasted_retries"]) == (1, 1)


def test_a_retry_is_wasted_by_the_latest_denial_before_the_first_new_seller():
    def denied(event_id: str, created_at: str, retry: bool) -> dict:
        return seller_event("denied", event_id, created_at, "s1", taxpayer_id="1", retry=retry)

    history = [
        denied("e1", "2026-03-01T12:00:00Z", True),
        denied("e2", "2026-03-02T12:00:00Z", False),
        seller_event("created", "e3", "2026-03-02T12:00:00.000001Z", "s2", taxpayer_id="1"),
        denied("e4", "2026-03-04T12:00:00Z", True),
        seller_event("created", "e5", "2026-03-05T12:00:00Z", "s3", taxpayer_id="1"),
    ]
    [row] = oracle.rows("denial_retries", history, at("2026-03-06T00:00:00"))
    assert (row["reonboarded"], row["cured"], row["wasted_retries"]) == (1, 0, 1)
    assert oracle.rows("returned_sellers", history, at("2026-03-06T00:00:00")) == [
        {
            "seller_id": "s1",
            "first_denied_at": at("2026-03-01T12:00:00"),
            "came_back_at": at("2026-03-02T12:00:00.000001"),
            "successor_id": "s2",
            "successors": 2,
            "is_cured": False,
            "cured_at": None,
            "seconds_to_cure": None,
            "was_in_vain": True,
        }
    ]
    history[2]["body"]["created_at"] = "2026-03-02T12:00:00Z"
    [row] = oracle.rows("denial_retries", history, at("2026-03-06T00:00:00"))
    assert row["wasted_retries"] == 0


def test_without_denials_every_share_is_null():
    assert oracle.rows("denial_retries", [], at("2026-03-05T00:00:00")) == [
        {
            "denied_sellers": 0,
            "retryable_share": None,
            "reonboarded": 0,
            "reonboarding_rate": None,
            "cured": 0,
            "cure_rate": None,
            "wasted_retries": 0,
        }
    ]


def test_deletion_is_final():
    history = [
        seller_event("deleted", "e1", "2026-03-02T12:00:00Z"),
        seller_event("enabled", "e2", "2026-03-03T12:00:00Z", mcc="5411"),
        seller_event("updated", "e3", "2026-03-04T12:00:00Z", mcc="7995"),
        seller_event("created", "e4", "2026-03-02T12:00:00Z"),
    ]
    [row] = oracle.rows("seller_state", history, at("2026-03-05T00:00:00"))
    assert (row["status"], row["mcc"]) == ("deleted", "7995")
    rows = oracle.rows("findings", history, at("2026-03-05T00:00:00"))
    assert [
        (row["rule"], row["severity"], row["seq"], row["found_at"], row["detail"], row["seller_id"])
        for row in rows
    ] == [("status_after_deletion", "risk", 2, at("2026-03-03T12:00:00"), "seller.enabled", "s1")]


@pytest.mark.parametrize(
    ("deleted_at", "found_at", "seq"),
    [
        ("2026-03-02T12:00:00Z", "2026-03-02T12:00:00", 2),
        ("2026-03-01T11:00:00Z", "2026-03-01T12:00:00", 1),
    ],
)
def test_an_open_process_of_a_deleted_seller_is_a_risk(deleted_at, found_at, seq):
    history = [review(), seller_event("deleted", "e2", deleted_at)]
    rule = "deleted_with_open"
    assert found(history, "2026-03-05T00:00:00", rule) == [(rule, "risk", seq, at(found_at))]
    ended = [*history, review("e3", "2026-03-03T12:00:00Z", status="FINISHED")]
    assert found(ended, "2026-03-05T00:00:00", rule) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("12.ABC.345/01DE-35", "12abc34501de35", True),
        ("12.ABC.345/01DE-35", "12.ABD.345/01DE-35", False),
        ("12.345.678/0001-95", "12345678000195", True),
        (12345678909, "123.456.789-09", True),
        ("--", "..", False),
        ("ç1", "1", True),
    ],
)
def test_tax_ids_compare_by_their_letters_and_digits(one, other, same):
    history = [
        seller_event("denied", "e1", "2026-03-01T12:00:00Z", "s1", taxpayer_id=one),
        seller_event("created", "e2", "2026-03-02T12:00:00Z", "s2", taxpayer_id=other),
    ]
    [row] = oracle.rows("denial_retries", history, at("2026-03-05T00:00:00"))
    assert row["reonboarded"] == int(same)
