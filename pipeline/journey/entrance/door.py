"""Limits and counts what knocks with a wrong link, and says where a request came from, masked."""

import ipaddress
import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final

from pipeline import instants
from pipeline.hosts import networks
from pipeline.http.asgi import Headers
from pipeline.inbox import Inbox
from pipeline.settings import Settings

MAX_WRONG: Final = 20
"""Wrong links of one address, before it has to wait."""
REFILL_SECONDS: Final = 15.0
"""Until it may try one more."""
MAX_ADDRESSES: Final = 10_000

_COUNT: Final = """
    insert into journey_refusals (hour, reason, refusals) values ($1, $2, $3)
    on conflict (hour, reason) do update
    set refusals = journey_refusals.refusals + excluded.refusals"""
_COUNTED: Final = """
    select hour, reason, refusals from journey_refusals where hour >= $1 order by hour, reason"""
REASONS: Final = (
    *("wrong_link", "limited", "wrong_code", "opened_elsewhere", "foreign_page"),
    *("unavailable", "busy"),
)
"""For which the page refuses something. The last two: it could not be recorded, or too much was
under way."""
_BROWSERS: Final = ("Edg", "OPR", "SamsungBrowser", "Firefox", "Chrome", "Safari")
_SYSTEMS: Final = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")


class Door:
    """Counts per address, in memory; the counts of an hour go to the inbox's database."""

    def __init__(self, settings: Settings) -> None:
        self._proxies = networks(settings.proxy_addresses)
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tries left, at
        self._waiting: Counter[str] = Counter()
        self._lock = threading.Lock()

    def address(self, peer: str | None, headers: Headers) -> str:
        """Who asks: the peer or, behind a proxy of the settings, whom the nearest one names."""
        named = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        current = peer or ""
        for before in reversed([it.strip() for it in named if it.strip()]):
            if not self._is_proxy(current):
                break
            current = before
        return current

    def _is_proxy(self, address: str) -> bool:
        try:
            known = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self._proxies)

    def is_shut(self, address: str) -> bool:
        """Counts a wrong link; whether its address has had too many and must wait."""
        name, now = network_of(address) or address, time.monotonic()
        with self._lock:
            left, at = self._wrong.pop(name, (float(MAX_WRONG), now))
            left = min(float(MAX_WRONG), left + (now - at) / REFILL_SECONDS)
            self._wrong[name] = (max(left - 1, 0.0), now)
            while len(self._wrong) > MAX_ADDRESSES:
                self._wrong.popitem(last=False)
            self._waiting["limited" if left < 1 else "wrong_link"] += 1
            return left < 1

    def note(self, reason: str) -> None:
        """Counts something else that was refused."""
        with self._lock:
            self._waiting[reason] += 1

    def record(self, inbox: Inbox, now: int) -> None:
        """Writes the counts down. Raises `InboxUnavailable`; they are then counted later."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
        hour = now - now % instants.HOUR
        try:
            for reason in list(waiting):
                inbox.execute(_COUNT, hour, reason, waiting[reason])
                del waiting[reason]
        finally:
            with self._lock:
                self._waiting += waiting


def counted(inbox: Inbox, since: int) -> list[tuple[int, str, int]]:
    """(hour, reason, refusals) from an instant on."""
    return [(hour, why, count) for hour, why, count in inbox.query(_COUNTED, since)]


def totals(inbox: Inbox) -> dict[str, int]:
    """Reason -> refusals since the first."""
    found: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
    for _, reason, refusals in counted(inbox, 0):
        found[reason] += refusals
    return dict(found)


def network_of(address: str) -> str | None:
    """An address cut to its /24 or /48; None for what is not one."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return None
    length = 24 if known.version == 4 else 48
    return str(ipaddress.ip_network(f"{known}/{length}", strict=False))


def traced(address: str, headers: Headers) -> Mapping[str, str]:
    """What a step's entry says of where it came from, masked."""
    agent = headers.get(b"user-agent", b"").decode("latin-1")
    browser = next((it for it in _BROWSERS if re.search(rf"\b{it}", agent)), "other")
    system = next((it for it in _SYSTEMS if it in agent), "other")
    return {"network": network_of(address) or "unknown", "browser": browser, "system": system}
