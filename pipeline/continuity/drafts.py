"""The file in which a ledger is made again, beside the one whose place it takes in the end."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import LedgerInUse, LedgerStalled, NoRoom
from pipeline.files import databases, disk
from pipeline.files.locks import locked
from pipeline.places import DATABASE_SUFFIXES


def draft_of(path: Path) -> Path:
    """Where a ledger is built that will stand at that path."""
    return path.with_name(f"{path.name}.rebuilding")


def left(path: Path) -> list[Path]:
    """The files of a draft of the ledger at a path: of one that is being made, or that a process
    left which was killed while it made one. They hold what the ledger holds, in clear."""
    draft = draft_of(path)
    suffixes = (*DATABASE_SUFFIXES, ".tmp")
    files = (draft.with_name(draft.name + suffix) for suffix in suffixes)
    return [it for it in files if it.exists()]


def remove_left(path: Path) -> None:
    """Removes the draft that a killed process left, and none that another is making now."""
    if left(path):
        with contextlib.suppress(LedgerInUse, LedgerStalled, NoRoom), making(path):
            databases.remove_database(draft_of(path))


@contextlib.contextmanager
def making(path: Path | None) -> Iterator[None]:
    """Keeps every other process of this machine from making the ledger at a path again during the
    block: each would delete the other's draft, and neither would come to its end. None: in memory.

    Raises `LedgerInUse` where another does so already. The lock ends with its process.
    """
    if path is None:
        yield
        return
    busy = LedgerInUse(
        f"The ledger {path} is in use",
        "another process is making it again",
        "wait until it has, or stop it",
    )
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path.with_name(f"{path.name}.lock"), busy))
        except OSError as error:
            if disk.is_full(error):
                raise no_room(f"{path.parent} is full") from None
            raise LedgerStalled(
                f"The ledger {path} cannot be made again",
                str(error),
                "let the user that runs Prazo read and write it, and its folder",
            ) from None
        yield


def swapped_in(draft: Path, path: Path, *, is_dropped: bool = False) -> Path | None:
    """The former ledger's new path; None where there is none, or `is_dropped`. Raises `NoRoom`, and
    leaves the present one where it is, where the new one could not be written to its end: DuckDB
    says nothing when it closes."""
    try:
        return databases.swap_in(draft, path, is_dropped=is_dropped)
    except OSError as error:
        databases.remove_database(draft)  # it is what fills the disk
        if not disk.is_full(error):
            raise
        raise no_room(f"{path.parent} is full") from None


def require_room(path: Path) -> None:
    """Raises `NoRoom` where a second ledger would not fit beside the one at a path."""
    needed = path.stat().st_size if path.exists() else 0
    free = shutil.disk_usage(path.parent).free if needed else 0
    if free < needed:
        raise no_room(
            f"it takes {needed / 2**20:,.0f} MiB, and {path.parent} has"
            f" {free / 2**20:,.0f} MiB free"
        )


def no_room(why: str) -> NoRoom:
    """Says that a ledger cannot be made again for want of room."""
    return NoRoom(
        "The ledger cannot be rebuilt",
        f"{why}: the present one stays until the new one is proved",
        "make room on its disk; former ledgers, *.set-aside-*, may be deleted",
    )
