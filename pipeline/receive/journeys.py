"""Makes links to the seller's page by `POST /v1/journeys`, for the marketplace's own systems."""

import asyncio
import logging
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from pipeline.contract.body import MAX_ID_CHARACTERS, parse_json
from pipeline.errors import CallerError, OperatorError, SettingsError, Unreadable
from pipeline.http.answers import Json, refusal
from pipeline.http.asgi import Gone, Request
from pipeline.http.callers import TurnedAway
from pipeline.http.preamble import admitted_body
from pipeline.http.refusals import Refusals
from pipeline.http.tokens import Tokens
from pipeline.inbox import Inbox
from pipeline.log.kinds.collection import Channel
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 15.0
MAX_BODY_BYTES: Final = 16_384


class _Wanted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    process_id: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]
    channel: Channel = "web_form"
    email: Annotated[str, Field(max_length=254)] | None = None
    return_url: Annotated[str, Field(max_length=2000)] | None = None


class Inviting:
    """Handles `POST /v1/journeys`."""

    def __init__(self, settings: Settings, inbox: Inbox, refusals: Refusals) -> None:
        """Reads the tokens; raises `SettingsError` if it cannot."""
        self._refusals = refusals
        self._settings = settings
        self._inbox = inbox
        self._tokens = Tokens.of(settings)

    async def post(self, request: Request) -> Response | None:
        """Handles one request: 200 with the link, or 401, 403, 405, 413, 415, 422 or 503."""
        try:
            asked = await admitted_body(request, self._tokens, "collect", MAX_BODY_BYTES)
        except Gone:
            return None
        if isinstance(asked, TurnedAway):
            return refusal(asked)
        caller, body = asked
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                made = await asyncio.to_thread(self._mint, body, caller.name)
        except (CallerError, SettingsError) as error:
            return Json(422, {"error": error.in_one_line})
        except (OperatorError, TimeoutError) as error:
            LOG.error("a link was not made: %s", str(error) or "it took too long")
            self._refusals.note("journeys")
            return Json(503, {"error": "not made; send it again"}, (b"retry-after", b"5"))
        return Json(200, made, (b"cache-control", b"no-store"))

    def _mint(self, body: bytes, recorded_by: str) -> dict[str, Any]:
        from pipeline.journey import links  # its imports take a second, and no webhook waits

        value = parse_json(body)
        if not isinstance(value, dict):
            raise Unreadable("not a JSON object")
        try:
            wanted = _Wanted.model_validate(value)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in error.errors())
            raise Unreadable("; ".join(faults)) from None
        return links.mint(
            self._settings, self._inbox, **wanted.model_dump(), recorded_by=recorded_by
        ).as_answer
