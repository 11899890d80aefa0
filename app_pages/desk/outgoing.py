"""Says what still waits to go out and since when, and how old the last backup is."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from app_pages.desk import people
from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import address, elements, links, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.errors import SettingsError
from pipeline.forward import endpoints, operating
from pipeline.forward.endpoints import Endpoint
from pipeline.inbox.heartbeats import Part, heartbeats


class Waiting(NamedTuple):
    """Things of one kind that wait to go out: since when the oldest does, naive UTC, what they are,
    in words, and what draws the link to them."""

    since: datetime
    said: str
    lead: Callable[[], None]
    is_given_up: bool = False  # waits for a person


def oldest() -> bool:
    """The figure of what waits to go out the longest now, as far as the reader may see it. Whether
    anything waits for too long."""
    looked_at = {_("submissions to repeat"): [*_submissions(), *_of_the_gateway()]}
    if access.may_read("alerts_sent") and access.may_read("alerts"):
        looked_at[_("messages of open alerts")] = [*_messages()]
    if given := _endpoints():
        looked_at[_("deliveries to endpoints")] = [*_deliveries(given)]
    found = [it for kind in looked_at.values() for it in kind]
    about = _(
        "Looked at: {kinds}. Messages of the schedule to sellers are not: *Sellers* says how each"
        " fares.",
        kinds=", ".join(looked_at),
    )
    if not found:
        elements.fact(_("Oldest to go out"), "–", _("nothing waits"), "green", about=about)
        return False
    now = views.moment()
    longest = timedelta(microseconds=operating.LONGEST_LAG)
    is_late = any(it.is_given_up or now - it.since > longest for it in found)
    first = min(found, key=attrgetter("since"))
    elements.fact(
        _("Oldest to go out"),
        formats.seconds(max(0.0, (now - first.since).total_seconds())),
        first.said,
        "orange" if is_late else "gray",
        lead=first.lead,
        about=about,
    )
    return is_late


def _submissions() -> Iterator[Waiting]:
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


def _of_the_gateway() -> Iterator[Waiting]:
    """What the marketplace's own system has to send again."""
    where = {"is_retry_pending": True, "via": "gateway"}
    due = {"retry_due_at": (None, views.moment_to_ask())}
    asked = {"where": where, "between": due, "order_by": "retry_due_at"}
    if (first := views.read_one("submission_attempts", **asked)) is not None:
        n = views.count("submission_attempts", where=where, between=due)
        yield Waiting(
            first["retry_due_at"],
            ngettext(
                "{n} submission that your system repeats",
                "{n} submissions that your system repeats",
                n,
                n=formats.number(n),
            ),
            partial(links.to_named, "submissions", _("View what waits"), standing="pending"),
        )


def _messages() -> Iterator[Waiting]:
    """Of an alert that ended, or that somebody saw to, between two tries no other try is made."""
    unsent = {"sent_at": None, "undelivered_at": None}
    rows = [it for it in views.read("alerts_sent", where=unsent) if it["first_tried_at"]]
    ids = [*{it["alert_id"] for it in rows}]
    still = views.read("alerts", where={"alert_id": ids, "is_open": True}) if ids else ()
    is_open = {it["alert_id"] for it in still}
    tried = [it["first_tried_at"] for it in rows if it["alert_id"] in is_open]
    if tried:
        n = len(tried)
        yield Waiting(
            min(tried),
            ngettext("{n} message of alerts", "{n} messages of alerts", n, n=formats.number(n)),
            partial(links.to_alerts, _("View the alerts")),
        )


def _endpoints() -> Sequence[Endpoint]:
    """Empty where their file cannot be read: the page then does not name them as looked at, and
    `prazo doctor` says what is wrong."""
    try:
        return endpoints.load(service.current().settings.forward_file)
    except SettingsError:
        return ()


def _deliveries(given: Sequence[Endpoint]) -> Iterator[Waiting]:
    to_them = partial(links.to_named, "ledger", _("View the deliveries"), list="deliveries")
    for state in operating.states(service.current().inbox, given):
        if not state.is_set:  # once it was: nobody passes anything on to it
            continue
        since = [it.first_tried_at for it in state.waiting] + [state.behind_since]
        if waits := [it for it in since if it is not None]:
            n = state.behind + len(state.waiting)
            said = ngettext(
                "{n} delivery to {endpoint}",
                "{n} deliveries to {endpoint}",
                n,
                n=formats.number(n),
                endpoint=formats.plain(state.name),
            )
            yield Waiting(instants.naive(min(waits)), said, to_them)
        if given_up := [it.dead_at for it in state.dead if it.dead_at is not None]:
            n = len(given_up)
            said = ngettext(
                "{n} delivery given up for {endpoint}",
                "{n} deliveries given up for {endpoint}",
                n,
                n=formats.number(n),
                endpoint=formats.plain(state.name),
            )
            yield Waiting(instants.naive(min(given_up)), said, to_them, is_given_up=True)


def backup() -> bool:
    """The figure of the last backup, and whether putting one back was tried. What is too old has an
    alert, to which it leads. Whether the backup is too old, or there is none."""
    held = service.current()
    beats, watched = heartbeats(held.inbox), people.rules().watch
    made, tried = beats.get(Part.BACKUP), beats.get(Part.REHEARSAL)
    now = held.now()

    def is_old(at: int | None, days: int) -> bool:
        return bool(days) and (at is None or now - at > days * instants.DAY)

    has_none = is_old(made, watched.backup_days)
    is_late = has_none or is_old(tried, watched.rehearsal_days)
    elements.fact(
        _("Last backup"),
        _("none yet") if made is None else formats.seconds((now - made) / instants.SECOND),
        _("no restore rehearsed")
        if tried is None
        else _("restore rehearsed {day}", day=formats.local_day(instants.of(tried))),
        "orange" if is_late else "gray" if made is None or tried is None else "green",
        lead=elements.lead_if(is_late, _to_its_alert),
    )
    return has_none


def _to_its_alert() -> None:
    """The alert of the backup, or of its rehearsal, chosen in the list: dozens of others may stand
    above it."""
    about = {"kind": ["backup_old", "rehearsal_old"], "is_open": True}
    found = views.read("alerts", where=about, limit=1)
    chosen = {address.CHOSEN: found[0]["alert_id"]} if found else {}
    links.to_alerts(_("View the alerts"), **chosen)
