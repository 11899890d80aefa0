"""Keeps which parts of the product use an inbox now, and of which release each is.

A part says so for as long as it runs. The rows stand beside the log and prove nothing; no copy of
the log has them.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.aside import Aside
from pipeline.errors import InboxUnavailable
from pipeline.inbox import schema
from pipeline.inbox.store import Inbox
from pipeline.release import release

LEDGER: Final = "ledger"
"""The part that holds one; each other has the name of its heartbeat."""
SAY_SECONDS: Final = 60.0
LATELY: Final = 3 * instants.MINUTE
"""Who has not said so since then was killed."""
END_SECONDS: Final = 2.0
"""So long may a part that ends be kept by an inbox that hangs."""
_COLUMNS: Final = "part, process, release, version, started_at, seen_at"
_SAY: Final = f"""
    insert into parts ({_COLUMNS}) values ($1, $2, $3, $4, $5, $6)
    on conflict (part, process) do update set release = excluded.release,
        version = excluded.version, started_at = excluded.started_at, seen_at = excluded.seen_at"""
_FORGET: Final = "delete from parts where seen_at < $1 or seen_at > $2"
_END: Final = "delete from parts where part = $1 and process = $2"
_RUNNING: Final = f"select {_COLUMNS} from parts where seen_at between $1 and $2 order by 1, 2"


class Running(NamedTuple):
    """One process, with the version of the tables that it knows. Instants are in microseconds."""

    part: str
    process: str  # the machine's name and the process's number there
    release: str
    version: int
    started_at: int
    seen_at: int

    def __str__(self) -> str:
        since = instants.readable(self.started_at)
        return f"{self.part} of Prazo {self.release} ({self.process}, since {since})"


def running(inbox: Inbox) -> list[Running]:
    """Those that use the inbox. Raises `InboxUnavailable`."""
    now = inbox.now()
    return [
        Running._make(row) for row in inbox.query(_RUNNING, now - LATELY, now + instants.MINUTE)
    ]


@contextmanager
def present(inbox: Inbox, part: str) -> Iterator[None]:
    """Says in the inbox that this process runs the part, until the block ends. Where the inbox
    cannot be written, others say so: it is tried again."""
    over = threading.Event()
    saying = Aside(lambda: _say_until(over, inbox, part), name=f"present as {part}")
    try:
        yield
    finally:
        over.set()
        saying.ends_within(END_SECONDS)


def _say_until(over: threading.Event, inbox: Inbox, part: str) -> None:
    process, started_at = f"{socket.gethostname()} {os.getpid()}", inbox.clock()
    while not over.is_set():
        with suppress(InboxUnavailable):
            now = inbox.now()
            ours = (part, process, release(), schema.VERSION, started_at, now)
            inbox.execute(_SAY, *ours)
            inbox.execute(_FORGET, now - instants.DAY, now + instants.DAY)
        over.wait(SAY_SECONDS)
    with suppress(InboxUnavailable):
        inbox.execute(_END, part, process)
