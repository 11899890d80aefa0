"""Works out for Prometheus what is open, due and missing: deadlines, alerts, journeys, deliveries.
That is done aside, since it takes a while where the log is long, and for all who ask."""

from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.http.outgoing.looks import Looked, Looks
from pipeline.inbox import Inbox
from pipeline.journey.entrance import door
from pipeline.language.codes import INFO
from pipeline.ledger.views.reader import Reader

LOOK_SECONDS: Final = 30.0
"""Between two looks, however often somebody asks: one takes up to two seconds of a core."""
FIRST_SECONDS: Final = 1.0
"""For the first look, before there is anything to say."""
STALE_SECONDS: Final = 300.0
"""What was found before that is left out, but for when it was: whoever watches sees it stand."""


class Figures(NamedTuple):
    """Rows of views at one instant, naive UTC as in views."""

    as_of: datetime
    open_counts: list[dict[str, Any]]
    alerts: list[dict[str, Any]]
    last_delivery_at: datetime | None
    silent_since: datetime | None
    journeys: dict[str, int]  # step -> journeys that took it
    not_delivered: int
    """Messages of alerts that their channels refused in the last day, and have not taken since."""
    refusals: dict[str, int]
    """Reason -> how often the seller's page refused something; empty where nobody knows."""

    @property
    def oldest_seconds(self) -> float:
        """For how long the oldest breach or risk that nobody took or put off is due; 0 for none."""
        pressing = [it for it in self.alerts if it["severity"] != INFO]
        return max((self._since(it["oldest_since"]) for it in pressing), default=0.0)

    @property
    def silence_seconds(self) -> float:
        """For how long deliveries have been missing; 0 while they come as usual."""
        return self._since(self.silent_since)

    def _since(self, instant: datetime | None) -> float:
        return 0.0 if instant is None else (self.as_of - instant).total_seconds()


@lru_cache(maxsize=1)
def watch(service: LedgerService) -> Looks[Figures]:
    """The looks at this process's ledger, which everybody who asks shares."""

    def look() -> Figures:
        at, reader = service.now(), service.reader
        [intake] = reader.read("intake", as_of=at).to_pylist()
        journeys = reader.read("journeys_by_step", as_of=at).to_pylist()
        return Figures(
            instants.naive(at),
            reader.read("open_counts", as_of=at).to_pylist(),
            reader.read("alert_figures", as_of=at).to_pylist(),
            intake["last_at"],
            intake["silent_since"],
            {row["step"]: row["journeys"] for row in journeys},
            _not_delivered(reader, at),
            _refusals(service.inbox),
        )

    return Looks(look, name="deadlines", every_seconds=LOOK_SECONDS, first_seconds=FIRST_SECONDS)


def _not_delivered(reader: Reader, at: int) -> int:
    since = instants.naive(at - instants.DAY)
    rows = reader.read(
        "alerts_sent",
        as_of=at,
        where={"sent_at": None},
        between={"first_tried_at": (since, None)},
    )
    return sum(it is not None for it in rows["answer"].to_pylist())


def _refusals(inbox: Inbox) -> dict[str, int]:
    """Beside the log, and so not in the ledger. Where the inbox is away nobody is sent an alert, so
    the deadlines, which the ledger knows, must not be missing for want of these."""
    try:
        return door.totals(inbox)
    except InboxUnavailable:
        return {}


def last(service: LedgerService) -> Looked[Figures] | None:
    """What was found last, however long ago; None before that. Waits for a first look alone."""
    return watch(service).last()
