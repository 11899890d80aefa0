"""Submits what sellers have confirmed, with PRAZO_JOURNEY_SUBMIT=auto; nothing of it is forgotten.

Which answers wait stands in the database. A crash after the confirmation leaves them there, and
the next sweep of any of our processes takes them. An attempt that is in the log already is never
made a second time here: its retries belong to `prazo serve`.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable
from typing import Final

from pipeline import instants
from pipeline.errors import CopyHeld, OperatorError, PrazoError
from pipeline.inbox import Inbox, copies
from pipeline.journey.evidence import RECORDED_BY
from pipeline.submit import ready
from pipeline.submit.attempt import Submissions
from pipeline.submit.decision import Busy, Order
from pipeline.submit.retries import Attempt

LOG = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 5.0
HELD_SECONDS: Final = 30.0
"""After the inbox was found to be a copy: a person has to say that it is the one in use."""
MAX_PER_SWEEP: Final = 200
HELD_FOR: Final = 3 * instants.MINUTE
"""Longer than an attempt takes: then whoever had it is gone."""
LONGEST_HELD: Final = HELD_FOR + instants.ALLOWED_AHEAD
"""A row that is held for longer was taken by a clock that was ahead. Whoever took it is gone, or
has the process's lease, and by that nothing is sent twice."""

# Those first that were tried least lately: who always fails keeps no other out of the sweep.
_WAITING: Final = f"""
    select ref, process_id, confirmed_at from journeys
    where confirmed_at is not null and settled_at is null
        and (submitting_until < $1 or submitting_until > $2)
    order by submitting_until, confirmed_at limit {MAX_PER_SWEEP}"""
_TAKE: Final = """
    update journeys set submitting_until = $1
    where ref = $2 and settled_at is null and (submitting_until < $3 or submitting_until > $4)"""
_SETTLE: Final = "update journeys set settled_at = $1 where ref = $2"
_LEAVE: Final = "update journeys set submitting_until = 0 where ref = $1"


class Sender:
    """Sends from one event loop."""

    def __init__(self, inbox: Inbox, submissions: Submissions) -> None:
        self._inbox = inbox
        self._submissions = submissions

    async def run(self) -> None:
        """Sweeps until it is cancelled."""
        while True:
            try:
                await self.sweep()
            except OperatorError as error:
                LOG.error("confirmed answers wait: %s", error.in_one_line)
                if isinstance(error, CopyHeld):
                    await asyncio.sleep(HELD_SECONDS)
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Submits what waits now, one after the other. Raises `InboxUnavailable` or `CopyHeld`."""
        await asyncio.to_thread(copies.require_in_use, self._inbox)
        now = await self._submissions.now()
        waiting = (_WAITING, now, now + LONGEST_HELD)
        for ref, process_id, at in await asyncio.to_thread(self._inbox.query, *waiting):
            try:
                await self.submit(ref, process_id, at)
            except OperatorError:
                raise
            except PrazoError as error:  # an answer or an order was refused: no bug of ours
                LOG.error("the answers of journey %s wait: %s", ref, error.in_one_line)
            except Exception:
                # A bug of ours in one journey's case must not cost the others theirs.
                LOG.exception("the answers of journey %s wait", ref)

    async def submit(self, ref: str, process_id: str, confirmed_at: int) -> None:
        """Submits the answers of one journey, unless somebody else does. What our own rules refuse
        is left to an officer, with its reason in the log. Raises `InboxUnavailable`."""
        now = await self._submissions.now()
        taken = (now + HELD_FOR, ref, now, now + LONGEST_HELD)
        if await asyncio.to_thread(self._inbox.execute, _TAKE, *taken) != 1:
            return
        _, case = await self._submissions.standing(process_id)
        # Who answers by a later link has their own turn once they confirm.
        if not case.is_finished and not ready.unconfirmed(case):
            order = ready.order_of(case, process_id, via="api", recorded_by=RECORDED_BY)
            since = [it for it in case.attempts if it.ordered_at >= confirmed_at]
            if not _is_done(order, since):
                result = await self._submissions.attempt(order)
                if isinstance(result, Busy):
                    await asyncio.to_thread(self._inbox.execute, _LEAVE, ref)
                    return
        await asyncio.to_thread(self._inbox.execute, _SETTLE, now, ref)


def _is_done(order: Order, attempts: Iterable[Attempt]) -> bool:
    """Whether attempts leave nothing to be done for an order. Where our own rules refused other
    bytes, or the same for another seller, nothing was sent, and nothing was said of these."""
    own = hashlib.sha256(order.payload).digest(), order.seller_id
    return any(
        attempt.outcome != "refused" or (attempt.payload_sha256, attempt.seller_id) == own
        for attempt in attempts
    )
