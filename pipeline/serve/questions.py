"""Reads from a request which rows of a view it asks for: filters, ranges, search, order."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.datastructures import QueryParams

from pipeline.errors import WrongUsage
from pipeline.http.callers import MissingScope
from pipeline.ledger import reader
from pipeline.serve import identifiers

SELECTING: Final = ("where", "from", "before", "contains")
"""Parameters that choose rows. Each may come several times, written `COLUMN=VALUE`."""


def selection(query: QueryParams, *, may_see_people: bool) -> dict[str, Any]:
    """`where`, `between` and `contains`, as `pipeline.ledger.reader.Reader.read` takes them.

    Where people are masked, no range and no search looks into ids: asked often enough they would
    spell out an id that its mask hides. Raises `WrongUsage` and `MissingScope`.
    """
    first, beyond = (reader.parse_filters(query.getlist(it)) for it in ("from", "before"))
    contains = dict(_parts(query.getlist("contains")))
    spelling = {*first, *beyond, *contains}
    if not may_see_people and any(identifiers.mask_of(column) for column in spelling):
        raise MissingScope("read_personal")
    return {
        "where": reader.parse_filters(query.getlist("where")),
        "between": {it: (first.get(it), beyond.get(it)) for it in {**first, **beyond}},
        "contains": contains,
    }


def order(text: str | None) -> str | None:
    """`column` or, of `-column`, `column desc`; None for the view's own order."""
    if not text:
        return None
    return f"{text[1:]} desc" if text.startswith("-") else text


def _parts(texts: Sequence[str]) -> list[tuple[str, str]]:
    parts = []
    for text in texts:
        column, equals, part = text.partition("=")
        if not column or not equals:
            raise WrongUsage(f"{text!r} is not a search", remedy="write it as COLUMN=PART")
        parts.append((column, part))
    return parts
