"""Reading the platform's bytes: any bytes give an event or one kind of error, and never two
meanings."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline import contract, occurrences
from pipeline.contract import DecisionReason, Event, canonical_json, parse_json, read_event
from pipeline.errors import Unreadable
from pipeline.occurrences import Place, record_entry

unhurried = settings(deadline=None)  # the machine may be busy

FIRST_OF_MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def body(**envelope: object) -> bytes:
    return json.dumps(envelope).encode()


def review(**changes: object) -> bytes:
    inner = {
        "type": "REGISTRATION_REVIEW_REQUIRED",
        "process_id": "p1",
        "customer_id": "s1",
        "status": "PENDING",
        "deadline_at": "2026-04-30T00:00:00Z",
        "requested_fields": ["revenue", "address.postal_code"],
        **changes,
    }
    return body(
        id="evt_1",
        type="regulatory.registration.review.required",
        created_at="2026-03-01T00:00:00Z",
        payload={"object": inner},
    )


def seller(event_type: str = "seller.denied", **record: object) -> bytes:
    return body(id="evt_2", type=event_type, payload={"object": {"id": "s1", **record}})


# --- parse_json ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b" [1, 2.5, null, true] \n", [1, 2.5, None, True]),
        (b'"\\u0041\\ud83d\\ude00"', "A😀"),  # a pair of surrogates is one character
        ('"😀 ação"'.encode(), "😀 ação"),
        (b'"\\\\ud800"', "\\ud800"),  # a backslash and five letters, no surrogate
        (b'"\\u0000"', "\0"),
        (b"-9223372036854775808", -(2**63)),
        (b"18446744073709551615", 2**64 - 1),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"1e-400", 0.0),
        (b'{"a":{"a":1},"b":{"a":2}}', {"a": {"a": 1}, "b": {"a": 2}}),
    ],
)
def test_a_json_value_is_read(data: bytes, value: object):
    assert parse_json(data) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"{'a':1}", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"01", "not JSON"),
        (b'"\n"', "not JSON"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),  # UTF-16
        (b'"\xe9"', "not UTF-8: .* at byte 1"),  # Latin-1
        (b'"\xed\xa0\x80"', "not UTF-8"),  # a surrogate, encoded
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"NaN", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"1e400", "range of a double"),
        (b"-1e400", "range of a double"),
        (b"18446744073709551616", "beyond 64 bits"),
        (b"-9223372036854775809", "beyond 64 bits"),
        (b"1" * 5000, "beyond 64 bits"),
        (b'{"a":1,"a":1}', "'a' stands twice"),
        (b'[{"b":{"a":1,"\\u0061":2}}]', "'a' stands twice"),
        (b'"\\ud800"', "lone surrogate"),
        (b'{"\\udc00":1}', "lone surrogate"),
        (b'["\\ud83d\\ude00","\\ude00\\ud83d"]', "lone surrogate"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
        (b"[" * 500_000, "deeper than 64"),
    ],
)
def test_what_two_readers_could_read_differently_is_unreadable(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        parse_json(data)


def test_sixty_four_levels_and_many_brackets_side_by_side_are_not_too_deep():
    assert isinstance(parse_json(b"[" * 64 + b"]" * 64), list)
    assert len(parse_json(b"[" + b"[]," * 1000 + b"[]]")) == 1001
    assert parse_json(b'"' + b"[" * 1000 + b'"') == "[" * 1000


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
    _envelopes(
        st.sampled_from(sorted(contract.EVENT_TYPES)), st.one_of(payloads, _inside(payloads))
    ),
    _envelopes(st.just(contract.REVIEW_REQUIRED), _inside(st.one_of(records, readable_reviews))),
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
    draft = occurrences.delivery(data, occurred_at=0, recorded_by="webhook")
    assert draft.kind in ("webhook", "quarantine")
    assert draft.body == data
    place = Place(1, 0, 1, None, 1, None, False)
    entry = record_entry(draft, place, log="prazo/1", log_key=b"k" * 32, random=bytes)
    leaf = json.loads(entry.leaf)
    assert entry.leaf.isascii()
    assert entry.leaf == json.dumps(leaf, sort_keys=True, separators=(",", ":")).encode()
    assert all(isinstance(it, str) or 0 <= it < 2**53 for it in leaf.values())


# --- events ----------------------------------------------------------------------------------


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
    )
    assert event.process_id == "p1"
    assert event.review is not None
    assert event.review.type == "REGISTRATION_REVIEW_REQUIRED"
    assert event.review.customer_id == "s1"
    assert event.review.status == "PENDING"
    assert event.review.deadline_at == 1_777_507_200_000_000  # 2026-04-30T00:00:00Z
    assert event.review.requested_fields == ("revenue", "address.postal_code")


@pytest.mark.parametrize("field", ["process_id", "customer_id", "type", "deadline_at"])
@pytest.mark.parametrize("value", [None, "", 7, {}, "a\0b", "x" * 513])
def test_a_review_without_what_a_deadline_needs_is_unreadable_and_names_it(
    field: str, value: object
):
    with pytest.raises(Unreadable, match=rf"without a readable payload\.object\.{field}$"):
        read_event(review(**{field: value}))


def test_a_review_names_everything_that_it_lacks_at_once():
    with pytest.raises(Unreadable, match=r"process_id, .*customer_id, .*type, .*deadline_at"):
        read_event(
            body(type="regulatory.registration.review.required", payload={"object": {"id": "x"}})
        )


@pytest.mark.parametrize("payload", [None, [], "text", {}, {"object": []}, {"object": None}])
def test_a_review_without_an_object_is_unreadable(payload: object):
    with pytest.raises(Unreadable, match=r"payload\.object"):
        read_event(body(type="regulatory.registration.review.required", payload=payload))


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (["revenue", "address", "revenue"], ("revenue", "address", "revenue")),
        ([1, None, "revenue", ["address"]], ("revenue",)),
        ([], ()),
        ("revenue", ()),
        (None, ()),
    ],
)
def test_requested_fields_are_the_texts_of_the_list_as_they_came(
    sent: object, read: tuple[str, ...]
):
    event = read_event(review(requested_fields=sent))
    assert event.review is not None
    assert event.review.requested_fields == read


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"{}", "no event type"),
        (b'{"type":""}', "no event type"),
        (b'{"type":7}', "no event type"),
    ],
)
def test_an_envelope_without_a_type_is_unreadable(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        read_event(data)


def test_a_type_that_the_contract_does_not_list_is_read_as_far_as_it_goes():
    event = read_event(body(id="evt_9", type="seller.renamed", payload={"object": {"id": "s1"}}))
    assert (event.id, event.type, event.seller, event.seller_id) == (
        "evt_9",
        "seller.renamed",
        None,
        None,
    )


@pytest.mark.parametrize("sent", [None, "", 7, ["evt"], "a\0b", "x" * 513])
def test_an_event_without_a_readable_id_is_named_by_its_bytes(sent: object):
    data = body(id=sent, type="seller.created")
    event = read_event(data)
    assert event.id == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert not event.has_id


def test_the_longest_readable_id_is_kept_whole():
    assert read_event(body(id="é" * 512, type="seller.created")).id == "é" * 512


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
    ("field", "sent", "read"),
    [
        ("first_name", "Ana", "Ana"),
        ("first_name", None, None),
        ("first_name", 7, "7"),
        ("metadata", {"b": 1, "a": [True]}, '{"a":[true],"b":1}'),
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


@pytest.mark.parametrize(
    ("payload", "seller_id", "account_id"),
    [
        ({"object": {"id": "b1", "customer_id": "s1"}}, "s1", "b1"),
        ({"id": "b1", "seller_id": "s1"}, "s1", "b1"),
        ({"object": {"id": "b1", "customer": {"id": "s1"}}}, "s1", "b1"),
        ({"object": {"id": "b1", "seller": "s1"}}, "s1", "b1"),
        ({"object": {"account": 7}}, None, None),
        ("text", None, None),
    ],
)
def test_a_bank_account_event_names_its_seller_as_far_as_it_can_be_found(
    payload: object, seller_id: str | None, account_id: str | None
):
    event = read_event(body(type="bank_account.associated", payload=payload))
    assert (event.seller_id, event.bank_account_id) == (seller_id, account_id)
