"""Announces the process that holds the ledger, in a small file beside the ledger.

DuckDB lets only one process open the ledger, so every other command on this machine asks that
process over its API. The file says where the process listens, and holds a token that it made at
its start; only the owner of the file can read it.
"""

import contextlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.files import write_whole
from pipeline.http import addresses


@dataclass(frozen=True, slots=True)
class Announcement:
    """Where the ledger's holder listens, and the token that this machine's commands use."""

    url: str
    token: str


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
    """Announces this process as the holder while the block runs."""
    holder = Announcement(addresses.local(host, port), secrets.token_urlsafe(32))
    path = _path(ledger)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"url": holder.url, "token": holder.token}).encode())
    try:
        yield holder
    finally:
        if find(ledger) == holder:
            path.unlink(missing_ok=True)
