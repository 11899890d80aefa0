"""Nothing in a known event vanishes without a finding.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import review, seller_event
from tests.support.ledgers import World, asked
from tests.support.lines import at, webhook

WORLD, OF_SELLERS = World(), World()
"""Two: in one, events of both kinds would have one numeric id, and be one event."""


def unreadable(history: list[dict]) -> list[str]:
    return sorted(
        row["detail"]
        for row in asked(history, "findings", at("2026-03-05T00:00:00"))
        if row["rule"] == "unreadable_part"
    )


PARTS = [
    ({"customer_id": 7}, "customer_id: 7"),
    ({"customer_id": 5511987654321}, "customer_id: ***21"),
    ({"customer_id": {"name": "Maria"}}, "customer_id: {***}"),
    ({"requested_fields": ["revenue", 5511987654321]}, "requested_fields: [***]"),
    ({"deadline_at": "maria"}, 'deadline_at: "***"'),
    ({"customer_id": None}, "customer_id: missing"),
    ({"process_id": 7}, "process_id: 7"),
    ({"type": None}, "type: missing"),
    ({"type": ["ACP"]}, "type: [***]"),
    ({"status": None}, "status: missing"),
    ({"status": True}, "status: true"),
    ({"deadline_at": "2026-03-01"}, 'deadline_at: "2026-03-01"'),
    ({"deadline_at": 1_774_000_000}, "deadline_at: 1774000000"),
    ({"deadline_at": None}, "deadline_at: missing"),
    ({"requested_fields": None}, "requested_fields: missing"),
    ({"requested_fields": "revenue"}, 'requested_fields: "revenue"'),
    (
        {"requested_fields": [{"path": "revenue", "as": "é"}]},
        "requested_fields: [***]",
    ),
    ({"requested_fields": "Maria da Silva"}, 'requested_fields: "***"'),
    ({"requested_fields": ["529.982.247-25", 5]}, "requested_fields: [***]"),
    ({"requested_fields": ["1990 01 02", 17]}, "requested_fields: [***]"),
    ({"deadline_at": "529.982.247-25"}, 'deadline_at: "***"'),
    ({"deadline_at": "2026-03-01 10h"}, 'deadline_at: "***"'),
    ({"deadline_at": "1990-01-02 11987654321"}, 'deadline_at: "***"'),
    ({"requested_fields": ["revenue", 5]}, 'requested_fields: ["revenue",5]'),
    ({"requested_fields": "r" * 200}, 'requested_fields: "' + "r" * 99),
]
"""Of a review event, and what the finding says of each."""


@pytest.mark.parametrize(
    ("history", "detail"), [(WORLD.add(review(**part)), detail) for part, detail in PARTS]
)
def test_a_part_of_a_review_event_that_was_not_read_as_it_came_is_named(history, detail):
    assert unreadable(history) == [detail]


def test_an_empty_id_is_named():
    assert unreadable([review(customer_id="")]) == ['customer_id: ""']


READ = [
    review(),
    review(requested_fields=[]),
    review(type="SOMETHING_NEW", requested_fields=[]),
    review(requested_fields=["no such path"]),
    review(status="FINISHED", deadline_at=None),
    review(status="FINISHED", requested_fields=None),
    review(type="SOMETHING_NEW", status="SOMETHING_NEW"),
    review(status="FINISHED", deadline_at=None, requested_fields=None),
    webhook({"id": "e1", "type": "seller.paused", "created_at": 5}),
    webhook({"type": "bank_account.deleted", "payload": "text"}),
    seller_event("enabled", "e1", decision_reasons={}, retry="true"),
    seller_event("denied", "e1", decision_reasons=[{"reason": "A", "detail": ""}], retry=True),
    seller_event("denied", "e1", decision_reasons=None, retry=None),
]


@pytest.mark.parametrize("history", [WORLD.add(event) for event in READ])
def test_what_was_read_or_is_rightly_absent_is_not_a_finding(history):
    assert unreadable(history) == []


def test_a_finished_report_names_what_is_there_in_another_shape():
    event = review(status="FINISHED", deadline_at="2026-03-01", requested_fields="revenue")
    assert unreadable([event]) == ['deadline_at: "2026-03-01"', 'requested_fields: "revenue"']


OF_ENVELOPES = [
    ({"id": 7}, ["id: 7"]),
    ({"id": []}, ["id: []"]),
    ({"id": None}, []),
    ({"created_at": "2026-03-01"}, ['created_at: "2026-03-01"']),
    ({"created_at": None}, []),
]


@pytest.mark.parametrize(
    ("history", "details"),
    [
        (world.add({**event, "body": {**event["body"], **part}}), details)
        for world, event in ((WORLD, review()), (OF_SELLERS, seller_event("enabled", "e1")))
        for part, details in OF_ENVELOPES
    ],
)
def test_the_envelope_of_a_known_event_is_read_too(history, details):
    assert unreadable(history) == details


OF_DENIALS = [
    ({"decision_reasons": {"reason": "A"}}, "decision_reasons: {***}"),
    ({"decision_reasons": ["A"]}, "decision_reasons: [***]"),
    ({"decision_reasons": [{"detail": "B"}]}, "decision_reasons: [***]"),
    (
        {"decision_reasons": [{"reason": "A", "detail": 5}]},
        "decision_reasons: [***]",
    ),
    ({"retry": "true"}, 'retry: "true"'),
    ({"retry": 1}, "retry: 1"),
    ({"status": 5}, "record.status: 5"),
    ({"type": {"a": 1}}, "record.type: {***}"),
]


@pytest.mark.parametrize(
    ("history", "detail"),
    [(OF_SELLERS.add(seller_event("denied", "e1", **part)), detail) for part, detail in OF_DENIALS],
)
def test_a_part_of_a_denial_that_was_not_read_as_it_came_is_named(history, detail):
    assert unreadable(history) == [detail]


def test_an_instant_of_a_record_that_cannot_be_read_is_named_and_an_earlier_one_stands():
    history = [
        seller_event("created", "e1", "2026-03-01T12:00:00Z"),
        seller_event("enabled", "e2", "2026-03-02T12:00:00Z"),
    ]
    history[0]["body"]["payload"]["object"]["created_at"] = "2026-02-01T00:00:00Z"
    history[1]["body"]["payload"]["object"]["created_at"] = "2026-03-01"
    assert unreadable(history) == ['record.created_at: "2026-03-01"']
    [row] = asked(history, "seller_state", at("2026-03-05T00:00:00"))
    assert row["created_at"] == at("2026-02-01T00:00:00")


def test_what_stands_beside_the_record_is_not_read_and_is_named():
    event = seller_event("denied", "e1", retry=True)
    event["body"]["payload"] |= {"decision_reasons": [{"reason": "A"}], "retry": False}
    assert unreadable([event]) == ["decision_reasons: [***]", "retry: false"]
    [row] = asked([event], "denials", at("2026-03-05T00:00:00"))
    assert (row["retry"], row["reasons"]) == (True, [])


def test_the_readable_reasons_of_a_denial_count():
    given = ["A", {"reason": "B"}, {"reason": "C", "detail": 5}]
    history = [seller_event("denied", "e1", decision_reasons=given)]
    [row] = asked(history, "denials", at("2026-03-05T00:00:00"))
    assert row["reasons"] == [{"reason": "B", "detail": None}, {"reason": "C", "detail": None}]


def test_a_numeric_id_of_a_record_and_of_an_account_is_read_and_named():
    account = {"id": "e2", "type": "bank_account.associated", "payload": {"customer_id": 8}}
    history = [seller_event("enabled", "e1", seller_id=7), webhook(account)]
    assert unreadable(history) == ["customer_id: 8", "record.id: 7"]
    rows = asked(history, "seller_state", at("2026-03-05T00:00:00"))
    assert [(row["seller_id"], row["status"]) for row in rows] == [
        ("7", "enabled"),
        ("8", "unknown"),
    ]


def test_the_finding_is_about_the_event_that_shows_it():
    history = [
        review("e1"),
        review("e2", occurred_at="2026-03-02T12:00:00Z", customer_id=None, deadline_at=5),
    ]
    rows = asked(history, "findings", at("2026-03-05T00:00:00"))
    assert [
        (row["severity"], row["process_id"], row["seller_id"], row["seq"], row["found_at"])
        for row in rows
        if row["rule"] == "unreadable_part"
    ] == [("risk", "p1", "s1", 2, at("2026-03-02T12:00:00"))] * 2


def test_where_the_process_has_no_seller_the_findings_own_event_names_it():
    history = [
        review("e1", customer_id=None),
        review("e2", "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", deadline_at=5),
    ]
    rows = asked(history, "findings", at("2026-03-05T00:00:00"))
    assert {row["seq"]: row["seller_id"] for row in rows if row["rule"] == "unreadable_part"} == {
        1: None,
        2: "s1",
    }
