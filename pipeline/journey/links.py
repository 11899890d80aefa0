"""Mints the links by which one seller answers one review, and says what a link still opens.

A link holds a secret of 256 bits, of which only the hash is kept. Minting a link is the invitation:
its row and the `invited` entry are one commit. A link works until it expires, a person revokes it,
the seller has confirmed, or the process is finished, whichever comes first. One that we send
expires after years alone: the platform takes answers long after the deadline.
"""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self
from urllib.parse import unquote

from pipeline import instants
from pipeline.contract.body import identifier
from pipeline.errors import CallerError, SettingsError
from pipeline.hosts import words
from pipeline.inbox import Inbox
from pipeline.inbox.store import Statement
from pipeline.journey import evidence
from pipeline.journey.reviews import Review, Reviews
from pipeline.language.codes import CHANNELS
from pipeline.log.entries import Draft
from pipeline.settings import Settings
from pipeline.texts import typed

LOG = logging.getLogger(__name__)

TOKEN_BYTES: Final = 32
MAX_LIVE: Final = 10
"""The most links of a process that work at once; before another is made, one has to be revoked,
which a message does itself with one that was sent. Those that were made at a click do not count."""
MAX_CLICKED: Final = 5
"""The most links of a process that were made at a click and work at once; another ends the oldest
of them, one that was not opened first."""
IN_APP: Final = "in_app"
CLICK_LIFE: Final = 2 * instants.HOUR
"""Of a link that is made at a click: the seller follows it at once, and clicks again another
day."""
SENT_LIFE: Final = 3650 * instants.DAY
"""Of a link that we send: the platform names no end for the answers to an expired review."""
ADDRESS_LIFE: Final = 120 * instants.DAY
"""For so long the address is kept to which a link's codes go; afterwards its seller can have a new
link sent."""
SHOWN_LIFE: Final = 120 * instants.DAY
"""For so long after the confirmation a code opens the receipt, with what became of the answers."""
_NUMBERS: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits and letters that nobody mistakes for each other."""
NUMBER_CHARACTERS: Final = 12

_COLUMNS: Final = (
    "ref, process_id, seller_id, channel, email, return_url, only_paths, review, minted_at,"
    " expires_at, revoked_at, opened_at, confirmed_at, settled_at"
)
_BY_TOKEN: Final = f"select {_COLUMNS} from journeys where token_sha256 = $1"
_BY_REF: Final = f"select {_COLUMNS} from journeys where ref = $1"
_OF_PROCESS: Final = (
    f"select {_COLUMNS} from journeys where process_id = $1 order by minted_at, ref"
)
_INSERT: Final = """
    insert into journeys
        (ref, token_sha256, process_id, seller_id, channel, email, return_url, only_paths,
         review, minted_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"""


def live_at(instant: str) -> str:
    """What `Journey.is_live` says, as a condition in SQL. `instant`: the parameter with it."""
    return f"revoked_at is null and confirmed_at is null and expires_at > {instant}"


_REVOKE: Final = f"""
    update journeys set revoked_at = $1, email = null where ref = $2 and {live_at("$1")}"""
_REVOKE_ALL: Final = f"""
    update journeys set revoked_at = $1, email = null where process_id = $2 and {live_at("$1")}"""

_REVOKE_SELLERS: Final = f"""
    update journeys set revoked_at = $1, email = null where seller_id = $2 and {live_at("$1")}"""

_IS_OLD: Final = "email is not null and (expires_at <= $1 or minted_at <= $2)"
_TO_FORGET: Final = f"select 1 from journeys where {_IS_OLD} limit 1"
_FORGET: Final = f"update journeys set email = null where {_IS_OLD}"


@dataclass(frozen=True, slots=True)
class Journey:
    """One link and what became of it. Instants in microseconds."""

    ref: str
    process_id: str
    seller_id: str
    channel: str
    email: str | None
    return_url: str | None
    only_paths: tuple[str, ...] | None  # fields to be corrected; None: all that is asked
    review: str  # what the process asked for when the link was made
    minted_at: int
    expires_at: int
    revoked_at: int | None
    opened_at: int | None
    confirmed_at: int | None
    settled_at: int | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """The journey of a row with `_COLUMNS`."""
        known = dict(zip(_COLUMNS.split(", "), row, strict=True))
        only = known["only_paths"]
        return cls(**{**known, "only_paths": None if only is None else tuple(json.loads(only))})

    @property
    def is_clicked(self) -> bool:
        """Whether it was made at a click in the marketplace's own pages, and sent to nobody."""
        return self.channel == IN_APP and self.expires_at - self.minted_at <= CLICK_LIFE

    @property
    def is_sent(self) -> bool:
        """Whether we sent it, so that it has no end that anybody has to know."""
        return self.expires_at - self.minted_at == SENT_LIFE

    @property
    def journey_id(self) -> str:
        """The id under which the log has the journey's steps."""
        return f"jrn_{self.ref}"

    def is_live(self, now: int) -> bool:
        """Whether the seller may still answer, by the link's row alone: the process may be finished
        all the same."""
        return self.revoked_at is None and self.confirmed_at is None and now < self.expires_at


class Minted(NamedTuple):
    """A link that was made. It is shown once: nobody can read its secret again."""

    journey: Journey
    url: str
    seq: int  # of the `invited` entry

    @property
    def as_answer(self) -> dict[str, Any]:
        """What a program that asked for the link gets."""
        return {
            "journey": shown_ref(self.journey.ref),
            "journey_id": self.journey.journey_id,
            "url": self.url,
            "expires_at": instants.readable(self.journey.expires_at),
            "seq": self.seq,
        }


def digest(secret: str) -> str:
    """The hash by which a secret is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _check_address(text: str) -> None:
    from pipeline.http.outgoing.mail_server import mailbox  # no delivery waits for its imports

    try:
        if len(mailbox(text)) > 254:
            raise ValueError("is longer than 254 characters")
    except ValueError as error:
        raise _refused(
            f"the e-mail address cannot be one: it {error}", "give name@host, and no second one"
        ) from None


def mint(
    settings: Settings,
    inbox: Inbox,
    process_id: str,
    *,
    recorded_by: str,
    made_by: str | None = None,
    channel: str = "web_form",
    email: str | None = None,
    return_url: str | None = None,
    reviews: Reviews | None = None,
    is_sent: bool = False,
    is_clicked: bool = False,
) -> Minted:
    """A fresh link for one unfinished process, with its `invited` entry in the same commit.

    channel    by which the caller brings the link to the seller
    email      the address to which codes are sent
    made_by    the name of the person who makes it; None where a program does
    is_sent    we send it, so that it works as long as the process can be answered
    is_clicked the seller clicks in the marketplace's own pages now, and gets it at once

    Where the platform has refused fields by name, the link asks for these alone. Raises
    `CallerError` where no link can be made, and `SettingsError` without PRAZO_JOURNEY_URL.
    """
    if is_clicked:
        channel = IN_APP
    _check_given(settings, process_id, channel, email, return_url)
    review = (reviews or Reviews(inbox)).look(process_id)
    now = inbox.now()
    life = round(settings.journey_hours * instants.HOUR)
    if is_clicked or is_sent:
        life = CLICK_LIFE if is_clicked else SENT_LIFE
    _check_process(inbox, process_id, review, is_clicked=is_clicked)
    process = review.process
    assert process is not None
    assert process.seller_id is not None  # otherwise it is unanswerable
    journey = Journey(
        ref="".join(secrets.choice(_NUMBERS) for _ in range(NUMBER_CHARACTERS)),
        process_id=process.process_id,
        seller_id=process.seller_id,
        channel=channel,
        email=email,
        return_url=return_url,
        only_paths=review.to_correct or None,
        review=review.text,
        minted_at=now,
        expires_at=now + life,
        revoked_at=None,
        opened_at=None,
        confirmed_at=None,
        settled_at=None,
    )
    token = secrets.token_urlsafe(TOKEN_BYTES)
    if is_clicked:
        _make_room(inbox, process_id)
    seq = _record(inbox, journey, token, evidence.invited(journey, recorded_by, made_by))
    return Minted(journey, f"{settings.journey_url}/j/{token}", seq)


def no_page() -> SettingsError:
    """The error that no link can be made, since sellers have no page."""
    return SettingsError(
        "No link can be made",
        "nothing says where sellers reach their page",
        "set PRAZO_JOURNEY_URL to its public address (docs/journey.md)",
    )


def _check_given(
    settings: Settings, process_id: str, channel: str, email: str | None, return_url: str | None
) -> None:
    """Raises as `mint` does where no process at all could have a link with this."""
    if settings.journey_url is None:
        raise no_page()
    if identifier(process_id) is None:
        raise _refused("no process can have this id", "give the process_id of the webhook")
    if channel not in CHANNELS:
        raise _refused(f"the channel must be one of {', '.join(CHANNELS)}", "choose one of them")
    if email is not None:
        _check_address(email)
    if return_url is not None and not allows(settings, return_url):
        raise _refused(
            "PRAZO_JOURNEY_RETURN_URLS does not allow the return URL",
            "add it there, or leave it out",
        )


def _check_process(inbox: Inbox, process_id: str, review: Review, *, is_clicked: bool) -> None:
    """Raises `CallerError` where nobody can answer the process, or it has links enough."""
    if (fault := review.unanswerable) is not None:
        raise _refused(fault, "look at the process: `prazo show process_state`")
    if not is_clicked and is_full(inbox, process_id):
        raise _refused(
            f"{MAX_LIVE} links of {process_id} work already",
            f"revoke them: {typed('prazo', 'journey', 'revoke', '--process', process_id)}",
        )


def is_full(inbox: Inbox, process_id: str) -> bool:
    """Whether no other link of a process is made, but at a click."""
    now = inbox.now()
    live = [it for it in of_process(inbox, process_id) if it.is_live(now) and not it.is_clicked]
    return len(live) >= MAX_LIVE


def _make_room(inbox: Inbox, process_id: str) -> None:
    """Ends those links made at a click that leave no room for another."""
    now = inbox.now()
    clicked = [it for it in of_process(inbox, process_id) if it.is_live(now) and it.is_clicked]
    clicked.sort(key=lambda link: (link.opened_at is not None, link.minted_at, link.ref))
    for each in clicked[: max(0, len(clicked) + 1 - MAX_CLICKED)]:
        revoke(inbox, ref=each.ref)


def _record(inbox: Inbox, journey: Journey, token: str, invitation: Draft) -> int:
    """Records a link and the invitation in one commit; the seq of the invitation."""
    only = None if journey.only_paths is None else json.dumps(journey.only_paths)
    values = (
        *(journey.ref, digest(token), journey.process_id, journey.seller_id, journey.channel),
        *(journey.email, journey.return_url, only, journey.review, journey.minted_at),
        journey.expires_at,
    )
    inbox.change(Statement(_INSERT, values), drafts=[invitation])
    entries = inbox.find(process_id=journey.process_id, kind=invitation.kind)
    return next(it.seq for it in reversed(entries) if it.ingest_key == invitation.ingest_key)


def for_messages(
    settings: Settings, inbox: Inbox, recorded_by: str
) -> Callable[[str, str | None], str | None]:
    """A function that gives a link for a message to the seller of a process: the link that it made
    before, if that still works, else a fresh one; None where no link can be made. The function
    raises `InboxUnavailable`."""

    def fresh(process_id: str, before: str | None) -> str | None:
        try:
            if before is not None and still_works(inbox, before):
                return before
            return mint(settings, inbox, process_id, recorded_by=recorded_by).url
        except CallerError as error:
            LOG.warning("a message goes out without a link for the seller: %s", error.why)
            return None

    return fresh


def still_works(inbox: Inbox, url: str) -> bool:
    """Whether a link may be sent again, by its row alone, as `is_live` says. Raises
    `InboxUnavailable`."""
    known = by_token(inbox, url.rpartition("/")[2])
    return known is not None and known.is_live(inbox.now())


def by_token(inbox: Inbox, token: str) -> Journey | None:
    """The journey that a link's secret belongs to, whatever became of it."""
    rows = inbox.query(_BY_TOKEN, digest(token))
    return Journey.of(rows[0]) if rows else None


def by_ref(inbox: Inbox, ref: str) -> Journey | None:
    """The journey with a number, whatever became of it. None where there is none; a text that
    cannot be a number costs no question to the database."""
    if not is_ref(ref):
        return None
    rows = inbox.query(_BY_REF, ref)
    return Journey.of(rows[0]) if rows else None


def is_ref(text: str) -> bool:
    """Whether a text could be the number of a journey."""
    return len(text) == NUMBER_CHARACTERS and set(text) <= set(_NUMBERS)


def of_process(inbox: Inbox, process_id: str) -> list[Journey]:
    """The journeys of a process, the oldest first."""
    return [Journey.of(row) for row in inbox.query(_OF_PROCESS, process_id)]


def revoke(
    inbox: Inbox,
    *,
    ref: str | None = None,
    process_id: str | None = None,
    seller_id: str | None = None,
) -> int:
    """Ends one link, or all links of a process or of a seller. How many were ended."""
    now = inbox.now()
    if seller_id is not None:
        return inbox.execute(_REVOKE_SELLERS, now, seller_id)
    if ref is not None:
        return inbox.execute(_REVOKE, now, ref)
    return inbox.execute(_REVOKE_ALL, now, process_id)


def forget_addresses(inbox: Inbox, now: int) -> int:
    """Removes the e-mail addresses of links that have expired by `now`, in microseconds, or were
    made `ADDRESS_LIFE` before. How many were removed.

    Confirming or revoking a link removes its address at once; where the process is finished, the
    address stays until then. Raises `InboxUnavailable`.
    """
    old = (now, now - ADDRESS_LIFE)
    # Asked first, since an update keeps other writers waiting.
    return inbox.execute(_FORGET, *old) if inbox.query(_TO_FORGET, *old) else 0


def allows(settings: Settings, url: str) -> bool:
    """Whether a seller may be led to a URL at the end: it is one that the settings allow, or goes
    on from such a one with `/` or `?`."""
    if len(url) > 2000 or not url.isprintable() or "\\" in url or " " in url:
        return False
    # By these a browser would leave the path that is allowed.
    if any(unquote(it) in (".", "..") for it in re.split("[?#]", url)[0].split("/")):
        return False
    for prefix in words(settings.journey_return_urls):
        bare = prefix.rstrip("/")
        if url == bare or url.startswith((f"{bare}/", f"{bare}?")):
            return True
    return False


def shown_ref(ref: str) -> str:
    """A journey's number as people read it: `K7QM-2XTR-9DHV`."""
    return "-".join(ref[at : at + 4] for at in range(0, len(ref), 4))


def _refused(why: str, remedy: str) -> CallerError:
    return CallerError("The link was not made", why, remedy)
