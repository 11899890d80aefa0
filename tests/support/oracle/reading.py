"""Bytes and text into plain Python: instants, JSON, fields. Knows nothing of reviews or sellers.

Instants are naive `datetime` values in UTC. Nothing here is shared with the product.
"""

import hashlib
import json
import math
import re
from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
NESTING_LIMIT = 64

OFFSET = r"(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?"
FRACTION = r"(?:[.,](?P<fraction>[0-9]+))?"
EXTENDED = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt ]"
    rf"(?P<hour>[0-9]{{2}}):(?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}}){FRACTION})?{OFFSET}"
)
BASIC = re.compile(
    r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})[Tt]"
    rf"(?P<hour>[0-9]{{2}})(?P<minute>[0-9]{{2}})(?:(?P<second>[0-9]{{2}}){FRACTION})?{OFFSET}"
)


class Unreadable(Exception):
    """A body that docs/rules.md#deliveries sends to quarantine; the text is the reason."""


def instant(text: object) -> datetime | None:
    """The instant that ISO 8601 text names, or None where it names none.

    Instants are UTC; one without an offset is UTC; digits past the microsecond are cut. 24:00 is
    the next midnight, second 60 the one after 59.
    """
    if not isinstance(text, str):
        return None
    parts = EXTENDED.fullmatch(text) or BASIC.fullmatch(text)
    if parts is None:
        return None
    hour, minute, second = int(parts["hour"]), int(parts["minute"]), int(parts["second"] or 0)
    microsecond = int((parts["fraction"] or "0")[:6].ljust(6, "0"))
    if minute > 59 or second > 60:
        return None
    if hour > 23 and (hour, minute, second, microsecond) != (24, 0, 0, 0):
        return None
    clock = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)
    try:
        day = datetime(int(parts["year"]), int(parts["month"]), int(parts["day"]), tzinfo=UTC)
        return day.replace(tzinfo=None) + clock - offset_of(parts["offset"])
    except (ValueError, OverflowError):
        return None


def offset_of(text: str | None) -> timedelta:
    if text is None or text in "Zz":
        return timedelta(0)
    digits = text[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    ahead = timedelta(hours=hours, minutes=minutes)
    return -ahead if text[0] == "-" else ahead


def utc(moment: datetime) -> datetime:
    """A naive datetime is UTC already."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


def day_of(moment: datetime):
    return moment.date()


def end_of_day(day) -> datetime:
    """A day's end is its last microsecond."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).replace(tzinfo=None) + (
        DAY - MICROSECOND
    )


def whole_days(span: timedelta) -> int:
    """floor(span / 24 h)."""
    return span // DAY


def whole_seconds(span: timedelta) -> int:
    """Rounded down, so that a moment too late is -1."""
    return span // SECOND


def sha256(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def json_bytes(value: object) -> bytes:
    """The one spelling of a JSON value: compact, keys sorted, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_json(data: bytes) -> object:
    """The JSON value of `data`, or Unreadable for the traps of docs/rules.md#deliveries."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise Unreadable("not UTF-8") from fault
    try:
        value = json.loads(
            text[1:] if text[:1] == "\ufeff" else text,  # RFC 8259 section 8.1
            object_pairs_hook=distinct_keys,
            parse_constant=not_a_number,
            parse_float=finite_float,
            parse_int=integer_of_64_bits,
        )
    except (json.JSONDecodeError, RecursionError) as fault:
        raise Unreadable("not JSON") from fault
    check_depth_and_text(value, 1)
    return value


def distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise Unreadable("duplicate keys")
    return dict(pairs)


def not_a_number(token: str) -> object:
    raise Unreadable(f"{token} is not a JSON number")


def finite_float(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise Unreadable("number beyond range")
    return number


def integer_of_64_bits(token: str) -> int:
    if len(token) > 20 or not -(2**63) <= int(token) < 2**64:
        raise Unreadable("number beyond range")
    return int(token)


def check_depth_and_text(value: object, depth: int) -> None:
    if isinstance(value, (dict, list)) and depth > NESTING_LIMIT:
        raise Unreadable("nested too deeply")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as fault:
            raise Unreadable("half of a surrogate pair") from fault
    elif isinstance(value, dict):
        for key, item in value.items():
            check_depth_and_text(key, depth)
            check_depth_and_text(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_depth_and_text(item, depth + 1)


def text_of(value: object) -> str | None:
    """A readable code: a string that is not empty."""
    return value if isinstance(value, str) and value != "" else None


def identifier(value: object) -> str | None:
    """A readable id: a text that is not empty, or a whole number, read as its digits."""
    return str(value) if is_whole_number(value) else text_of(value)


def is_whole_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def list_of_texts(value: object) -> list[str] | None:
    """Texts only: one other item makes a list unreadable."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    return None


def flattened(value: object, prefix: str = "") -> dict[str, object]:
    """Objects become dotted fields; arrays, scalars and empty objects are fields themselves."""
    if not isinstance(value, dict) or (value == {} and prefix):
        return {prefix: value}
    fields: dict[str, object] = {}
    for key, item in value.items():
        fields.update(flattened(item, f"{prefix}.{key}" if prefix else key))
    return fields


def same_json(one: object, other: object) -> bool:
    """Same type and same value; an object's key order is not a difference."""
    return json_bytes(one) == json_bytes(other)
