"""Announces the process that holds the ledger, in a small file beside it, and waits for one that
is about to let go.

DuckDB lets only one process open the ledger, so every other command on this machine asks that
process over its API. The file says where the process listens, and holds a token that it made at
its start; only the owner of the file can read it.
"""

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pipeline.errors import LedgerInUse
from pipeline.files.disk import write_whole
from pipeline.http import addresses

LOOK_SECONDS: Final = 5.0
"""Between two looks whether the file is still there."""
IN_USE_SECONDS: Final = 10.0
"""A command that opens the ledger itself has it for a moment: others wait so long for it."""
TRY_SECONDS: Final = 0.1

Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class Announcement:
    """Where the ledger's holder listens, and the token that this machine's commands use."""

    url: str
    token: str


def once_free(opened: Callable[[], Opened]) -> Opened:
    """What opens the ledger, or asks its holder, tried again while a process holds it without an
    answer. Raises `LedgerInUse` where that goes on."""
    until = time.monotonic() + IN_USE_SECONDS
    while True:
        try:
            return opened()
        except LedgerInUse:
            if time.monotonic() >= until:
                raise
        time.sleep(TRY_SECONDS)


def _path(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.holder")


def find(ledger: Path) -> Announcement | None:
    """The last holder that announced itself, alive or not; None if there is no announcement."""
    try:
        known = json.loads(_path(ledger).read_text(encoding="utf-8"))
        return Announcement(url=known["url"], token=known["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def announced(ledger: Path, host: str, port: int) -> Iterator[Announcement]:
    """Announces this process as the holder while the block runs. A file that somebody deletes is
    written again: without it commands and alerts find nobody to ask."""
    holder = Announcement(addresses.local(host, port), secrets.token_urlsafe(32))
    path, over = _path(ledger), threading.Event()

    def announce() -> None:
        write_whole(path, json.dumps({"url": holder.url, "token": holder.token}).encode())

    def keep_announced() -> None:
        while not over.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):
                if not path.exists():
                    announce()

    path.parent.mkdir(parents=True, exist_ok=True)
    announce()
    keeping = threading.Thread(target=keep_announced, name="announcement", daemon=True)
    keeping.start()
    try:
        yield holder
    finally:
        over.set()
        keeping.join(LOOK_SECONDS)  # a disk may hang
        if find(ledger) == holder:
            path.unlink(missing_ok=True)
