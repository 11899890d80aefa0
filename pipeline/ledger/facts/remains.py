"""What stays of an entry whose bytes are erased: its facts, without what they say of a person.

States, dates, codes and counts follow from it as they did from the bytes, and so do the digests by
which values are compared. No I/O.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, get_args, get_type_hints

from pipeline.contract.body import canonical_json
from pipeline.contract.readings import MISSING
from pipeline.contract.seller_record import FIELDS
from pipeline.ledger.arrow import MASKED_COLUMNS
from pipeline.ledger.facts.rows import (
    TABLES,
    Action,
    AttemptFinish,
    Fact,
    SellerEvent,
    UnreadablePart,
    recorded_name,
)
from pipeline.log.entries import Entry
from pipeline.log.kinds import kinds

FORM: Final = 1
"""Of what is kept. An entry keeps the form in which its bytes were erased."""

_OF_ENTRY: Final[Mapping[str, Callable[[Entry], Any]]] = {
    "seq": lambda entry: entry.seq,
    "recorded_at": lambda entry: entry.recorded_at,
    "is_again": lambda entry: entry.is_again,
    "replay_of": lambda entry: entry.particulars.get("replay_of"),
}
"""Columns that the entry says itself: another one, where it is recorded again."""

_UNMASKED: Final[Mapping[type[Fact], frozenset[str]]] = {
    SellerEvent: frozenset(each.column for each in FIELDS if each.is_erased),
    Action: frozenset({"reason"}),
}
"""What masks leave, and what goes all the same: what a seller's record says of whom its id names,
and what a person wrote."""

_OF_RECORD: Final[Mapping[type[Fact], frozenset[str]]] = {AttemptFinish: frozenset({"error"})}
"""What masks hide, and what stays all the same: it stands in the entry's record, which its leaf
fixes, and an attempt's outcome follows from it."""

_OF_NOBODY: Final = frozenset({MISSING, "[]", "{}", '""', '"true"', '"false"'})
"""What `mask_found` leaves of what came in the place of an unreadable part, whichever it is. It
stays, since the finding about that part says it."""

TYPED: Final[Mapping[str, frozenset[str]]] = {
    code: kind.typed for code, kind in kinds().items() if kind.typed is not None
}
"""Kinds of entries about people's work here, and what of their content somebody typed: it goes
where it, or the reason, quotes a person who is forgotten. Who did what, and when, stays."""

_KEYED: Final = frozenset({"taxpayer_key", "ein_key", "document_key"})
"""Under the key of tax ids, which may be another machine's."""
_WHY: Final = frozenset({"reason of work"})
"""A reason that stays unless it quotes the person."""

_KINDS: Final = {recorded_name(table): kind for kind, table in TABLES.items()}


def of(facts: Iterable[Fact], *, says_why: bool = False) -> bytes:
    """What stays of an entry that has these facts: canonical JSON, the same for the same facts.
    `says_why`: of what people did here, with their reasons, which quote nobody."""
    kept = [[recorded_name(TABLES[type(fact)]), _stays(fact, says_why)] for fact in facts]
    return canonical_json({"facts": kept, "form": FORM})


def work_in(body: bytes | None) -> Any:
    """What the body of an entry about people's work says, or what stays of it where it was erased.
    Raises ValueError for what is not JSON."""
    said = json.loads(body or b"null")
    if not isinstance(said, dict) or said.keys() != {"facts", "form"}:
        return said
    [[_, kept]] = said["facts"]
    return {
        **json.loads(kept.get("content") or "{}"),
        **{name: kept.get(name) or "" for name in ("actor", "reason")},
    }


def _stays(fact: Fact, says_why: bool) -> dict[str, Any]:
    if not isinstance(fact, Action) or fact.kind not in TYPED:
        return _kept(fact)
    said = json.loads(fact.content or "{}")
    gone = TYPED[fact.kind] | kinds()[fact.kind].of_seller
    content = {name: it for name, it in said.items() if name not in gone}
    kept = _kept(fact) | {"content": canonical_json(content).decode()}
    # The digest of the whole would let what was typed be tried.
    kept["body_sha256"] = ""
    kept["body_sha256"] = hashlib.sha256(canonical_json(kept)).hexdigest()
    return kept | ({"reason": fact.reason} if says_why and fact.reason is not None else {})


def _kept(fact: Fact) -> dict[str, Any]:
    masked = MASKED_COLUMNS.get(TABLES[type(fact)], {})
    erased = {*masked, *_UNMASKED.get(type(fact), ()), *_OF_ENTRY}
    erased -= _OF_RECORD.get(type(fact), frozenset())
    if isinstance(fact, UnreadablePart) and fact.found in _OF_NOBODY:
        erased -= {"found"}
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in fact._asdict().items()
        if name not in erased and value is not None
    }


def agree(stated: bytes, expected: bytes) -> bool:
    """Whether both are what stays of the same bytes, under whichever key tax ids compare."""
    said = _comparable(stated, _KEYED)
    return said in [_comparable(expected, it) for it in (_KEYED, _KEYED | _WHY)]


def _comparable(stays: bytes, left_out: frozenset[str]) -> list[list[Any]] | None:
    try:
        facts = json.loads(stays)["facts"]
        return [
            [of, {name: value for name, value in kept.items() if name not in left_out}]
            for of, kept in (_without_why(it) if left_out >= _WHY else it for it in facts)
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _without_why(fact: list[Any]) -> list[Any]:
    table, kept = fact
    if _KINDS.get(table) is not Action or kept.get("kind") not in TYPED:
        return fact
    return [table, {name: it for name, it in kept.items() if name != "reason"}]


def facts_in(entry: Entry) -> Iterator[Fact]:
    """The facts of an entry whose bytes are erased, from what stays of it: null, or an empty text
    where there must be one, in the place of what is gone."""
    for table, kept in json.loads(entry.body or b"{}")["facts"]:
        kind = _KINDS[table]
        yield kind(**{name: _value(entry, name, of, kept) for name, of in _types(table).items()})


def _value(entry: Entry, name: str, of: Any, kept: Mapping[str, Any]) -> Any:
    if name in _OF_ENTRY:
        return _OF_ENTRY[name](entry)
    value = kept.get(name)
    among = get_args(of) or (of,)
    if value is None:
        return None if type(None) in among else ""
    if bytes in among:
        return bytes.fromhex(value)
    return tuple(value) if isinstance(value, list) else value


@cache
def _types(table: str) -> dict[str, Any]:
    return get_type_hints(_KINDS[table])
