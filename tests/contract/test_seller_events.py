"""Reading a seller's record, and the reasons of a denial."""

from typing import Any

import pytest

from pipeline.contract.events import read_event
from pipeline.contract.records import DecisionReason
from tests.contract.bodies import FIRST_OF_MARCH, body, seller


def test_a_seller_record_is_the_object_else_the_payload_that_has_an_id():
    in_object = body(type="seller.created", payload={"id": "outer", "object": {"id": "inner"}})
    in_payload = body(type="seller.created", payload={"id": "outer", "object": {"status": "x"}})
    nowhere = body(type="seller.created", payload={"object": {"status": "enabled"}})
    assert read_event(in_object).seller_id == "inner"
    assert read_event(in_payload).seller_id == "outer"
    assert read_event(nowhere).seller is None
    assert read_event(nowhere).seller_id is None


def test_a_denial_is_read_with_its_reasons():
    event = read_event(
        seller(
            status="denied",
            retry=True,
            decision_reasons=[
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                {"reason": "INTERNAL_KYC_POLICY"},
                {"reason": "FRAUD_PREVENTION", "detail": ""},
                {"reason": "FRAUD_PREVENTION", "detail": None},
                "no object",
            ],
        )
    )
    assert event.seller is not None
    assert event.seller.retry is True
    assert event.seller.decision_reasons == (
        DecisionReason("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY"),
        DecisionReason("INTERNAL_KYC_POLICY", None),
        DecisionReason("FRAUD_PREVENTION", None),
        DecisionReason("FRAUD_PREVENTION", None),
    )


@pytest.mark.parametrize(
    ("record", "unreadable"),
    [
        ({"retry": True, "decision_reasons": []}, ()),
        ({"retry": None, "decision_reasons": None}, ()),
        ({"decision_reasons": [{"reason": "A"}, {"reason": "B", "detail": ""}]}, ()),
        ({"retry": "true"}, (("retry", '"true"'),)),
        ({"retry": 0}, (("retry", "0"),)),
        ({"decision_reasons": {"reason": "A"}}, (("decision_reasons", '{"reason":"A"}'),)),
        ({"decision_reasons": ["A"]}, (("decision_reasons", '["A"]'),)),
        ({"decision_reasons": [{"detail": "B"}]}, (("decision_reasons", '[{"detail":"B"}]'),)),
        (
            {"decision_reasons": [{"reason": "A", "detail": 7}]},
            (("decision_reasons", '[{"detail":7,"reason":"A"}]'),),
        ),
        ({"status": 7}, (("record.status", "7"),)),
        ({"type": {"a": 1}}, (("record.type", '{"a":1}'),)),
        ({"created_at": "2026-03-01"}, (("record.created_at", '"2026-03-01"'),)),
    ],
)
def test_a_denial_names_the_parts_that_cannot_be_read(record: dict, unreadable: object):
    assert read_event(seller(**record)).unreadable == unreadable


@pytest.mark.parametrize(
    ("payload", "unreadable"),
    [
        (
            {"object": {"id": "s1"}, "decision_reasons": [{"reason": "A"}], "retry": True},
            (("decision_reasons", '[{"reason":"A"}]'), ("retry", "true")),
        ),
        ({"id": "s1", "object": {"retry": False}}, (("retry", "false"),)),
        ({"object": {"id": "s1", "retry": True}, "retry": False}, (("retry", "false"),)),
        (
            {"object": {"id": "s1", "retry": 1}, "retry": False},
            (("retry", "1"), ("retry", "false")),
        ),
        (
            {"object": {"id": "s1", "decision_reasons": []}, "decision_reasons": [{"reason": "A"}]},
            (("decision_reasons", '[{"reason":"A"}]'),),
        ),
    ],
)
def test_a_denial_does_not_read_what_stands_beside_the_record_and_names_it(
    payload: dict, unreadable: object
):
    event = read_event(body(id="e1", type="seller.denied", payload=payload))
    assert event.seller is not None
    assert event.seller.decision_reasons == ()
    assert event.unreadable == unreadable


def test_only_a_denial_has_reasons_and_a_retry_to_read():
    assert read_event(seller("seller.enabled", retry="true", decision_reasons={})).unreadable == ()


@pytest.mark.parametrize(
    ("field", "sent", "read"),
    [
        ("first_name", "Ana", "Ana"),
        ("first_name", None, None),
        ("first_name", 7, "7"),
        ("metadata", {"b": 1, "a": [True]}, '{"a":[true],"b":1}'),
        ("type", "business", "business"),
        ("type", {"a": 1}, None),  # it was shown as a type of that name
        ("type", "", None),
        ("revenue", 1000, 1000.0),
        ("revenue", "1000", None),
        ("revenue", True, None),
        ("retry", "true", None),
        ("retry", 1, None),
        ("created_at", "2026-02-28T21:00:00-03:00", FIRST_OF_MARCH),
        ("created_at", "yesterday", None),
        ("decision_reasons", None, ()),
        ("decision_reasons", {"reason": "X"}, ()),
    ],
)
def test_a_seller_field_of_an_unexpected_shape_never_refuses_the_record(
    field: str, sent: object, read: Any
):
    event = read_event(seller(**{field: sent}))
    assert event.seller is not None
    assert getattr(event.seller, field) == read
