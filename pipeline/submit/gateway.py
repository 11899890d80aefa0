"""The platform's own PUT, taken from a marketplace's client and carried on: one attempt per call.

A marketplace changes its base URL and its credentials, and nothing else. The platform's status,
body and Content-Type go back as they came, in a `Relayed`: the receiver marks every other answer as
ours (`pipeline.http.answers`).
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, TypeVar

from starlette.responses import Response

from pipeline import instants
from pipeline.contract.body import identifier, parse_json
from pipeline.contract.paths import Address
from pipeline.errors import CopyHeld, InboxUnavailable, SettingsError, Unreadable
from pipeline.http.answers import Json, Relayed
from pipeline.http.asgi import Gone, Request
from pipeline.http.callers import TurnedAway
from pipeline.http.loopback import outside_hint
from pipeline.http.preamble import admitted, whole_body
from pipeline.http.refusals import Reason
from pipeline.http.tokens import Tokens
from pipeline.inbox import Inbox
from pipeline.settings import Settings
from pipeline.submit import attempt, casefile
from pipeline.submit.attempt import Recorder, Sent, Submissions
from pipeline.submit.decision import (
    UNSENDABLE_SELLER,
    Busy,
    Order,
    Refused,
    Terms,
    is_sendable_seller,
    other_marketplace,
    unreadable_body,
)
from pipeline.submit.platform import TIMEOUT, TLS_REFUSED, Platform
from pipeline.submit.rules import Violation

LOG = logging.getLogger(__name__)

T = TypeVar("T")

BUSY_SECONDS: Final = 5
"""The longest `Retry-After` while another attempt is under way: most end far sooner."""
UNAVAILABLE_SECONDS: Final = 5
MISCONFIGURED_SECONDS: Final = 60
"""After which settings that keep the platform from being reached may have been corrected."""
STATUSES: Final = range(200, 600)
"""Of final answers (RFC 9110 section 15); no server sends any other on."""
PASSED_ON: Final = (b"content-type", b"content-encoding", b"retry-after")

_UNSENT: Final = "nothing was sent to the platform"
_UNKNOWN: Final = "the platform may have processed it; send the same payload again"
_ENDED: Final = f"the gateway was stopped before the platform answered; {_UNKNOWN}"
_DISCONNECTED: Final = (502, f"the connection to the platform failed; {_UNKNOWN}")
_UNANSWERED: Final[Mapping[str, tuple[int, str]]] = {
    TIMEOUT: (504, f"the platform did not answer in time; {_UNKNOWN}"),
    TLS_REFUSED: (
        502,
        "the TLS handshake with the platform failed, so it has not processed this: check the"
        " certificates with `prazo doctor --platform`, then send the same payload again",
    ),
}
"""The status and the words for a caller, where no answer came."""


class Gateway:
    """Handles the PUT, in one event loop; `close` it there.

    A platform that is not set up, or set up wrongly, stops no start: callers hear of it, since the
    webhooks beside us come first.
    """

    def __init__(
        self,
        settings: Settings,
        inbox: Inbox,
        recorder: Recorder,
        on_outcome: Callable[[str], None] = lambda outcome: None,
        on_refusal: Callable[[Reason], None] = lambda reason: None,
    ) -> None:
        """`on_outcome` hears of each attempt that was sent, `on_refusal` of each 503 that is not
        the platform's. Raises `SettingsError` where the tokens
        cannot be read."""
        self._on_outcome = on_outcome
        self._on_refusal = on_refusal
        self._settings = settings
        self._inbox = inbox
        self._recorder = recorder
        self._tokens = Tokens.of(settings)
        self._submissions: Submissions | None = None
        self._opening = asyncio.Lock()
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

    async def _opened(self) -> Submissions:
        """The way to the platform, which is opened aside: a disk that hangs with our files must
        keep no webhook waiting. Callers take turns, so that no more than one thread waits."""
        async with self._opening:
            if self._submissions is None:
                return await asyncio.to_thread(self._ready)
            return self._submissions

    async def close(self) -> None:
        """Waits for attempts that are being recorded, and closes the way to the platform. For those
        that are not answered yet the server has waited by then, with its other requests."""
        if self._submissions is not None:
            await self._submissions.close(answer_seconds=0)

    async def put(self, address: Address, request: Request) -> Response | None:
        """Takes one request to the end; None where its caller has gone before its end."""
        hint = (
            outside_hint(request.headers, request.http_version)
            if self._settings.webhook_auth == "none"
            else None
        )
        if hint is not None:
            error = f"only this machine may call while deliveries are not authenticated, and {hint}"
            return Json(403, {"error": f"{error}; {_UNSENT}"})
        caller = admitted(request, "PUT", self._tokens, "submit")
        if isinstance(caller, TurnedAway):
            return _turned_away(caller)
        try:
            payload = await whole_body(request, self._settings.max_body_bytes)
        except Gone:
            return None
        if isinstance(payload, TurnedAway):
            return _turned_away(payload)
        try:
            return await self._carry_on(address, payload, caller.name)
        except (InboxUnavailable, CopyHeld) as error:
            LOG.error("a submission was answered 503: %s", error)
            self._on_refusal("store")
            wait = (b"retry-after", b"%d" % UNAVAILABLE_SECONDS)
            why = "this is a copy" if isinstance(error, CopyHeld) else "the log cannot be written"
            return Json(503, {"error": f"{why}; {_UNSENT}"}, wait)
        except SettingsError as error:
            LOG.error("a submission was answered 503: %s", error)
            self._on_refusal("fault")
            content = {"error": f"{error.what}; {_UNSENT}", "why": error.why}
            return Json(503, content, (b"retry-after", b"%d" % MISCONFIGURED_SECONDS))

    async def _carry_on(self, address: Address, payload: bytes, caller: str) -> Response:
        submissions = await self._opened()
        process_id = _process_in(payload)
        if process_id is None:
            process_id = await _in_time(self._process_meant(address, payload))
        if process_id is None or isinstance(process_id, Violation):
            refusal = await _in_time(self._open_processes(address, process_id or _NO_PROCESS))
            return Json(422, refusal)
        order = Order(
            process_id=process_id,
            seller_id=address.seller_id,
            payload=payload,
            via="gateway",
            recorded_by=caller,
            marketplace_id=address.marketplace_id,
        )
        # On its own: a caller that hangs up must not leave an attempt without its end.
        under_way = asyncio.ensure_future(submissions.attempt(order))
        try:
            result = await asyncio.shield(under_way)
        except asyncio.CancelledError:  # the server ends, and has waited as long as it may
            return Json(504, {"error": _ENDED})
        match result:
            case Sent():
                attempt.note_sent(process_id, result)
                self._on_outcome(result.outcome)
                return _relayed(result)
            case Refused(violations=found):
                # Of a finished process, as the platform would answer.
                is_finished = any(it.rule == "process_finished" for it in found)
                return Json(409 if is_finished else 422, _refusal(found))
            case Busy(until=until):
                seconds = math.ceil((until - await submissions.now()) / instants.SECOND)
                wait = (b"retry-after", b"%d" % max(1, min(seconds, BUSY_SECONDS)))
                error = f"another attempt of this process is under way; {_UNSENT}"
                self._on_refusal("busy")
                return Json(503, {"error": error}, wait)
            case _:
                raise AssertionError(result)  # only retries can be not due

    async def _process_meant(self, address: Address, payload: bytes) -> str | None:
        """The process of a body without `process_id`: that of an earlier attempt with these bytes,
        else the seller's one open process. None where there is none, or several."""
        submissions = self._ready()
        is_ours = address.marketplace_id == submissions.marketplace_id
        if not is_ours or not is_sendable_seller(address.seller_id):
            return None
        files = submissions.casefiles
        sent_for = await asyncio.to_thread(files.process_of, address.seller_id, payload)
        if sent_for is not None:
            return sent_for
        found = await asyncio.to_thread(files.open_processes_of, address.seller_id)
        if len(found.processes) != 1 or found.left_out:
            return None
        return found.processes[0].process_id

    async def _open_processes(self, address: Address, fault: Violation) -> dict[str, Any]:
        """No attempt to record: the body names no process. The caller learns which it may be."""
        submissions = self._ready()
        violations = [fault]
        if address.marketplace_id != submissions.marketplace_id:
            violations.append(other_marketplace(submissions.marketplace_id))
        if not is_sendable_seller(address.seller_id):
            return _refusal([*violations, UNSENDABLE_SELLER])
        found = await asyncio.to_thread(submissions.casefiles.open_processes_of, address.seller_id)
        content = _refusal(violations)
        content["open_processes"] = [it.process_id for it in found.processes]
        if found.left_out:
            content["left_out"] = f"{found.left_out} older processes were not looked at"
        return content


_EXPECTED_PROCESS: Final = "the process_id of the webhook that asks for this review"
_NO_PROCESS: Final = Violation(
    "process_id",
    "missing",
    "nothing, and not exactly one open process of this seller",
    _EXPECTED_PROCESS,
    "Submission body fields",
)


async def _in_time(asked: Awaitable[T]) -> T:
    """What the inbox says; raises `InboxUnavailable` where it hangs."""
    try:
        async with asyncio.timeout(attempt.DECIDE_SECONDS):
            return await asked
    except TimeoutError:
        raise InboxUnavailable(
            "The log was not read in time",
            f"the inbox did not answer within {attempt.DECIDE_SECONDS:g} s",
            "look at the disk of the inbox or at its server",
        ) from None


def _process_in(payload: bytes) -> str | Violation | None:
    """The process that the body names, or why it names none; None where it leaves that out."""
    try:
        body = parse_json(payload)
    except Unreadable as unreadable:
        return unreadable_body(unreadable)
    if not isinstance(body, dict):
        return unreadable_body(Unreadable("no object"))
    if "process_id" not in body:
        return None
    if (process_id := identifier(body["process_id"])) is not None:
        return process_id
    return Violation(
        "process_id", "wrong_format", "no id", _EXPECTED_PROCESS, "Submission body fields"
    )


def _refusal(violations: Iterable[Violation]) -> dict[str, Any]:
    return {
        "error": f"refused by the rules of the review; {_UNSENT}",
        "violations": [asdict(it) for it in violations],
    }


def _turned_away(away: TurnedAway) -> Response:
    return Json(away.status, {"error": f"{away.reason}; {_UNSENT}"}, *away.headers)


def _relayed(sent: Sent) -> Response:
    """The platform's answer as it came; or, without one, ours."""
    given = sent.answer
    its_id = (b"prazo-attempt", sent.attempt_id.encode())
    if given.is_withheld:
        why = {"error": f"this attempt was given up; {_UNSENT}; send the same payload again"}
        content = {**why, "why": given.detail, "attempt_id": sent.attempt_id}
        return Json(504 if given.error == TIMEOUT else 502, content, its_id)
    if given.status is None:
        status, error = _UNANSWERED.get(given.error or "", _DISCONNECTED)
        content = {"error": error, "why": given.detail, "attempt_id": sent.attempt_id}
        return Json(status, content, its_id)
    if given.status not in STATUSES:
        error = f"the platform answered with the status {given.status}; {_UNKNOWN}"
        content = {"error": error, "attempt_id": sent.attempt_id}
        return Json(502, content, its_id)
    fields = [its_id]
    for name in PASSED_ON:
        if (value := given.header(name.decode())) is not None:
            fields.append((name, value.encode("latin-1", "replace")))
    if given.is_truncated:
        fields.append((b"prazo-truncated", b"the platform's answer was not passed on whole"))
    if not sent.is_recorded:
        fields.append((b"prazo-recorded", b"not yet: the log cannot be written now"))
    answer = Relayed(given.body, given.status)
    answer.raw_headers = [*fields, (b"content-length", b"%d" % len(given.body))]
    return answer
