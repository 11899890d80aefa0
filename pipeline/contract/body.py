"""Parses bodies as strict JSON, and writes JSON values in one canonical form. No I/O."""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from pipeline.errors import Unreadable

JsonValue = Any  # JSON as Python reads it: None, bool, int, float, str, list or dict of such

MAX_DEPTH: Final = 64
"""Levels of objects and arrays; `above` in queries/macros.sql counts as far."""

MAX_ID_CHARACTERS: Final = 512

_LEAST_INTEGER, _GREATEST_INTEGER = -(2**63), 2**64 - 1

_PLAIN_NAME = re.compile(r"[A-Za-z_]{1,40}")

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


# --- bytes -> JSON ---------------------------------------------------------------------------


def parse_json(data: bytes) -> JsonValue:
    """The JSON value in `data`, parsed strictly.

    Parsers disagree on some inputs, and two readers of one body must never see two different
    values. So these raise `Unreadable`: encodings other than UTF-8, duplicate keys, NaN and
    Infinity, whole numbers beyond 64 bits, numbers beyond a double, lone surrogates, and nesting
    deeper than `MAX_DEPTH`. A byte order mark before it is skipped (RFC 8259, section 8.1).
    """
    value, _ = _parsed(data)
    return value


def parse_content(data: bytes) -> tuple[JsonValue, bytes]:
    """The JSON value in `data`, and its `content_sha256`: both of them sooner than one by one.
    Raises `Unreadable` as `parse_json` does."""
    value, form = _parsed(data)
    return value, hashlib.sha256(canonical_form(value) if form is None else form).digest()


def _parsed(data: bytes) -> tuple[JsonValue, bytes | None]:
    """The value, and its canonical form if that was made for it."""
    # The faster parser takes some of what is refused: whole numbers beyond 64 bits, keys that come
    # twice, and what is nested too deep. The slower one says what is wrong, and reads what this one
    # leaves to it.
    try:
        value = _FAST_DECODER.decode(data)
        _OF_64_BITS.encode(value)
        form = _FAST_ENCODER.encode(value)
    except (ValueError, OverflowError, RecursionError):
        return _parse_slowly(data), None
    is_whole = len(form) == len(data) or _has_texts_of(form, data)
    if is_whole and not _is_too_deep(value, form):
        return value, form
    return _parse_slowly(data), None


def _has_texts_of(form: bytes, data: bytes) -> bool:
    """Whether a value's canonical form has as many texts as the JSON that it was read from: it
    lacks those of a key that came twice. None are missing where both are equally long, since the
    faster parser takes nothing that is shorter than its canonical form."""
    marks = _marks(data)
    return marks is not None and marks == _marks(form)


def _marks(data: bytes) -> int | None:
    """How many quotation marks begin or end a text, if this is JSON: all but those after a
    backslash. None where a backslash stands after another: the mark after the two may end a text.
    """
    marks = data.count(b'"')
    if b"\\" not in data:
        return marks
    return None if b"\\\\" in data else marks - data.count(b'\\"')


_PLAIN_FLOATS = 1e-4, 1e16
"""Between these Python writes numbers without an exponent; beyond, encoders differ in how."""


def _plain_float(digits: str) -> float:
    """A number that all encoders write alike, and none in more digits than it came in."""
    value = float(digits)
    if "e" in digits or "E" in digits or not _is_plain(value):
        raise ValueError(digits)
    return value


def _is_plain(number: float) -> bool:
    least, end = _PLAIN_FLOATS
    return not number or least <= abs(number) < end


_FAST_DECODER = msgspec.json.Decoder(float_hook=_plain_float)
_FAST_ENCODER = msgspec.json.Encoder(order="sorted")
_OF_64_BITS = msgspec.msgpack.Encoder()  # it refuses longer whole numbers, sooner than we find one


def _is_too_deep(value: JsonValue, data: bytes) -> bool:
    """`data`: the value as JSON."""
    # To take a byte out costs Python 3.11 a third of what it costs to count it.
    opening = 2 * len(data) - len(data.replace(b"{", b"")) - len(data.replace(b"[", b""))
    return opening > MAX_DEPTH and _depth(value) > MAX_DEPTH


def _parse_slowly(data: bytes) -> JsonValue:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    if _is_too_deep(value, data):
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    if _SURROGATE_ESCAPE.search(data):
        _refuse_lone_surrogates(value)
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                # The reason is exported unmasked, and a key that is not a plain name may be a
                # personal value.
                name = f"the key {key!r}" if _PLAIN_NAME.fullmatch(key) else "a key"
                raise Unreadable(f"{name} stands twice in one object")
            seen.add(key)
    return result


def _integer(digits: str) -> int:
    if len(digits) > 20 or not _LEAST_INTEGER <= (value := int(digits)) <= _GREATEST_INTEGER:
        raise Unreadable("a whole number beyond 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Unreadable("a number beyond the range of a double")
    return value


def _constant(name: str) -> None:
    raise Unreadable(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _depth(value: JsonValue) -> int:
    """Levels of objects and arrays. It walks level by level, so depth cannot exhaust the stack."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _refuse_lone_surrogates(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("a lone surrogate (half a character) in a string") from None


def canonical_json(value: JsonValue) -> bytes:
    """The canonical form of a JSON value: sorted keys, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode("utf-8")


# Made once: `json.dumps` makes an encoder for each value, which doubles the time.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)


def canonical_form(value: JsonValue) -> bytes:
    """What `canonical_json` gives, but sooner: only of a JSON value that `parse_json` gave, or of a
    dict or list that holds such."""
    return _FAST_ENCODER.encode(value) if _are_plain((value,), 0) else canonical_json(value)


def _are_plain(items: Iterable[JsonValue], depth: int) -> bool:
    """Whether the faster encoder writes these in canonical form: not some numbers, nor what it
    would nest too deep. `depth`: of what they are in."""
    for item in items:
        kind = type(item)
        if kind is dict:
            if not _are_plain(item.values(), depth + 1):
                return False
        elif kind is list:
            if not _are_plain(item, depth + 1):
                return False
        elif (kind is int and not _LEAST_INTEGER <= item <= _GREATEST_INTEGER) or (
            kind is float and not _is_plain(item)
        ):
            return False
    return depth <= MAX_DEPTH


def content_sha256(value: JsonValue) -> bytes:
    """The SHA-256 of the canonical form of such a value (docs/rules.md#counting-once)."""
    return hashlib.sha256(canonical_form(value)).digest()


# --- JSON -> records -------------------------------------------------------------------------


def identifier(value: JsonValue) -> str | None:
    """The value if it is an identifier, or None.

    An identifier is a string of 1 to `MAX_ID_CHARACTERS` characters without NUL, which databases
    cannot index.
    """
    if isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARACTERS and "\0" not in value:
        return value
    return None
