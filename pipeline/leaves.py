"""Flattens JSON objects into the dotted leaves by which the contract names fields."""

from collections.abc import Iterator, Mapping
from typing import Final

from pipeline.contract import JsonValue

MAX_PATH_CHARACTERS: Final = 512
"""An object below a longer path stays one leaf: else a small body could make gigabytes of paths."""


def leaves(record: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """(dotted path, value) of every leaf of an object, in its order; an empty one has none.

    Arrays and empty objects are leaves as they are. A key may be a dotted path already, as in the
    `fields` of a collection, so a path can come twice: `dict(leaves(record))` keeps the last.
    """
    for key, value in record.items():
        yield from leaves_under(key, value)


def leaves_under(path: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The leaves of a value that stands at `path`: itself, unless it is an object with keys."""
    if isinstance(value, dict) and value and len(path) <= MAX_PATH_CHARACTERS:
        for key, child in value.items():
            yield from leaves_under(f"{path}.{key}", child)
    else:
        yield path, value
