"""Finds in a view's SQL what it reads and what its columns are called, by the form that SQL has in
`queries/`. No I/O.

DuckDB's parser would find them in any form, but a command would wait for it as long as for all
views. The tests compare both for each view.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_NOT_READ: Final = re.compile(r"--.*|'[^']*'|distinct from")
"""Comments, texts, and the one `from` that reads nothing."""

_FROM: Final = re.compile(
    r"from\b(?<!\w.{4})\s+([a-z_][\w.]*+(?!\s*\()(?:,\s*[a-z_][\w.]*+(?!\s*\())*)"
)
_JOIN: Final = re.compile(r"join\b\s+([a-z_][\w.]*+(?!\s*\())")
_QUERY: Final = re.compile(r"\n(?:with )?(\w+) as (?:not materialized )?\(\n")
"""Where a WITH clause names a query."""

_INDENTED: Final = re.compile(r"(?:    .*\n|\n)*")
_ENDS: Final = re.compile(r"from(?<=\s.{4})\s")
_STAR: Final = re.compile(r"(?:(\w+)\.)?\*(?: exclude \(([\w, ]*)\))?")
_ALIAS: Final = re.compile(r"\b(?:from|join)\s+([\w.]+)(?:\s+as\s+(\w+))?")


@cache
def bare(sql: str) -> str:
    """The SQL without what may look as if it read something, and does not; each of its lines begins
    with a line break."""
    return _NOT_READ.sub("''", f"\n{sql}")


def read_by(sql: str) -> tuple[str, ...]:
    """The tables and views that a view's bare SQL reads, in their order."""
    own = {*_QUERY.findall(sql)}
    found = sorted((it.start(), it[1]) for how in (_FROM, _JOIN) for it in how.finditer(sql))
    named = (name.strip() for _, names in found for name in names.split(","))
    return tuple(dict.fromkeys(name for name in named if name not in own))


def columns_of(sql: str, known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The columns of a view's bare SQL, in their order; none where it does not name them, as where
    it takes all that a table of facts has. `known`: those of the views that it may read."""
    listed, rest = _listed(sql)
    found: list[str] = []
    for column in listed:
        if "*" in column and (star := _STAR.fullmatch(column)):
            left_out = (star[2] or "").split(", ")
            names = [it for it in _columns_read(star[1], sql, rest, known) if it not in left_out]
        else:
            names = [column.rpartition(" as ")[2].rpartition(".")[2].strip('"')]
        if not names or not names[0].isidentifier():
            return ()
        found += names
    return tuple(found)


def _listed(sql: str) -> tuple[list[str], str]:
    """The columns that the main query lists, each as it is written, and what follows. It is the
    first that is not indented."""
    begins, from_ = sql.find("\nselect"), sql.find("\nfrom")
    if begins < 0 or 0 <= from_ < begins:
        return ["*"], sql
    listed = sql[begins + len("\nselect") :].removeprefix(" distinct")
    for end in _ENDS.finditer(listed):
        if _is_closed(columns := listed[: end.start()]):
            return parts(columns), listed[end.start() :]
    return parts(listed), ""


def parts(listed: str) -> list[str]:
    """What stands between the commas of a list, without those within brackets."""
    parts, part = list[str](), ""
    for piece in listed.split(","):
        part = f"{part},{piece}" if part else piece
        if _is_closed(part):
            parts.append(part.strip())
            part = ""
    return parts


def _is_closed(sql: str) -> bool:
    """Whether each bracket that begins in it also ends in it."""
    return sql.count("(") == sql.count(")") and sql.count("[") == sql.count("]")


def _columns_read(
    alias: str | None, sql: str, rest: str, known: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """All columns of what a query reads by an alias, or else first."""
    read = {(it[2] or it[1]): it[1] for it in _ALIAS.finditer(rest)}
    source = read.get(alias, alias) if alias else next(iter(read.values()), "")
    for query in _QUERY.finditer(sql):
        if query[1] == source and (lines := _INDENTED.match(sql, query.end())):
            return columns_of("\n" + lines[0].replace("\n    ", "\n")[4:], known)
    return known.get(source, ())
