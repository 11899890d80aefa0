"""What is delivered, ingested or named twice counts once.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

from tests.rules.builders import process, review
from tests.support.ledgers import asked
from tests.support.lines import answered, at, webhook


def test_ingested_lines_equal_in_kind_instant_and_content_are_one_entry():
    same_line_other_spelling = review(occurred_at="2026-03-01T09:00:00-03:00")
    history = [review(), same_line_other_spelling, answered()]
    [delivery] = asked(history, "deliveries", at("2026-03-02T00:00:00"))
    [collected] = asked(history, "collections", at("2026-03-02T00:00:00"))
    assert (delivery["seq"], collected["seq"]) == (1, 2)
    assert asked(history, "redeliveries", at("2026-03-02T00:00:00")) == []


def test_live_deliveries_of_one_event_are_two_deliveries_and_one_event():
    history = [
        {**review(), "origin": "live"},
        {**review(occurred_at="2026-03-01T13:00:00Z"), "origin": "live"},
    ]
    rows = asked(history, "deliveries", at("2026-03-02T00:00:00"))
    assert {row["seq"]: (row["is_redelivery"], row["is_altered"]) for row in rows} == {
        1: (False, False),
        2: (True, False),
    }
    assert asked(history, "redeliveries", at("2026-03-02T00:00:00")) == [
        {
            "event_id": "e1",
            "event_type": "regulatory.registration.review.required",
            "deliveries": 2,
            "altered": 0,
            "first_at": at("2026-03-01T12:00:00"),
            "last_at": at("2026-03-01T13:00:00"),
        }
    ]
    assert asked(history, "redeliveries", at("2026-03-01T12:59:59.999999")) == []


def test_an_event_without_an_id_is_named_by_the_sha256_of_its_body():
    [row] = asked([webhook('{"type":"x"}')], "deliveries", at("2026-03-02T00:00:00"))
    assert row["event_id"] == (
        "sha256:c432d16d2a54b09f4af18a18a547a31b57d802f3e057950b50a62052c14cc999"
    )


def test_an_event_without_created_at_takes_its_receipt():
    history = [review(created_at=None, occurred_at="2026-03-01T12:00:05Z")]
    row = process(history, "2026-03-02T00:00:00")
    assert (row["opened_at"], row["reported_at"]) == (
        at("2026-03-01T12:00:05"),
        at("2026-03-01T12:00:05"),
    )
