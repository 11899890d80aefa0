"""Looks at what the log cannot say: a receiver that is down, a ledger that is, a certificate.

What is found is an alert like every other. It is raised once it has lasted a while, stays the same
alert however often this process is started, and is cleared in the log when it is over. What lasts
has a number in its name, so that the last of a kind is found in the log however old it is.
"""

import contextlib
import functools
import hashlib
import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.alarms import LASTING, Alarm
from pipeline.alert.entries import Due
from pipeline.alert_rules.ladder import Watched
from pipeline.aside import Aside, OneAtATime
from pipeline.conditions import BESIDE_THE_LOG
from pipeline.continuity.follower import BEHIND_SECONDS
from pipeline.errors import SettingsError
from pipeline.files.reread import READ_SECONDS, unread
from pipeline.http import addresses
from pipeline.http.certificates import check_usable, end_of, first_to_end, last_to_end
from pipeline.http.outgoing.headers import authorization, extra_headers
from pipeline.http.outgoing.proxies import login_in
from pipeline.http.outgoing.receivers import Answer, ask
from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, heartbeats, is_seen, see, see_no_longer
from pipeline.settings import Settings
from pipeline.texts import names_person
from pipeline.written import read_small

LOG = logging.getLogger(__name__)

GRACE_SECONDS: Final = 120.0
"""What is wrong has to stay wrong for so long: nobody is alarmed by a restart. Others may call it
over only so long after a process last saw it: each machine has a ledger of its own."""
ASK_SECONDS: Final = 10.0


CHANNELS: Final = "channel_files"
"""The kind of what is wrong with files that channels need."""
_BEGAN: Final = "select recorded_at from entries where seq = 1"
_BY_KEY: Final = "select seq from entries where ingest_key = $1"


class Found(NamedTuple):
    """What is alarming beside the log's own alerts, and the alerts that are over."""

    dues: list[Due]
    over: list[str]


Status = Mapping[str, object]
"""How the ledger stands: the fields of `pipeline.continuity.follower.Status`."""


class Watch:
    """Remembers since when something has been wrong."""

    def __init__(self, settings: Settings, inbox: Inbox) -> None:
        self._settings = settings
        self._inbox = inbox
        self._since: dict[str, float] = {}  # by kind of what is wrong now; on the monotonic clock
        self._fault = ""  # of the files for the platform, as it was logged last
        self._reads = OneAtATime[tuple[list[Due], str]](name="files for the platform")
        self._unusable: Mapping[str, str] = {}  # files of channels, as they were logged last
        self._me = secrets.token_hex(8)
        self._seen: set[str] = set()  # kinds of which others were told that we see them

    def look(
        self,
        status: Status | None,
        alarms: Mapping[str, Alarm],
        watched: Watched,
        unusable: Mapping[str, str],
        now: int,
    ) -> Found:
        """What is alarming at an instant. `status`: None where no ledger answers. `unusable`: files
        that channels need, by their places, and what is wrong with each."""
        certificates, fault = self._read(watched, now)
        troubles = {*_ledger(status, watched), *self._receivers(watched), *self._files(fault)}
        troubles |= {*self._channels(unusable), *self._overdue(watched, now)}
        moment = time.monotonic()
        self._since = {it: self._since.get(it, moment) for it in troubles}
        self._tell_others(troubles)
        open_ones = {
            alarm.kind: name
            for name, alarm in alarms.items()
            if alarm.kind in LASTING and not alarm.is_over
        }
        dues, files = certificates, tuple(map(_shown, unusable))
        for kind, since in self._since.items():
            name = open_ones.pop(kind, None)
            if name is not None:
                found = due_beside(name, kind, alarms[name].since)
            elif moment - since >= GRACE_SECONDS:
                began = now - round((moment - since) * instants.SECOND)
                found = due_beside(self._next(kind), kind, began)
            else:
                continue
            dues.append(found._replace(files=files) if kind == CHANNELS else found)
        lately = round(GRACE_SECONDS * instants.SECOND)
        over = [name for kind, name in open_ones.items() if not is_seen(self._inbox, kind, lately)]
        return Found(dues, over)

    def _tell_others(self, kinds: set[str]) -> None:
        """Says beside the log what we see, so that none to whom all looks well ends its alert."""
        for kind in sorted(kinds):
            see(self._inbox, kind, self._me)
        for kind in sorted(self._seen - kinds):
            see_no_longer(self._inbox, kind, self._me)
        self._seen = kinds

    def lasting(self) -> list[int]:
        """The seq of each entry by which something was raised that lasts to this day."""
        found = []
        for kind in sorted(LASTING):
            number = self._last(kind)
            seq = self._raised(kind, number)
            if seq is not None and not self._is_cleared(kind, number):
                found.append(seq)
        return found

    def _next(self, kind: str) -> str:
        """The name of the alert that is to be raised: another process may just have done so."""
        number = self._last(kind)
        return _numbered(kind, number + 1 if self._is_cleared(kind, number) else max(number, 1))

    def _last(self, kind: str) -> int:
        """The number of the alert of a kind that was raised last; 0: none was. Each was raised once
        the one before was cleared, so there is none after the first that was not."""
        above = 1
        while self._raised(kind, above) is not None:
            above *= 2
        below = above // 2
        while above - below > 1:
            middle = (below + above) // 2
            if self._raised(kind, middle) is None:
                above = middle
            else:
                below = middle
        return below

    def _raised(self, kind: str, number: int) -> int | None:
        found = self._inbox.query(_BY_KEY, entries.key_of_raised(_numbered(kind, number)))
        return found[0][0] if found else None

    def _is_cleared(self, kind: str, number: int) -> bool:
        return bool(self._inbox.query(_BY_KEY, entries.key_of_cleared(_numbered(kind, number))))

    def _receivers(self, watched: Watched) -> Iterable[str]:
        here = addresses.local(self._settings.receiver_host, self._settings.receiver_port)
        named = watched.receivers
        urls = (here,) if named is None else named
        asked = [Aside(functools.partial(ask, url), name="readyz") for url in urls]
        until = time.monotonic() + ASK_SECONDS
        ready = [_is_ready(it, max(0.0, until - time.monotonic())) for it in asked]
        return [] if all(ready) else ["receiver_down"]

    def _read(self, watched: Watched, now: int) -> tuple[list[Due], str]:
        """The certificates that end soon, and what is wrong with the files for the platform, empty
        where nothing is. A disk that hangs keeps nobody waiting for long."""

        def found() -> tuple[list[Due], str]:
            return [*self._certificates(watched, now)], self._fault_of_files(now)

        try:
            return self._reads.outcome(found, READ_SECONDS)
        except TimeoutError:
            return [], unread("they were", READ_SECONDS)

    def _files(self, fault: str) -> Iterable[str]:
        """A sender goes on with the files that it has read before, or cannot begin."""
        if fault and fault != self._fault:
            LOG.error("the files for the platform cannot be used: %s", fault)
        self._fault = fault
        return ["platform_files"] if fault else []

    def _fault_of_files(self, now: int) -> str:
        settings = self._settings
        certificate, key = settings.client_cert_file, settings.client_key_file
        if settings.platform_url is None or certificate is None or key is None:
            return ""
        try:
            check_usable(certificate, key, settings.platform_ca_file, now)
            credentials = settings.platform_credentials_file
            if credentials is not None:
                authorization(read_small(credentials), settings.platform_auth, credentials)
            if (headers := settings.platform_headers_file) is not None:
                extra_headers(read_small(headers), headers)
            if (login := settings.platform_proxy_credentials_file) is not None:
                login_in(read_small(login), login)
        except (OSError, ValueError, SettingsError) as error:
            return str(error)
        return ""

    def _channels(self, unusable: Mapping[str, str]) -> set[str]:
        for place, fault in unusable.items():
            if self._unusable.get(place) != fault:
                LOG.error("nobody is told by %s: %s", place, fault)
        self._unusable = unusable
        return {CHANNELS} if unusable else set()

    def _overdue(self, watched: Watched, now: int) -> Iterator[str]:
        """What was not done for too long, or, where it was never done, since the log began."""
        began = self._inbox.query(_BEGAN)
        beats = heartbeats(self._inbox) if began else {}
        for (at,) in began:
            for kind, part, days in (
                ("backup_old", Part.BACKUP, watched.backup_days),
                ("rehearsal_old", Part.REHEARSAL, watched.rehearsal_days),
            ):
                if days and now - beats.get(part, at) > days * instants.DAY:
                    yield kind

    def _certificates(self, watched: Watched, now: int) -> Iterator[Due]:
        """The rung that the client certificate reached last, or one of those that vouch for it; and
        that of the authority by which we believe the platform. Without either nothing is sent."""
        settings = self._settings
        for path, of in (
            (settings.client_cert_file, first_to_end),
            (settings.platform_ca_file, last_to_end),
        ):
            # One that cannot be read is an alert of its own.
            with contextlib.suppress(OSError, ValueError):
                if path is not None:
                    yield from self._ending(of(path), watched, now)

    def _ending(self, certificate: Certificate, watched: Watched, now: int) -> Iterator[Due]:
        ends_at = end_of(certificate)
        days_left = (ends_at - now) // instants.DAY
        reached = [days for days in watched.certificate_days if days_left < days]
        if reached:
            days = min(reached)
            mark = certificate.fingerprint(hashes.SHA256()).hex()
            name = name_of("certificate_ends", f"{mark}:{days}")
            since = ends_at - days * 24 * instants.HOUR
            yield due_beside(name, "certificate_ends", since, deadline_at=ends_at)


def _ledger(status: Status | None, watched: Watched) -> Iterator[str]:
    if status is None:
        yield "ledger_down"
        return
    lag = status["lag_seconds"]
    assert isinstance(lag, float | int)
    is_unverified = not status["is_verified"] and status["inbox_seq"] and lag < BEHIND_SECONDS
    if status["problem"] is not None or is_unverified:
        yield "ledger_unverified"
    if lag > watched.lag_minutes * 60:
        yield "ledger_behind"


def name_of(kind: str, subject: str) -> str:
    """An alert's name, as the macro `alert_name` of the views makes it."""
    return hashlib.sha256(f"{kind}:{subject}".encode()).hexdigest()[:32]


def _numbered(kind: str, number: int) -> str:
    return name_of(kind, str(number))


def due_beside(name: str, kind: str, since: int, *, deadline_at: int | None = None) -> Due:
    """An alert of a kind that lies beside the log."""
    known = BESIDE_THE_LOG[kind]
    return Due(name, kind, known.severity, known.role, since, deadline_at=deadline_at)


def _shown(place: str) -> str:
    """A place in the file as messages show it: a recipient may be named by an e-mail address."""
    table, _, within = place.partition(".")
    name, _, field = within.rpartition(".")
    return ".".join(filter(None, (table, "***" if names_person(name) else name, field)))


def _is_ready(asked: Aside[Answer], seconds: float) -> bool:
    try:
        return asked.outcome(seconds).is_ready
    except TimeoutError:
        return False
