"""Many senders at once, and a journal of what they were told."""

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.events import event
from tests.support.receiver import request

CONNECTIONS = 64


@dataclass
class Journal:
    """What the answers said; written down only after an answer was whole."""

    seq_of: dict[str, int] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)


@contextlib.contextmanager
def sending(port: int, name: str) -> Iterator[Journal]:
    """Sends over 64 connections, one delivery after the other on each, for as long as the block
    lasts or the receiver answers."""
    journal = Journal()
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_send(port, name, journal, stop)))
    thread.start()
    try:
        yield journal
    finally:
        stop.set()
        thread.join()


async def _send(port: int, name: str, journal: Journal, stop: threading.Event) -> None:
    senders = (_one(port, f"{name}-{n}", journal, stop) for n in range(CONNECTIONS))
    await asyncio.gather(*senders)


async def _one(port: int, name: str, journal: Journal, stop: threading.Event) -> None:
    """Ends when the receiver is gone; what that did not answer was not acknowledged."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            number = 0
            while not stop.is_set():
                number += 1
                event_id = f"{name}-{number}"
                writer.write(_delivery(event_id, f"sel_{number % 7}"))
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                answer = await reader.readexactly(length)
                status = int(head[9:12])
                journal.statuses[status] += 1
                if status == 200:
                    journal.seq_of[event_id] = json.loads(answer)["seq"]
        finally:
            writer.close()
            await writer.wait_closed()


def _delivery(event_id: str, seller_id: str) -> bytes:
    body = event(id=event_id, payload={"object": {"id": seller_id}})
    return request("POST", "/webhooks", body, {"Host": "localhost"})
