"""Compares the rows of one list at two instants: which came, which went, which changed. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

Kind = Literal["came", "went", "changed"]
KINDS: Final[tuple[Kind, ...]] = ("changed", "came", "went")
MOST_ROWS: Final = 20_000
"""On either side: what is longer is not compared."""
KIND: Final = "difference"
THEN: Final = "then_"
"""In front of a column's name: its value at the earlier instant."""

Row = Mapping[str, Any]


class Difference(NamedTuple):
    """A row that is not the same at both instants."""

    kind: Kind
    then: Row | None  # None for one that came
    now: Row | None  # None for one that went
    changed: tuple[str, ...]  # columns, of one that changed


def differences(
    then: Sequence[Row], now: Sequence[Row], key: Sequence[str], columns: Sequence[str]
) -> list[Difference]:
    """The rows that differ in some columns: those that changed, came and went, each in the order
    of their list. `key`: what tells a row from the others."""

    def name(row: Row) -> tuple[Any, ...]:
        return tuple(row[it] for it in key)

    before, after = {name(row): row for row in then}, {name(row): row for row in now}
    changed = []
    for of, row in after.items():
        if (earlier := before.get(of)) is not None:
            other = tuple(it for it in columns if row[it] != earlier[it])
            if other:
                changed.append(Difference("changed", earlier, row, other))
    came = [Difference("came", None, row, ()) for of, row in after.items() if of not in before]
    went = [Difference("went", row, None, ()) for of, row in before.items() if of not in after]
    return [*changed, *came, *went]


def table(
    found: Sequence[Difference], schema: pa.Schema, key: Sequence[str], columns: Sequence[str]
) -> pa.Table:
    """The differences as rows: of which kind, the key, and each other column at both instants.
    `schema`: of the list's rows."""
    others = [it for it in columns if it not in key]
    arrays: dict[str, pa.Array] = {KIND: pa.array([it.kind for it in found], pa.string())}
    for column in key:
        values = [(it.now or it.then or {})[column] for it in found]
        arrays[column] = pa.array(values, schema.field(column).type)
    for column in others:
        of = schema.field(column).type
        for prefix, rows in ((THEN, [it.then for it in found]), ("", [it.now for it in found])):
            values = [None if row is None else row[column] for row in rows]
            arrays[prefix + column] = pa.array(values, of)
    return pa.table(arrays)
