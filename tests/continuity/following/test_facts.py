"""Facts that are given their values by position have each of them in its own column."""

import json
from contextlib import closing

import duckdb

from pipeline.ledger.facts import Keys, extract, schema
from pipeline.ledger.facts.rows import ReviewFact, SellerEvent, Webhook
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Entry, Place, record_entry

KEYS = Keys(values=b"v" * 32, taxpayer=b"t" * 32)
MARCH, APRIL = 1_772_323_200_000_000, 1_777_507_200_000_000  # 2026-03-01, 2026-04-30
TEXTS = [
    *("resource", "first_name", "last_name", "email", "taxpayer_id", "phone_number", "birthdate"),
    *("address", "mcc", "marketplace_id", "uri", "metadata", "document_number", "ein"),
    *("business_name", "business_email", "business_phone", "business_address"),
]


def entry(event_type: str, about: dict[str, object]) -> Entry:
    event = {
        "id": "evt",
        "type": event_type,
        "created_at": "2026-03-01T00:00:00Z",
        "payload": {"object": about},
    }
    draft = delivery(json.dumps(event).encode(), occurred_at=5, recorded_by="webhook")
    place = Place(7, 6, 1, None, 1, None, False)
    return record_entry(draft, place, log="prazo/1", log_key=b"k" * 32, random=bytes)


def test_a_column_has_the_type_of_its_field_and_may_be_null_where_that_may_be_none():
    with closing(duckdb.connect()) as ledger:
        ledger.execute(schema())
        columns = ledger.execute("describe fact_attempt_finishes").fetchall()
        assert [it[:3] for it in columns] == [
            ("seq", "BIGINT", "NO"),
            ("attempt_id", "VARCHAR", "NO"),
            ("process_id", "VARCHAR", "NO"),
            ("seller_id", "VARCHAR", "YES"),
            ("occurred_at", "TIMESTAMP", "NO"),
            ("is_again", "BOOLEAN", "NO"),
            ("status", "INTEGER", "YES"),
            ("error", "VARCHAR", "YES"),
            ("retry_after_at", "TIMESTAMP", "YES"),
            ("origin", "VARCHAR", "NO"),
            ("content_sha256", "BLOB", "NO"),
        ]
        sellers = ledger.execute("describe fact_seller_events").fetchall()
        known = {name: kind for name, kind, *_ in sellers}
        fields = ("revenue", "delinquent", "record_created_at", "business_owner", "ein_key")
        types = ["DOUBLE", "BOOLEAN", "TIMESTAMP", "VARCHAR", "BLOB"]
        assert [known[it] for it in fields] == types


def test_each_value_of_a_review_is_in_its_own_column():
    about = {
        "process_id": "p",
        "customer_id": "s",
        "type": "T",
        "status": "S",
        "deadline_at": "2026-04-30T00:00:00Z",
        "requested_fields": ["revenue"],
    }
    facts = extract([entry("regulatory.registration.review.required", about)], KEYS)
    [webhook], [review] = facts[Webhook], facts[ReviewFact]
    content = webhook.content_sha256
    assert webhook._asdict() == {
        "seq": 7,
        "event_id": "evt",
        "event_type": "regulatory.registration.review.required",
        "created_at": MARCH,
        "occurred_at": 5,
        "recorded_at": 6,
        "origin": "live",
        "is_again": False,
        "has_id": True,
        "is_shape_known": True,
        "replay_of": None,
        "content_sha256": content,
    }
    assert review._asdict() == {
        "seq": 7,
        "event_id": "evt",
        "occurred_at": 5,
        "created_at": MARCH,
        "process_id": "p",
        "seller_id": "s",
        "object_type": "T",
        "status": "S",
        "deadline_at": APRIL,
        "requested_fields": ("revenue",),
        "content_sha256": content,
        "origin": "live",
    }
    [nameless] = extract([entry("seller.denied", {})], KEYS)[Webhook]
    assert (nameless.has_id, nameless.is_shape_known) == (True, False)


def test_each_value_of_a_sellers_record_is_in_its_own_column():
    flags = ["show_profile_online", "decline_on_fail_security_code", "retry"]
    others = ["is_mobile", "decline_on_fail_zipcode", "delinquent"]
    about = {
        **{name: name for name in (*TEXTS, "id", "status", "type", "owner")},
        **dict.fromkeys(flags, True),
        **dict.fromkeys(others, False),
        "account_balance": 1,
        "current_balance": 2.5,
        "revenue": 3,
        "created_at": "2026-03-01T00:00:00Z",
        "updated_at": "2026-04-30T00:00:00Z",
        "decision_reasons": [{"reason": "B"}, {"reason": "A", "detail": "D"}],
    }
    for columns in (flags, others):  # two flags of one value could stand for each other
        for name in columns:
            whole = {**about, name: None}
            [fact] = extract([entry("seller.denied", whole)], KEYS)[SellerEvent]
            assert fact._asdict() == {
                **{it: whole[it] for it in (*TEXTS, *flags, *others, "status", "type")},
                "seq": 7,
                "event_id": "evt",
                "event_type": "seller.denied",
                "occurred_at": 5,
                "created_at": MARCH,
                "seller_id": "id",
                "business_owner": "owner",
                "taxpayer_key": KEYS.of_taxpayer("taxpayer_id"),
                "ein_key": KEYS.of_taxpayer("ein"),
                "document_key": KEYS.of_taxpayer("document_number"),
                "account_balance": 1.0,
                "current_balance": 2.5,
                "revenue": 3.0,
                "record_created_at": MARCH,
                "record_updated_at": APRIL,
                "reasons": '[{"detail":"D","reason":"A"},{"detail":null,"reason":"B"}]',
            }
