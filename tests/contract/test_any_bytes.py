"""Any bytes give an event or one kind of error, and never two meanings."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.contract.body import canonical_json, parse_json
from pipeline.contract.event_types import FAMILIES, REVIEW_REQUIRED
from pipeline.contract.events import read_event
from pipeline.errors import Unreadable
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Place, record_entry

unhurried = settings(deadline=None)  # the machine may be busy


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(),
        st.text(st.characters(categories=["Cs", "Lu"]), max_size=3),
        st.sampled_from(["2026-03-01T00:00:00Z", "s1", "x" * 513, "a\0b", ""]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


FIELDS = [
    *("id", "status", "type", "first_name", "taxpayer_id", "address", "metadata", "revenue"),
    *("retry", "decision_reasons", "delinquent", "birthdate", "created_at", "account_balance"),
    *("process_id", "customer_id", "deadline_at", "requested_fields"),
    *("seller_id", "customer", "seller", "object", "payload"),
]


records = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=8)


readable_reviews = st.fixed_dictionaries(
    {
        "type": st.just("REGISTRATION_REVIEW_REQUIRED"),
        "process_id": st.text(min_size=1, max_size=600),
        "customer_id": st.text(min_size=1, max_size=600),
        "deadline_at": st.just("2026-04-30T00:00:00Z"),
    },
    optional={"status": json_values, "requested_fields": json_values},
)


records_with_an_id = st.builds(
    lambda record, id: {**record, "id": id}, records, st.text(min_size=1, max_size=600)
)


payloads = st.one_of(json_values, records, records_with_an_id)


def _envelopes(types: st.SearchStrategy[Any], payloads: st.SearchStrategy[Any]) -> Any:
    return st.fixed_dictionaries(
        {"type": types, "payload": payloads},
        optional={"id": json_values, "created_at": json_values},
    )


def _inside(objects: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"object": objects})


envelopes = st.one_of(
    _envelopes(json_values, payloads),
    _envelopes(st.sampled_from(sorted(FAMILIES)), st.one_of(payloads, _inside(payloads))),
    _envelopes(st.just(REVIEW_REQUIRED), _inside(st.one_of(records, readable_reviews))),
)


def _bytes_of(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _escaped_bytes_of(value: object) -> bytes:
    return json.dumps(value).encode()


any_bytes = st.one_of(
    st.binary(),
    st.text().map(str.encode),
    json_values.map(_bytes_of),
    json_values.map(_escaped_bytes_of),
    *[envelopes.map(_bytes_of), envelopes.map(_escaped_bytes_of)] * 2,
)


def _outcome(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except Unreadable as unreadable:
        return unreadable


@unhurried
@given(data=any_bytes)
@example(data=b'{"type":"seller.created","payload":{"id":"s","metadata":' + b"[" * 62 + b"1")
def test_any_bytes_are_json_or_unreadable(data: bytes):
    value = _outcome(parse_json, data)
    if isinstance(value, Unreadable):
        assert value.what
    else:
        assert parse_json(canonical_json(value)) == value


@unhurried
@given(data=any_bytes)
def test_any_bytes_are_an_event_or_unreadable(data: bytes):
    event = _outcome(read_event, data)
    if isinstance(event, Unreadable):
        assert event.what
        return
    assert event.type
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert event.has_id or event.id == digest
    for identifier in (event.id, event.process_id, event.seller_id, event.bank_account_id):
        assert identifier is None or (0 < len(identifier) <= 512 and "\0" not in identifier)


@unhurried
@given(data=any_bytes)
def test_any_bytes_can_be_recorded_and_have_a_leaf_that_every_reader_reads_alike(data: bytes):
    draft = delivery(data, occurred_at=0, recorded_by="webhook")
    assert draft.kind in ("webhook", "quarantine")
    assert draft.body == data
    place = Place(1, 0, 1, None, 1, None, False)
    entry = record_entry(draft, place, log="prazo/1", log_key=b"k" * 32, random=bytes)
    leaf = json.loads(entry.leaf)
    assert entry.leaf.isascii()
    assert entry.leaf == json.dumps(leaf, sort_keys=True, separators=(",", ":")).encode()
    assert all(isinstance(it, str) or 0 <= it < 2**53 for it in leaf.values())
