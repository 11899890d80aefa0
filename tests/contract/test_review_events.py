"""Reading a review event: its parts, and those that cannot be read."""

import pytest

from pipeline.contract.events import read_event
from pipeline.contract.readings import Event
from pipeline.errors import Unreadable
from tests.contract.bodies import FIRST_OF_MARCH, body, review


def test_a_review_event_is_read():
    event = read_event(review())
    assert event == Event(
        id="evt_1",
        has_id=True,
        type="regulatory.registration.review.required",
        created_at=FIRST_OF_MARCH,
        review=event.review,
        seller=None,
        seller_id="s1",
        bank_account_id=None,
        content_sha256=event.content_sha256,
        unreadable=(),
    )
    assert event.process_id == "p1"
    assert event.review is not None
    assert event.review.type == "REGISTRATION_REVIEW_REQUIRED"
    assert event.review.customer_id == "s1"
    assert event.review.status == "PENDING"
    assert event.review.deadline_at == 1_777_507_200_000_000  # 2026-04-30T00:00:00Z
    assert event.review.requested_fields == ("revenue", "address.postal_code")


@pytest.mark.parametrize(
    ("field", "sent", "read", "found"),
    [
        ("process_id", 7, "7", "7"),
        ("process_id", 2**63, "9223372036854775808", "9223372036854775808"),
        ("customer_id", 7, "7", "7"),
        ("customer_id", None, None, "missing"),
        ("customer_id", "", None, '""'),
        ("customer_id", 7.0, None, "7.0"),
        ("customer_id", False, None, "false"),
        ("customer_id", {"id": "s1"}, None, '{"id":"s1"}'),
        ("customer_id", "x" * 513, None, '"' + "x" * 99),
        ("type", None, None, "missing"),
        ("type", 7, None, "7"),
        ("status", None, None, "missing"),
        ("status", "", None, '""'),
        ("status", ["PENDING"], None, '["PENDING"]'),
        ("deadline_at", None, None, "missing"),
        ("deadline_at", "2026-04-30", None, '"2026-04-30"'),
        ("deadline_at", 1_777_507_200, None, "1777507200"),
        ("requested_fields", None, None, "missing"),
        ("requested_fields", "revenue", None, '"revenue"'),
        ("requested_fields", ["revenue", {"b": 1, "a": 2}], None, '["revenue",{"a":2,"b":1}]'),
        ("requested_fields", [None], None, "[null]"),
    ],
)
def test_a_review_lives_without_a_part_that_cannot_be_read_and_names_what_came(
    field: str, sent: object, read: object, found: str
):
    event = read_event(review(**{field: sent}))
    assert event.review is not None
    assert event.process_id == ("p1" if field != "process_id" else read)
    assert getattr(event.review, field) == read
    assert event.unreadable == ((field, found),)


@pytest.mark.parametrize("payload", [None, [], "text", {}, {"object": []}, {"object": None}])
def test_a_review_without_an_object_is_unreadable(payload: object):
    with pytest.raises(Unreadable, match=r"payload\.object"):
        read_event(body(type="regulatory.registration.review.required", payload=payload))


def test_requested_fields_are_the_texts_of_the_list_as_they_came():
    event = read_event(review(requested_fields=["revenue", "address", "revenue", ""]))
    assert event.review is not None
    assert event.review.requested_fields == ("revenue", "address", "revenue", "")
    assert event.unreadable == ()
