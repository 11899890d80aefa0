"""Tries whether the stores that a listener writes to would take something now, for its `/readyz`
and its metrics."""

import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from pipeline.errors import OperatorError
from pipeline.files.disk import is_full, try_to_write

READY_SECONDS: Final = 5.0
"""A store is ready if a trial succeeds within this time."""
TRIAL_SECONDS: Final = 1.0
"""The least time between two trials of a store, however often somebody asks."""
TRIAL_BYTES: Final = 2**20
"""Written to a folder by a trial: as much as a screen with pictures takes."""

Trial = Callable[[], Awaitable[None]]
"""Writes to a store; raises `OperatorError` where that fails."""


class Trials:
    """Trials of several stores, for one event loop. One of each runs at a time, and what it found
    is used again for a moment, so that frequent questions cost nothing."""

    def __init__(self, stores: Mapping[str, Trial]) -> None:
        """`stores`: a trial of each, by its name."""
        self._stores = stores
        self._running: dict[str, asyncio.Task[str | None]] = {}
        self._began: dict[str, float] = {}
        self._last: dict[str, bool] = {}

    async def faults(self, *names: str) -> dict[str, str]:
        """Why stores take nothing now, by name; without those that do. Waits `READY_SECONDS` at
        most. `names`: which are tried; all without one."""
        asked = names or tuple(self._stores)
        for name in asked:
            self._begin(name)
        trials = [self._running[name] for name in asked]
        if waiting := [it for it in trials if not it.done()]:
            await asyncio.wait(waiting, timeout=READY_SECONDS)
        said = {name: self._said(name) for name in asked}
        self._last |= {name: fault is None for name, fault in said.items()}
        return {name: fault for name, fault in said.items() if fault is not None}

    def _begin(self, name: str) -> None:
        running, now = self._running.get(name), time.monotonic()
        is_over = running is not None and (
            running.cancelled() or (running.done() and now - self._began[name] >= TRIAL_SECONDS)
        )
        if running is None or is_over:
            self._running[name] = asyncio.create_task(_tried(self._stores[name]))
            self._began[name] = now

    def _said(self, name: str) -> str | None:
        running = self._running[name]
        if running.done():
            return running.result()
        return f"a trial write ({name}) takes more than {READY_SECONDS:g} s"

    def collect(self) -> Iterator[Metric]:
        """What the last trials found, as prometheus_client asks for it."""
        family = GaugeMetricFamily(
            "prazo_store_ready", "1 while a store takes what is written to it", labels=["store"]
        )
        for name, is_ready in self._last.items():
            family.add_metric([name], int(is_ready))
        yield family


async def _tried(trial: Trial) -> str | None:
    try:
        await trial()
    except OperatorError as error:
        return error.in_one_line
    except Exception as error:
        return f"a trial write failed: {error!r}"
    return None


def in_thread(trial: Callable[[], None]) -> Trial:
    """A trial that waits for a disk, on a thread of its own: one that hangs holds up nobody else,
    and does not keep the process from ending."""

    async def tried() -> None:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def settle(error: Exception | None) -> None:
            if not ended.done():
                ended.set_exception(error) if error else ended.set_result(None)

        def run() -> None:
            failed = None
            try:
                trial()
            except Exception as error:
                failed = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, failed)

        threading.Thread(target=run, name="trial", daemon=True).start()
        await ended

    return tried


def temporary_files() -> None:
    """Tries the folder in which the system keeps temporary files: uploads of over 1 MiB wait there,
    and packages are put together. Raises `OperatorError`."""
    try:
        try_to_write(temporary_folder(), TRIAL_BYTES)
    except OSError as error:
        raise OperatorError(
            "Temporary files cannot be written",
            "there is no room left for them" if is_full(error) else error.strerror or str(error),
            "make room for temporary files, or let TMPDIR name another folder",
        ) from None


def temporary_folder() -> Path:
    """Where the system keeps temporary files. Raises `OSError` where there is no such place."""
    return Path(tempfile.gettempdir())
