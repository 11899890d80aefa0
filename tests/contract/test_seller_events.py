"""Reading a seller's record, and the reasons of a denial."""

from typing import Any

import pytest

from pipeline.contract.events import read_event
from tests.contract.bodies import FIRST_OF_MARCH, body, seller


def test_a_seller_record_is_the_object_else_the_payload_that_has_an_id():
    in_object = body(type="seller.created", payload={"id": "outer", "object": {"id": "inner"}})
    in_payload = body(type="seller.created", payload={"id": "outer", "object": {"status": "x"}})
    nowhere = body(type="seller.created", payload={"object": {"status": "enabled"}})
    assert read_event(in_object).seller_id == "inner"
    assert read_event(in_payload).seller_id == "outer"
    assert read_event(nowhere).seller is None
    assert read_event(nowhere).seller_id is None


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


@pytest.mark.parametrize(
    ("record", "read", "unreadable"),
    [
        ({"taxpayer_id": "02586980301"}, ("02586980301", None, None), ()),
        # A number loses the zeros in front.
        ({"taxpayer_id": 2586980301}, ("02586980301", None, None), ("taxpayer_id",)),
        ({"taxpayer_id": 25869803012}, ("25869803012", None, None), ("taxpayer_id",)),
        ({"taxpayer_id": 258698030123}, ("00258698030123", None, None), ("taxpayer_id",)),
        ({"taxpayer_id": 0}, ("00000000000", None, None), ("taxpayer_id",)),
        ({"ein": 2345678000195}, (None, "02345678000195", None), ("ein",)),
        ({"document_number": 2586980301}, (None, None, "02586980301"), ("document_number",)),
        # Of a document only where nothing else is the tax id.
        ({"taxpayer_id": "1", "document_number": 25869803}, ("1", None, "00025869803"), ()),
        ({"ein": "--", "document_number": 5}, (None, "--", "00000000005"), ("document_number",)),
        # It would make one person of all who sent the like.
        ({"taxpayer_id": {"of": "s1"}, "ein": [1]}, (None, None, None), ("taxpayer_id", "ein")),
        ({"taxpayer_id": -1, "ein": True}, (None, None, None), ("taxpayer_id", "ein")),
        ({"taxpayer_id": -2586980301.0, "ein": 0.5}, (None, None, None), ("taxpayer_id", "ein")),
        # Whole, as programs write it that keep all numbers with a fraction.
        ({"taxpayer_id": 2586980301.0}, ("02586980301", None, None), ("taxpayer_id",)),
        ({"ein": 2345678000195.0}, (None, "02345678000195", None), ("ein",)),
        ({"document_number": 2586980301.0}, (None, None, "02586980301"), ("document_number",)),
        # As many digits as it has were never sent: a number so large is none of the two.
        ({"taxpayer_id": 1e22, "ein": 1e300}, (None, None, None), ("taxpayer_id", "ein")),
    ],
)
def test_a_tax_id_in_another_shape_is_read_as_far_as_it_can_be_and_said(
    record: dict, read: tuple, unreadable: tuple
):
    """Zeros that a number loses were not put back, so the same company was not recognised."""
    event = read_event(seller("seller.enabled", **record))
    assert event.seller is not None
    fields = event.seller.fields
    said = fields["taxpayer_id"], fields["ein"], event.seller.document_tax_id
    assert said == read
    assert tuple(it.part for it in event.unreadable) == unreadable


def test_a_record_of_a_business_is_read_with_its_owner():
    event = read_event(
        seller(
            "seller.enabled",
            type="business",
            ein="12345678000195",
            business_name="Padaria Sol Ltda",
            business_email="contato@sol.example",
            business_phone=551133334444,
            business_address={"line1": "Rua A, 1"},
            owner={"first_name": "Ana", "taxpayer_id": 2586980301},
        )
    )
    assert event.seller is not None
    fields = event.seller.fields
    assert {name: it for name, it in fields.items() if it is not None} == {
        "type": "business",
        "ein": "12345678000195",
        "business_name": "Padaria Sol Ltda",
        "business_email": "contato@sol.example",
        "business_phone": "551133334444",
        "business_address": '{"line1":"Rua A, 1"}',
        "owner": '{"first_name":"Ana","taxpayer_id":2586980301}',
    }
    assert event.unreadable == ()


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
        # Numbers and flags that no rule reads were null where they came as texts.
        ("revenue", "1000", 1000.0),
        ("account_balance", "-12.5", -12.5),
        ("account_balance", "12,50", None),
        ("current_balance", "nan", None),
        ("is_mobile", "true", True),
        ("delinquent", 0, False),
        ("delinquent", "yes", None),
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
    said = {**event.seller.fields, **event.seller._asdict()}
    assert said[field] == read
