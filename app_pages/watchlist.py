"""Watchlist: processes that are overdue or expired, worst first, and what to do about each."""

import streamlit as st

from app_pages import address, formats, frame, words
from app_pages.i18n import _, language, ngettext

ROWS = 50
ROW_HEIGHT = 36
VISIBLE_ROWS = 14
COLUMNS = (
    "process_id",
    "state",
    "days_to_deadline",
    "deadline_at",
    "next_action",
    "review_type",
    "seller_id",
)
WATCHED = ("EXPIRED", "OVERDUE")


def grid(rows: list[frame.Row], key: str) -> frame.Row:
    """The rows as a grid, of which one is always chosen; that one is returned."""
    states = {code: words.word(words.STATES, code) for code in WATCHED}
    shown = [
        {column: row[column] for column in COLUMNS}
        | {"state": [states[row["state"]]], "next_action": words.action(row["next_action"])}
        for row in rows
    ]
    event = st.dataframe(
        shown,
        key=key,
        hide_index=True,
        row_height=ROW_HEIGHT,
        height=ROW_HEIGHT * (min(len(rows), VISIBLE_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="single-row-required",
        alt=_("Processes of the watchlist, the most urgent first"),
        column_config={
            "process_id": st.column_config.TextColumn(_("Process"), width=146),
            "state": st.column_config.MultiselectColumn(
                _("State"),
                options=list(states.values()),
                color=[words.STATE_COLOURS[code] for code in WATCHED],
                width=92,
            ),
            "days_to_deadline": st.column_config.NumberColumn(
                _("Days left"), help=_("Negative once late"), width=74
            ),
            "deadline_at": st.column_config.DatetimeColumn(
                _("Deadline"),
                format=formats.GRID_MINUTE[language()],
                timezone=str(formats.zone()),
                width=138,
            ),
            "next_action": st.column_config.TextColumn(_("Next action"), width=152),
            "review_type": st.column_config.TextColumn(_("Type"), width=54),
            "seller_id": st.column_config.TextColumn(_("Seller"), width=146),
        },
    )
    chosen = event["selection"]["rows"]
    return rows[chosen[0] if chosen and chosen[0] < len(rows) else 0]


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

filters = {"state": states, "review_type": types, "next_action": actions}
where = {column: chosen for column, chosen in filters.items() if chosen}
contains = {"seller_id": seller} if seller else None
address.restart_pages(states, types, actions, seller)

total = frame.count("watchlist_actions", where=where, contains=contains)
if not total:
    if where or contains:
        frame.empty(_("No process matches these filters"), _("Take a filter away to see more."))
    else:
        frame.empty(
            _("Nothing is overdue and nothing has expired"),
            _("A process appears here from the first day of its tolerance period on."),
        )
    st.stop()

listed, beside = st.columns([2, 1], gap="small")
with listed:
    above = st.container()
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        found = ngettext("{n} process", "{n} processes", total, n=formats.number(total))
        paged = _("{n} a page", n=formats.number(ROWS))
        st.markdown(formats.muted(f"{found} · {paged}"), width="content")
        pages = -(-total // ROWS)
        number = address.page_number(pages) if pages > 1 else 1
with above:
    chosen = grid(
        frame.read(
            "watchlist_actions",
            where=where,
            contains=contains,
            limit=ROWS,
            offset=(number - 1) * ROWS,
        ),
        key=f"watchlist {number}",
    )
with beside.container(border=True):
    card(chosen)
