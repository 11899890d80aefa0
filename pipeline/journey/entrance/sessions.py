"""Knows which browser a seller answers in, and what was on its screen.

The cookie holds a random secret and nothing else; the row is found by its hash. Each screen that
can be answered carries a token: when it was drawn and a digest of what it showed, under a key that
follows from the log's. It is bound to the session, so no other page can make one.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final, NamedTuple, TypeGuard

from pipeline import instants
from pipeline.inbox import Inbox
from pipeline.inbox.store import Statement
from pipeline.journey.links import Journey, digest

SECRET_BYTES: Final = 32
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")
SEEN_PAUSE: Final = instants.MINUTE
"""Between two records that a session was used, where nothing was answered."""
MAX_SCREENS: Final = 2000
"""Lines of a journey's flow; nobody needs as many."""

_OF: Final = "select ref, began_at, seen_at from journey_sessions where session_sha256 = $1"
_BEGIN: Final = """
    insert into journey_sessions (session_sha256, ref, began_at, seen_at) values ($1, $2, $3, $3)"""
_SEEN: Final = "update journey_sessions set seen_at = $1 where session_sha256 = $2"
_FLOW: Final = """
    insert into journey_flow (ref, at, event, screen, detail) values ($1, $2, $3, $4, $5)"""
_FLOW_OF: Final = """
    select at, event, screen, detail from journey_flow where ref = $1 order by at"""
_FLOW_LINES: Final = "select count(*) from journey_flow where ref = $1"
_END: Final = "delete from journey_sessions where session_sha256 = $1"
_FORGET: Final = "delete from journey_sessions where seen_at < $1"


class Session(NamedTuple):
    """One browser in one journey."""

    sha256: str  # of the cookie's secret
    ref: str
    began_at: int
    seen_at: int


class Page(NamedTuple):
    """What a token says of a screen."""

    drawn_at: int
    digest: str


class Flow(NamedTuple):
    """Something that happened on the seller's way through the screens."""

    at: int
    event: str
    screen: str | None
    detail: str | None


def new_secret() -> str:
    """A secret for a cookie."""
    return secrets.token_urlsafe(SECRET_BYTES)


def is_secret(text: str | None) -> TypeGuard[str]:
    """Whether a text could be one of these."""
    return text is not None and _SECRET.fullmatch(text) is not None


class Sessions:
    """Finds and begins sessions. `idle`: microseconds after which one is over."""

    def __init__(self, inbox: Inbox, idle: int) -> None:
        self._inbox = inbox
        self.idle = idle
        self._key = hmac.digest(inbox.log_key, b"the screens of journeys", hashlib.sha256)

    def find(self, secret: str | None, ref: str, now: int) -> Session | None:
        """The session of a cookie in a journey; None where it is unknown or too old."""
        if not secret:
            return None
        sha256 = digest(secret)
        rows = self._inbox.query(_OF, sha256)
        if not rows or rows[0][0] != ref or now - rows[0][2] > self.idle:
            return None
        return Session(sha256, *rows[0])

    def begin(
        self, ref: str, now: int, brought: str | None = None
    ) -> tuple[str, Session, Statement]:
        """A new session: its secret, itself, and the statement that makes it durable. `brought`:
        the secret that the browser got with the first screen, which no session has yet."""
        if not is_secret(brought) or self._inbox.query(_OF, digest(brought)):
            brought = new_secret()
        session = Session(digest(brought), ref, now, now)
        return brought, session, Statement(_BEGIN, (session.sha256, ref, now))

    def touch(self, session: Session, now: int) -> None:
        """Says that a session was used, not more often than needed."""
        if now - session.seen_at > SEEN_PAUSE:
            self._inbox.execute(_SEEN, now, session.sha256)

    def seen(self, session: Session, now: int) -> Statement:
        """The same, in the commit of an answer."""
        return Statement(_SEEN, (now, session.sha256))

    def end(self, session: Session) -> None:
        """Removes a session, which no cookie opens any more."""
        self._inbox.execute(_END, session.sha256)

    def forget(self, now: int) -> None:
        """Removes what no cookie can open any more."""
        self._inbox.execute(_FORGET, now - 2 * self.idle)

    # --- screens ---

    def token(self, session: Session, screen: str, page: Page) -> str:
        """The token of a screen that was drawn for a session."""
        return f"{page.drawn_at}.{page.digest}.{self._mark(session, screen, page)}"

    def page(self, session: Session, screen: str, token: str) -> Page | None:
        """What a token says; None where it is not of this session and screen."""
        parts = token.split(".")
        if len(parts) != 3 or not (parts[0].isascii() and parts[0].isdigit()) or len(token) > 200:
            return None
        page = Page(int(parts[0]), parts[1])
        mark = self._mark(session, screen, page)
        return page if hmac.compare_digest(mark.encode(), parts[2].encode()) else None

    def _mark(self, session: Session, screen: str, page: Page) -> str:
        text = f"{session.sha256}\n{screen}\n{page.drawn_at}\n{page.digest}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:32]

    # --- the way through them ---

    def note(self, journey: Journey, flow: Flow) -> Statement:
        """The statement that adds a line to a journey's flow."""
        return Statement(_FLOW, (journey.ref, flow.at, flow.event, flow.screen, flow.detail))

    def flow_of(self, journey: Journey) -> list[Flow]:
        """A journey's flow so far, in order."""
        return [Flow(*row) for row in self._inbox.query(_FLOW_OF, journey.ref)]

    def has_room(self, journey: Journey) -> bool:
        """Whether its flow may grow."""
        rows = self._inbox.query(_FLOW_LINES, journey.ref)
        return int(rows[0][0]) < MAX_SCREENS
