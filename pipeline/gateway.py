"""The platform's own PUT, taken from a marketplace's client and carried on: one attempt a call.

A marketplace changes its base URL and its credentials, and nothing else. The platform's status,
body and Content-Type go back as they came; an answer of our own carries `Prazo-Answer: gateway`.
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from pipeline import casefile, contract, instants
from pipeline.addresses import Address
from pipeline.asgi import Gone, Request, Send, TooLarge, answer_json, is_identity, read_body
from pipeline.callers import TurnedAway, admit
from pipeline.errors import InboxUnavailable, SettingsError, Unreadable
from pipeline.exposure import outside_hint
from pipeline.inbox import Inbox
from pipeline.platform import TIMEOUT, Platform
from pipeline.settings import Settings
from pipeline.submission import (
    UNSENDABLE_SELLER,
    Busy,
    Objection,
    Order,
    Recorder,
    Refused,
    Sent,
    Submissions,
    Terms,
    is_sendable_seller,
    other_marketplace,
)
from pipeline.tokens import Tokens

LOG = logging.getLogger(__name__)

OURS: Final = (b"prazo-answer", b"gateway")
BUSY_SECONDS: Final = 5
"""Most that a caller is told to wait while another attempt is under way: most end far sooner."""
UNAVAILABLE_SECONDS: Final = 5
MENDED_SECONDS: Final = 60
"""After which settings that keep the platform from being reached may have been mended."""
RELAYED: Final = (b"content-type", b"content-encoding", b"retry-after")

_UNSENT: Final = "nothing was sent to the platform"
_UNKNOWN: Final = "the platform may have processed it; send the same payload again"


class Gateway:
    """Handles the PUT, in one event loop; `close` it there.

    A platform that is not set up, or set up wrongly, is told to callers, not at the start: the
    webhooks beside us come first.
    """

    def __init__(self, settings: Settings, inbox: Inbox, recorder: Recorder) -> None:
        """Raises `SettingsError` where the tokens cannot be read."""
        self._settings = settings
        self._inbox = inbox
        self._recorder = recorder
        self._tokens = Tokens(settings.api_tokens_file)
        self._submissions: Submissions | None = None
        if settings.platform_url is not None:
            try:
                self._ready()
                casefile.warm_up()
            except SettingsError as error:
                LOG.error("submissions are answered 503: %s", error)

    def _ready(self) -> Submissions:
        if self._submissions is None:
            settings = self._settings
            platform = Platform(settings)
            self._submissions = Submissions(
                self._inbox, self._recorder, platform, Terms.of(settings)
            )
        return self._submissions

    async def close(self) -> None:
        if self._submissions is not None:
            await self._submissions.close()

    async def put(self, address: Address, request: Request, send: Send) -> None:
        """Takes one request to the end."""
        if request.method != "PUT":
            await _say(send, 405, {"error": "only PUT is taken here"}, (b"allow", b"PUT"))
            return
        hint = outside_hint(request.headers) if self._settings.webhook_auth == "none" else None
        if hint is not None:
            error = f"only this machine may call while deliveries are not authenticated, and {hint}"
            await _say(send, 403, {"error": f"{error}; {_UNSENT}"})
            return
        caller = admit(self._tokens, request.headers, "submit")
        if isinstance(caller, TurnedAway):
            await _say(
                send, caller.status, {"error": f"{caller.reason}; {_UNSENT}"}, *_challenge(caller)
            )
            return
        if not is_identity(request.headers):
            await _say(send, 415, {"error": f"only Content-Encoding identity is taken; {_UNSENT}"})
            return
        try:
            payload = await read_body(request, self._settings.max_body_bytes)
        except TooLarge:
            limit = self._settings.max_body_bytes
            await _say(send, 413, {"error": f"the body is over {limit} bytes; {_UNSENT}"})
            return
        except Gone:
            return
        try:
            await self._carry_on(address, payload, caller.name, send)
        except InboxUnavailable as error:
            LOG.error("a submission was answered 503: %s", error)
            wait = (b"retry-after", b"%d" % UNAVAILABLE_SECONDS)
            await _say(send, 503, {"error": f"the log cannot be written; {_UNSENT}"}, wait)
        except SettingsError as error:
            LOG.error("a submission was answered 503: %s", error)
            content = {"error": f"{error.what}; {_UNSENT}", "why": error.why}
            await _say(send, 503, content, (b"retry-after", b"%d" % MENDED_SECONDS))

    async def _carry_on(self, address: Address, payload: bytes, caller: str, send: Send) -> None:
        submissions = self._ready()
        process_id = _process_in(payload)
        if isinstance(process_id, Objection):
            await self._name_open_processes(address, process_id, send)
            return
        order = Order(
            process_id=process_id,
            seller_id=address.seller_id,
            payload=payload,
            via="gateway",
            recorded_by=caller,
            marketplace_id=address.marketplace_id,
        )
        # On its own: a caller that hangs up must not leave an attempt without its end.
        result = await asyncio.shield(asyncio.ensure_future(submissions.attempt(order)))
        match result:
            case Sent():
                await _relay(send, result)
            case Refused(objections=found):
                await _say(send, 422, _refusal(found))
            case Busy(until=until):
                wait = (b"retry-after", b"%d" % _seconds_until(until))
                error = f"another attempt of this process is under way; {_UNSENT}"
                await _say(send, 503, {"error": error}, wait)
            case _:
                raise AssertionError(result)  # only retries can be not due

    async def _name_open_processes(self, address: Address, fault: Objection, send: Send) -> None:
        """No attempt to record: the body names no process. The caller learns which it may be."""
        submissions = self._ready()
        objections = [fault]
        if address.marketplace_id != submissions.marketplace_id:
            objections.append(other_marketplace(submissions.marketplace_id))
        if not is_sendable_seller(address.seller_id):
            await _say(send, 422, _refusal([*objections, UNSENDABLE_SELLER]))
            return
        found = await asyncio.to_thread(
            submissions.casefiles.open_processes_of, address.seller_id, instants.now()
        )
        content = _refusal(objections)
        content["open_processes"] = [it.process_id for it in found.processes]
        if found.left_out:
            content["left_out"] = f"{found.left_out} older processes were not looked at"
        await _say(send, 422, content)


def _seconds_until(instant: int) -> int:
    seconds = math.ceil((instant - instants.now()) / instants.SECOND)
    return max(1, min(seconds, BUSY_SECONDS))


def _process_in(payload: bytes) -> str | Objection:
    """The process that the body names, or why it names none."""
    try:
        body = contract.parse_json(payload)
    except Unreadable as unreadable:
        return Objection(
            "body", "wrong_format", unreadable.what, "a JSON object", "Submission body fields"
        )
    named = body.get("process_id") if isinstance(body, dict) else None
    if (process_id := contract.identifier(named)) is not None:
        return process_id
    found = "nothing" if named is None else "no id"
    expected = "the process_id of the webhook that asks for this review"
    rule = "missing" if named is None else "wrong_format"
    return Objection("process_id", rule, found, expected, "Submission body fields")


def _refusal(objections: Iterable[Objection]) -> dict[str, Any]:
    return {
        "error": f"refused by the rules of the review; {_UNSENT}",
        "violations": [asdict(it) for it in objections],
    }


def _challenge(away: TurnedAway) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"www-authenticate", b'Basic realm="prazo"'),) if away.status == 401 else ()


async def _relay(send: Send, sent: Sent) -> None:
    """The platform's answer as it came; or, without one, ours."""
    given = sent.answer
    attempt = (b"prazo-attempt", sent.attempt_id.encode())
    if given.status is None:
        status, why = (
            (504, "the platform did not answer in time")
            if given.error == TIMEOUT
            else (502, "the connection to the platform failed")
        )
        content = {"error": f"{why}; {_UNKNOWN}", "attempt_id": sent.attempt_id}
        await _say(send, status, content, attempt)
        return
    fields = [attempt]
    for name in RELAYED:
        if (value := given.header(name.decode())) is not None:
            fields.append((name, value.encode("latin-1", "replace")))
    if given.is_truncated:
        fields.append((b"prazo-truncated", b"the platform's answer was not passed on whole"))
    if not sent.is_recorded:
        fields.append((b"prazo-recorded", b"not yet: the log cannot be written now"))
    length = (b"content-length", b"%d" % len(given.body))
    await send(
        {"type": "http.response.start", "status": given.status, "headers": [*fields, length]}
    )
    await send({"type": "http.response.body", "body": given.body})


async def _say(
    send: Send, status: int, content: Mapping[str, object], *headers: tuple[bytes, bytes]
) -> None:
    """An answer of our own."""
    await answer_json(send, status, content, OURS, *headers)
