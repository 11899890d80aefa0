"""Finds what people of the marketplace typed of a person: filters by which they looked somebody up,
reasons, names of views and tickets.

Whether a text quotes the person is judged by the values that the log has of them, before these go,
and by the keyed digests of tax ids that stay.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from pipeline.clearance.sought import DIGEST, words
from pipeline.contract.seller_record import FIELDS, MASKS
from pipeline.inbox import Inbox
from pipeline.ledger.facts import Fact, Keys
from pipeline.ledger.facts.remains import TYPED
from pipeline.ledger.facts.rows import Collection, SellerEvent
from pipeline.log.entries import Entry
from pipeline.log.kinds.clearance import CLEARANCE
from pipeline.log.kinds.note import NOTE
from pipeline.texts import TAX_ID_WITHIN, folded

_FILTERS: Final = ("where", "contains", "between")
FEWEST_CHARACTERS: Final = 3
"""Of a word by which a person is known: shorter ones stand in everything."""
LONGEST_ID: Final = 11
"""Digits of a CPF, and of a telephone number without Brazil's code before it."""
LONG: Final = 8
"""Characters of what stands for one person wherever it is found, such as a line of an address."""
SEQS_PER_QUESTION: Final = 100_000
ENTRIES_PER_READ: Final = 256

_KINDS: Final = ", ".join(f"'{it}'" for it in sorted({*TYPED, NOTE}))
_OF_WORK: Final = f"""
    select {{columns}} from entries
    where seq > $1 and seq <= $2 and kind in ({_KINDS}) and salt is not null
    order by seq
    limit $3"""
_MARKS: Final = re.compile(r"[\s.\-/()+\u2010-\u2015\u2212]")
_WORD: Final = re.compile(r"\w+")
_NAMES: Final = [each.column for each in FIELDS if each.kind == "name"]
_TAX_IDS: Final = [each.column for each in FIELDS if each.kind == "tax id"]
_VALUES: Final = [it for it in MASKS if it not in (*_NAMES, *_TAX_IDS)]


@dataclass
class Person:
    """What the log knows of a person, in the forms in which somebody may have typed it."""

    keys: Keys
    names: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    """Digits and letters of tax ids, documents and telephones, without what separates them."""
    taxpayer_keys: set[bytes] = field(default_factory=set)

    def know(self, facts: Iterable[Fact]) -> None:
        """Takes what these facts say of the person."""
        for fact in facts:
            if isinstance(fact, SellerEvent):
                self._know(fact)
            elif isinstance(fact, Collection) and fact.actor:
                self._name(fact.actor)

    def _know(self, fact: SellerEvent) -> None:
        for column in _NAMES:
            self._name(getattr(fact, column) or "")
        for column in _VALUES:
            for text in _texts(getattr(fact, column)):
                if len(text) >= FEWEST_CHARACTERS:
                    self.values.add(folded(text))
                    self._number(text)
        for column in _TAX_IDS:
            self._number(getattr(fact, column) or "")
        self.taxpayer_keys.update(
            key for key in (fact.taxpayer_key, fact.ein_key, fact.document_key) if key
        )

    def _name(self, name: str) -> None:
        self.names |= {it for it in _WORD.findall(folded(name)) if len(it) >= FEWEST_CHARACTERS}

    def _number(self, text: str) -> None:
        bare = _MARKS.sub("", folded(text))
        if len(bare) >= LONG and sum(it.isdigit() for it in bare) >= LONG:
            self.numbers |= {bare, bare.removeprefix("55") if len(bare) > LONGEST_ID else bare}

    def is_quoted_in(self, text: str, *, is_theirs: bool = False) -> bool:
        """Whether a text has a number or an address of the person, or their whole name.
        `is_theirs`: it stands beside their entries, so that one word of the name is enough."""
        plain = folded(text)
        bare = _MARKS.sub("", plain)
        if any(it in bare for it in self.numbers) or self._has_tax_id(text):
            return True
        if any(it in plain for it in self.values if len(it) >= LONG):
            return True
        named = {*_WORD.findall(plain)} & self.names
        return len(named) >= (1 if is_theirs else 2)

    def is_sought_by(self, value: str) -> bool:
        """Whether somebody who filters or searches by a value means, or may mean, the person."""
        plain = folded(value).strip("% ")
        bare = _MARKS.sub("", plain)
        if len(plain) < FEWEST_CHARACTERS:
            return False
        known = "\n".join([*self.names, *self.values, *self.numbers])
        is_part = plain in known or (bare != "" and bare in known)
        return is_part or self.is_quoted_in(value, is_theirs=True)

    def _has_tax_id(self, text: str) -> bool:
        found = TAX_ID_WITHIN.finditer(text)
        return any(self.keys.of_taxpayer(it[0]) in self.taxpayer_keys for it in found)


@dataclass(frozen=True)
class Quoting:
    """An entry of somebody's work that quotes the person."""

    entry: Entry
    says_why: bool
    """Whether its reason may stay."""


def quoting(inbox: Inbox, person: Person, theirs: Iterable[str | None]) -> Iterator[Quoting]:
    """The entries of people's work that quote a person. `theirs`: the ids of the person as a seller
    and of their processes."""
    known = {*theirs} - {None}
    for entry in some_at_a_time(inbox, _OF_WORK):
        said = _said(entry)
        is_theirs = entry.seller_id in known or entry.process_id in known
        reason = str(said.pop("reason", None) or "")
        is_why_theirs = person.is_quoted_in(reason, is_theirs=is_theirs)
        if is_why_theirs or _is_meant(person, entry.kind, said, known):
            yield Quoting(entry, not is_why_theirs)


def _is_meant(person: Person, kind: str, said: Mapping[str, Any], known: set[str | None]) -> bool:
    """Whether what somebody typed quotes the person, or looks them up."""
    what = said.get("what") if kind == CLEARANCE else None
    given = what if isinstance(what, dict) else said
    filters = [given.get(it) for it in (*_FILTERS, "filters")]
    for text in _texts(filters):
        is_ours = text in known or text.startswith(DIGEST) or text in words()
        if not is_ours and person.is_sought_by(text):
            return True
    typed = [said.get(it) for it in TYPED.get(kind, ()) if it in ("name", "query", "number")]
    texts = [it for text in _texts(typed) for it in (text, *dict(parse_qsl(text)).values())]
    return any(person.is_quoted_in(it) for it in texts if it not in known)


def _said(entry: Entry) -> dict[str, Any]:
    try:
        said = json.loads(entry.received or b"{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, which may be JSON within JSON: a filter is, and so is an address."""
    if isinstance(value, str):
        if value[:1] in "{[":
            try:
                yield from _texts(json.loads(value))
                return
            except ValueError:
                pass
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def some_at_a_time(
    inbox: Inbox, sql: str, *, seqs: int = SEQS_PER_QUESTION, entries: int = ENTRIES_PER_READ
) -> Iterator[Entry]:
    """The entries that a question finds, so many read at once: a question must not look through all
    of a large log. `sql`: with `{columns}`, after which seq, up to which and how many."""
    asked = sql.format(columns=inbox.rows.selected)
    after, last = 0, inbox.last()[0]
    while after < last:
        until = after + seqs
        found = inbox.rows.to_entries(inbox.query(asked, after, until, entries))
        yield from found
        after = found[-1].seq if len(found) == entries else until
