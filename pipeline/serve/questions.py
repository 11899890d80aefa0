"""Reads what a request asks for: which rows of a view, and what its body says."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final, NamedTuple, get_args

from starlette.datastructures import QueryParams

from pipeline import instants
from pipeline.clearance.clearances import Decision
from pipeline.errors import CallerError, WrongUsage
from pipeline.http.callers import MissingScope
from pipeline.ledger.syntax import filters
from pipeline.serve import identifiers

MAX_WHOLE: Final = 2**63 - 1
"""DuckDB takes no more."""
SELECTING: Final = {
    "where": "Only rows whose column has this value, as COLUMN=VALUE; the same column twice: any",
    "from": "Only rows whose column is this or greater, as COLUMN=VALUE",
    "before": "Only rows whose column is less than this, as COLUMN=VALUE",
    "contains": "Only rows whose column contains this text, whatever the case, as COLUMN=PART",
}
"""Parameters that choose rows. Each may come several times."""


def selection(query: QueryParams, view: str, *, may_see_people: bool) -> dict[str, Any]:
    """`where`, `between` and `contains`, as `Reader.read` takes them of a
    view.

    Where people are masked, no range and no search looks into ids, or into codes that may
    hold one: asked often enough they would spell out what its mask hides.

    Raises `WrongUsage` and `MissingScope`.
    """
    first, beyond = (filters.parse(query.getlist(it)) for it in ("from", "before"))
    contains = dict(_parts(query.getlist("contains")))
    spelling = {*first, *beyond, *contains}
    if not may_see_people and any(identifiers.may_be_masked(it, view) for it in spelling):
        raise MissingScope("read_personal")
    return {
        "where": filters.parse(query.getlist("where")),
        "between": {it: (first.get(it), beyond.get(it)) for it in {**first, **beyond}},
        "contains": contains,
    }


def order(text: str | None) -> str | None:
    """`column` or, of `-column`, `column desc`; None for the view's own order."""
    if not text:
        return None
    return f"{text[1:]} desc" if text.startswith("-") else text


def instant(text: str | None, zone: tzinfo, now: int) -> int | None:
    """The instant to look at, in microseconds, of a day its end in the zone; None where none is
    asked for. Raises `WrongUsage`."""
    if not text:
        return None
    found = instants.ending(text, zone, now)
    if found is None:
        raise WrongUsage(
            f"{text!r} is not an instant",
            remedy="write as_of like 2026-03-01T09:00:00Z, or a day like 2026-03-01",
        )
    return found


def whole(text: str | None, name: str) -> int | None:
    """A whole number that is not negative; None where none is asked for. Raises `CallerError`."""
    if not text:
        return None
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_WHOLE))
    if not is_whole or int(text) > MAX_WHOLE:
        raise CallerError(
            f"{name} is not a whole number up to {MAX_WHOLE}", remedy=f"write it like {name}=50"
        )
    return int(text)


class Unmasked(NamedTuple):
    """Why personal values are shown, and to whom."""

    reason: str
    actor: str | None


def unmasked(content: Any) -> Unmasked:
    """What the body of a request for personal values says. Raises `CallerError`."""
    known = isinstance(content, dict) and content.keys() <= {"unmask", "actor"}
    reason, actor = (content.get("unmask"), content.get("actor")) if known else (None, None)
    if not isinstance(reason, str) or not isinstance(actor, str | None):
        raise CallerError(
            "The body does not say why personal values are shown",
            "an object with `unmask` and perhaps `actor` is expected",
            'send {"unmask": "the reason", "actor": "a name"}, or GET for masked rows',
        )
    return Unmasked(reason, actor)


class Decided(NamedTuple):
    """A second person's word."""

    decision: Decision
    reason: str
    actor: str | None


def decided(content: Any) -> Decided:
    """What the body of a decision about a request says. Raises `CallerError`."""
    known = isinstance(content, dict) and content.keys() <= {"decision", "reason", "actor"}
    said = content if known else {}
    decision = next((it for it in get_args(Decision) if it == said.get("decision")), None)
    reason, actor = said.get("reason"), said.get("actor")
    if decision is None or not isinstance(reason, str) or not isinstance(actor, str | None):
        raise CallerError(
            "The body does not say what was decided",
            "an object with `decision` and `reason`, and perhaps `actor`, is expected",
            'send {"decision": "approved", "reason": "why"}, or "refused"',
        )
    return Decided(decision, reason, actor)


def _parts(texts: Sequence[str]) -> list[tuple[str, str]]:
    parts = []
    for text in texts:
        column, equals, part = text.partition("=")
        if not column or not equals:
            raise WrongUsage(f"{text!r} is not a search", remedy="write it as COLUMN=PART")
        parts.append((column, part))
    return parts
