"""Instants, JSON and what goes to quarantine.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import found, process, review
from tests.support.ledgers import asked
from tests.support.lines import at, webhook


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "[]",
        '{"id":"e1"}',
        '{"id":"e1","type":""}',
        '{"id":"e1","type":7}',
        '{"type":"regulatory.registration.review.required","payload":{}}',
    ],
)
def test_a_body_without_a_type_or_a_review_goes_to_quarantine(body):
    history = [webhook(body)]
    [row] = asked(history, "quarantine", at("2026-03-01T12:00:00"))
    assert (row["seq"], row["occurred_at"]) == (1, at("2026-03-01T12:00:00"))
    [delivery] = asked(history, "deliveries", at("2026-03-02T00:00:00"))
    assert (delivery["kind"], delivery["event_id"]) == ("quarantine", None)
    assert found(history, "2026-03-02T00:00:00", "quarantined") == [
        ("quarantined", "risk", 1, at("2026-03-01T12:00:00"))
    ]


@pytest.mark.parametrize("value", ["", None, True, 5.5, [], {}])
def test_a_review_event_must_name_its_process(value):
    history = [review(process_id=value)]
    assert len(asked(history, "quarantine", at("2026-03-02T00:00:00"))) == 1
    assert asked(history, "process_state", at("2026-03-02T00:00:00")) == []


def test_a_whole_number_where_an_id_is_expected_is_read_as_its_digits():
    row = process([review(process_id=5, customer_id=70)], "2026-03-02T00:00:00")
    assert (row["process_id"], row["seller_id"]) == ("5", "70")
    numeric = webhook({"id": 7, "type": "x"})
    history = [numeric, webhook({"id": "7", "type": "x"}, "2026-03-01T12:00:01Z")]
    rows = asked(history, "deliveries", at("2026-03-02T00:00:00"))
    assert {row["seq"]: (row["event_id"], row["is_altered"]) for row in rows} == {
        1: ("7", False),
        2: ("7", True),
    }


@pytest.mark.parametrize("key", ["customer_id", "type", "status"])
@pytest.mark.parametrize("value", ["", None, 5.5, []])
def test_a_part_that_cannot_be_read_is_null_and_the_event_is_recorded(key, value):
    [row] = asked([review(**{key: value})], "process_state", at("2026-03-02T00:00:00"))
    column = {"customer_id": "seller_id", "type": "review_type", "status": "reported_status"}[key]
    assert row[column] is None
    assert row["deadline_at"] == at("2026-04-30T12:00:00")


def test_a_replay_takes_a_delivery_out_of_the_quarantined_findings():
    history = [webhook("{}"), {**review(), "replay_of": 1, "origin": "live"}]
    assert found(history, "2026-03-02T00:00:00", "quarantined") == []
    assert process(history, "2026-03-02T00:00:00")["state"] == "PENDING"
    [row] = asked(history, "quarantine", at("2026-03-02T00:00:00"))
    assert row["replayed_as"] == 2
