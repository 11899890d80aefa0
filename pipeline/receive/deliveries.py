"""Takes deliveries at `POST /webhooks`: checks them in the order of docs/rules.md#deliveries, has
them recorded, and answers once they are on disk.

The platform's deliveries are small. A short delivery has no asyncio task of its own: it is handed
to the writer when its last byte has come, and answered when the writer says that its group is on
disk (docs/decisions/inbox.md#a-short-delivery-has-no-task-of-its-own).
"""

import asyncio
import json
import logging
import time
from typing import Final

from pipeline import traces
from pipeline.errors import InboxUnavailable
from pipeline.http.asgi import Gone, Headers, Request, Send, answer, is_identity
from pipeline.http.callers import TurnedAway
from pipeline.http.loopback import outside_hint
from pipeline.http.preamble import whole_body, wrong_encoding, wrong_method
from pipeline.http.short import Reply, Take
from pipeline.inbox import Inbox, Receipt
from pipeline.inbox.group_commit import Answer, GroupCommit
from pipeline.log.deliveries import JSON, Delivery
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.receive.authenticity import Authenticator, Refused
from pipeline.receive.metrics import Metrics, Recorded
from pipeline.receive.rejections import TurnedAwayRequests
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 15.0
"""The longest time from a request to its answer; whatever hangs, the answer then is 503."""

Answered = tuple[int, bytes, *tuple[tuple[bytes, bytes], ...]]
"""Status, body and headers of an answer."""


class Deliveries:
    """The endpoint of deliveries."""

    def __init__(
        self, settings: Settings, metrics: Metrics, turned_away: TurnedAwayRequests
    ) -> None:
        """Raises `SettingsError` if the secrets cannot be read."""
        self.authenticator = Authenticator(
            settings.webhook_auth,
            settings.webhook_secret_file,
            header=settings.webhook_header,
            tolerance_seconds=settings.webhook_tolerance_seconds,
        )
        self.is_authenticated = settings.webhook_auth != "none"
        self._max_body_bytes = settings.max_body_bytes
        self._quarantine_status = settings.quarantine_status
        self._metrics = metrics
        self._turned_away = turned_away
        self._is_failing = False
        self._refusing: set[asyncio.Task[None]] = set()
        self._inbox: Inbox
        self._writer: GroupCommit

    def open(self, inbox: Inbox, writer: GroupCommit) -> None:
        """Begins to take deliveries."""
        self._inbox, self._writer = inbox, writer

    # --- short ones ---

    def begin(self, headers: Headers) -> Take | None:
        """Takes a short delivery by its head. None where it is to be turned away by its head, which
        `post` does."""
        if (
            not is_identity(headers)
            or int(headers[b"content-length"]) > self._max_body_bytes
            or (not self.is_authenticated and outside_hint(headers) is not None)
        ):
            return None
        return _Short(self, headers, self._inbox.clock(), time.monotonic()).take

    def take(self, body: bytes, short: "_Short") -> None:
        """Has a short delivery recorded if it is authentic, and refuses it otherwise."""
        delivery = self._authentic(body, short.headers, short.occurred_at)
        if isinstance(delivery, TurnedAway):
            self._refusing.add(task := asyncio.create_task(self._refuse(short.reply, delivery)))
            task.add_done_callback(self._refusing.discard)
            return
        try:
            self._writer.put(delivery, short.hear, short.began + ANSWER_SECONDS)
        except InboxUnavailable as error:
            short.hear(error)

    async def _refuse(self, reply: Reply, away: TurnedAway) -> None:
        reply(*await self._refused(away))

    # --- all others ---

    async def post(self, request: Request, send: Send) -> None:
        """Answers any request to the endpoint."""
        occurred_at, began = self._inbox.clock(), time.monotonic()
        if away := wrong_method(request, "POST") or wrong_encoding(request):
            await self.turn_away(send, away)
            return
        try:
            body = await whole_body(request, self._max_body_bytes)
        except Gone:
            return  # nothing was acknowledged, so the platform sends it again
        if isinstance(body, TurnedAway):
            await self.turn_away(send, body)
            return
        delivery = self._authentic(body, request.headers, occurred_at)
        if isinstance(delivery, TurnedAway):
            await self.turn_away(send, delivery)
            return
        said: Receipt | InboxUnavailable | asyncio.CancelledError
        try:
            said = await self._writer.record(delivery, until=began + ANSWER_SECONDS)
        except (InboxUnavailable, asyncio.CancelledError) as error:  # cancelled: we are stopping
            said = error
        await answer(send, *self.answer_to(said, began))

    # --- what both do ---

    def _authentic(self, body: bytes, headers: Headers, occurred_at: int) -> Delivery | TurnedAway:
        verdict = self.authenticator.check(body, headers, occurred_at)
        if isinstance(verdict, Refused):
            return TurnedAway(401, verdict.reason, tuple(self.authenticator.challenge))
        recorded_by = "webhook" if verdict.secret is None else f"webhook:{verdict.secret}"
        return Delivery(body, occurred_at, recorded_by, headers.get(b"content-type", JSON))

    def answer_to(self, said: Answer | asyncio.CancelledError, began: float) -> Answered:
        """The answer to a delivery; the delivery is counted.

        `said`: its receipt, or why it may not be on disk. `began`: when the delivery came, by the
        monotonic clock.
        """
        if not isinstance(said, Receipt):
            self._metrics.refusals.note("webhooks")
            if not self._is_failing:
                LOG.error("deliveries are answered 503: %s", said)
            self._is_failing = True
            return 503, b'{"error": "not recorded; send it again"}', (b"retry-after", b"5")
        if self._is_failing:
            LOG.warning("deliveries are recorded again")
            self._is_failing = False
        entry, seconds = said.entry, time.monotonic() - began
        assert entry is not None  # only lines of files and submissions can have no entry
        recorded: Recorded = "again" if entry.is_again else "new"
        if entry.kind == QUARANTINE:
            recorded = "quarantined"
        self._metrics.deliveries.count(recorded, seconds)
        traces.delivered(self._inbox.log, entry, began, recorded)
        if recorded == "quarantined":
            reason = entry.particulars["reason"]
            content = {"seq": entry.seq, "recorded": recorded, "reason": reason}
            return self._quarantine_status, json.dumps(content).encode()
        return 200, b'{"seq": %d, "recorded": "%b"}' % (entry.seq, recorded.encode())

    # --- what is turned away ---

    async def turn_away(self, send: Send, away: TurnedAway) -> None:
        """Answers a delivery that is turned away, and counts it."""
        await answer(send, *await self._refused(away))

    async def _refused(self, away: TurnedAway) -> Answered:
        await self._turned_away.note(away.status, away.reason)
        return away.status, json.dumps({"error": away.reason}).encode(), *away.headers


class _Short:
    """A short delivery from its head to its answer."""

    __slots__ = ("_deliveries", "began", "headers", "occurred_at", "reply")

    def __init__(
        self, deliveries: Deliveries, headers: Headers, occurred_at: int, began: float
    ) -> None:
        self._deliveries = deliveries
        self.headers = headers
        self.occurred_at = occurred_at
        self.began = began
        self.reply: Reply

    def take(self, body: bytes, reply: Reply) -> None:
        """Takes the body, once it is whole."""
        self.reply = reply
        self._deliveries.take(body, self)

    def hear(self, said: Answer) -> None:
        """Replies, once the writer has said whether the delivery is recorded."""
        self.reply(*self._deliveries.answer_to(said, self.began))
