"""What changed: all that came, became overdue, expired, was finished or denied since an instant."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import streamlit as st

from app_pages.desk import casework, saved, visits
from app_pages.door.pages import Page, Section
from app_pages.language import changes, code_texts, formats, moments
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, elements, links, lists, views

PAGE = Page(
    title=N_("What changed"),
    icon="update",
    section=Section.DAILY,
    place=30,
    for_analysts=False,
)

WHAT_CHARACTERS = 23  # in its column; the card has the whole of it
COUNTS_WIDTH = 620  # pixels, for all kinds of changes with three digits each
LOOKED_BACK = timedelta(days=1)  # where the browser knows of no visit before


def listed() -> lists.Listed:
    """What the list shows of each row."""
    kinds = {code: _(change.name) for code, change in changes.CHANGES.items()}

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "change": [kinds[row["change"]]],
            "code": lists.cut(code_texts.masked(changes.what(row)), WHAT_CHARACTERS),
            "process_id": row["process_id"] or "",
            "review_type": row["review_type"] or "",
            "assignee": row["assignee"] or "",
        }

    return lists.Listed(
        cells,
        {
            "changed_at": lists.instant(_("When"), 134),
            "change": lists.chips(
                _("Change"),
                {kinds[code]: change.colour for code, change in changes.CHANGES.items()},
                140,
            ),
            "code": lists.text(_("What exactly"), 160),
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.subject_id(_("Seller")),
            "review_type": lists.text(_("Type"), 50),
            "assignee": lists.text(_("Assigned to"), 88),
        },
        alt=_("Changes, what needs somebody first, then the newest"),
    )


def card(row: views.Row) -> None:
    """What changed, and how what it is about stands now."""
    change = changes.CHANGES[row["change"]]
    badge = formats.badge(_(change.name), change.colour, change.icon)
    st.markdown(badge)
    if what := code_texts.masked(changes.what(row)):
        st.header(formats.plain(what), anchor=False)
    st.markdown(formats.muted(formats.minute(row["changed_at"])))
    if row["process_id"] is not None:
        st.markdown(f"{elements.cell(row, 'process_id')} {elements.cell(row, 'seller_id')}")
        process = views.read_one("process_state", where={"process_id": row["process_id"]})
        if process is not None:
            chip = code_texts.state_chip(process["state"], process["seconds_to_deadline"])
            if chip != badge:  # as of what was finished, which is said above
                st.markdown(chip)
        if row["assignee"]:
            st.markdown(_("Assigned to **{name}**", name=formats.plain(row["assignee"])))
            casework.say_if_away(row["assignee"])
    links.to_process(row["process_id"])
    links.to_seller(row["seller_id"])


def since(name: str) -> datetime:
    """The instant from which on changes are shown, naive UTC."""
    if name == "visit":
        return visits.last() or views.moment_to_ask() - LOOKED_BACK
    return moments.start_of(name, views.moment(), formats.zone())


def counts(facets: views.Facets, kinds: Mapping[str, str]) -> str:
    """How many changes there are of each kind, in a line; nothing where there is none."""
    numbers = {code: facets.rows(change=[code]) for code in kinds}
    said = (
        f"{kinds[code].partition(' · ')[0]} {formats.number(n)}" for code, n in numbers.items() if n
    )
    return " · ".join(said)


with lists.filters():
    with st.container(width="content"):
        saved.show("since")
    with st.container(width="content"):
        starts = {code: _(name) for code, name in moments.STARTS.items()}
        left_at = visits.last()
        if left_at is None:
            starts["visit"] = _("Last 24 hours")
        else:  # what changed since they left is what most come for
            left = _("My last visit: {instant}", instant=formats.minute(left_at))
            starts = {"visit": left, **{code: it for code, it in starts.items() if code != "visit"}}
        chosen = address.choice(_("Since"), starts, "since")
    began = since(chosen)
    where = {"change": address.asked_for("change", changes.CHANGES)}
    facets = views.Facets("changes", where, period={"changed_at": (began, None)})
    kinds = {code: _(change.name) for code, change in changes.CHANGES.items()}
    with st.container(width=COUNTS_WIDTH):
        address.choices(
            _("Change"),
            facets.numbered("change", kinds),
            "change",
            placeholder=counts(facets, kinds) or _("Change"),
        )
lists.with_card(
    facets,
    listed(),
    card,
    counted=lambda total: ngettext("{n} change", "{n} changes", total, n=formats.number(total)),
    nothing_matches=_("Nothing has changed since then"),
    when_empty=lambda: elements.empty_of_processes(
        _("Nothing has changed since then"), _("Choose an earlier beginning to see more.")
    ),
)
lists.about(
    _(
        "From **{began}** to **{ended}**: what needs somebody first, then the newest.",
        began=formats.minute(began),
        ended=formats.minute(views.moment()),
    )
)
if chosen == "visit" and visits.last() is None:
    lists.about(
        _(
            "This browser knows of no visit before, and one is over half an hour after its last"
            " page: the last 24 hours are shown."
        )
    )
