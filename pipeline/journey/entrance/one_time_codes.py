"""Sends a code by another way than the link, and checks it.

The marketplace's own endpoint sends it where there is one, else we do, by e-mail. Of six digits,
it can be tried five times in ten minutes, and a link gets five of them: 25 guesses in a million.
"""

import hashlib
import hmac
import logging
import secrets
import smtplib
import threading
from typing import Final, Literal

from pipeline import alert_rules, instants
from pipeline.contract.body import canonical_json
from pipeline.errors import PrazoError
from pipeline.files.reread import RereadFile
from pipeline.http import standard_webhooks
from pipeline.http.outgoing import asking, mails
from pipeline.inbox import Inbox, copies
from pipeline.journey import page_texts
from pipeline.journey.links import Journey
from pipeline.journey.page_texts import Language
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

LIFE: Final = 10 * instants.MINUTE
PAUSE: Final = 20 * instants.SECOND
"""Between two codes of one link."""
MAX_CODES: Final = 5
MAX_TRIES: Final = 5
AT_ONCE: Final = 8
"""Codes on their way; more are not sent. Each takes one of the page's threads for as long as the
server that is to send it says nothing, and others answer meanwhile."""
TYPE: Final = "prazo.journey.code"
VERSION: Final = 1

_MADE: Final = f"""
    update journeys
    set code_sha256 = $1, code_sent_at = $2, code_tries = 0, codes_sent = codes_sent + 1
    where ref = $3 and codes_sent < {MAX_CODES}
        and (code_sent_at is null or code_sent_at < $4 or code_sent_at > $5)"""
_TRY: Final = f"""
    update journeys set code_tries = code_tries + 1
    where ref = $1 and code_sha256 is not null and code_tries < {MAX_TRIES}
        and code_sent_at > $2 and code_sent_at <= $3"""
_USE: Final = """
    update journeys set code_sha256 = null where ref = $1 and code_sha256 = $2"""
_IS_SENT: Final = """
    select 1 from journeys
    where ref = $1 and code_sha256 is not null and code_sent_at > $2 and code_sent_at <= $3"""
_IS_USED_UP: Final = f"select 1 from journeys where ref = $1 and codes_sent >= {MAX_CODES}"

Sending = Literal["sent", "too_soon", "used_up", "failed"]


def _lives(now: int) -> tuple[int, int]:
    """After the first instant and up to the second one, a code was sent that may be typed now. One
    that was sent later is of a clock that was ahead: it would be good until then, and keep the
    seller from another."""
    return now - LIFE, now + instants.ALLOWED_AHEAD


class Codes:
    """Makes, sends and checks codes; reads the files of the settings, and raises `SettingsError`
    where it cannot."""

    def __init__(self, settings: Settings, inbox: Inbox) -> None:
        self._inbox = inbox
        self._settings = settings
        self._mail = alert_rules.AlertsFile(settings.alerts_file).get().mail
        path = settings.journey_code_secret_file
        self._secrets = (
            None
            if path is None
            else RereadFile(path, lambda text: standard_webhooks.secrets_in(text, path))
        )
        self._key = hmac.digest(inbox.log_key, b"codes of journeys", hashlib.sha256)
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def has_way(self, journey: Journey) -> bool:
        """Whether a code can reach this seller."""
        return self._secrets is not None or (self._mail is not None and journey.email is not None)

    def comes_along(self, journey: Journey) -> bool:
        """Whether a code goes by the channel by which the link came, for want of another."""
        return self._secrets is None and journey.channel == "email"

    def masked_address(self, journey: Journey) -> str | None:
        """Where a code goes, as far as whoever holds the link may learn it; None where only the
        marketplace knows."""
        return None if self._secrets is not None else f"{(journey.email or '')[:1]}***@***"

    def is_awaited(self, journey: Journey, now: int) -> bool:
        """Whether a code was sent that may still be typed."""
        return bool(self._inbox.query(_IS_SENT, journey.ref, *_lives(now)))

    def send(self, journey: Journey, language: Language, now: int) -> Sending:
        """Makes a code and sends it; it counts, whether it arrives or not. Where so many are under
        way that this one has to wait, none is made."""
        if not self._places.acquire(blocking=False):
            LOG.error("no code was sent: %d are still under way", AT_ONCE)
            return "failed"
        try:
            return self._send(journey, language, now)
        finally:
            self._places.release()

    def _send(self, journey: Journey, language: Language, now: int) -> Sending:
        if why := copies.why_held(self._inbox):
            LOG.error("the code of journey %s was not sent: %s", journey.ref, why)
            return "failed"
        code = f"{secrets.randbelow(10**6):06d}"
        _, latest = _lives(now)
        made = (self._kept(journey, code), now, journey.ref, now - PAUSE, latest)
        if self._inbox.execute(_MADE, *made) != 1:
            return "used_up" if self._inbox.query(_IS_USED_UP, journey.ref) else "too_soon"
        try:
            if self._secrets is not None:
                self._by_endpoint(journey, language, code, now)
            else:
                self._by_mail(journey, language, code, now)
        except (PrazoError, OSError, ValueError, smtplib.SMTPException) as error:
            LOG.error("the code of journey %s was not sent: %s", journey.ref, type(error).__name__)
            return "failed"
        return "sent"

    def check(self, journey: Journey, code: str, now: int) -> bool:
        """Whether this is the code. It works once."""
        digits = "".join(it for it in code if it.isascii() and it.isdigit())[:12]
        if self._inbox.execute(_TRY, journey.ref, *_lives(now)) != 1:
            return False
        return self._inbox.execute(_USE, journey.ref, self._kept(journey, digits)) == 1

    def _kept(self, journey: Journey, code: str) -> str:
        return hmac.new(self._key, f"{journey.ref}\n{code}".encode(), hashlib.sha256).hexdigest()

    def _by_endpoint(self, journey: Journey, language: Language, code: str, now: int) -> None:
        assert self._secrets is not None
        assert self._settings.journey_code_url is not None  # both or neither
        body = canonical_json(
            {
                "type": TYPE,
                "version": VERSION,
                "timestamp": instants.canonical(now),
                "data": {
                    "journey": journey.ref,
                    "process_id": journey.process_id,
                    "seller_id": journey.seller_id,
                    "language": language,
                    "code": code,
                    "expires_at": instants.canonical(now + LIFE),
                },
            }
        )
        name = f"msg_{secrets.token_hex(16)}".encode()
        headers = standard_webhooks.signed(self._secrets.get(), name, now, body)
        answer = asking.post(
            self._settings.journey_code_url,
            body,
            "application/json",
            {key.decode(): value.decode() for key, value in headers},
            is_body_needed=False,
        )
        if not 200 <= answer.status < 300:
            raise ValueError(f"it answered {answer.status}")

    def _by_mail(self, journey: Journey, language: Language, code: str, now: int) -> None:
        if self._mail is None or journey.email is None:
            raise ValueError("there is no way to send it")
        name = self._settings.journey_name
        mails.send(
            self._mail,
            journey.email,
            page_texts.text("mail_subject", language, code=code),
            page_texts.text("mail", language, code=code, name=name),
            name=secrets.token_hex(16),
            now=now,
        )
