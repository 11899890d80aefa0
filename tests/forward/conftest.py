"""What every test of passing on shares: an inbox on both engines, endpoints, a forwarder."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.forward import forwarder, progress
from pipeline.forward.endpoints import Followed
from pipeline.inbox import Inbox
from pipeline.log.deliveries import Delivery
from pipeline.log.entries import Entry
from pipeline.settings import Settings
from tests.forward.sink import SECRET, Sink, sink
from tests.inbox.conftest import inbox, location
from tests.support import events
from tests.support.machine import wait_until
from tests.support.stores import settings_in

__all__ = ["inbox", "location"]

Forwarding = Callable[..., AbstractContextManager[Settings]]


SELLERS = ("sel_1", "sel_2", "sel_3")


def has_begun(inbox: Inbox, *names: str) -> None:
    """Waits until the endpoints have rows: what comes from then on is theirs."""
    wait_until(lambda: set(names or ("to_1",)) <= set(progress.standings(inbox)))


def deliver(inbox: Inbox, *bodies: bytes, content_type: bytes = b"application/json") -> list[Entry]:
    """Records deliveries as the receiver does; their entries."""
    receipts = inbox.append(
        [Delivery(it, instants.now(), "webhook", content_type).draft() for it in bodies]
    )
    return [it.entry for it in receipts if it.entry is not None]


def of_seller(seller: str, **more: Any) -> bytes:
    """An event of a seller that was not seen before."""
    return events.event(payload={"object": {"id": seller, "status": "pending"}}, **more)


def endpoints_file(folder: Path, *endpoints: dict[str, Any]) -> Path:
    """A file of endpoints; what is not given is a name, a secret and short limits."""
    secret = folder / "forward.secret"
    secret.write_text(f"{SECRET}\n", encoding="ascii")
    text = ""
    for number, given in enumerate(endpoints, 1):
        endpoint = {
            "name": f"to_{number}",
            "secret_file": str(secret),
            "timeout_seconds": 2,
            **given,
        }
        lines = [f"{name} = {_toml(it)}\n" for name, it in endpoint.items()]
        text += "".join(["[[endpoint]]\n", *lines])
    file = folder / "forward.toml"
    file.write_text(text, encoding="utf-8")
    return file


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float | list) else f'"{value}"'


@contextmanager
def running(settings: Settings) -> Iterator[Settings]:
    """A forwarder on a thread of this process, ended as by SIGTERM at the end of the block."""
    started, ended = threading.Event(), []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def work() -> None:
        started.set()
        await forwarder.pass_on(settings, stop, Followed(settings.forward_file))

    def run() -> None:
        try:
            loop.run_until_complete(work())
        except BaseException as error:
            ended.append(error)
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        yield settings
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()
        if ended:
            raise ended[0]


@pytest.fixture
def forwarding(location: str, inbox: Inbox, tmp_path: Path) -> Forwarding:
    """Passes on to endpoints for the length of a block."""

    def start(*endpoints: dict[str, Any]) -> AbstractContextManager[Settings]:
        file = endpoints_file(tmp_path, *endpoints)
        return running(settings_in(tmp_path, inbox=location, forward_file=file))

    return start


@pytest.fixture
def market() -> Iterator[Sink]:
    """An endpoint of the marketplace."""
    with sink() as opened:
        yield opened
