"""Serves deadlines as iCalendar feeds (RFC 5545), each to those who know its secret address.

A feed shows ids, masked where they look personal, states and links; nothing else. Its address is
its only proof, since programs for calendars know no other: 256 random bits, of which the log holds
the digest alone.
"""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import icalendar
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pipeline.alert.messages import alert_texts
from pipeline.alert_rules import AlertRules
from pipeline.continuity import service as holding
from pipeline.continuity.service import LedgerService
from pipeline.errors import PrazoError
from pipeline.http import addresses
from pipeline.inbox import Inbox
from pipeline.language.catalogue import N_, Language, said_in
from pipeline.log.kinds.calendar import calendar_made
from pipeline.serve import identifiers, standing
from pipeline.settings import Settings
from pipeline.texts import printable

LOG = logging.getLogger(__name__)

PATH: Final = "/calendar/"
MAX_DEADLINES: Final = 1000
"""In one feed: the soonest, then what passed last; writing so many takes a quarter of a second of a
core."""
FEEDS_SECONDS: Final = 1.0
"""For how long the list of feeds is used: a revoked one is gone then."""
TEXT_SECONDS: Final = 60.0
"""For how long a feed's text is given again; programs ask every quarter of an hour at most."""
MAX_TEXTS: Final = 64
WRONG_PER_MINUTE: Final = 60
"""Wrong addresses that are answered 404; those after them are answered 429 until it is over."""
_WORKING: Final = CapacityLimiter(2)
_TOKEN_BYTES: Final = 32


class Secret(NamedTuple):
    """A new feed's name, the secret of its address, and the digest that the log holds."""

    feed_id: str
    token: str
    token_sha256: str


def new_secret() -> Secret:
    """The secret of a feed that nobody has yet."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return Secret(f"cal_{secrets.token_hex(6)}", token, _digest(token))


def make(inbox: Inbox, *, assignee: str | None, actor: str | None, recorded_by: str) -> Secret:
    """Records a new feed of one assignee's deadlines, or of all. Raises `CallerError` without a
    name, or for an assignee without one."""
    secret = new_secret()
    made = calendar_made(
        secret.feed_id,
        token_sha256=secret.token_sha256,
        assignee=assignee,
        actor=actor,
        recorded_by=recorded_by,
    )
    inbox.append([made])
    return secret


def address(settings: Settings, rules: AlertRules, token: str, language: Language = "en") -> str:
    """The URL of a feed: below the address that recipients know, or else that of this machine.
    Programs ask without a reader's language, so the address has it."""
    here = addresses.local(settings.dashboard_host, settings.dashboard_port)
    spoken = "?lang=pt" if language == "pt" else ""
    return f"{(rules.dashboard_url or here).rstrip('/')}{PATH}{token}.ics{spoken}"


def routes() -> list[BaseRoute]:
    """Where the feeds are. They need no token of the API and no login."""
    return [Route(f"{PATH}{{token}}.ics", _answer)]


async def _answer(request: Request) -> Response:
    """The feed whose address this is. Of a wrong one nobody hears whether it was ever right."""
    calendars = of(holding.current())
    try:
        language: Language = "pt" if request.query_params.get("lang") == "pt" else "en"
        text = await to_thread.run_sync(
            calendars.text, request.path_params["token"], language, limiter=_WORKING
        )
    except PrazoError as error:
        LOG.error("a calendar could not be shown: %s", error)
        standing.note(holding.current(), "calendar", error)
        return JSONResponse({"error": "not now; ask again later"}, 503, {"Retry-After": "60"})
    if text is None:
        if calendars.is_crowded():
            return JSONResponse({"error": "too many wrong addresses"}, 429, {"Retry-After": "60"})
        return JSONResponse({"error": "there is no such calendar"}, 404)
    return Response(text, media_type="text/calendar; charset=utf-8")


@lru_cache(maxsize=1)
def of(service: LedgerService) -> "Calendars":
    """The calendars of this process's ledger."""
    return Calendars(service)


class Calendars:
    """Feeds and their texts, kept for a moment. Safe to use from any thread."""

    def __init__(self, service: LedgerService) -> None:
        self._service = service
        self._lock = Lock()
        self._feeds: list[dict[str, Any]] = []
        self._read_at = float("-inf")
        self._texts: dict[tuple[str, str | None, str], tuple[float, bytes]] = {}
        self.wrong = 0
        """How many requests had the address of no open feed."""
        self._wrong_before = 0
        self._minute = float("-inf")

    def text(self, token: str, language: Language = "en") -> bytes | None:
        """The feed of a token; None where no open feed has that token."""
        base = self._service.alert_rules.get().dashboard_url
        with self._lock:
            now = time.monotonic()
            feed = self._feed(token, now)
            if feed is None:
                self._count_wrong(now)
                return None
            asked = (feed["feed_id"], base, language)
            made_at, text = self._texts.get(asked, (float("-inf"), b""))
            if now - made_at >= TEXT_SECONDS:
                text = self._made(feed["assignee"], base, language)
                if len(self._texts) >= MAX_TEXTS:
                    self._texts.clear()
                self._texts[asked] = (now, text)
            return text

    def is_crowded(self) -> bool:
        """Whether more wrong addresses came in this minute than are worth an answer."""
        return self.wrong - self._wrong_before > WRONG_PER_MINUTE

    def _feed(self, token: str, now: float) -> dict[str, Any] | None:
        """It compares every feed, so that the time does not reveal which one matched."""
        if now - self._read_at >= FEEDS_SECONDS:
            self._feeds = self._service.reader.read("calendar_feeds").to_pylist()
            self._read_at = now
        digest, found = _digest(token).encode(), None
        for feed in self._feeds:
            known = (feed["token_sha256"] or "").encode()
            if hmac.compare_digest(known, digest) and feed["revoked_at"] is None:
                found = feed
        return found

    def _count_wrong(self, now: float) -> None:
        if now - self._minute >= 60:
            self._minute, self._wrong_before = now, self.wrong
        self.wrong += 1
        if self.wrong - self._wrong_before in (1, WRONG_PER_MINUTE + 1):
            LOG.warning("somebody asks for a calendar under a wrong address; %d so far", self.wrong)

    def _made(self, assignee: str | None, base: str | None, language: Language) -> bytes:
        reader, log_key = self._service.reader, self._service.inbox.log_key
        whose = {"assignee": assignee}
        rows = reader.read("calendar_deadlines", where=whose, limit=MAX_DEADLINES).to_pylist()
        total = len(rows)
        if total == MAX_DEADLINES:
            total = reader.count("calendar_deadlines", where=whose)
        return written(rows, total, base=base, log_key=log_key, language=language)


def written(
    rows: Sequence[dict[str, Any]],
    total: int,
    *,
    base: str | None,
    log_key: bytes,
    language: Language = "en",
) -> bytes:
    """The calendar of rows of `calendar_deadlines`, which are these of `total`, with links to pages
    below `base`; without it there are none. Pure."""
    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//Prazo//Deadlines//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    calendar.add("x-wr-calname", "Prazo")
    calendar.add("x-published-ttl", "PT1H")
    if len(rows) < total:
        cut = N_("Only the first {n} of {total} deadlines")
        calendar.add("x-wr-caldesc", said_in(language, cut, n=len(rows), total=total))
    for row in rows:
        calendar.add_component(_event(row, base, log_key, language))
    text: bytes = calendar.to_ical()
    return text


def _event(
    row: dict[str, Any], base: str | None, log_key: bytes, language: Language
) -> icalendar.Event:
    process_id = row["process_id"]
    name = identifiers.mask(process_id, log_key)
    seller = row["seller_id"] and identifiers.mask(row["seller_id"], log_key)
    changed_at = _utc(row["changed_at"])
    event = icalendar.Event()
    event.add("uid", f"{_uid(process_id, log_key)}@prazo")
    event.add("dtstamp", changed_at)
    event.add("last-modified", changed_at)
    event.add("sequence", row["sequence"])
    event.add("status", "CANCELLED" if row["is_cancelled"] else "CONFIRMED")
    event.add("dtstart", _utc(row["deadline_at"]))
    event.add("transp", "TRANSPARENT")  # a deadline takes nobody's time
    kind = row["review_type"] or said_in(language, N_("review"))
    state = alert_texts.state(row["state"], language)
    event.add("summary", printable(f"{kind} {name}: {state}"))
    if seller is not None:
        event.add("description", printable(f"{said_in(language, N_('Seller'))} {seller}"))
    if base is not None and name == process_id:  # a mask leads nowhere
        event.add("url", f"{base.rstrip('/')}/process?process={quote(process_id, safe='')}")
    return event


def _uid(process_id: str, log_key: bytes) -> str:
    """The same for a process as long as its log lasts; nobody without the key can guess it."""
    return hmac.new(log_key, f"calendar:{process_id}".encode(), hashlib.sha256).hexdigest()[:32]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _utc(instant: datetime) -> datetime:
    return instant.replace(microsecond=0, tzinfo=UTC)
