"""What the platform says: reviews, sellers, accounts, and bodies that are broken."""

from collections.abc import Collection

from hypothesis import strategies as st

from tests.support.histories.moments import deadlines, early_moments, moments, spelled
from tests.support.histories.names import (
    CNPJS,
    EVENT_IDS,
    HOME_OF,
    REASONS,
    REQUESTED,
    REVIEW_TYPES,
    SELLERS,
    STATUSES,
    TAXPAYER_IDS,
    TYPE_OF,
    usually,
    without,
)
from tests.support.oracle.contract import BANK_EVENTS, SELLER_EVENTS

BROKEN_BODIES = [
    "",
    "not json",
    "[]",
    "null",
    '"text"',
    "{}",
    '{"id":"evt_1","type":null}',
    '{"id":"evt_1","type":5}',
    '{"id":"evt_1","id":"evt_1","type":"seller.created"}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","revenue":NaN}}}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","revenue":1e999}}}',
    '{"id":"evt_1","type":"seller.created","payload":{"object":{"id":"s1","uri":"\\ud800"}}}',
    '{"id":"evt_1","type":"regulatory.registration.review.required"}',
    '{"id":"evt_1","type":"regulatory.registration.review.required","payload":{"object":[]}}',
    '{"id":"evt_1","type":"regulatory.registration.review.required",'
    '"payload":{"object":{"process_id":7.5,"customer_id":"s1"}}}',
    '{"id":"evt_1","type":"seller.created","payload":' + "[" * 2000 + "]" * 2000 + "}",
]

ODD_INSTANTS = [
    "",
    None,
    1_772_366_400,
    "1772366400",
    "2026-03-01",
    "soon",
    "2026-03-01T24:00:00Z",
    "2026-03-01T24:00:01Z",
    "2026-03-01T12:59:60Z",
    "20260301T120000Z",
    "20260430T0900-0300",
    "20260430",
]
ODD_IDS = ["", None, 7, "7", 7.5, True, [], {"id": "s1"}]
ODD_CODES = ["", None, 3, False, ["PENDING"]]
ODD_PARTS = {
    "id": ODD_IDS,
    "created_at": ODD_INSTANTS,
    "type": ODD_CODES,
    "process_id": [*ODD_IDS, 7, "7"],
    "customer_id": ODD_IDS,
    "status": ODD_CODES,
    "deadline_at": ODD_INSTANTS,
    "requested_fields": [
        "revenue",
        {"0": "revenue"},
        [{"path": "revenue", "of": "é" * 100}],
        ["revenue", {"path": "address"}],
        ["revenue", None],
        ["revenue", ""],
        [],
        None,
    ],
    "decision_reasons": [
        {"reason": "INTERNAL_KYC_POLICY"},
        "INTERNAL_KYC_POLICY",
        ["INTERNAL_KYC_POLICY", {"reason": "FRAUD_PREVENTION"}],
        [{"detail": "NAME_INVALID"}, {"reason": "FRAUD_PREVENTION", "detail": 5}],
        [{"reason": "", "detail": "NAME_INVALID"}],
        None,
    ],
    "retry": ["true", 1, 0, [], None],
    "taxpayer_id": [
        *(12345678909, 234567890, 12345678000195, 12345678909.0, 1.2345678909e30, -123456.0),
        *(None, "", {"of": "s1"}, True),
    ],
    "ein": [12345678000195, 2345678000195, 12345678000195.0, -1, 0.5, None, "", ["12345678000195"]],
    "document_number": [12345678909, 2345678909, 2345678909.0, {"of": "s1"}, None],
    "account_balance": ["10.5", "-3", "10,5", True, [1], "1e3"],
    "is_mobile": ["true", "false", 1, 0, 2, "yes", [], 1.0],
}
"""Values of a shape that the contract does not show, or that look as if it did not."""


IN_ENVELOPES = ["id", "created_at"]
IN_DENIALS = ["decision_reasons", "retry"]
OPTIONAL_IN_REVIEWS = ["status", "requested_fields", "deadline_at", "customer_id", "type"]


@st.composite
def oddly(draw, given: dict, odds: int, parts: Collection[str] = ODD_PARTS) -> dict:
    """The dict, now and then with one of its `parts` in an odd shape."""
    parts = sorted(set(given) & set(parts))
    part = draw(usually(st.none(), st.sampled_from(parts), odds)) if parts else None
    return given if part is None else {**given, part: draw(st.sampled_from(ODD_PARTS[part]))}


@st.composite
def review_events(draw, process_id: str | None = None) -> dict:
    process_id = process_id or draw(st.sampled_from(sorted(HOME_OF)))
    review = {
        "type": draw(usually(st.just(TYPE_OF[process_id]), st.sampled_from(REVIEW_TYPES))),
        "process_id": process_id,
        "customer_id": draw(usually(st.just(HOME_OF[process_id]), st.sampled_from(SELLERS))),
        "status": draw(st.sampled_from(STATUSES)),
        "deadline_at": draw(spelled(deadlines())),
        "requested_fields": draw(st.sampled_from(REQUESTED)),
    }
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": "regulatory.registration.review.required",
        "created_at": draw(spelled(usually(early_moments(), moments(), odds=2))),
        "payload": {"object": draw(oddly(draw(without(OPTIONAL_IN_REVIEWS, 6, review)), 5))},
    }
    return draw(oddly_enveloped(envelope))


@st.composite
def oddly_enveloped(draw, envelope: dict) -> dict:
    """An envelope, now and then without an id or an instant, or with odd ones."""
    return draw(oddly(draw(without(IN_ENVELOPES, 5, envelope)), 7, IN_ENVELOPES))


NO_RECORD = [{}, {"object": {}}, {"object": {"status": "enabled"}}, None]


@st.composite
def seller_events(draw, event_type: str | None = None) -> dict:
    event_type = event_type or draw(st.sampled_from(SELLER_EVENTS))
    record = {
        "id": draw(st.sampled_from(SELLERS)),
        "status": draw(st.sampled_from(["enabled", "denied", "waiting", None])),
        "resource": "seller",
        "taxpayer_id": draw(st.sampled_from(TAXPAYER_IDS + CNPJS)),
        "mcc": draw(st.sampled_from(["5411", "7995"])),
        "is_mobile": draw(st.booleans()),
        "current_balance": draw(st.sampled_from([0.0, 10.5])),
        "created_at": draw(spelled(moments())),
    }
    optional = ["status", "resource", "taxpayer_id", "mcc", "is_mobile", "created_at"]
    if draw(st.booleans()):
        record |= {
            "ein": draw(st.sampled_from(CNPJS)),
            "document_number": draw(st.sampled_from([*TAXPAYER_IDS, "45.678.901-2"])),
            "business_name": draw(st.sampled_from(["Padaria Sol", ""])),
            "account_balance": 3,
        }
        optional += ["ein", "document_number", "business_name"]
    record = draw(without(optional, 2, record))
    if event_type == "seller.denied":
        record["decision_reasons"] = draw(st.lists(st.sampled_from(REASONS), max_size=4))
        record["retry"] = draw(st.sampled_from([True, False, None]))
        record = draw(oddly(draw(without(IN_DENIALS, 3, record)), 2, IN_DENIALS))
    record = draw(oddly(record, 5))
    beside = draw(st.sampled_from([{"retry": True}, {"decision_reasons": REASONS[:1]}]))
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": event_type,
        "created_at": draw(spelled(usually(early_moments(), moments(), odds=2))),
        "payload": draw(
            usually(
                st.just({"object": record}),
                st.sampled_from([record, {"object": record, **beside}, *NO_RECORD]),
                odds=6,
            )
        ),
    }
    return draw(oddly_enveloped(envelope))


@st.composite
def other_events(draw) -> dict:
    envelope = {
        "id": draw(st.sampled_from(EVENT_IDS)),
        "type": draw(st.sampled_from([*BANK_EVENTS, "seller.paused"])),
        "created_at": draw(spelled(moments())),
        "payload": draw(
            st.sampled_from(
                [
                    {"object": {"customer_id": "s1", "number": "1"}},
                    {"customer_id": "s2"},
                    {"object": {"id": "s9", "number": "1"}},
                    {"object": {"customer_id": 7}, "seller_id": "s1"},
                    "text",
                ]
            )
        ),
    }
    return draw(oddly_enveloped(draw(without(["payload"], 9, envelope))))
