"""Reads filters as people write them, and writes filters and orders of a view's rows as SQL. No
I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline import instants
from pipeline.errors import UnknownView, WrongUsage
from pipeline.ledger.views.catalogue import View

Ranges = Mapping[str, tuple[object, object]]
"""Column -> the first value that fits and the first beyond; None for no end."""
Parts = Mapping[str, str | tuple[str, ...]]
"""Column -> a part of its text, or several that it has all of, in any order."""


def parse(texts: Sequence[str]) -> dict[str, object]:
    """Filters written as `COL=VALUE`; an instant, true, false and null are read as such.

    The same column twice means either value. Raises `WrongUsage` for what is not a filter.
    """
    filters: dict[str, object] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise WrongUsage(f"{text!r} is not a filter", remedy="write it as COLUMN=VALUE")
        if column in filters:
            former = filters[column]
            either = former if isinstance(former, list) else [former]
            filters[column] = either = [*either, _value(value)]
            if len({type(it) for it in either if it is not None}) > 1:
                raise WrongUsage(f"{column} has values of several types", remedy="use one")
        else:
            filters[column] = _value(value)
    return filters


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text == "null":
        return None
    instant = instants.parse(text)
    return text if instant is None else instants.naive(instant)


def condition(
    view: View,
    where: Mapping[str, object] | None,
    contains: Parts | None = None,
    between: Ranges | None = None,
) -> tuple[str, list[object]]:
    """The clause that chooses rows of a view, and its parameters; arguments as for `Reader.read`.

    Raises `UnknownView` for a column that it does not have, as those below do.
    """
    terms: list[str] = []
    parameters: list[object] = []
    for name, value in (where or {}).items():
        quoted = column(view, name)
        if value is None:
            terms.append(f"{quoted} is null")
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            some = [it for it in value if it is not None]
            either = f"{quoted} in ({', '.join('?' * len(some)) or 'null'})"
            terms.append(f"({either} or {quoted} is null)" if None in value else either)
            parameters.extend(some)
        else:
            terms.append(f"{quoted} = ?")
            parameters.append(value)
    for name, asked in (contains or {}).items():
        parts = (asked,) if isinstance(asked, str) else asked
        text = f"lower(strip_accents(cast({column(view, name)} as varchar)))"
        terms += [f"contains({text}, lower(strip_accents(?)))"] * len(parts)
        parameters.extend(parts)
    for name, (first, beyond) in (between or {}).items():
        for comparison, end in ((">=", first), ("<", beyond)):
            if end is not None:
                terms.append(f"{column(view, name)} {comparison} ?")
                parameters.append(end)
    return (f" where {' and '.join(terms)}" if terms else "", parameters)


def order(view: View, order_by: str) -> str:
    """The clause of an order by `column` or `column desc`; equal rows are in order of their key."""
    name, _, direction = order_by.partition(" ")
    if direction not in ("", "asc", "desc"):
        raise UnknownView(f"{order_by!r} is not an order", remedy="`column` or `column desc`")
    first = f"{column(view, name)} {direction}".rstrip()
    return f" order by {', '.join([first, *(it for it in view.key if it != name)])}"


def column(view: View, name: str) -> str:
    """The name of a column of the view, as SQL has it."""
    if name not in view.columns:
        raise UnknownView(
            f"The view {view.name} has no column {name!r}",
            remedy=f"choose one of: {', '.join(view.columns)}",
        )
    return f'"{name}"'  # it may be a word of SQL
