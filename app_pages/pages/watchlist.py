"""Watchlist: unfinished processes by queue, what can still be saved first, and what to do next.

It opens on those whose next step is ours; each of the others stands in one other queue.
"""

from collections.abc import Sequence

import streamlit as st

from app_pages.desk import casework, many, people, saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, moments, next_actions
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, address, elements, links, lists, seller_names, views
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

SOON = "7"
ALL = reports.ALL
ACTION_CHARACTERS = 22  # in its column; the card has the whole of it
FOLDED = ("by", "action", "state", "due", "period", "assignee", "seller")


def listed(*, has_chances: bool) -> lists.Listed:
    """What the list shows of each row; with its chance where it is in the order of these."""
    unfinished = {code: codes.STATES[code] for code in codes.UNFINISHED}
    states = code_texts.by_code(unfinished)

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "state": [states[row["state"]]],
            "next_action": lists.cut(_(next_actions.of(row).name), ACTION_CHARACTERS),
            "assignee": row["assignee"] or "",
            "time_left": formats.time_left(row["seconds_to_deadline"]),
            **({"chance": formats.share(row["chance"])} if has_chances else {}),
        }

    chances = {"chance": lists.text(_("Chance"), 72)} if has_chances else {}
    return lists.Listed(
        cells,
        {
            # First what is decided by: a phone shows no more than two.
            **chances,
            "time_left": lists.text(_("Time left"), 140),
            "next_action": lists.text(_("Next action"), 140),
            "state": lists.coded(_("State"), unfinished, code_texts.STATE_COLOURS),
            lists.SELLER: lists.text(_("Seller"), 96),
            "deadline_at": lists.instant(_("Deadline"), 134),
            "assignee": lists.text(_("Assigned to"), 88),
            "process_id": lists.subject_id(_("Process")),
            "review_type": lists.text(_("Type"), 48),
        },
        alt=_("Processes of the watchlist, the lowest chance first")
        if has_chances
        else _("Processes of the watchlist, what can still be saved first"),
        sorts={"time_left": "deadline_at"},
        act=many.for_many if casework.is_open() else None,
    )


def nothing_to_do() -> None:
    elements.empty_of_processes(
        _("Nothing has to be done now"),
        _("A process appears here once its next step is yours; the others wait in another queue."),
    )


def card(row: views.Row) -> None:
    """What a process is about, what it may cost, and what to do next."""
    state, fields = row["state"], row["requested_fields"] or ()
    st.markdown(f"{elements.cell(row, 'process_id')} {elements.cell(row, 'seller_id')}")
    seller_names.say(row)
    st.container(key="deadline").metric(
        _("Deadline"),
        formats.time_left(row["seconds_to_deadline"]),
        formats.minute(row["deadline_at"]),
        delta_arrow="off",
        delta_color=code_texts.STATE_COLOURS[state],
    )
    chip = code_texts.state_chip(state, row["seconds_to_deadline"])
    st.markdown(f"{chip} {code_texts.type_chip(row['review_type'])}")
    elements.say_deleted(row)
    action = next_actions.of(row)
    st.header(f"{action.icon} {_(action.name)}", anchor=False)
    st.markdown(formats.muted(next_actions.reason(row)))
    st.markdown(next_actions.how(row))
    # One line whoever it is: an assignment moves no button under whoever presses it.
    if row["assignee"]:
        st.markdown(_("Assigned to **{name}**", name=formats.plain(row["assignee"])))
        casework.say_if_away(row["assignee"])
    else:
        st.markdown(_("Unassigned"))
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
    st.markdown(code_texts.word(code_texts.COSTS, state))
    st.header(
        ngettext(
            "{n} requested field",
            "{n} requested fields",
            len(fields),
            n=formats.number(len(fields)),
        ),
        anchor=False,
    )
    st.markdown(elements.fields(fields))


with lists.filters():
    by_queue = st.container(width="content")
    with st.container(width="content"):
        saved.show("watchlist")
    with st.container(width="content"):
        whose = people.ask_whose()
    by_type = st.container(width="content")
    with st.container(width="content"), lists.more_filters(FOLDED):
        by_chance = bool(
            address.choices(
                _("Order"), {reports.CHANCE: _("Least likely to be in time first")}, "by"
            )
        )
        by_action, by_state, by_nearness = st.container(), st.container(), st.container()
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
assigned: Sequence[object] = [None] * (whose == people.UNASSIGNED)
if whose == people.MINE:
    assigned = people.mine()
where: dict[str, Sequence[object]] = {
    "is_due_within_7_days": [True] * len(address.asked_for("due", (SOON,))),
    "review_type": address.asked_for("type", codes.REVIEW_TYPES),
    "next_action": address.asked_for("action", ACTIONS),
    "assignee": assigned,
}
others = views.filtered(
    contains={"seller_id": seller, "assignee": assignee}, between={"deadline_at": deadline}
)
where["state"] = address.asked_for("state", codes.UNFINISHED)
facets = views.Facets("open_processes", {"queue": [], **where}, others)
with by_queue:
    # Only now is it known among which rows these count.
    queue_names = facets.numbered("queue", code_texts.by_code(codes.QUEUES))
    all_of_them = {ALL: _("All ({n})", n=formats.number(facets.rows()))}
    queue = address.choice(_("Queue"), queue_names | all_of_them, "queue")
facets = facets.choosing(queue=[] if queue == ALL else [queue])
with by_state:
    address.choices(
        _("State"),
        facets.numbered(
            "state",
            {
                code: f"{code_texts.STATE_ICONS[code]} {code_texts.word(codes.STATES, code)}"
                for code in codes.UNFINISHED
            },
        ),
        "state",
    )
with by_nearness:
    in_days = facets.of("is_due_within_7_days", True)
    address.choices(_("Deadline"), {SOON: _("Due in 7 days ({n})", n=in_days)}, "due")
with by_type:
    address.choices(
        _("Type"),
        facets.numbered("review_type", {it: it for it in codes.REVIEW_TYPES}),
        "type",
    )
with by_action:
    address.choices(
        _("Next action"),
        facets.numbered("next_action", {it: next_actions.either(it) for it in ACTIONS}),
        "action",
        placeholder=_("Any"),
    )
if whose == people.MINE and not assigned:
    acting.ask_for_name("list")
    elements.end_page()
if day is not None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("Due on **{day}**, a UTC day.", day=formats.day(day)), width="content")
        st.button(_("All days"), icon=":material/close:", on_click=address.leave_out, args=("day",))
facets = facets.choosing(queue=[])
lists.with_card(
    facets.listed_by("open_by_chance") if by_chance else facets,
    listed(has_chances=by_chance),
    card,
    counted=formats.processes,
    within={} if queue == ALL else {"queue": [queue]},
    nothing_matches=_("No process matches these filters"),
    when_empty=nothing_to_do if queue == reports.FIRST_QUEUE else None,
)
lists.about(
    _(
        "Unfinished processes, the lowest chance to be finished in time first, by how earlier ones"
        " fared (page *Trends*); then those without one. Each stands in one queue."
    )
    if by_chance
    else _(
        "Unfinished processes, what can still be saved first: the nearest deadline ahead, then"
        " what has passed, the latest first. Each stands in one queue."
    ),
    is_ticked=casework.is_open(),
)
