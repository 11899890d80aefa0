"""Watchlist: processes that are overdue or expired, worst first, and what to do about each.

Other unfinished ones are a filter away: what is pending comes due, too.
"""

from collections.abc import Sequence

import streamlit as st

from app_pages.desk import casework, many, people, saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, moments, next_actions
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, address, elements, links, lists, views
from pipeline import periods
from pipeline.alert_rules import reports
from pipeline.language import codes
from pipeline.language.next_actions import ACTIONS

PAGE = Page(
    title=N_("Watchlist"),
    icon="alarm",
    section=Section.DAILY,
    place=20,
    for_analysts=False,
)

EXPIRED = "EXPIRED"
SOON = "7"
ALL, SAVABLE, MINE, UNASSIGNED = "all", "savable", "mine", "unassigned"
FOLDED = ("state", "due", "period", "assignee", "seller")


def listed() -> lists.Listed:
    """What the list shows of each row."""
    unfinished = {code: codes.STATES[code] for code in codes.UNFINISHED}
    states = code_texts.by_code(unfinished)

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
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 88),
            "state": lists.coded(_("State"), unfinished, code_texts.STATE_COLOURS),
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
        delta_color=code_texts.STATE_COLOURS[state],
    )
    st.markdown(f"{code_texts.state_chip(state)} {code_texts.type_chip(row['review_type'])}")
    st.markdown(code_texts.word(code_texts.COSTS, state))
    elements.say_deleted(row)
    icon = ACTIONS[row["next_action"]].icon
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
            outcome=formats.plain(code_texts.word(codes.OUTCOMES, row["last_outcome"])),
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


def adds_up(shown: Sequence[str]) -> str:
    """The states that a lane has, each with how many are left: together they are its number."""
    left = [it for it in shown if facets.rows(state=[it])]
    parts = [f"{code_texts.word(codes.STATES, it)} {facets.of('state', it)}" for it in left]
    return " + ".join(parts) or formats.number(0)


with st.container(key="intro"):
    st.markdown(
        _(
            "Processes in their tolerance period or past their deadline, the most urgent first."
            " Choose a state under *More filters* to see others."
        )
    )

with lists.filters():
    with st.container(width="content"):
        saved.show("watchlist")
    by_lane = st.container(width="content")
    with st.container(width="content"):
        whose = address.choice(
            _("Assigned to"),
            {ALL: _("Anybody"), MINE: _("Mine"), UNASSIGNED: _("Nobody")},
            "whose",
        )
    by_type, by_action = st.container(width="content"), st.container(width=190)
    with st.container(width="content"), lists.more_filters(FOLDED):
        by_state, by_nearness = st.container(), st.container()
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
deadline = periods.period(period or "all", views.moment(), formats.zone())
if day is not None:
    deadline = periods.common(deadline, periods.utc_days(day, day))
assigned: Sequence[object] = people.mine() if whose == MINE else [None] * (whose == UNASSIGNED)
where: dict[str, Sequence[object]] = {
    "is_due_within_7_days": [True] * len(address.asked_for("due", (SOON,))),
    "review_type": address.asked_for("type", codes.REVIEW_TYPES),
    "next_action": address.asked_for("action", ACTIONS),
    "assignee": assigned,
}
others = views.filtered(
    contains={"seller_id": seller, "assignee": assignee}, between={"deadline_at": deadline}
)
facets = views.Facets("open_processes", {"state": [], **where}, others)
# Only now is it known among which rows these count.
is_of_days = bool(where["is_due_within_7_days"]) or day is not None
lanes_now = reports.lanes(is_of_days=is_of_days)
lane_labels = {
    ALL: _("Watchlist ({n})", n=facets.of("state", *lanes_now[ALL])),
    SAVABLE: _("Can still be saved ({n})", n=facets.of("state", *lanes_now[SAVABLE])),
    EXPIRED: _("Expired ({n})", n=facets.of("state", EXPIRED)),
}
explained = [_("What is in tolerance can still be saved: it counts in both lanes.")]
explained += [f"**{label}** = {adds_up(lanes_now[code])}" for code, label in lane_labels.items()]
with by_lane:
    lane = address.choice(_("Lane"), lane_labels, "lane", help="\n\n".join(explained))
offered = codes.UNFINISHED if lane == ALL else lanes_now[lane]
with by_state:
    states = address.choices(
        _("State"),
        facets.numbered(
            "state",
            {
                code: f"{code_texts.STATE_ICONS[code]} {code_texts.word(codes.STATES, code)}"
                for code in offered
            },
        ),
        "state",
    )
listed_states = states or lanes_now[lane]
with by_nearness:
    in_days = facets.of("is_due_within_7_days", True, state=states or offered)
    address.choices(_("Deadline"), {SOON: _("Due in 7 days ({n})", n=in_days)}, "due")
with by_type:
    address.choices(
        _("Type"),
        facets.numbered("review_type", {it: it for it in codes.REVIEW_TYPES}, state=listed_states),
        "type",
    )
with by_action:
    address.choices(
        _("Next action"),
        facets.numbered(
            "next_action",
            {it: next_actions.action(it) for it in ACTIONS},
            state=listed_states,
        ),
        "action",
        placeholder=_("Any"),
    )
if whose == MINE and not assigned:
    acting.ask_for_name("list")
    elements.end_page()
if day is not None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("Due on **{day}**, a UTC day.", day=formats.day(day)), width="content")
        st.button(_("All days"), icon=":material/close:", on_click=address.leave_out, args=("day",))
lists.with_card(
    facets.choosing(state=states),
    listed(),
    card,
    counted=formats.processes,
    within={"state": lanes_now[lane]},
    order_by="deadline_at" if lane == SAVABLE else None,
    nothing_matches=_("No process matches these filters"),
    when_empty=nothing_late,
)
