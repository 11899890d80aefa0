"""Shows the newest entries of the log on one process or seller, each in words."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import streamlit as st

from app_pages.language import formats, occurrences
from app_pages.language.i18n import _, ngettext
from app_pages.parts import elements, views

MAX_ENTRIES: Final = 40
VISIBLE_ENTRIES: Final = 16
LONG_HEIGHT: Final = 1000  # pixels; further entries are scrolled to


class Timeline(NamedTuple):
    """The newest entries on one process or seller, newest first, and how many there are in all."""

    entries: Sequence[views.Row]
    total: int


def newest(process_id: str) -> Timeline:
    """The newest entries on a process."""
    of = {"process_id": process_id}
    entries = views.read("timeline", where=of, order_by="occurred_at desc", limit=MAX_ENTRIES)
    is_whole = len(entries) < MAX_ENTRIES
    return Timeline(entries, len(entries) if is_whole else views.count("timeline", where=of))


def newest_of_seller(seller_id: str) -> Timeline:
    """The newest entries on a seller, those that name only an attempt of theirs among them."""
    of = {"seller_id": seller_id}
    found = views.read("seller_entries", where=of, order_by="occurred_at desc", limit=MAX_ENTRIES)
    if not found:
        return Timeline((), 0)
    is_whole = len(found) < MAX_ENTRIES
    of_all = views.read(
        "timeline", where={"seq": [it["seq"] for it in found]}, order_by="occurred_at desc"
    )
    entries = [it for it in of_all if it["seller_id"] in (None, seller_id)]
    return Timeline(entries, len(found) if is_whole else views.count("seller_entries", where=of))


def show(of: Timeline) -> None:
    """The entries under a heading; a long list is scrolled, so that it stands beside the rest."""
    is_long = len(of.entries) > VISIBLE_ENTRIES
    with st.container(border=True, height=LONG_HEIGHT if is_long else "content"):
        _show_entries(of)


def _show_entries(of: Timeline) -> None:
    st.header(_("Audit trail"), anchor=False)
    for entry in of.entries:
        show_entry(entry)
    if of.total > len(of.entries):
        shown = ngettext(
            "The newest {n} of {total} entries",
            "The newest {n} of {total} entries",
            of.total,
            n=formats.number(len(of.entries)),
            total=formats.number(of.total),
        )
        st.markdown(formats.muted(shown))


def show_entry(entry: views.Row) -> None:
    """A row of `timeline`: what happened, its place and leaf in the log, and what else is known."""
    said = occurrences.entry(entry)
    title = f"**{said.title}** · {said.detail}" if said.detail else f"**{said.title}**"
    place = (
        formats.second(entry["occurred_at"]),
        _("entry {seq}", seq=formats.number(entry["seq"])),
        formats.code(entry["leaf_hash"][:8]),
    )
    label = f"{title}  \n{formats.muted(' · '.join(place))}"
    with st.expander(label, icon=said.icon, type="step"):
        elements.details(_facts(entry), width="content")


def _facts(entry: views.Row) -> dict[str, str]:
    """What else the log knows of an entry, by name; what it does not know is left out."""
    known = {
        _("Recorded"): formats.second(entry["recorded_at"]),
        _("By"): formats.plain(entry["recorded_by"]),
        _("Process"): entry["process_id"] and elements.cell(entry, "process_id"),
        _("Event"): entry["event_id"] and elements.cell(entry, "event_id"),
        _("Attempt"): entry["attempt_id"] and elements.cell(entry, "attempt_id"),
        _("Leaf"): formats.code(entry["leaf_hash"]),
    }
    return {name: value for name, value in known.items() if value}
