"""The process that passes deliveries on: `prazo forward run`, a part of `prazo serve`.

It reads the inbox alone. The receiver knows nothing of it, and is never waited for nor held up.
"""

import asyncio
import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pipeline import instants, signals
from pipeline.continuity.kept_heads import open_guarded
from pipeline.errors import InboxUnavailable, OperatorError
from pipeline.forward import tenure
from pipeline.forward.courier import Courier
from pipeline.forward.endpoints import Endpoint, Followed
from pipeline.forward.tenure import Tenure
from pipeline.http import addresses
from pipeline.inbox import Inbox, copies
from pipeline.inbox.heartbeats import Part, beat
from pipeline.inbox.leases import Held
from pipeline.inbox.parts import present
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

BEAT_SECONDS: Final = 15.0
START_AGAIN_SECONDS: Final = 30.0
"""After settings that cannot be used, or a copy of the inbox: somebody has to see to it."""
RECHECK_SECONDS: Final = 5.0
"""After the inbox could not be asked."""
RENEW_SECONDS: Final = 1.0
LOOK_UP_THREADS: Final = 64
"""For the names of endpoints: a resolver that hangs for one must not hold up another."""


def run_for_ever(settings: Settings) -> None:
    """Passes on until SIGTERM or SIGINT; what is under way then ends.

    Wrong settings and an inbox that cannot be opened are logged and tried again: the receiver
    beside us must not stop for them.
    """

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        loop.set_default_executor(ThreadPoolExecutor(LOOK_UP_THREADS))
        signals.stop_by_signals(stop.set, loop)
        # Kept when the inbox comes back: a mistake leaves in force what was read before.
        given: Followed | None = None
        while not stop.is_set():
            try:
                given = given or Followed(settings.forward_file)
                await pass_on(settings, stop, given)
            except InboxUnavailable as error:
                LOG.error("passing on waits: %s", error)
                await _sleep(stop, RECHECK_SECONDS)
            except OperatorError as error:
                LOG.error("deliveries are not passed on: %s", error)
                await _sleep(stop, START_AGAIN_SECONDS)

    asyncio.run(run())


async def pass_on(settings: Settings, stop: asyncio.Event, given: Followed) -> None:
    """Passes on to the endpoints that are given, as they change, until `stop` is set. Raises
    `InboxUnavailable` where the inbox cannot be asked, `CopyHeld` where it is a copy."""
    inbox = await asyncio.to_thread(open_guarded, settings)
    try:
        with present(inbox, Part.FORWARDER):
            await _Forwarder(inbox, given).run(stop)
    finally:
        inbox.close()


class _Forwarder:
    def __init__(self, inbox: Inbox, given: Followed) -> None:
        self._inbox = inbox
        self._given = given
        self._beat_at = 0.0  # on the monotonic clock
        self._is_second = False

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await asyncio.to_thread(copies.require_in_use, self._inbox)
            given = self._given.get()
            longest = max((it.timeout_seconds for it in given), default=1.0)
            taken = await asyncio.to_thread(tenure.begin, self._inbox, longest)
            if isinstance(taken, Held):
                if not self._is_second:
                    LOG.warning("another process passes deliveries on; this one waits for its end")
                self._is_second = True
                await _sleep(stop, min(taken.left / instants.SECOND, RENEW_SECONDS))
                continue
            self._is_second = False
            await self._serve(taken, given, stop)

    async def _serve(self, ours: Tenure, given: tuple[Endpoint, ...], stop: asyncio.Event) -> None:
        """Passes on for as long as the tenure lasts, and endpoints and authorities are those of
        the files."""
        over = asyncio.Event()
        running: list[asyncio.Task[None]] = []
        try:
            couriers = [Courier(self._inbox, it, self._given, ours) for it in given]
            for endpoint in given:
                LOG.info("deliveries go to %s, %s", endpoint.name, addresses.shown(endpoint.url))
            if not given:
                LOG.warning("deliveries go to nobody: the file of endpoints has none")
            running = [asyncio.create_task(it.run(over)) for it in couriers]
            while not stop.is_set() and not any(it.done() for it in running):
                await self._beat_in_time()
                await asyncio.to_thread(copies.require_in_use, self._inbox)
                if not await self._keep(ours):
                    LOG.warning("another process passes deliveries on from now on")
                    break
                if self._given.get() != given:
                    LOG.info("the endpoints' file has changed")
                    break
                if any(it.is_outdated for it in couriers):
                    LOG.info("a file of authorities of the endpoints has changed")
                    break
                await _sleep(stop, RENEW_SECONDS)
        finally:
            over.set()
            renewing = asyncio.create_task(self._keep_until_done(ours))
            try:
                if running:
                    await asyncio.wait(running)
            finally:
                renewing.cancel()
                await asyncio.to_thread(ours.end)
        for task in running:
            task.result()

    async def _keep(self, ours: Tenure) -> bool:
        try:
            return await asyncio.to_thread(ours.keep)
        except InboxUnavailable as error:
            LOG.error("the forwarder's lease could not be renewed: %s", error)
            return True  # for as long as it lasts by our clock: see Tenure

    async def _keep_until_done(self, ours: Tenure) -> None:
        """While the last messages come to their end, the lease must too."""
        while await self._keep(ours):
            await asyncio.sleep(RENEW_SECONDS)

    async def _beat_in_time(self) -> None:
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + BEAT_SECONDS
            try:
                await asyncio.to_thread(beat, self._inbox, Part.FORWARDER)
            except InboxUnavailable as error:
                LOG.error("the forwarder cannot say that it is well: %s", error)


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
