"""Says what still waits to go out and since when, and how old the last backup is."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

from app_pages.desk import people
from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import elements, links, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.forward import operating
from pipeline.inbox.heartbeats import Part, heartbeats

LATE_SECONDS: Final = 600
"""What waits for longer is late, as `prazo doctor` says of deliveries that are passed on."""


class Waiting(NamedTuple):
    """Things of one kind that wait to go out: since when the oldest does, naive UTC, what they are,
    in words, and what draws the link to them."""

    since: datetime
    said: str
    lead: Callable[[], None]


def oldest() -> None:
    """The figure of what waits to go out the longest."""
    found = min(_waiting(), key=attrgetter("since"), default=None)
    if found is None:
        elements.fact(_("Oldest to go out"), "–", _("nothing waits"), "green")
        return
    age = (views.moment() - found.since).total_seconds()
    elements.fact(
        _("Oldest to go out"),
        formats.seconds(max(0.0, age)),
        found.said,
        "orange" if age > LATE_SECONDS else "gray",
        lead=found.lead,
    )


def _waiting() -> Iterator[Waiting]:
    """As far as the reader may see it."""
    queue = views.read_one("retry_queue")
    if queue is not None and queue["due"]:
        yield Waiting(
            queue["next_due_at"],
            ngettext(
                "{n} submission to repeat",
                "{n} submissions to repeat",
                queue["due"],
                n=formats.number(queue["due"]),
            ),
            partial(links.to_named, "submissions", _("View what waits"), standing="pending"),
        )
    if access.may_read("alerts_sent"):
        unsent = {"sent_at": None, "undelivered_at": None}
        first = views.read("alerts_sent", where=unsent, order_by="first_tried_at", limit=1)
        if first and first[0]["first_tried_at"] is not None:
            n = views.count("alerts_sent", where=unsent)
            yield Waiting(
                first[0]["first_tried_at"],
                ngettext("{n} message of alerts", "{n} messages of alerts", n, n=formats.number(n)),
                partial(links.to_alerts, _("View the alerts")),
            )
    if views.as_of() is None:  # how far an endpoint is, is known as of now alone
        yield from _deliveries()


def _deliveries() -> Iterator[Waiting]:
    for state in operating.states(service.current().inbox, []):
        if state.behind_since is not None:
            yield Waiting(
                instants.of(state.behind_since).replace(tzinfo=None),  # as views write them
                ngettext(
                    "{n} delivery to {endpoint}",
                    "{n} deliveries to {endpoint}",
                    state.behind,
                    n=formats.number(state.behind),
                    endpoint=formats.plain(state.name),
                ),
                partial(links.to_named, "ledger", _("View the deliveries"), list="deliveries"),
            )


def backup() -> None:
    """The figure of the last backup, and whether putting one back was tried. What is too old has an
    alert, to which it leads."""
    held = service.current()
    beats, watched = heartbeats(held.inbox), people.rules().watch
    made, tried = beats.get(Part.BACKUP), beats.get(Part.REHEARSAL)
    now = held.now()

    def is_old(at: int | None, days: int) -> bool:
        return bool(days) and (at is None or now - at > days * instants.DAY)

    is_late = is_old(made, watched.backup_days) or is_old(tried, watched.rehearsal_days)
    elements.fact(
        _("Last backup"),
        _("none yet") if made is None else formats.seconds((now - made) / instants.SECOND),
        _("no restore rehearsed")
        if tried is None
        else _("restore rehearsed {day}", day=formats.local_day(instants.of(tried))),
        "orange" if is_late else "green",
        lead=elements.lead_if(is_late, links.to_alerts, _("View the alerts")),
    )
