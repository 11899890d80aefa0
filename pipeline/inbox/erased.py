"""Which entries of an inbox were erased, and the one change that its tables take: bytes that came
go, and what stays of them takes their place.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from pipeline.errors import InboxUnavailable
from pipeline.inbox.postgres.remains import TABLES
from pipeline.inbox.sqlite.file import make_whole
from pipeline.inbox.sqlite.inbox import SqliteInbox
from pipeline.inbox.store import Inbox, Statement
from pipeline.log import erasures
from pipeline.log.entries import Entry

SECONDS_TO_CUT: Final = 5.0

_ERASE: Final = "update entries set body = $1, salt = null where seq = $2 and salt is not null"
_IS_THERE: Final = "select 1 from entries where seq = $1 and salt is not null"
_UNLESS_RECORDED: Final = " and not exists (select 1 from entries where ingest_key = $3)"

_VACUUM: Final = f"vacuum {', '.join(TABLES)}"


def erased_in(inbox: Inbox) -> dict[int, bytes]:
    """Of each entry that the inbox's erasures name, the digest of what stays of it."""
    return erasures.known(inbox.query(erasures.ASKED))


def newest_erasure(inbox: Inbox) -> int:
    """The seq of the newest erasure; 0 while nothing was erased."""
    [(seq,)] = inbox.query(erasures.NEWEST)
    return int(seq)


def erasing(remains: Mapping[int, bytes], ingest_key: bytes | None = None) -> list[Statement]:
    """What puts `remains` (seq -> what stays) in the place of bytes. Each statement changes one
    row, or none where they are gone already. `ingest_key`: of the erasure that is recorded with
    them; where the inbox has it already, the first changes nothing, and that stands for all."""
    first, *others = [Statement(_ERASE, (it, seq)) for seq, it in remains.items()]
    if ingest_key is not None:
        first = Statement(_ERASE + _UNLESS_RECORDED, (*first.values, ingest_key))
    return [first, *others]


def unerased(inbox: Inbox) -> tuple[bool, list[Entry]]:
    """Whether anything was ever erased; and the entries whose bytes are there all the same."""
    named = erased_in(inbox)
    return bool(named), [it for it in _entries(inbox, named) if not it.is_erased]


def erased_entries(inbox: Inbox) -> Iterator[Entry]:
    """Entries whose bytes are erased, as an erasure of the inbox says."""
    return (it for it in _entries(inbox, erased_in(inbox)) if it.is_erased)


def _entries(inbox: Inbox, seqs: Iterable[int]) -> Iterator[Entry]:
    return (it for it in map(inbox.entry, sorted(seqs)) if it is not None)


def erase_again(inbox: Inbox, erased: Iterable[Entry]) -> int:
    """Puts what stays of erased entries, as another store holds them, in the place of bytes that
    this inbox still has, or has again: many in one commit. Returns how many. Only those that its
    own erasures name, by that digest; raises `InboxUnavailable`."""
    named = erased_in(inbox)
    remains = (
        (entry.seq, entry.body)
        for entry in erased
        if entry.salt is None
        and entry.body is not None
        and named.get(entry.seq) == erasures.digest_of(entry.body)
        and inbox.query(_IS_THERE, entry.seq)
    )
    changed = 0
    while some := dict(islice(remains, erasures.MOST_ENTRIES)):
        claim, *besides = erasing(some)
        changed += len(some) if inbox.change(claim, besides) else 0
    return changed


def cut(inbox: Inbox, location: str) -> bool:
    """Has the database let go of pages that hold what was erased, as far as it can while others
    use it; whether it did. In an SQLite file, freed bytes are zeros, and what is left stands in its
    WAL, which is emptied once nobody reads. PostgreSQL is told to reuse the place of the rows, in
    each table that something was erased from."""
    if not isinstance(inbox, SqliteInbox):
        inbox.execute(_VACUUM)
        return True
    until = time.monotonic() + SECONDS_TO_CUT
    while True:
        try:
            make_whole(Path(location))
        except InboxUnavailable:
            if time.monotonic() >= until:
                return False
            time.sleep(0.1)
        else:
            return True
