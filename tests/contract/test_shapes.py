"""Compiled code reads an event in the usual shape as it is read part by part, and no other."""

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.contract import events, shapes
from pipeline.contract.body import content_sha256, parse_json
from pipeline.contract.event_types import REVIEW_REQUIRED, SELLER_EVENTS
from tests.contract.bodies import body, review
from tests.contract.test_any_bytes import FIELDS
from tests.support.events import SAMPLES

USUAL = [
    path.read_bytes()
    for path in sorted(SAMPLES.glob("*.json"))
    if path.stem.startswith(("seller.", REVIEW_REQUIRED))
]
PLACES: list[tuple[str, ...]] = [
    *((name,) for name in ("id", "type", "created_at", "payload")),
    *(("payload", name) for name in ("object", "decision_reasons", "retry", "id", "process_id")),
    *(("payload", "object", name) for name in (*FIELDS, "updated_at", "customer_id")),
]
REASONS = [
    [],
    [{"reason": "A", "detail": "B"}, {"reason": "A"}, {"reason": "A", "detail": ""}],
    [{"reason": "A", "detail": None, "more": 1}],
    *([{"reason": it}] for it in ("", None, 1)),
    [{"detail": "B"}],
    [{"reason": "A", "detail": 1}],
    ["A"],
    {"reason": "A"},
]
INSTANTS = ["2026-03-01T09:00:00.1-03:00", "2026-02-30T00:00:00Z", "2026-03-01", "20260301T090000Z"]
VALUES = [
    *(None, True, False, 0, -1, 1, 2**53 + 1, 2**64 - 1, 0.1, -0.0, 1e22, "", " ", "1", "p1"),
    *(
        "a\0",
        "é" * 512,
        "é" * 513,
        "😀" * 512,
        "😀" * 513,
        "FINISHED",
        "INCONSISTENT_DATA_UPDATE_REQUIRED",
    ),
    *([], ["revenue"], ["revenue", 1], [None], {}, {"b": [1.5, {"a": "ç"}], "a": None}),
    *REASONS,
    *INSTANTS,
    *sorted(SELLER_EVENTS),
]


def outcome(envelope: dict[str, Any]) -> tuple[str, str]:
    """What is read part by part: the ids, and the event."""
    whole = json.dumps(envelope).encode()
    objects = events._objects(envelope)
    event_id = events.platform_id(envelope.get("id")) or events._digest_name(whole)
    event = events._part_by_part(envelope, content_sha256(envelope), whole)
    return repr(shapes.Identity(event_id, objects.process_id, objects.seller_id)), repr(event)


def check(envelope: dict[str, Any]) -> bool:
    """Whether compiled code read it. It must then be what is read part by part, to the type."""
    identity = shapes.identify(envelope)
    event = shapes.read_event(envelope, content_sha256(envelope))
    if identity is None:
        assert event is None
        return False
    ids, parts = outcome(envelope)
    assert repr(identity) == ids
    assert event is None or repr(event) == parts
    return event is not None


@pytest.mark.parametrize("data", USUAL, ids=lambda data: parse_json(data)["type"])
def test_every_event_that_is_as_the_contract_shows_it_is_read_by_compiled_code(data: bytes):
    assert check(parse_json(data))


@given(
    st.sampled_from(USUAL),
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), max_size=3),
)
@example(USUAL[-1], [(("id",), "a\0")])
@example(USUAL[-1], [(("payload", "object", "created_at"), "")])
def test_whatever_else_an_event_holds_both_ways_read_it_alike(
    data: bytes, changes: list[tuple[tuple[str, ...], object]]
):
    envelope = parse_json(data)
    for (*above, name), value in changes:
        inner = envelope
        for key in above:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner[name] = copy.deepcopy(value)
    if isinstance(envelope["type"], str):
        check(envelope)


@pytest.mark.parametrize(
    ("data", "name", "value"),
    [
        (review(), "customer_id", "😀" * 512),
        *((USUAL[-1], "decision_reasons", it) for it in REASONS[:3]),
        (USUAL[-1], "revenue", 2**64 - 1),
        (USUAL[-1], "address", {"b": [1e22, {"a": "ç"}]}),
        (USUAL[-1], "updated_at", "2026-03-01"),
    ],
)
def test_what_an_event_may_hold_beside_is_read_by_compiled_code_too(
    data: bytes, name: str, value: object
):
    envelope = parse_json(data)
    envelope["payload"]["object"][name] = value
    assert check(envelope)


def test_what_is_only_nearly_as_it_is_shown_is_left_to_be_read_part_by_part():
    kept = parse_json(review())
    for place, value in (
        (("id",), 7),
        (("created_at",), "2026-03-01"),
        (("payload", "object", "deadline_at"), "soon"),
        (("payload", "object", "customer_id"), None),
        (("payload", "object", "requested_fields"), []),
    ):
        changed = copy.deepcopy(kept)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        assert not check(changed), place
    assert not check(parse_json(body(id="1", type="bank_account.deleted", payload={})))
