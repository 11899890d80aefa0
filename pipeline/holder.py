"""Finds whoever holds the ledger: a small file beside it, readable by its owner alone.

DuckDB lets one process open the file, so every other command on this machine asks that process
over its API. The file says where it listens and carries a token made at its start.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """Where the ledger's holder listens, and the token that this machine's commands use."""

    url: str
    token: str


def _path(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.holder")


def find(ledger: Path) -> Holder | None:
    """The holder that announced itself last, alive or not; None where there is none."""
    try:
        known = json.loads(_path(ledger).read_text(encoding="utf-8"))
        return Holder(url=known["url"], token=known["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def announced(ledger: Path, host: str, port: int) -> Iterator[Holder]:
    """Announces this process for as long as the block lasts."""
    address = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    url = f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
    holder = Holder(url, secrets.token_urlsafe(32))
    path = _path(ledger)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"url": holder.url, "token": holder.token}, file)
    draft.replace(path)
    try:
        yield holder
    finally:
        if find(ledger) == holder:
            path.unlink(missing_ok=True)
