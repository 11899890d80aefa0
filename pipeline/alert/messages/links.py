"""Makes the links of messages: to the page of a process, and to a button that acknowledges.

The holder of the second kind can acknowledge one alert under one recipient's name for a week, or
put it off, and see nothing: the page behind it shows two buttons. It is signed under a key that
follows from the log's.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlencode

from pipeline import instants
from pipeline.alert.entries import Due, Item

VALID_FOR: Final = 7 * 24 * instants.HOUR
ASKING: Final = frozenset({"start_collection", "remind_seller"})
"""Next actions that are done by a message to the seller."""
Fresh = Callable[[str, str | None], str | None]
"""Makes a link by which the seller of a process answers, unless the one that is given still works;
None where it cannot."""
PATH: Final = "/api/alerts/acknowledge/"
_DIGEST_DIGITS: Final = 40


class Unsent(NamedTuple):
    """A link for a seller that was made for a message which the channel did not take."""

    url: str
    next_action: str
    """What was to be done before the link was made; it is still, since nobody has the link."""


class Grant(NamedTuple):
    """What a signed link permits: one recipient acknowledges one alert, or puts it off."""

    alert: str
    name: str


def _is_mask(shown: str) -> bool:
    """Whether an id is shown masked: then it leads to no page."""
    return "***" in shown


class Links:
    """Makes the links of one message, and reads them. `dashboard_url`: None where messages hold
    none. `fresh`: None where sellers have no page. `unsent`: links of an earlier try, by process.
    """

    def __init__(
        self,
        dashboard_url: str | None,
        log_key: bytes,
        fresh: Fresh | None = None,
        unsent: Mapping[str, Unsent] = MappingProxyType({}),
    ) -> None:
        self._fresh = fresh
        self._unsent = unsent
        self.made: dict[str, Unsent | None] = {}
        """Process -> its seller's link in this message."""
        self._url = None if dashboard_url is None else dashboard_url.rstrip("/")
        self._key = hmac.digest(log_key, b"acknowledging alerts", hashlib.sha256)

    def page(self, due: Due) -> str | None:
        """The page about what an alert is about; None without a dashboard's address."""
        if self._url is None:
            return None
        if due.process_id and not _is_mask(due.process_id):
            return f"{self._url}/process?{urlencode({'process': due.process_id})}"
        if due.seller_id and not _is_mask(due.seller_id):
            return f"{self._url}/seller?{urlencode({'seller_id': due.seller_id})}"
        return self.alerts()

    def alerts(self) -> str | None:
        """The page of all alerts; None without the dashboard's address."""
        return None if self._url is None else f"{self._url}/alerts"

    def overview(self) -> str | None:
        """The dashboard's first page; None without its address."""
        return None if self._url is None else f"{self._url}/"

    def watchlist(self, query: str) -> str | None:
        """The Watchlist under filters, as they stand in its address; None without an address."""
        return None if self._url is None else f"{self._url}/watchlist{query and '?'}{query}"

    def trends(self) -> str | None:
        """The page that says how it goes over time; None without the dashboard's address."""
        return None if self._url is None else f"{self._url}/trends"

    def for_seller(self, due: Due) -> str | None:
        """A fresh link for the seller, where the next thing to do is to ask them: one a message."""
        if self._fresh is None or due.next_action not in ASKING:
            return None
        if not due.process_id or _is_mask(due.process_id):
            return None
        if due.process_id not in self.made:
            before = self._unsent.get(due.process_id)
            url = self._fresh(due.process_id, None if before is None else before.url)
            self.made[due.process_id] = None if url is None else Unsent(url, due.next_action)
        made = self.made[due.process_id]
        return None if made is None else made.url

    def acknowledging(self, alert: str, name: str, now: int) -> str | None:
        """The link by which a recipient acknowledges an alert; None without an address."""
        if self._url is None:
            return None
        return f"{self._url}{PATH}{self.token(alert, name, now)}"

    def token(self, alert: str, name: str, now: int) -> str:
        """The last part of such a link."""
        until = (now + VALID_FOR) // instants.SECOND
        return f"{alert}.{name.encode().hex()}.{until}.{self._mark(alert, name, until)}"

    def read(self, token: str, now: int) -> Grant | None:
        """What a token permits; None where it is not ours, or too old."""
        try:
            alert, named, until_text, mark = token.split(".")
            name, until = bytes.fromhex(named).decode(), int(until_text)
        except ValueError:
            return None
        is_ours = hmac.compare_digest(mark.encode(), self._mark(alert, name, until).encode())
        return Grant(alert, name) if is_ours and now <= until * instants.SECOND else None

    def _mark(self, alert: str, name: str, until: int) -> str:
        text = f"{alert}\n{name}\n{until}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:_DIGEST_DIGITS]


def asking(item: Item, unsent: Mapping[str, Unsent]) -> Item:
    """An alert as it was before we made a link for its seller that nobody has. The log has the link
    as an invitation, so it says to wait."""
    before = unsent.get(item.due.process_id or "")
    if before is None or item.due.next_action != "await_seller":
        return item
    return item._replace(due=item.due._replace(next_action=before.next_action))
