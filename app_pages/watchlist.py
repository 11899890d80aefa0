"""Watchlist: processes that are overdue or expired, worst first, and what to do about each.

Other unfinished ones are a filter away: what is pending comes due, too.
"""

from collections.abc import Sequence

import streamlit as st

from app_pages.desk import casework, many, people, saved
from app_pages.language import formats, moments, next_actions, words
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, address, elements, links, lists, views
from pipeline import periods

EXPIRED = "EXPIRED"
WATCHED = (EXPIRED, "OVERDUE")
UNFINISHED = (*WATCHED, "PENDING", "UNKNOWN")
IN_TIME = ("OVERDUE", "PENDING")
SOON = "7"
ALL, SAVABLE, MINE, UNASSIGNED = "all", "savable", "mine", "unassigned"
FOLDED = ("state", "due", "period", "assignee", "seller")
LANES = {ALL: WATCHED, SAVABLE: IN_TIME, EXPIRED: (EXPIRED,)}


def listed() -> lists.Listed:
    """What the list shows of each row."""
    states = {code: words.word(words.STATES, code) for code in UNFINISHED}

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "state": [states[row["state"]]],
            "next_action": next_actions.action(row["next_action"]),
            "assignee": row["assignee"] or "",
            "time_left": formats.time_left(row["seconds_to_deadline"]),
        }

    return lists.Listed(
        cells,
        {
            "process_id": lists.text(_("Process"), 140),
            lists.SELLER: lists.text(_("Seller"), 98),
            "state": lists.chips(
                _("State"), {states[code]: words.STATE_COLOURS[code] for code in UNFINISHED}
            ),
            "time_left": lists.text(_("Time left"), 104),
            "next_action": lists.text(_("Next action"), 140),
            "deadline_at": lists.instant(_("Deadline"), 134),
            "assignee": lists.text(_("Assigned to"), 88),
            "review_type": lists.text(_("Type"), 48),
        },
        alt=_("Processes of the watchlist, the most urgent first"),
        sorts={"time_left": "deadline_at"},
        act=many.for_many if casework.is_open() else None,
    )


def nothing_late() -> None:
    elements.empty_of_processes(
        _("Nothing is in tolerance and nothing has expired"),
        _("A process appears here from the first day of its tolerance period on."),
    )


def card(row: views.Row) -> None:
    """What a process is about, what it may cost, and what to do next."""
    state, fields = row["state"], row["requested_fields"] or ()
    st.markdown(f"{elements.cell(row, 'process_id')} {elements.cell(row, 'seller_id')}")
    st.container(key="deadline").metric(
        _("Deadline"),
        formats.time_left(row["seconds_to_deadline"]),
        formats.minute(row["deadline_at"]),
        delta_arrow="off",
        delta_color=words.STATE_COLOURS[state],
    )
    st.markdown(f"{words.state_chip(state)} {words.type_chip(row['review_type'])}")
    st.markdown(words.word(words.COSTS, state))
    elements.say_deleted(row)
    icon = next_actions.ACTIONS[row["next_action"]].icon
    st.header(f"{icon} {next_actions.action(row['next_action'])}", anchor=False)
    st.markdown(next_actions.how(row))
    if row["assignee"]:
        st.markdown(_("Assigned to **{name}**", name=formats.plain(row["assignee"])))
        casework.say_if_away(row["assignee"])
    casework.buttons(row)
    casework.latest_notes(row)
    if row["last_outcome"]:
        tried = ngettext(
            "{n} attempt, the last one: {outcome}",
            "{n} attempts, the last one: {outcome}",
            row["attempts"],
            n=formats.number(row["attempts"]),
            outcome=formats.plain(words.word(words.OUTCOMES, row["last_outcome"])),
        )
        st.markdown(formats.muted(tried))
    links.to_process(row["process_id"])
    links.to_seller(row["seller_id"])
    st.header(
        ngettext(
            "{n} requested field",
            "{n} requested fields",
            len(fields),
            n=formats.number(len(fields)),
        ),
        anchor=False,
    )
    st.markdown(elements.paths(fields))


with st.container(key="intro"):
    st.markdown(
        _(
            "Processes in their tolerance period or past their deadline, the most urgent first."
            " Choose a state under *More filters* to see others."
        )
    )

facets = views.groups(
    "open_processes", ["state", "is_due_within_7_days", "review_type", "next_action"]
)


def of(column: str, *values: object, within: Sequence[str] = UNFINISHED) -> str:
    """How many unfinished processes in these states have one of these values."""
    fitting = (row["rows"] for row in facets if row["state"] in within and row[column] in values)
    return formats.number(sum(fitting))


with lists.filters():
    with st.container(width="content"):
        saved.show("watchlist")
    with st.container(width="content"):
        lane = address.choice(
            _("Lane"),
            {
                ALL: _("Watchlist ({n})", n=of("state", *WATCHED)),
                SAVABLE: _("Can still be saved ({n})", n=of("state", *IN_TIME)),
                EXPIRED: _("Expired ({n})", n=of("state", EXPIRED)),
            },
            "lane",
        )
    with st.container(width="content"):
        whose = address.choice(
            _("Assigned to"),
            {ALL: _("Anybody"), MINE: _("Mine"), UNASSIGNED: _("Nobody")},
            "whose",
        )
    by_type, by_action = st.container(width="content"), st.container(width=190)
    offered = UNFINISHED if lane == ALL else LANES[lane]
    with st.container(width="content"), lists.more_filters(FOLDED):
        states = address.choices(
            _("State"),
            {
                code: f"{words.STATE_ICONS[code]} {words.word(words.STATES, code)}"
                f" ({of('state', code)})"
                for code in offered
            },
            "state",
        )
        soon = address.choices(
            _("Deadline"),
            {SOON: _("Due in 7 days ({n})", n=of("is_due_within_7_days", True, within=offered))},
            "due",
        )
        period = address.one_of(
            _("Deadline in"),
            {code: _(name) for code, name in moments.PERIODS.items() if code != "all"},
            "period",
            placeholder=_("Any time"),
        )
        assignee = address.text(
            _("Assignee"), "assignee", placeholder=_("Part of the name"), width="stretch"
        )
        seller = address.text(
            _("Seller"), "seller", placeholder=_("Part of the id"), width="stretch"
        )

day = address.day("day")
within = UNFINISHED if (soon or day is not None) and lane == ALL else LANES[lane]
listed_states = states or within
# Only now is it known among which rows these count.
with by_type:
    types = address.choices(
        _("Type"),
        {
            code: f"{code} ({of('review_type', code, within=listed_states)})"
            for code in words.REVIEW_TYPES
        },
        "type",
    )
with by_action:
    actions = address.choices(
        _("Next action"),
        {
            code: f"{next_actions.action(code)} ({of('next_action', code, within=listed_states)})"
            for code in next_actions.ACTIONS
        },
        "action",
        placeholder=_("Any"),
    )
assigned: dict[str, Sequence[object]] = {UNASSIGNED: [None]}
if whose == MINE:
    assigned[MINE] = people.mine()
    if not assigned[MINE]:
        acting.ask_for_name("list")
        elements.end_page()
deadline = periods.period(period or "all", views.moment(), formats.zone())
if day is not None:
    deadline = periods.common(deadline, periods.utc_days(day, day))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("Due on **{day}**, a UTC day.", day=formats.day(day)), width="content")
        st.button(_("All days"), icon=":material/close:", on_click=address.leave_out, args=("day",))
where: dict[str, Sequence[object]] = {
    "state": states,
    "is_due_within_7_days": [True] if soon else [],
    "review_type": types,
    "next_action": actions,
}
chosen = {column: some for column, some in where.items() if some}
fitting = sum(
    row["rows"]
    for row in facets
    if all(row[column] in some for column, some in ({"state": within} | chosen).items())
)
lists.with_card(
    "open_processes",
    listed(),
    card,
    counted=formats.processes,
    where={**where, "assignee": assigned.get(whose, [])},
    within={"state": within},
    contains={"seller_id": seller, "assignee": assignee},
    order_by="deadline_at" if lane == SAVABLE else None,
    # What the filters say beside their names is one question, and answers this one, too.
    total=None if seller or assignee or whose != ALL or deadline != (None, None) else fitting,
    between={"deadline_at": deadline},
    nothing_matches=_("No process matches these filters"),
    when_empty=nothing_late,
)
