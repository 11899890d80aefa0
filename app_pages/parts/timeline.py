"""Shows the newest entries of the log on one process or seller, each in words."""

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

import streamlit as st

from app_pages.language import formats, occurrences
from app_pages.language.i18n import _, ngettext
from app_pages.parts import elements, views
from pipeline.contract.event_types import REVIEW_REQUIRED
from pipeline.log.kinds.seller_notice import SELLER_NOTICE

MAX_ENTRIES: Final = 40
VISIBLE_ENTRIES: Final = 16
LONG_HEIGHT: Final = 1000  # pixels; further entries are scrolled to


class Timeline(NamedTuple):
    """The newest entries on one process or seller, newest first, and how many there are in all."""

    entries: Sequence[views.Row]
    total: int


def newest(process_id: str, first: Sequence[views.Row], most: int) -> Timeline:
    """The newest entries on a process. `first`: its first ones, so many at most; fewer are all of
    them, which spares a question."""
    if len(first) < most:
        newest_first = sorted(first, key=itemgetter("occurred_at"), reverse=True)
        return Timeline(newest_first[:MAX_ENTRIES], len(first))
    of = {"process_id": process_id}
    entries = views.read("timeline", where=of, order_by="occurred_at desc", limit=MAX_ENTRIES)
    return Timeline(entries, views.count("timeline", where=of))


def newest_of_seller(seller_id: str) -> Timeline:
    """The newest entries on a seller, those that name only an attempt of theirs among them."""
    of = {"seller_id": seller_id}
    found = views.read("seller_entries", where=of, order_by="occurred_at desc", limit=MAX_ENTRIES)
    if not found:
        return Timeline((), 0)
    is_whole = len(found) < MAX_ENTRIES
    # Those that name the seller an index finds; the others are few, and a reading of the whole log.
    naming = views.read("timeline", where=of, order_by="occurred_at desc", limit=MAX_ENTRIES)
    known = {it["seq"]: it for it in naming}
    if others := [it["seq"] for it in found if it["seq"] not in known]:
        rest = views.read("timeline", where={"seq": others})
        known |= {it["seq"]: it for it in rest if it["seller_id"] is None}
    entries = [known[it["seq"]] for it in found if it["seq"] in known]
    return Timeline(entries, len(found) if is_whole else views.count("seller_entries", where=of))


def show(of: Timeline) -> None:
    """The entries under a heading; a long list is scrolled, so that it stands beside the rest."""
    is_long = len(of.entries) > VISIBLE_ENTRIES
    with st.container(border=True, height=LONG_HEIGHT if is_long else "content"):
        _show_entries(of)


def _show_entries(of: Timeline) -> None:
    st.header(_("Audit trail"), anchor=False)
    marked = with_requests(of.entries, have_first=of.total <= len(of.entries))
    for entries in _at_once(marked):
        _show_once(entries)
    if of.total > len(of.entries):
        shown = ngettext(
            "The newest {n} of {total} entries",
            "The newest {n} of {total} entries",
            of.total,
            n=formats.number(len(of.entries)),
            total=formats.number(of.total),
        )
        st.markdown(formats.muted(shown))


def with_requests(entries: Sequence[views.Row], *, have_first: bool) -> Sequence[views.Row]:
    """The same entries, each with `is_request`: whether it asked for its review, as the first event
    of it. `have_first`: those first events are among the entries, which spares a question."""
    of = {it["process_id"] for it in entries if it["event_type"] == REVIEW_REQUIRED}
    known = entries
    if of and not have_first:
        asked = {"process_id": sorted(of), "event_type": REVIEW_REQUIRED}
        known = views.read("timeline", where=asked)
    events = [it for it in known if it["event_type"] == REVIEW_REQUIRED]
    in_order = sorted(events, key=itemgetter("occurred_at", "seq"), reverse=True)
    requests = {*{it["process_id"]: it["seq"] for it in in_order}.values()}
    return [it | {"is_request": it["seq"] in requests} for it in entries]


def _at_once(entries: Sequence[views.Row]) -> Sequence[Sequence[views.Row]]:
    """The same entries. Those that say one thing at one moment about several processes of a
    message, call or letter are together: it was one conversation. With a message stands the making
    of the link that it brought, which invites nobody by itself."""
    together: dict[Hashable, list[views.Row]] = {}
    notices = [it for it in entries if it["kind"] == SELLER_NOTICE]
    brought = {it["journey_id"]: _same(it) for it in notices if it["journey_id"] is not None}
    links = []
    for entry in entries:
        if entry["step"] == "invited" and entry["journey_id"] in brought:
            links.append(entry)
        else:
            together.setdefault(_same(entry), []).append(entry)
    for entry in links:
        together[brought[entry["journey_id"]]].append(entry)
    return [*together.values()]


def _same(entry: views.Row) -> Hashable:
    """What entries have in common that say one thing at one moment."""
    if entry["message_id"] is None:
        return entry["seq"], entry["process_id"]
    return tuple(entry[it] for it in ("message_id", "kind", "step", "occurred_at"))


def show_entry(entry: views.Row) -> None:
    """A row of `timeline`: what happened, its place and leaf in the log, and what else is known."""
    _show_once(with_requests([entry], have_first=False))


def _show_once(entries: Sequence[views.Row]) -> None:
    entry = entries[0]
    said = occurrences.entry(entry)
    detail = " · ".join(filter(None, (said.detail, _about(entries))))
    title = f"**{said.title}** · {detail}" if detail else f"**{said.title}**"
    place = (
        formats.second(entry["occurred_at"]),
        _places(sorted({it["seq"] for it in entries})),
        formats.code(entry["leaf_hash"][:8]),
    )
    label = f"{title}  \n{formats.muted(' · '.join(place))}"
    with st.expander(label, icon=said.icon, type="step"):
        elements.details(_facts(entries), width="content")


def _about(entries: Sequence[views.Row]) -> str:
    """How many reviews entries speak of; "" of one."""
    n = len({it["process_id"] for it in entries})
    if n == 1:
        return ""
    return ngettext("about {n} review", "about {n} reviews", n, n=formats.number(n))


def _places(seqs: Sequence[int]) -> str:
    """The places of entries in the log, as people read them."""
    if len(seqs) == 1:
        return _("entry {seq}", seq=formats.number(seqs[0]))
    return _("entries {seqs}", seqs=", ".join(map(formats.number, seqs)))


def _facts(entries: Sequence[views.Row]) -> dict[str, str]:
    """What else the log knows of entries, by name; what it does not know is left out."""
    entry = entries[0]

    def each(column: str) -> str:
        cells = (elements.cell(it, column) for it in entries if it[column])
        return ", ".join(dict.fromkeys(cells))

    leaves = dict.fromkeys(formats.code(it["leaf_hash"]) for it in entries)
    known = {
        _("Recorded"): formats.second(entry["recorded_at"]),
        _("Recorded by"): formats.plain(entry["recorded_by"]),
        _("Process"): each("process_id"),
        _("Event"): each("event_id"),
        _("Attempt"): each("attempt_id"),
        _("Leaf"): ", ".join(leaves),
    }
    return {name: value for name, value in known.items() if value}
