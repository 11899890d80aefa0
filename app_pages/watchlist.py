"""Watchlist: processes that are overdue or expired, worst first, and what to do about each."""

from collections.abc import Sequence

import streamlit as st

from app_pages import address, formats, frame, lists, words
from app_pages.i18n import _, ngettext

WATCHED = ("EXPIRED", "OVERDUE")


def grid(rows: Sequence[frame.Row], key: str) -> frame.Row:
    """The rows as a grid, of which one is always chosen; that one is returned."""
    states = {code: words.word(words.STATES, code) for code in WATCHED}
    chosen = lists.choosable_grid(
        [
            row
            | {
                "state": [states[row["state"]]],
                "next_action": words.action(row["next_action"]),
                "assignee": row["assignee"] or "",
            }
            for row in rows
        ],
        {
            "process_id": lists.text(_("Process"), 146),
            "state": lists.chips(
                _("State"), {states[code]: words.STATE_COLOURS[code] for code in WATCHED}
            ),
            "days_to_deadline": lists.number(_("Days left"), 74, help=_("Negative once late")),
            "deadline_at": lists.instant(_("Deadline")),
            "next_action": lists.text(_("Next action"), 152),
            "assignee": lists.text(_("Assigned to"), 96),
            "review_type": lists.text(_("Type"), 54),
            "seller_id": lists.text(_("Seller"), 146),
        },
        alt=_("Processes of the watchlist, the most urgent first"),
        key=key,
    )
    return rows[chosen]


def counted(total: int) -> str:
    return ngettext("{n} process", "{n} processes", total, n=formats.number(total))


def card(row: frame.Row) -> None:
    """What a process is about, what it may cost, and what to do next."""
    action = words.ACTIONS[row["next_action"]]
    state, fields = row["state"], row["requested_fields"] or ()
    st.markdown(formats.code(row["process_id"]))
    st.metric(
        _("Deadline"),
        formats.days_left(row["days_to_deadline"]),
        formats.minute(row["deadline_at"]),
        delta_arrow="off",
        delta_color=words.STATE_COLOURS[state],
    )
    badges = (
        formats.badge(
            words.word(words.STATES, state), words.STATE_COLOURS[state], words.STATE_ICONS[state]
        ),
        formats.badge(formats.plain(words.word(words.REVIEW_TYPES, row["review_type"])), "gray"),
    )
    st.markdown(" ".join(badges))
    st.markdown(words.word(words.COSTS, state))
    st.header(f"{action.icon} {words.action(row['next_action'])}", anchor=False)
    st.markdown(_(action.how))
    if row["assignee"]:
        st.markdown(_("Assigned to **{name}**", name=formats.plain(row["assignee"])))
    if row["last_outcome"]:
        tried = ngettext(
            "{n} attempt, the last one: {outcome}",
            "{n} attempts, the last one: {outcome}",
            row["attempts"],
            n=formats.number(row["attempts"]),
            outcome=formats.plain(words.word(words.OUTCOMES, row["last_outcome"])),
        )
        st.markdown(formats.muted(tried))
    st.header(
        ngettext(
            "{n} field asked for",
            "{n} fields asked for",
            len(fields),
            n=formats.number(len(fields)),
        ),
        anchor=False,
    )
    st.markdown(" ".join(formats.code(path) for path in fields))
    st.page_link(
        "app_pages/process.py",
        label=_("Open the process"),
        icon=":material/timeline:",
        query_params={"process": row["process_id"]},
    )
    st.page_link(
        "app_pages/seller.py",
        label=_("Open the seller"),
        icon=":material/storefront:",
        query_params={"seller_id": row["seller_id"]},
    )


st.markdown(
    _("Processes in their tolerance period or past their deadline. The most urgent come first.")
)

with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    with st.container(width="content"):
        states = address.choices(
            _("State"),
            {
                code: f"{words.STATE_ICONS[code]} {words.word(words.STATES, code)}"
                for code in WATCHED
            },
            "state",
        )
    with st.container(width="content"):
        types = address.choices(_("Type"), {code: code for code in words.REVIEW_TYPES}, "type")
    with st.container(width=230):
        actions = address.choices(
            _("Next action"),
            {code: words.action(code) for code in words.ACTIONS},
            "action",
            placeholder=_("Any"),
        )
    with st.container(width=190):
        seller = address.text(
            _("Seller"), "seller", placeholder=_("Part of the id"), width="stretch"
        )
    with st.container(width=170):
        assignee = address.text(
            _("Assigned to"), "assignee", placeholder=_("Part of the name"), width="stretch"
        )

filters = {"state": states, "review_type": types, "next_action": actions}
where = {column: chosen for column, chosen in filters.items() if chosen}
parts = {"seller_id": seller, "assignee": assignee}
contains = {column: part for column, part in parts.items() if part} or None

listed, beside = st.columns([2, 1], gap="small")
with listed:
    chosen = lists.paged(
        "watchlist_actions", grid, counted=counted, where=where, contains=contains
    ).drawn
if chosen is not None:
    with beside.container(border=True):
        card(chosen)
elif where or contains:
    frame.empty(_("No process matches these filters"), _("Take a filter away to see more."))
else:
    frame.empty(
        _("Nothing is overdue and nothing has expired"),
        _("A process appears here from the first day of its tolerance period on."),
    )
