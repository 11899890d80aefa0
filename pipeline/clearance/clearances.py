"""Lets an act that needs a second person begin once, and only as it was asked for.

    requested   an entry by the person who wants it: what exactly, why, until when
    approved    an entry by another person; or refused
    used        the entry of the act itself, which carries the request's key

The log takes the key of each step once. So of two approvers, or of two processes that begin the
act, the inbox takes one. Nothing is kept besides the log, so a restart changes nothing.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from pipeline import instants
from pipeline.clearance.acts import Asked, Terms
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import CallerError
from pipeline.inbox import Inbox, Outcome, Receipt
from pipeline.inbox.actors import named
from pipeline.ledger.facts.remains import work_in
from pipeline.log.actions import By, action
from pipeline.log.actors import is_pseudonym
from pipeline.log.entries import Draft
from pipeline.log.kinds.clearance import CLEARANCE
from pipeline.names import folded
from pipeline.texts import typed

Decision = Literal["approved", "refused"]

_BY_KEY: Final = """
    select occurred_at, body, process_id, seller_id from entries where ingest_key = $1"""


class Awaited(CallerError):
    """The act waits for a second person; nothing of it was done. Answered 409."""

    def __init__(self, request_id: str, until: int) -> None:
        asked = ("--reason", "R", "--actor", "NAME")
        approve = typed("prazo", "clearances", "approve", request_id, *asked)
        super().__init__(
            "Nothing was done yet: this waits for a second person",
            f"it is the request {request_id}, which ends at {instants.readable(until)}",
            "have somebody else approve it, on the page Alerts, by"
            f" `POST /api/clearances/{request_id}` or, where nobody logs in, by"
            f" {approve}; then ask for exactly the same again",
        )
        self.request_id = request_id


class _Request(NamedTuple):
    """A request as the log has it."""

    act: str
    actor: str
    reason: str
    at: int
    until: int
    process_id: str | None
    seller_id: str | None


class Clearance:
    """A second person's consent to one act, for one run of it."""

    def __init__(self, request_id: str, request: _Request) -> None:
        self.request_id = request_id
        self.reason = request.reason
        """The reason of the request, which the second person read."""
        self.as_of = request.at
        """The instant of the request, in microseconds. An act that shows rows as of now shows those
        of this instant."""
        self._is_begun = False

    @property
    def named(self) -> dict[str, JsonValue]:
        """What the body of the act's entry says of the clearance."""
        return {CLEARANCE: self.request_id}

    def begun_by(self, draft: Draft) -> Draft:
        """The draft that begins the act, with the key that uses the clearance up."""
        if self._is_begun:
            return draft
        return draft._replace(ingest_key=_key(self.request_id, "used"))

    def check(self, receipt: Receipt) -> None:
        """Raises `CallerError` where another run has begun the act."""
        if receipt.outcome is Outcome.DUPLICATE:
            raise CallerError(
                "Nothing was done",
                f"what {self.request_id} allowed has been done already",
                "ask again: a second person's word holds for one act",
            )
        self._is_begun = self._is_begun or receipt.outcome is Outcome.RECORDED


def settle(inbox: Inbox, terms: Terms, asked: Asked | None, by: By) -> Clearance | None:
    """The clearance under which an act may begin now; None where the act needs none.

    Where nobody has approved the act, records a request, unless one waits already, and raises
    `Awaited`. Without a reason or a name, raises `CallerError` and records nothing.
    """
    if asked is None or asked.act not in terms.acts:
        return None
    now, number = inbox.now(), 1
    while True:
        request_id = asked.request_id(by.actor or "", number, inbox.log_key)
        request = _request(inbox, request_id)
        if request is None:
            break
        decision = _decision(inbox, request_id)
        if now < request.until and not inbox.query(_BY_KEY, _key(request_id, "used")):
            if decision == "approved":
                return Clearance(request_id, request)
            if decision is None:
                raise Awaited(request_id, request.until)
        number += 1
    until = now + terms.span
    said: dict[str, JsonValue] = {
        "step": "requested",
        "request": request_id,
        "act": asked.act,
        "what": dict(asked.what),
        "shown": json.dumps(asked.shown, ensure_ascii=False),
        "until": instants.canonical(until),
    }
    draft = _step(said, asked.process_id, asked.seller_id, by, now)
    inbox.append([draft._replace(ingest_key=_key(request_id, "requested"))])
    raise Awaited(request_id, until)


def decide(
    inbox: Inbox,
    terms: Terms,
    request_id: str,
    decision: Decision,
    by: By,
    *,
    is_proved: bool,
) -> None:
    """Records a second person's decision. `is_proved`: a login or a token says who they are.

    Raises `CallerError` where there is no such request, where it is the actor's own or nobody knows
    whose, is decided already or has ended, where a reason or a name is missing, and where people
    log in here and this person did not.
    """
    request = _request(inbox, request_id)
    if request is None:
        raise CallerError(
            f"There is no request {request_id!r}",
            "nobody asked for it",
            "`prazo clearances` lists those that wait",
        )
    now = inbox.now()
    if terms.has_logins and not is_proved:
        raise CallerError(
            "Nothing was decided",
            "people log in here, and nothing proves who you are",
            "decide on the page Alerts, or over the API with a token",
        )
    name = folded(by.actor or "")
    if not name:
        raise CallerError("Nothing was decided", "nobody can read the name", "say who decides")
    if is_pseudonym(request.actor):
        raise CallerError(
            "Nothing was decided",
            "the inbox lacks the name of who asked for it, who may be the same person",
            "see what `prazo verify` says, and put the name back, or have it asked for again",
        )
    if name == folded(request.actor):
        raise CallerError(
            "Nothing was decided",
            f"{request.actor} asked for it",
            "somebody else has to decide",
        )
    if now >= request.until:
        raise CallerError(
            "Nothing was decided",
            f"the request ended at {instants.readable(request.until)}",
            "it has to be asked for again",
        )
    said: dict[str, JsonValue] = {"step": decision, "request": request_id, "act": request.act}
    draft = _step(said, request.process_id, request.seller_id, by, now)
    [receipt] = inbox.append([draft._replace(ingest_key=_key(request_id, "decided"))])
    if receipt.outcome is Outcome.DUPLICATE:
        raise CallerError(
            "Nothing was decided", "somebody has decided about it already", "look at who, and why"
        )


def act_of(inbox: Inbox, request_id: str) -> str | None:
    """Which act a request asks for; None where there is no such request."""
    request = _request(inbox, request_id)
    return None if request is None else request.act


def _request(inbox: Inbox, request_id: str) -> _Request | None:
    found = inbox.query(_BY_KEY, _key(request_id, "requested"))
    if not found:
        return None
    at, body, process_id, seller_id = found[0]
    said = named(inbox, work_in(body))
    until = instants.parse(said["until"])
    assert until is not None  # we wrote it
    return _Request(said["act"], said["actor"], said["reason"], at, until, process_id, seller_id)


def _decision(inbox: Inbox, request_id: str) -> Decision | None:
    found = inbox.query(_BY_KEY, _key(request_id, "decided"))
    decision: Decision | None = work_in(found[0][1])["step"] if found else None
    return decision


def _step(
    said: Mapping[str, JsonValue],
    process_id: str | None,
    seller_id: str | None,
    by: By,
    now: int,
) -> Draft:
    draft = action(
        CLEARANCE,
        **by._asdict(),
        process_id=process_id,
        seller_id=seller_id,
        **said,
    )
    return draft._replace(occurred_at=now)


def _key(request_id: str, step: Literal["requested", "decided", "used"]) -> bytes:
    return hashlib.sha256(canonical_json([CLEARANCE, request_id, step])).digest()
