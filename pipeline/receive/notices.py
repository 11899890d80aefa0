"""Takes what the marketplace's own systems say of how sellers were notified: `POST /v1/notices`.

A seller notice, what became of one, or a retraction (docs/rules.md#seller-notices). The entry is on
disk before the answer; who hears none and sends it again has it counted once.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from pipeline.contract.body import JsonValue, parse_json
from pipeline.errors import InboxUnavailable, OperatorError, Unreadable
from pipeline.http.answers import Json, refusal
from pipeline.http.asgi import Gone, Request
from pipeline.http.callers import TurnedAway
from pipeline.http.preamble import admitted_body
from pipeline.http.refusals import Refusals
from pipeline.http.tokens import Tokens
from pipeline.inbox import Inbox, Receipt
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft, Entry, content_of
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import BY_HAND, PHONE, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT, kept_of
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.log.ndjson import content_bytes, read_notice
from pipeline.receive.reported import require_no_later, seq_of
from pipeline.settings import Settings
from pipeline.texts import is_blank

LOG = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 15.0
MAX_BODY_BYTES: Final = 65_536
_SAY_THE_SELLER: Final = (WEBHOOK, SUBMISSION_STARTED, COLLECTION)
"""Kinds whose first entry names a process's seller, the most reliable first."""


class Noticing:
    """Handles `POST /v1/notices`."""

    def __init__(self, settings: Settings, refusals: Refusals) -> None:
        """Reads the tokens; raises `SettingsError` if it cannot."""
        self._refusals = refusals
        self._tokens = Tokens.of(settings)
        self._inbox: Inbox
        self._recorder: GroupCommit
        self._retracting = asyncio.Lock()

    def open(self, inbox: Inbox, recorder: GroupCommit) -> None:
        """Sets where it is recorded; called once, before the first request."""
        self._inbox = inbox
        self._recorder = recorder

    async def post(self, request: Request) -> Response | None:
        """Handles one request: 200 with the seq, or 401, 403, 405, 413, 415, 422 or 503."""
        try:
            asked = await admitted_body(request, self._tokens, "notify", MAX_BODY_BYTES)
        except Gone:
            return None
        if isinstance(asked, TurnedAway):
            return refusal(asked)
        caller, body = asked
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                draft, value = await asyncio.to_thread(self._draft, body, caller.name)
                if draft.kind == RETRACTION:
                    receipt = await self._retract(draft, value)
                else:
                    receipt = await self._recorder.record(draft)
        except Unreadable as unreadable:
            return Json(422, {"error": unreadable.what})
        except (InboxUnavailable, OperatorError, TimeoutError) as error:
            LOG.error("a notice was answered 503: %s", str(error) or "it took too long")
            self._refusals.note("notices")
            return Json(503, {"error": "not recorded; send it again"}, (b"retry-after", b"5"))
        if receipt.entry is not None:
            return Json(200, {"seq": receipt.entry.seq, "recorded": "new"})
        seq = await asyncio.to_thread(seq_of, draft, self._inbox)
        return Json(200, {"seq": seq, "recorded": "again"})

    def _draft(self, body: bytes, recorded_by: str) -> tuple[Draft, Mapping[str, JsonValue]]:
        """What to record, and what was reported. Raises `Unreadable` for what cannot be
        recorded."""
        value = parse_json(body)
        draft = read_notice(value, recorded_by=recorded_by)
        require_no_later(draft, self._inbox.clock())
        if draft.kind == SELLER_NOTICE:
            return self._of_its_seller(draft, value), value
        said = value.get("detail")
        if draft.kind == SELLER_NOTICE_RESULT and isinstance(said, str):
            draft = draft._replace(body=content_bytes({**value, "detail": kept_of(said)}))
        return draft, value

    def _of_its_seller(self, draft: Draft, value: Mapping[str, JsonValue]) -> Draft:
        """The draft of a notice, with the process's seller where it names none."""
        if value["channel"] == PHONE and value.get("outcome") is None:
            raise Unreadable("outcome: say what came of the call")
        seller_id = self._seller_of(draft.process_id or "")
        if draft.seller_id is None:
            return draft._replace(seller_id=seller_id)
        if seller_id not in (None, draft.seller_id):
            raise Unreadable("seller_id: the process is another seller's")
        return draft

    async def _retract(self, draft: Draft, value: Mapping[str, JsonValue]) -> Receipt:
        """Records a retraction, one at a time: the next one looks once this one's entry is there.
        One that was answered 503 may still be recorded after the next look. Raises `Unreadable` for
        what is none, or not the first."""
        async with self._retracting:
            await asyncio.to_thread(self._check_retraction, draft, value)
            return await self._recorder.record(draft)

    def _check_retraction(self, draft: Draft, value: Mapping[str, JsonValue]) -> None:
        """Only who recorded a call or letter takes it back here; an administrator does on pages."""
        for name in ("actor", "reason"):
            said = value.get(name)
            if not isinstance(said, str) or is_blank(said):
                raise Unreadable(f"{name}: a retraction needs a name and a reason")
        of = [it for it in self._notices(draft.process_id) if _is_by_hand(it, value["message_id"])]
        if not of:
            raise Unreadable("message_id: no such call or letter is recorded")
        if any(it.recorded_by != draft.recorded_by for it in of):
            raise Unreadable("message_id: somebody else recorded it; an administrator retracts it")
        self._require_first(draft, value["message_id"], {it.process_id for it in of})

    def _require_first(self, draft: Draft, message_id: JsonValue, about: set[str | None]) -> None:
        """Raises `Unreadable` where the call or letter about these processes is retracted already;
        not for the same report sent again. Of two that come at once to two receivers, or here and
        on a page, both may be recorded: then the earliest counts."""
        found = self._inbox.find(kind=RETRACTION)
        earlier = [it for it in found if content_of(it).get("message_id") == message_id]
        if any(it.ingest_key == draft.ingest_key for it in earlier):
            return
        retracted = {it.process_id for it in earlier}
        if None in retracted or about <= retracted:
            raise Unreadable(
                f"message_id: entry {earlier[0].seq} retracted it already, which is final;"
                " a call or letter that was made after all is recorded under another message_id"
            )

    def _notices(self, process_id: str | None) -> list[Entry]:
        return self._inbox.find(process_id=process_id, kind=SELLER_NOTICE)

    def _seller_of(self, process_id: str) -> str | None:
        """The process's seller, as its first entries say; None while none does."""
        known = self._inbox.find(process_id=process_id)
        named = [it for it in known if it.seller_id is not None and it.kind in _SAY_THE_SELLER]
        named.sort(key=lambda entry: (_SAY_THE_SELLER.index(entry.kind), entry.seq))
        return named[0].seller_id if named else None


def _is_by_hand(entry: Entry, message_id: JsonValue) -> bool:
    """Whether an entry is the call or letter of that id, and its bytes are here."""
    said = content_of(entry)
    return said.get("message_id") == message_id and said.get("channel") in BY_HAND
