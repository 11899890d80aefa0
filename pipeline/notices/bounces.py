"""Reads the mailbox to which mail servers report that a message did not arrive (RFC 3464), where
the settings name one.

Anybody can write to it. So a report counts only if it names a message of ours, and the address to
which that message went: whoever sends one for somebody else's address changes nothing. The mailbox
itself stays as it is; how far it was read stands in the inbox.
"""

import hashlib
import imaplib
import logging
import re
import threading
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.errors import PrazoError
from pipeline.http.outgoing.contexts import trusting
from pipeline.inbox import Inbox, copies
from pipeline.log.entries import Draft, Entry, content_of
from pipeline.log.kinds.seller_notice import ADDRESS, COMMITMENT, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import came_of, kept_of
from pipeline.notices.rules import EMAIL, Bounces, NoticeRules
from pipeline.notices.sending import address_digest
from pipeline.written import read_small

LOG = logging.getLogger(__name__)

RECORDED_BY: Final = "notices"
TURN_SECONDS: Final = 60.0
SECONDS: Final = 20.0
"""For each answer of the mail server."""
MOST_PER_TURN: Final = 200
MOST_BYTES: Final = 256 * 1024
"""Of a message: what it says of the delivery comes first."""
LOOKED_BACK: Final = 30 * instants.DAY
"""For so long after a message a report about it counts: servers give up within days."""

_OURS: Final = re.compile(r"\bmsg_[0-9a-f]{24}\b")
_SEEN: Final = "select number from leases where name = $1"
_REMEMBER: Final = """
    insert into leases (name, number, holder, held_until) values ($1, $2, '', 0)
    on conflict (name) do update
    set number = excluded.number where excluded.number > leases.number"""
_SENT: Final = "select seq from entries where seq > $1 and kind = $2 order by seq"


class Report(NamedTuple):
    """What a server says of a message."""

    message_id: str
    addresses: frozenset[str]
    """To whom it could not be delivered: as the sender named them, and where that led."""
    detail: str
    said_at: tuple[int, ...] = ()
    """When it last tried, and when it said so, as far as it gives them; in microseconds."""


class Reader:
    """Reads the mailbox until it is stopped. Several processes may: each result counts once."""

    def __init__(self, inbox: Inbox, load: Callable[[], NoticeRules]) -> None:
        """`load`: what is in force; every turn asks."""
        self._inbox = inbox
        self._load = load
        self._read = -1
        self._has_more = False
        self._sent: dict[str, list[int]] = {}  # message -> the entries that say that it goes

    def run(self, stop: threading.Event) -> None:
        """Reads until `stop` is set."""
        while not stop.is_set():
            try:
                self.turn()
            except Exception as error:  # whatever a server or a password makes of it, it goes on
                LOG.error("reports of messages that did not arrive wait: %s", _said(error))
            if not self._has_more:
                stop.wait(TURN_SECONDS)

    def turn(self) -> int:
        """Records what came since; how many results. Raises `PrazoError`, `OSError`,
        `imaplib.IMAP4.error`, and what comes of answers that no server should give."""
        self._has_more = False
        named = self._load().bounces
        if named is None:
            return 0
        copies.require_in_use(self._inbox)
        recorded, since = 0, self._inbox.now() - LOOKED_BACK
        with _opened(named) as server:
            place = _place(named, server)
            rows = self._inbox.query(_SEEN, place)
            seen = int(rows[0][0]) if rows else 0
            newer = _newer(server, seen, since)
            for uid in newer[:MOST_PER_TURN]:
                for report in reports_in(_fetched(server, uid)):
                    recorded += self._record(report)
                self._inbox.execute(_REMEMBER, place, uid)
        self._has_more = len(newer) > MOST_PER_TURN
        return recorded

    def _record(self, report: Report) -> int:
        key = self._inbox.log_key
        digests = {address_digest(key, it) for it in report.addresses}
        drafts = [
            _bounced(entry, report, self._inbox.now())
            for entry in self._entries(report.message_id)
            if content_of(entry).get(ADDRESS) in digests
        ]
        return len([it for it in self._inbox.append(drafts) if it.entry]) if drafts else 0

    def _entries(self, message_id: str) -> Iterator[Entry]:
        """The entries of a message that we sent by e-mail not long ago, one a process."""
        if self._read < 0:
            self._read = self._inbox.last_before(self._inbox.now() - LOOKED_BACK)
        for (seq,) in self._inbox.query(_SENT, self._read, SELLER_NOTICE):
            entry = self._inbox.entry(seq)
            said = {} if entry is None else content_of(entry)
            if COMMITMENT in said and said.get("channel") == EMAIL:
                self._sent.setdefault(str(said["message_id"]), []).append(seq)
            self._read = seq
        found = (self._inbox.entry(seq) for seq in self._sent.get(message_id, ()))
        return (entry for entry in found if entry is not None)


def _bounced(entry: Entry, report: Report, now: int) -> Draft:
    """The draft, dated by the server, but never before the message or ahead of us."""
    assert entry.process_id is not None
    may_be = (it for it in report.said_at if entry.occurred_at <= it <= now)
    return came_of(
        report.message_id,
        "bounced",
        report.detail,
        occurred_at=next(may_be, None),
        recorded_by=RECORDED_BY,
        process_id=entry.process_id,
        seller_id=entry.seller_id,
    )


# --- the mailbox ---------------------------------------------------------------------------------


def _opened(named: Bounces) -> imaplib.IMAP4_SSL:
    context = trusting(named.ca_file, protocols=())
    password = read_small(named.password_file).strip()
    server = imaplib.IMAP4_SSL(named.host, named.port, ssl_context=context, timeout=SECONDS)
    try:
        server.login(named.user, password)
        _good(server.select(f'"{named.folder}"', readonly=True))
    except BaseException:
        server.shutdown()
        raise
    return server


def _place(named: Bounces, server: imaplib.IMAP4_SSL) -> str:
    """Under which it is kept how far this mailbox was read; another one where its server has
    numbered it again."""
    _, [validity] = server.response("UIDVALIDITY")
    what = f"{named.host} {named.user} {named.folder} {validity!r}"
    return f"bounces {hashlib.sha256(what.encode()).hexdigest()[:24]}"


def _newer(server: imaplib.IMAP4_SSL, seen: int, since: int) -> list[int]:
    """Those that came after `seen`, and since the day of `since`, in microseconds: a day earlier,
    since the server's days are of another zone."""
    day = imaplib.Time2Internaldate(instants.of(since - instants.DAY))[1:12]
    found = _good(server.uid("SEARCH", f"UID {seen + 1}:* SINCE {day}"))
    uids = (int(it) for it in (found[0] or b"").split())
    return sorted(it for it in uids if it > seen)  # the last one is always found


def _fetched(server: imaplib.IMAP4_SSL, uid: int) -> bytes:
    """What a message begins with; empty where it is gone."""
    found = _good(server.uid("FETCH", str(uid), f"(BODY.PEEK[]<0.{MOST_BYTES}>)"))
    return next((bytes(it[1]) for it in found if isinstance(it, tuple)), b"")


def _good(answer: tuple[str, list[Any]]) -> list[Any]:
    kind, said = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"the server answered {kind}")
    return said


def _said(error: Exception) -> str:
    """What went wrong, without what a server quotes."""
    return str(error) if isinstance(error, PrazoError) else type(error).__name__


# --- a report ------------------------------------------------------------------------------------


def reports_in(raw: bytes) -> list[Report]:
    """What a message reports of messages of ours that could not be delivered; empty for whatever
    is anything else."""
    try:
        return [*_reports(message_from_bytes(raw, policy=policy.default))]
    except Exception as error:  # the parser stumbles over what nobody sends who means well
        LOG.warning("a message in the mailbox of reports is left out: %s", type(error).__name__)
        return []


def _reports(message: Message) -> Iterator[Report]:
    kind = message.get_content_type(), str(message.get_param("report-type")).lower()
    if kind != ("multipart/report", "delivery-status"):
        return
    parts = _parts(message)
    status = (it for it in parts if it.get_content_type() == "message/delivery-status")
    blocks = _parts(next(status, Message()))
    if not blocks:
        return
    named = {*_OURS.findall(str(blocks[0].get("Original-Envelope-Id", "")))}
    for part in parts:
        named |= {*_OURS.findall(_message_id_in(part))}
    for block in blocks[1:]:
        if str(block.get("Action", "")).strip().lower() == "failed":
            for message_id in sorted(named):
                dates = block.get("Last-Attempt-Date"), message.get("Date")
                said_at = tuple(at for it in dates if (at := _instant(it)) is not None)
                yield Report(message_id, _addresses(block), _detail(block), said_at)


def _parts(message: Message) -> list[Message]:
    found = message.get_payload()
    return [it for it in found if isinstance(it, Message)] if isinstance(found, list) else []


def _message_id_in(part: Message) -> str:
    """The Message-ID of the message that came back, whole or its headers alone."""
    kind = part.get_content_type()
    if kind == "message/rfc822":
        return "".join(str(it.get("Message-ID", "")) for it in _parts(part))
    if kind == "text/rfc822-headers":
        content = part.get_payload(decode=True)
        headers = message_from_bytes(content if isinstance(content, bytes) else b"")
        return str(headers.get("Message-ID", ""))
    return ""


def _addresses(block: Message) -> frozenset[str]:
    found = set()
    for name in ("Original-Recipient", "Final-Recipient"):
        kind, _, address = str(block.get(name, "")).partition(";")
        if kind.strip().lower() == "rfc822":
            found.add(address.strip().strip("<>"))
    return frozenset(found)


def _instant(date: object) -> int | None:
    """A date of a header; None where it cannot be read."""
    try:
        return instants.from_datetime(parsedate_to_datetime(str(date)))
    except (ValueError, OverflowError):
        return None


def _detail(block: Message) -> str:
    said = f"{block.get('Status', '')} {block.get('Diagnostic-Code', '')}"
    return kept_of(said, _addresses(block))
