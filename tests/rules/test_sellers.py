"""Sellers, their onboarding and their denials.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import found, review, seller_event
from tests.support.ledgers import asked
from tests.support.lines import answered, at, started, webhook


def test_seller_created_never_replaces_another_status():
    history = [
        seller_event("enabled", "e1", "2026-03-01T12:00:00Z"),
        seller_event("created", "e2", "2026-03-01T12:05:00Z"),
        seller_event("updated", "e3", "2026-03-01T12:10:00Z", mcc="5411", status="denied"),
    ]
    [row] = asked(history, "seller_state", at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["analysis_seconds"]) == ("enabled", "5411", -300.0)
    [row] = asked(history[1:], "seller_state", at("2026-03-02T00:00:00"))
    assert (row["status"], row["analysis_seconds"]) == ("pending_analysis", None)
    [row] = asked(history[2:], "seller_state", at("2026-03-02T00:00:00"))
    assert row["status"] == "denied"


def test_the_latest_status_event_wins_and_each_field_comes_from_the_latest_that_carries_it():
    history = [
        seller_event("deleted", "e2", "2026-03-03T12:00:00Z", mcc=None),
        seller_event("disabled", "e1", "2026-03-02T12:00:00Z", mcc="7995", is_mobile=False),
    ]
    [row] = asked(history, "seller_state", at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["is_mobile"]) == ("deleted", "7995", False)


def test_a_seller_is_seen_in_a_review_an_attempt_a_collection_or_a_bank_account():
    history = [
        review(customer_id="s1"),
        started(process_id="p2", seller_id="s2"),
        answered(process_id="p3", seller_id="s3"),
        webhook({"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s4"}}),
        webhook({"id": "b2", "type": "bank_account.deleted", "payload": {"object": {"x": 1}}}),
    ]
    rows = asked(history, "seller_state", at("2026-03-03T00:00:00"))
    assert [(row["seller_id"], row["status"], row["open_processes"]) for row in rows] == [
        ("s1", "unknown", 1),
        ("s2", "unknown", 0),
        ("s3", "unknown", 0),
        ("s4", "unknown", 0),
    ]
    accounts = asked(history, "bank_accounts", at("2026-03-03T00:00:00"))
    assert [(row["event_id"], row["seller_id"]) for row in accounts] == [("b1", "s4"), ("b2", None)]


def test_a_seller_event_without_a_record_counts_in_deliveries_alone():
    body = {"id": "e1", "type": "seller.denied", "payload": {"object": {"retry": True}}}
    history = [webhook(body)]
    as_of = at("2026-03-02T00:00:00")
    assert len(asked(history, "deliveries", as_of)) == 1
    assert asked(history, "seller_state", as_of) == []
    assert asked(history, "denials", as_of) == []
    assert found(history, "2026-03-02T00:00:00", "new_code") == [
        ("new_code", "notice", 1, at("2026-03-01T12:00:00"))
    ]


def test_a_record_may_be_the_payload_itself():
    body = {"id": "e1", "type": "seller.enabled", "payload": {"id": "s7", "mcc": "5411"}}
    [row] = asked([webhook(body)], "seller_state", at("2026-03-02T00:00:00"))
    assert (row["seller_id"], row["status"], row["mcc"]) == ("s7", "enabled", "5411")


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
    assert asked(history, "denials", at("2026-03-02T00:00:00")) == [
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
            "codes": "|DOCUMENT_VALIDATION|INTERNAL_KYC_POLICY|"
            "DOCUMENT_VALIDATION/DOCUMENT_QUALITY|",
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
    assert asked(history, "denial_reasons", at("2026-03-02T00:00:00")) == [
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
    assert asked(history, "denial_retries", at("2026-03-05T00:00:00")) == [
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
    [row] = asked(history, "denial_retries", at("2026-03-05T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"], row["cure_rate"]) == (0, 0.0, None)
    del history[3]["body"]["payload"]["object"]["created_at"]
    [row] = asked(history, "denial_retries", at("2026-03-05T00:00:00"))
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
    [row] = asked(history, "denial_retries", at("2026-03-06T00:00:00"))
    assert (row["reonboarded"], row["cured"], row["wasted_retries"]) == (1, 0, 1)
    assert asked(history, "returned_sellers", at("2026-03-06T00:00:00")) == [
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
    [row] = asked(history, "denial_retries", at("2026-03-06T00:00:00"))
    assert row["wasted_retries"] == 0


def test_without_denials_every_share_is_null():
    assert asked([], "denial_retries", at("2026-03-05T00:00:00")) == [
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
    [row] = asked(history, "denial_retries", at("2026-03-05T00:00:00"))
    assert row["reonboarded"] == int(same)
