"""What a ledger's file says before another one, made from the inbox, takes its place."""

import logging
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb

from pipeline.errors import LedgerRefused
from pipeline.inbox import Inbox
from pipeline.inbox.erased import erased_in
from pipeline.ledger import file
from pipeline.ledger.arrow import entries_of_former
from pipeline.ledger.facts import Keys, facts_of, remains
from pipeline.log.commitments import is_changed, uncommitted
from pipeline.texts import some_of

LOG = logging.getLogger(__name__)

ENTRIES_PER_READ: Final = 4096


def is_outlived(path: Path, inbox: Inbox, erasure: int) -> bool:
    """Whether a ledger's file, as far as it can be read, was begun before that erasure, and may
    therefore not stay once another one was made.

    Raises `LedgerRefused` where the file has entries as they were recorded and the inbox has not:
    nobody else may have them. So it does where what is said to stay of erased bytes does not follow
    from the bytes that the file still has: nobody could tell that afterwards.
    """
    if not path.exists():
        return False
    try:
        with closing(duckdb.connect(file.name_of(path), read_only=True)) as former:
            if file.erased_to(former) >= erasure:
                return False
            changed, misstated = _compared(former, inbox)
    except duckdb.Error as error:
        LOG.warning("the former ledger cannot be read: %s", error)
        return False
    if changed:
        raise LedgerRefused(
            "The ledger is not made again",
            f"entries {some_of(changed)} of the inbox were changed, and the present ledger, which"
            " would be deleted for what was erased since, has them as they were recorded",
            "put the inbox right first: `prazo restore --from-ledger`, or a backup",
        )
    if misstated:
        raise LedgerRefused(
            "The ledger is not made again",
            f"what is said to stay of the erased entries {some_of(misstated)} is not what their"
            " bytes said, which the present ledger still has",
            "look who recorded that erasure (`prazo show log_entries`), and put a backup back if it"
            " was forged; if it was right, such as another release's, move the ledger's file away",
        )
    return True


def _compared(former: duckdb.DuckDBPyConnection, inbox: Inbox) -> tuple[list[int], list[int]]:
    """The entries that only the file has as they were recorded, and those of which the inbox keeps
    something else than what stays of them; none of a file without bodies."""
    [(is_whole, size)] = former.execute(
        "select (select value from meta where name = 'without_bodies') = 'false',"
        " coalesce((select max(seq) from log), 0)"
    ).fetchall()
    changed: list[int] = []
    misstated: list[int] = []
    erased, identity, last = erased_in(inbox), inbox.identity, 0
    keys = Keys(values=inbox.log_key, taxpayer=b"")
    while is_whole and (entries := inbox.read(last, min(ENTRIES_PER_READ, size - last))):
        first, last = entries[0].seq, entries[-1].seq
        held = {it.seq: it for it in entries_of_former(former, first, last)}
        for entry in entries:
            other = held.get(entry.seq, entry)
            if other == entry or other.leaf != entry.leaf:
                continue  # of another past: a fork is seen by its leaves
            if is_changed(entry, other, identity, erased):
                changed.append(entry.seq)
            elif entry.is_erased and not other.is_erased and not uncommitted(other, identity):
                expected = remains.of(facts_of(other, keys), says_why=True)
                if not remains.agree(entry.body or b"", expected):
                    misstated.append(entry.seq)
    return changed, misstated
