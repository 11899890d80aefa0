"""Reading JSON: each text has one meaning, or is refused with the reason."""

import hashlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.contract import body
from pipeline.contract.body import content_sha256, parse_content, parse_json
from pipeline.errors import Unreadable
from tests.support.oracle import reading


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b" [1, 2.5, null, true] \n", [1, 2.5, None, True]),
        (b"\xef\xbb\xbf[1]", [1]),  # a byte order mark
        (b'\xef\xbb\xbf {"a":"\xef\xbb\xbf"}', {"a": "\ufeff"}),
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
    assert parse_json(data) == value == reading.read_json(data)


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
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not JSON"),  # one mark, not two
        (b"{}\xef\xbb\xbf", "not JSON"),
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
    with pytest.raises(reading.Unreadable):
        reading.read_json(data)


def test_sixty_four_levels_and_many_brackets_side_by_side_are_not_too_deep():
    assert isinstance(parse_json(b"[" * 64 + b"]" * 64), list)
    assert len(parse_json(b"[" + b"[]," * 1000 + b"[]]")) == 1001
    assert parse_json(b'"' + b"[" * 1000 + b'"') == "[" * 1000


BLANK = st.sampled_from(["", "", " ", "\n\t", "\r", "\xa0", "\x0b"])
TEXT = st.sampled_from(
    [
        *('""', '"a"', '"a"', '"b"', '":"', '"é"', '"\\u0061"', '"\n"', "'a'", '"'),
        *('"\\""', '"\\"\\""', '"\\\\"', '"\\\\\\""', '"\\/"', '"\\u0022"', '"\\u0000"', '"\\x"'),
        *('"\\ud800"', '"\\udc00"', '"\\ud83d\\ude00"', '"\\ud800a"', '"\\ud800\\ud800\\udc00"'),
    ]
)
NUMBERS = [
    *("0", "-0", "-0.0", "1.5", "1e5", "1E400", "-1e400", "5e-324", "0.1", "9007199254740993"),
    *("1e15", "1E2", "0e9", "1.50", "0.00", "9.9999999999999999999", "123456789012345678.5"),
    *("18446744073709551615", "18446744073709551616", "-9223372036854775809", "9" * 30),
    *("01", "1.", "NaN", "Infinity"),
]
SCALAR = TEXT | st.sampled_from([*NUMBERS, "null", "true", "nul", "[", "{}"])


def spaced(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(it for part in parts for it in (BLANK, part)), BLANK).map("".join)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = spaced(TEXT, st.sampled_from([":", ":", ":", ""]), inner)
    return st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]") | st.lists(
        pair, max_size=4
    ).map(lambda pairs: f"{{{','.join(pairs)}}}")


def outcome(parse: Callable[[bytes], object], data: bytes) -> str:
    try:
        return repr(parse(data))  # tells -0.0 from 0, and 1 from 1.0
    except Unreadable as unreadable:
        return f"unreadable: {unreadable.what}"


@given(st.recursive(SCALAR, nested, max_leaves=12), st.sampled_from(["utf-8", "utf-8", "utf-16"]))
def test_the_faster_parser_reads_what_the_slower_reads_and_leaves_it_the_rest(
    text: str, encoding: str
):
    data = text.encode(encoding)
    assert outcome(parse_json, data) == outcome(body._parse_slowly, data)
    if not (value := outcome(body._parse_slowly, data)).startswith("unreadable"):
        digest = content_sha256(body._parse_slowly(data))
        assert outcome(parse_content, data) == f"({value}, {digest!r})"


@pytest.mark.parametrize("number", ["1e15", "1E15"])
def test_a_number_in_few_digits_hides_no_key_that_came_twice(number: str):
    """Written out it is as much longer as what is lost with the key's first value was long."""
    data = f'[{number},{{"a":123456789,"a":1}}]'.encode()
    assert len(data) == len(b'[1000000000000000.0,{"a":1}]')
    assert outcome(parse_json, data) == "unreadable: the key 'a' stands twice in one object"


@pytest.mark.parametrize("levels", [63, 64, 65, 250])
def test_both_parsers_refuse_the_same_depth(levels: int):
    data = b'{"a":[' * (levels // 2) + b"[" * (levels % 2) + b"]" * (levels % 2)
    data += b"]}" * (levels // 2)
    assert outcome(parse_json, data) == outcome(body._parse_slowly, data)
    assert outcome(parse_json, data).startswith("unreadable") == (levels > 64)


def test_the_digest_of_a_content_is_that_of_its_canonical_form():
    """By it the rules order events that are equal else. Encoders write some numbers differently."""
    value = {"b": 1e22, "a": [0.00001, -0.0, 1e16, 0.0001], "ç": 2**64 - 1}
    spelled = '{"a":[1e-05,-0.0,1e+16,0.0001],"b":1e+22,"ç":18446744073709551615}'
    assert content_sha256(value) == hashlib.sha256(spelled.encode()).digest()
    plain = {"b": 10, "a": [1.5, True, None, '\u0001\u007f"\\/'], "A": {}}
    spelled = '{"A":{},"a":[1.5,true,null,"\\u0001\u007f\\"\\\\/"],"b":10}'
    assert content_sha256(plain) == hashlib.sha256(spelled.encode()).digest()
    assert content_sha256({"a": 2**70}) == hashlib.sha256(b'{"a":1180591620717411303424}').digest()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-25, 25).map(lambda power: 1.5 * 10.0**power)
        | TEXTS,
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    )
)
def test_whatever_a_content_is_its_digest_is_that_of_its_canonical_form(value):
    spelled = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert content_sha256(value) == hashlib.sha256(spelled.encode()).digest()
