"""Writes what the contract lists as SQL: macros of the schema `contract`, for the views. No I/O.

A list is a table macro (`from contract.codes()`), and a trait that views ask for in each of
millions of rows is a scalar one, whose CASE costs no join. They are macros, not tables, since those
are made again wherever ours are, a package carries them, and an audit of a ledger's definitions
holds them to the release.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

from pipeline.contract.event_types import EVENT_TYPES, FAMILIES
from pipeline.contract.fields import BODY, OPTIONAL, OWNER, REQUIRED
from pipeline.contract.listed import listed
from pipeline.contract.review_types import NAMES, REVIEW_TYPES, UNLISTED

SCHEMA: Final = "contract"


@cache
def macros() -> str:
    """The statements that make the schema and its macros; they need nothing else."""
    lists = chain(_event_types(), _review_types(), _codes(), _body())
    return "\n".join((f"create schema if not exists {SCHEMA};", *lists))


def _event_types() -> Iterable[str]:
    yield _scalar("event_family", "event_type", FAMILIES, None)
    statuses = {it.code: it.status for it in EVENT_TYPES}
    yield _scalar("seller_status", "event_type", statuses, None)


def _review_types() -> Iterable[str]:
    yield _scalar("review_type", "code", {it.code: it.name for it in REVIEW_TYPES}, None)
    for trait in ("total_days", "pending_days", "is_partial"):
        of_each = {it.name: getattr(it, trait) for it in REVIEW_TYPES}
        yield _scalar(trait, "review_type", of_each, getattr(UNLISTED, trait))
    yield _constant("unlisted_review_type", UNLISTED.name)
    yield _constant("every_review_type", json.dumps(sorted(NAMES)))


def _codes() -> Iterable[str]:
    yield _table("codes", ("kind", "code"), listed())


def _body() -> Iterable[str]:
    required = [(path, field) for path, needed in REQUIRED.items() for field in needed]
    yield _table("required_fields", ("path", "field"), required)
    foreseen = [(name, name == OWNER) for name in BODY]
    yield _table("foreseen_fields", ("path", "is_of_business"), foreseen)
    yield _scalar("may_be_left_out", "path", dict.fromkeys(OPTIONAL, True), False)


def _table(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    values = ",\n".join(f"    ({', '.join(map(_literal, row))})" for row in rows)
    return (
        f"create or replace macro {SCHEMA}.{name}() as table from (values\n{values}\n)"
        f" as listed ({', '.join(columns)});"
    )


def _scalar(name: str, of: str, values: Mapping[str, object], otherwise: object) -> str:
    cases = " ".join(
        f"when {_literal(key)} then {_literal(said)}"
        for key, said in values.items()
        if said != otherwise
    )
    return (
        f"create or replace macro {SCHEMA}.{name}({of}) as"
        f" case {of} {cases} else {_literal(otherwise)} end;"
    )


def _constant(name: str, value: object) -> str:
    return f"create or replace macro {SCHEMA}.{name}() as {_literal(value)};"


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case _:
            return "'{}'".format(str(value).replace("'", "''"))
