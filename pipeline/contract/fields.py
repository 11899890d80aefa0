"""Defines the fields of a submission body: the keys that the contract shows, what each value must
look like, and how objects flatten into dotted paths."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from pipeline.contract.body import JsonValue


@dataclass(frozen=True, slots=True)
class Format:
    """What a field must look like, in words and in code."""

    expected: str
    accepts: Callable[[JsonValue], bool]
    is_optional: bool = False  # its object, or the body, may always go without it


Shown: TypeAlias = Format | Mapping[str, "Shown"]
"""What the contract shows at a path: a field's format, or the members of an object."""


def _is_band(value: JsonValue) -> bool:
    lower, _, upper = value.partition("_to_") if isinstance(value, str) else ("", "", "")
    return _is_digits(lower) and _is_digits(upper) and _size(lower) < _size(upper)


def _size(digits: str) -> tuple[int, str]:
    """What orders whole numbers of any length."""
    digits = digits.lstrip("0")
    return len(digits), digits


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_state(value: JsonValue) -> bool:
    return isinstance(value, str) and len(value) == 2 and value.isascii() and value.isalpha()


def _is_postal_code(value: JsonValue) -> bool:
    return isinstance(value, str) and len(value) == 8 and _is_digits(value)


def _is_country(value: JsonValue) -> bool:
    return isinstance(value, str) and value in _country_codes()


@cache
def _country_codes() -> frozenset[str]:
    import pycountry  # takes 0.1 s, so only submissions import it, not every command

    return frozenset(country.alpha_2 for country in pycountry.countries)


BAND: Final = Format(
    "a band <lower>_to_<upper> of whole numbers with lower < upper, such as 1000_to_5000", _is_band
)
_ADDRESS: Final[Mapping[str, Shown]] = {
    "line1": Format("street and number in one non-empty string", _is_text),
    "line2": Format(
        "the complement as a string, which may be empty, or no key",
        lambda value: isinstance(value, str),
        is_optional=True,
    ),
    "line3": Format("the neighbourhood as a non-empty string", _is_text),
    "city": Format("the city as a non-empty string", _is_text),
    "state": Format("a state code of two letters, such as SP", _is_state),
    "postal_code": Format("a string of 8 digits without a mask", _is_postal_code),
    "country_code": Format("an ISO 3166-1 alpha-2 code in upper case, such as BR", _is_country),
}
OWNER: Final = "owner"
"""What only a business is asked for."""
OF_OWNERS: Final[Mapping[str, Shown]] = {"revenue": BAND, "address": _ADDRESS}
BODY: Final[Mapping[str, Shown]] = {
    "revenue": BAND,
    "address": _ADDRESS,
    OWNER: OF_OWNERS,
}
"""The seller's data in the body; `process_id` and `type` stand beside it."""

IDENTITY: Final = ("process_id", "type")
"""Keys that say which review is answered and for what kind of seller: no seller's data."""


def shown_at(path: str) -> Shown | None:
    """What the contract shows at a dotted path, or None."""
    shown: Shown | None = BODY
    for key in path.split("."):
        shown = shown.get(key) if isinstance(shown, Mapping) else None
    return shown


def paths(shown: Mapping[str, Shown] = BODY, above: str = "") -> Iterator[str]:
    """The dotted paths of all that the contract shows: of objects, and of what is in them."""
    for name, inner in shown.items():
        yield f"{above}{name}"
        if not isinstance(inner, Format):
            yield from paths(inner, f"{above}{name}.")


FORMATS: Final[Mapping[str, Format]] = {
    path: shown for path in paths() if isinstance(shown := shown_at(path), Format)
}
"""Path of each field of the body -> its format, in the contract's order."""

OPTIONAL: Final = tuple(path for path, shown in FORMATS.items() if shown.is_optional)
"""The paths of the fields that may always be left out."""

REQUIRED: Final[Mapping[str, Sequence[str]]] = {
    above: [
        path
        for path, shown in FORMATS.items()
        if path.startswith(f"{above}.") and not shown.is_optional
    ]
    for above in paths()
    if above not in FORMATS
}
"""Path of an object of the body -> the fields that it must have, in the contract's order."""


_LINES: Final[Mapping[str, str]] = {
    "street": "line1, which holds street and number in one string",
    "number": "line1, which holds street and number in one string",
    "complement": "line2, which holds the complement",
    "neighborhood": "line3, which holds the neighbourhood",
}


def instead_of(key: str, shown: Mapping[str, Shown]) -> str:
    """Advice on what to send instead of `key`, which is not among the members `shown`."""
    plain = re.sub(r"[\W_]", "", key.lower())
    if line := _LINES.get(plain):
        return line
    if meant := next((name for name in shown if name.replace("_", "") == plain), None):
        return f"{meant}, spelled like this"
    if "." in key:
        return "nested objects: a dotted path is not a key"
    return "no such key: neither the contract nor requested_fields name it"


def shape(value: JsonValue) -> str:
    """A description of a JSON value that helps to find its fault, but does not show its content,
    which may be personal."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case float():
            return "a decimal number"
        case str():
            return f"a string of {_characters(value)}" if value else "an empty string"
        case list():
            return "an array"
        case _:
            return "an object" if value else "an empty object"


def _characters(text: str) -> str:
    """`9 characters (digits: 8, others: 1)`: reveals a mask, a wrong case or a stray space."""
    counts = {
        "upper-case letters": sum("A" <= it <= "Z" for it in text),
        "lower-case letters": sum("a" <= it <= "z" for it in text),
        "digits": sum("0" <= it <= "9" for it in text),
        "spaces": text.count(" "),
    }
    counts["others"] = len(text) - sum(counts.values())
    kinds = ", ".join(f"{kind}: {count}" for kind, count in counts.items() if count)
    return f"{len(text)} characters ({kinds})"


MAX_PATH_CHARACTERS: Final = 512
"""An object below a longer path stays one field; otherwise a small body could make gigabytes of
paths."""


def flatten(record: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """(dotted path, value) of every field of an object, in the object's order.

    Arrays, and empty objects inside it, are fields. A key may be a dotted path already, as in the
    `fields` of a collection, so a path can appear twice: `dict(flatten(record))` keeps the last.
    """
    for key, value in record.items():
        yield from flatten_under(key, value)


def flatten_under(path: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The fields of a value that stands at `path`: itself, unless it is an object with keys."""
    if isinstance(value, dict) and value and len(path) <= MAX_PATH_CHARACTERS:
        for key, child in value.items():
            yield from flatten_under(f"{path}.{key}", child)
    else:
        yield path, value
