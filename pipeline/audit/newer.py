"""What this machine's ledger holds beyond a backup, for whoever puts that back."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from pipeline import files
from pipeline.audit.held import HeldEntries
from pipeline.errors import LedgerInUse, LedgerStalled, PrazoError
from pipeline.inbox import Inbox
from pipeline.inbox.kept_heads import KeptHead
from pipeline.log.entries import Entry
from pipeline.settings import Settings


class Proof(NamedTuple):
    """What was proved of an inbox: how many entries it has, their root, and how many of them a
    signature covers."""

    size: int
    root: bytes
    signed: int


class Newer(NamedTuple):
    """Entries that are newer than a backup, those of all that the ledger holds whose bytes are
    erased, and how many entries a signature covers then."""

    entries: Sequence[Entry]
    erased: Sequence[Entry]
    signed: int


def newer_entries(
    settings: Settings, source: Inbox, proof: Proof, kept: KeptHead | None, notes: list[str]
) -> Newer:
    """What this machine's ledger has after the backup's last entry, if it continues the backup. A
    ledger that does not is set aside. `notes` get what happened. Raises `LedgerInUse` while a
    process holds it, and `LedgerStalled` where it cannot be read now."""
    size = source.last()[0]
    try:
        with closing(HeldEntries(settings, source.log)) as ledger:
            erased = ledger.erased()  # also of a copy that was cut off before it erased
            if ledger.size <= size:
                return Newer((), erased, proof.signed)
            if ledger.root_at(size) == proof.root:
                newer = ledger.recorded(size + 1, ledger.size)
                notes.append(
                    f"{len(newer)} entries that are newer than the backup came back from the ledger"
                )
                signed = proof.signed
                continues = kept is not None and size < kept.size <= ledger.size
                if kept is not None and continues and ledger.root_at(kept.size) == kept.root:
                    signed = kept.size
                return Newer(newer, erased, signed)
            notes.append(f"the ledger is of another history: its root at {size} entries differs")
    except (LedgerInUse, LedgerStalled):  # what cannot be read now may be whole
        raise
    except PrazoError as error:
        notes.append(f"the ledger could not be used: {error.what}")
    _set_aside(settings.ledger, notes)
    return Newer((), (), proof.signed)


def _set_aside(path: Path, notes: list[str]) -> None:
    aside = files.set_aside(path)
    if aside is not None:
        notes.append(f"the former {path.name} was kept as {aside.name}")
