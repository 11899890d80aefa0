"""Passes deliveries on to one endpoint: reads the log on, sends what is for the endpoint, and saves
how far it has come.

It does not wait for other endpoints. What is saved is at most a second behind what was sent: after
a crash so much is sent once more, and nothing is left out.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.forward import entries, messages, pacing, progress
from pipeline.forward.endpoints import Endpoint, Followed
from pipeline.forward.lanes import Lanes, Try
from pipeline.forward.progress import Said, Standing, Waiting
from pipeline.forward.sending import Answer, Post
from pipeline.forward.tenure import Tenure
from pipeline.http.outgoing.retry_after import retry_after
from pipeline.inbox import Inbox
from pipeline.inbox.erased import newest_erasure
from pipeline.log.entries import LIVE, Draft, Entry

LOG = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25
"""Between two looks for new entries, and at what commands have changed."""
SAVE_SECONDS: Final = 1.0
ENTRIES_PER_READ: Final = 256
BYTES_PER_READ: Final = 8 * 2**20
RECHECK_SECONDS: Final = 2.0
"""Pause after the inbox could not be asked."""
REPORTED_AFTER: Final = 10 * instants.MINUTE
"""Between two entries in the log that say how far an endpoint is, while deliveries come."""
TURN_REPORTED_AFTER: Final = instants.MINUTE
"""As `REPORTED_AFTER`, where the endpoint has begun to fail or come back since the last entry."""
THREADS: Final = 3
"""Threads that ask the inbox: one reads on, one saves, one finds what comes next in a lane."""
ASKS_FOR_TIME: Final = (429, 503)

NEXT_OF_SELLER: Final = f"""
    select seq from entries
    where seller_id = $1 and seq <= $3 and {messages.IS_PASSED_ON}
        and seller_n > coalesce(
            (select it.seller_n from entries it where it.seq = $2 and it.seller_id = $1), 0
        )
        and seq > $2
    order by seller_n limit 100"""
"""Ordered by `seller_n`, which the index has: by `seq` the index would be read from the seller's
first entry on, once for each delivery that waits."""
_DELIVERY_BETWEEN: Final = f"""
    select seq from entries
    where seq > $1 and seq <= $2 and {messages.IS_DELIVERY} limit 1"""

T = TypeVar("T")


class _Overtaken(Exception):
    """The endpoint's row or the log is no longer what was read: both are to be read again."""


@dataclass(slots=True)
class _Reports:
    """What the log last said of an endpoint, and what has happened since."""

    said: Said
    has_news: bool  # deliveries were read since
    was_under_way: bool = False  # something was, when that was said

    def is_due(self, row: Standing, lanes: Lanes, now: int) -> bool:
        """Whether the log is to say once more how far the endpoint is. `row`: how it stands now."""
        since = now - row.reported_at
        is_over = self.said.is_failing and row.failing_since is None
        has_begun = lanes.is_down and not self.said.is_failing
        if (is_over or has_begun) and since >= TURN_REPORTED_AFTER:
            return True
        # Whether or not another delivery comes, what was said of the last ones is no longer true.
        is_settled = self.was_under_way and lanes.position == lanes.after
        has_news = self.has_news or is_settled or lanes.stuck != self.said.waiting
        return has_news and since >= REPORTED_AFTER


class Courier:
    """Passes on to one endpoint, on one event loop, during one tenure."""

    def __init__(self, inbox: Inbox, endpoint: Endpoint, given: Followed, tenure: Tenure) -> None:
        """`given`: has the endpoint in force."""
        self._inbox = inbox
        self._endpoint = endpoint
        self._tenure = tenure
        self._post = Post(endpoint, given, lambda: tenure.may_send)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"to {endpoint.name}")
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._is_resting = True
        self._look_at = self._save_at = 0.0  # on the monotonic clock
        # Of the endpoint, since it was last loaded:
        self._erased_to = 0
        self._row = Standing(0, 0, None, None, None, None, 0, 0)
        self._lanes = Lanes(0, None, ())
        self._last_success_at: int | None = None
        self._failing_since: int | None = None
        self._drafts: list[Draft] = []
        self._reports = _Reports(Said(), has_news=False)

    @property
    def is_outdated(self) -> bool:
        """Whether the endpoint's files have changed, by which a server is trusted: then another
        courier has to go on, which reads them."""
        return self._post.is_outdated

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set; what is under way comes to its end. Raises `InboxUnavailable`:
        the next courier then sends once more what was not saved."""
        stopping = asyncio.create_task(self._stop_with(stop))
        try:
            takes_over = True
            while not self._is_stopping:
                await self._load(takes_over=takes_over)
                takes_over = False
                try:
                    await self._pass_on()
                except _Overtaken as why:
                    LOG.warning("%s is read again: %s", self._endpoint.name, why)
                    await self._come_to_rest()
            await self._come_to_rest()
            with contextlib.suppress(_Overtaken):
                await self._save()
        finally:
            self._is_stopping = True
            stopping.cancel()
            await self._come_to_rest()
            await self._post.close()
            self._threads.shutdown(wait=False)

    async def _stop_with(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._is_stopping = True
        self._wake.set()

    async def _come_to_rest(self) -> None:
        """Waits for what is under way, and begins nothing."""
        self._is_resting = True
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _rest(self) -> None:
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)

    async def _ask(self, question: Callable[..., T], *given: object) -> T:
        """Asks the inbox on a thread of this endpoint's own."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, question, *given)

    # --- where it stands ---

    async def _load(self, *, takes_over: bool) -> None:
        name = self._endpoint.name
        self._erased_to = await self._ask(newest_erasure, self._inbox)  # before anything is read
        if takes_over:
            await self._ask(progress.take_over, self._inbox, name)
        row = await self._ask(self._sound_row)
        waiting = await self._ask(progress.waiting, self._inbox, name)
        self._row, self._lanes = row, Lanes(row.position, row.leaf, waiting)
        self._last_success_at, self._failing_since = row.last_success_at, row.failing_since
        self._drafts = []
        between = (_DELIVERY_BETWEEN, row.reported_position, row.position)
        has_news = bool(await self._ask(self._inbox.query, *between))
        said = await self._ask(progress.last_said, self._inbox, name)
        self._reports = _Reports(said, has_news=has_news)
        self._is_resting = False

    def _sound_row(self) -> Standing:
        """The endpoint's row, once it fits the log. A missing row is made; a row of a past that the
        log no longer has is set back to where, by the log, everything was settled."""
        inbox, name = self._inbox, self._endpoint.name
        while True:
            row = progress.standing(inbox, name)
            if row is not None and inbox.leaf(row.position) == row.leaf:
                return row
            last, now = inbox.last()[0], inbox.clock()
            known = progress.settled_in_log(inbox, name)
            if row is None and known is None:
                progress.begin(inbox, name, last, now, entries.begun(name, last, now))
                continue
            waiting = [] if row is None else progress.waiting(inbox, name)
            settled = min([last, known or 0, *(it.seq - 1 for it in waiting)])
            was = settled if row is None else row.position
            LOG.critical(
                "what is kept of %s does not fit the log: what follows entry %d is passed on again",
                name,
                settled,
            )
            draft = entries.put_back(name, was, settled, now)
            if row is None:
                progress.begin(inbox, name, settled, now, draft)
            else:
                progress.go_back(inbox, name, row, settled, draft)

    async def _pass_on(self) -> None:
        self._look_at = self._save_at = 0.0
        while not self._is_stopping:
            await self._look()
            has_more = await self._read_on()
            self._start()
            if time.monotonic() >= self._save_at:
                await self._save()
            if not has_more:
                await self._rest()

    async def _look(self) -> None:
        """Looks at what commands have changed."""
        if time.monotonic() < self._look_at:
            return
        row = await self._ask(progress.standing, self._inbox, self._endpoint.name)
        if row is None or row.generation != self._row.generation:
            raise _Overtaken("its row was changed")
        if await self._ask(newest_erasure, self._inbox) > self._erased_to:
            raise _Overtaken("what it had read may have been erased since")
        self._row = self._row._replace(paused_at=row.paused_at)
        for letter in await self._ask(progress.asked_for, self._inbox, self._endpoint.name):
            self._lanes.ask(letter)
        self._look_at = time.monotonic() + POLL_SECONDS

    async def _read_on(self) -> bool:
        """Reads some entries; whether more may be read right away."""
        lanes = self._lanes
        if self._row.paused_at is not None or not lanes.wants_more:
            return False
        entries = await self._ask(self._read, lanes.after, lanes.leaf_after)
        for entry in entries:
            self._reports.has_news |= entry.kind in messages.DELIVERIES and entry.origin == LIVE
            lanes.read(entry, is_for_it=messages.is_for(entry, self._endpoint))
        return bool(entries)

    def _read(self, after: int, leaf: bytes | None) -> list[Entry]:
        entries = self._inbox.read(after, ENTRIES_PER_READ, max_bytes=BYTES_PER_READ)
        if after and self._inbox.leaf(after) != leaf:  # after the read: this is another log by now
            raise _Overtaken(f"the inbox no longer has the entry {after} that was read")
        return entries

    # --- sending ---

    def _start(self) -> None:
        """Begins what may be sent now."""
        if self._is_stopping or self._is_resting or self._row.paused_at is not None:
            return
        while self._tenure.may_begin:
            tried = self._lanes.next(self._inbox.clock(), self._endpoint.concurrency)
            if tried is None:
                return
            task = asyncio.create_task(self._try(tried, self._lanes))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._start()
        self._wake.set()

    async def _try(self, tried: Try, lanes: Lanes) -> None:
        try:
            entry = tried.entry or await self._ask(self._inbox.entry, tried.seq)
            if entry is not None and not messages.is_for(entry, self._endpoint):
                await self._drop(tried, entry, lanes)
                return
            answer = Answer(None, "the entry is gone") if entry is None else await self._send(entry)
            if answer.is_withheld:
                lanes.put_off(tried, self._inbox.clock() + instants.SECOND)
            elif answer.is_taken:
                await self._taken(tried, lanes)
            else:
                await self._failed(tried, entry, answer, lanes)
        except InboxUnavailable as error:
            LOG.error("passing on to %s waits: %s", self._endpoint.name, error)
            pause = round(RECHECK_SECONDS * instants.SECOND)
            lanes.put_off(tried, self._inbox.clock() + pause)

    async def _send(self, entry: Entry) -> Answer:
        """Sends one message. A bug of ours counts as a failure of this message, and of no other."""
        name = self._endpoint.name
        seq = messages.replay_of(entry)
        first = None if seq is None else await self._ask(self._inbox.entry, seq)
        message_id = messages.message_id(self._inbox.log, first or entry, name)
        try:
            return await self._post.send(
                message_id,
                messages.body_of(entry, self._endpoint),
                messages.content_type(entry),
                self._inbox.clock(),
            )
        except Exception as error:
            LOG.exception(
                "entry %d could not be passed on to %s", entry.seq, name, extra=_about(entry)
            )
            return Answer(None, f"it could not be sent: {type(error).__name__}")

    async def _drop(self, tried: Try, entry: Entry, lanes: Lanes) -> None:
        """Takes a message out of its lane, without sending it, that is not for the endpoint, or no
        longer since its settings changed. The next message of the lane goes on."""
        successor = await self._successor(tried, lanes)
        why = messages.why_not_for(entry, self._endpoint) or ""
        LOG.warning(
            "entry %d is not for %s: %s",
            entry.seq,
            self._endpoint.name,
            why,
            extra=_about(entry),
        )
        lanes.drop(tried, successor)
        if tried.letter is not None:
            draft = entries.dropped(
                self._endpoint.name, tried.letter, entry, why, self._inbox.clock()
            )
            self._drafts.append(draft)

    async def _taken(self, tried: Try, lanes: Lanes) -> None:
        successor = await self._successor(tried, lanes)
        now = self._inbox.clock()
        if lanes.is_down:
            LOG.warning("%s takes deliveries again", self._endpoint.name)
        lanes.taken(tried, successor, now, random.random())
        self._last_success_at, self._failing_since = now, None

    async def _failed(self, tried: Try, entry: Entry | None, answer: Answer, lanes: Lanes) -> None:
        now = self._inbox.clock()
        asks = answer.status in ASKS_FOR_TIME
        asked = retry_after(answer.retry_after, now) if asks else None
        # Looked up first: what follows may not be interrupted by another task.
        successor = await self._successor(tried, lanes)
        was_down = lanes.is_down
        chance = random.random()
        letter = lanes.failed(tried, answer.words, now=now, asked=asked, random=chance)
        self._failing_since = self._failing_since or now
        if lanes.is_down and not was_down:
            LOG.error("%s takes no deliveries: %s", self._endpoint.name, answer.words)
        hours = self._endpoint.give_up_hours
        first = letter.first_tried_at or now
        if entry is not None and not pacing.is_over(letter.tries, first, now, hours):
            return
        LOG.error(
            "entry %d was given up for %s: %s",
            letter.seq,
            self._endpoint.name,
            answer.words,
            extra={"seq": letter.seq},
        )
        lanes.bury(letter, successor, now)
        if entry is not None:
            self._drafts.append(entries.died(self._endpoint.name, letter, entry, now))

    async def _successor(self, tried: Try, lanes: Lanes) -> Waiting | None:
        """What comes next in a lane that waits, of what was read; None in one that does not."""
        if tried.letter is None or tried.lane == messages.alone(tried.seq):
            return None
        seller = tried.lane.removeprefix("seller ")
        while True:
            until = lanes.after
            seq = await self._ask(self._next_of, seller, tried.seq, until)
            if seq is not None:
                return Waiting(tried.lane, seq, 0, None, 0, None)
            if lanes.after == until:  # what was read meanwhile waits in this lane as well
                return None

    def _next_of(self, seller: str, after: int, until: int) -> int | None:
        while rows := self._inbox.query(NEXT_OF_SELLER, seller, after, until):
            for (seq,) in rows:
                entry = self._inbox.entry(seq)
                if entry is not None and messages.is_for(entry, self._endpoint):
                    return int(seq)
            after = rows[-1][0]
        return None

    # --- keeping ---

    async def _save(self) -> None:
        """Keeps how far it is, and records what the log is to say. Raises `_Overtaken` where the
        row is another process's, or a command's, by now."""
        self._save_at = time.monotonic() + SAVE_SECONDS
        lanes, name, now = self._lanes, self._endpoint.name, self._inbox.clock()
        row = self._row._replace(
            position=lanes.position,
            leaf=lanes.leaf,
            last_success_at=self._last_success_at,
            failing_since=self._failing_since,
        )
        drafts = list(self._drafts)
        written = len(drafts)
        reports = self._reports
        if reports.is_due(row, lanes, now):
            row = row._replace(reported_at=now, reported_position=row.position)
            drafts.append(entries.report(name, row, lanes.settled, lanes.stuck, now))
            said = Said(row.failing_since is not None, lanes.stuck)
            is_under_way = lanes.position < lanes.after
            reports = _Reports(said, has_news=False, was_under_way=is_under_way)
        changed = dict(lanes.changed)
        if row == self._row and not changed and not drafts:
            return
        wishes = dict(lanes.wishes)
        if not await self._ask(progress.save, self._inbox, name, row, changed, wishes, drafts):
            raise _Overtaken("its row is another process's, or was taken back")
        for lane, letter in changed.items():
            lanes.wishes.pop(lane, None)  # what stands there now is another one, or none
            if lane in lanes.changed and lanes.changed[lane] == letter:
                del lanes.changed[lane]
        del self._drafts[:written]
        self._row = row._replace(paused_at=self._row.paused_at)
        self._reports = reports


def _about(entry: Entry) -> dict[str, int | str | None]:
    """What a record of the text log is about."""
    return {"seq": entry.seq, "process_id": entry.process_id}
