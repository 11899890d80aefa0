"""What this machine's ledger holds beyond a backup that is to be restored."""

from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from pipeline.continuity.held import HeldEntries
from pipeline.errors import LedgerInUse, LedgerStalled, NotALedger, PrazoError
from pipeline.inbox import Head, Inbox
from pipeline.log.entries import Entry
from pipeline.settings import Settings
from pipeline.texts import counted


class Proof(NamedTuple):
    """What was proved of an inbox: how many entries it has, their root, and how many of them a
    signature covers, and the root of these. `beyond`: what a checkpoint that was kept elsewhere
    states of more entries."""

    size: int
    root: bytes
    signed: int
    signed_root: bytes
    beyond: Head | None


class Newer(NamedTuple):
    """Entries that are newer than a backup, those of all that the ledger holds whose bytes are
    erased, and which roots over these entries the ledger leads to. `held`: how many entries the
    ledger holds. `is_other`: it does not continue the backup, or nothing can be read of it."""

    entries: Sequence[Entry] = ()
    erased: Sequence[Entry] = ()
    reached: Sequence[Head] = ()
    held: int = 0
    is_other: bool = False


def newer_entries(
    settings: Settings, source: Inbox, proof: Proof, stated: Sequence[Head], notes: list[str]
) -> Newer:
    """What this machine's ledger has after the backup's last entry, if it continues the backup.

    `stated`: what was signed over more entries than the backup has. `notes` get what happened.
    Raises `LedgerInUse` while a process holds the ledger, `LedgerStalled` where it cannot be read
    now, and `NotALedger` where its file is another's, which a restore must not move."""
    size = source.last()[0]
    try:
        with closing(HeldEntries(settings, source.log)) as ledger:
            erased = ledger.erased()  # also of a copy that was cut off before it erased
            if ledger.size <= size:
                return Newer(erased=erased, held=ledger.size)
            if ledger.root_at(size) == proof.root:
                newer = ledger.recorded(size + 1, ledger.size)
                notes.append(
                    f"{counted(len(newer), 'entry that is', 'entries that are')} newer than the"
                    " backup came back from the ledger"
                )
                within = [it for it in stated if it.size <= ledger.size]
                reached = [it for it in within if ledger.root_at(it.size) == it.root]
                return Newer(newer, erased, reached, ledger.size)
            notes.append(f"the ledger is of another history: its root at {size} entries differs")
    except (LedgerInUse, LedgerStalled, NotALedger):  # what cannot be read now may be whole
        raise
    except PrazoError as error:
        notes.append(f"the ledger could not be used: {error.what}")
    return Newer(is_other=True)


def rotations_since(settings: Settings, source: Inbox) -> Sequence[tuple[int, bytes]]:
    """The (seq, body) of the rotations of the log's key that this machine's ledger has after a
    backup's last entry. In a ledger of another history they lead nowhere: the key in force there
    signed none of them. Raises as `newer_entries` does."""
    try:
        with closing(HeldEntries(settings, source.log)) as ledger:
            return ledger.rotations(source.last()[0])
    except (LedgerInUse, LedgerStalled, NotALedger):
        raise
    except PrazoError:
        return ()
