"""Overview: how many reviews are late or close to it, what is coming, and what to do today."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from app_pages.charts.deadlines import deadline_bars, review_flow
from app_pages.charts.figure import AMBER, RED
from app_pages.charts.sparkline import sparkline
from app_pages.desk import first_steps, processes
from app_pages.door import access
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, next_actions
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import elements, explained, links, lists, seller_names, views
from pipeline.alert_rules import reports
from pipeline.continuity import service
from pipeline.language import codes

FIRST = 5  # of the processes that wait for us, those that are named; `open_actions` has as many
SUBMIT = "submit"
CHIP_WIDTH = 264  # pixels, for a state with the time left in any language

PAGE = Page(
    title=N_("Overview"),
    icon="monitoring",
    section=Section.DAILY,
    place=10,
    for_analysts=True,
)


def _counts(row: views.Row) -> list[str]:
    """How many processes wait for an action, and how many of them are late or soon due."""
    badges = []
    if row["expired"]:
        expired = formats.number(row["expired"])
        text = ngettext("{n} expired", "{n} expired", row["expired"], n=expired)
        badges.append(formats.badge(text, "red"))
    if row["due_within_7_days"]:
        due = formats.number(row["due_within_7_days"])
        text = ngettext("{n} due in 7 days", "{n} due in 7 days", row["due_within_7_days"], n=due)
        badges.append(formats.badge(text, "orange"))
    badges.append(formats.badge(formats.processes(row["processes"]), "gray"))
    if row["next_action"] == SUBMIT and row["without_type"]:  # the link beside counts the others
        n = formats.number(row["without_type"])
        badges.append(formats.badge(_("of an unknown type of seller: {n}", n=n), "gray"))
    return badges


def _to_view(row: views.Row) -> int:
    """How many the way of an action leads to: of what is answered, those that can be sent, where
    there are any."""
    ready: int = row["processes"] - row["without_type"]
    return ready if row["next_action"] == SUBMIT and ready else row["processes"]


def _course(
    text: str,
    values: Sequence[float | None],
    colour: str,
    written: Callable[[float | None], str] = formats.number,
) -> None:
    """How a figure came about, as small bars that can be read aloud."""
    alt = _(text, values=", ".join(map(written, values)))
    sparkline([value or 0 for value in values], colour, alt)


def _figure_of_state(row: views.Row, state: str, colour: str, meaning: str) -> None:
    """How many processes stand in a state, beside a week ago, their course, and the way to them.
    `row`: of `overview_figures`."""
    column = state.lower()
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(
            f"{code_texts.STATE_ICONS[state]} {code_texts.word(codes.STATES, state)}",
            formats.number(row[column]),
            formats.change(row[f"{column}_change"]),
            delta_color="inverse",
            delta_description=week_ago,
            help=meaning,
        )
        _course(by_day, [day[column] for day in month], colour)
        if row[column]:
            count = formats.number(row[column])
            links.to_named(
                "watchlist",
                ngettext("View {n} expired", "View {n} expired", row[column], n=count)
                if state == "EXPIRED"
                else _("View {n} OVERDUE · in time", n=count),
                queue=reports.ALL,
                state=state,
            )


def lead_to_day(point: Mapping[str, Any]) -> None:
    """From a bar to the processes that are due on its day."""
    links.lead("watchlist", queue=reports.ALL, day=str(point["x"])[:10])


def first_to_save(row: views.Row, names: Mapping[str, str]) -> None:
    """One of the processes that can still be saved, in a line that leads to it. `names`: as for
    `lists.begin_line`."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        lists.begin_line(row, names)
        st.markdown(
            code_texts.state_chip(row["state"], row["seconds_to_deadline"]), width=CHIP_WIDTH
        )
        st.markdown(_(next_actions.of(row).name), width="content")  # bold, it looked like a button


links.follow()
figures = views.read_one("overview_figures")
assert figures is not None  # the view is one row, always

# --- what may hide a review ----------------------------------------------------------------------

if figures["quarantined"]:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="quarantine"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            held = ngettext(
                "{n} delivery is in quarantine",
                "{n} deliveries are in quarantine",
                figures["quarantined"],
                n=formats.number(figures["quarantined"]),
            )
            st.markdown(
                formats.badge(f"**{held}**", "orange", ":material/report:"), width="content"
            )
            st.markdown(
                formats.muted(_("What could not be read may hide a review with a deadline.")),
                width="content",
            )
        links.to_named("ledger", _("View the quarantine"))
if service.current().settings.webhook_auth == "none":
    st.warning(
        _(
            "Anyone who can reach the receiver can make up reviews, or report one as finished."
            " Ask whoever runs Prazo to close it: see *Webhooks* in the guide *Operations*."
        ),
        title=_("Deliveries are not authenticated"),
        icon=":material/no_encryption:",
    )

if not figures["processes"]:
    first_steps.show()
    elements.end_page()

bars = views.read("deadline_bars")
month = views.read("recent_states")
weeks = views.read("onboarding_weeks")

# --- the four figures --------------------------------------------------------------------------

week_ago = _("vs. 7 days ago")
by_day, by_week = N_("Day by day: {values}"), N_("Week by week: {values}")
with st.container(key="figures").grid(4, min_column_width=170):
    _figure_of_state(
        figures,
        "EXPIRED",
        RED,
        _("Past the deadline: the sellers can be blocked from cash-in and cash-out."),
    )
    _figure_of_state(
        figures,
        "OVERDUE",
        AMBER,
        _("An ACP whose first 30 days are over, or an open ACI: a submission is still in time."),
    )
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(
            ":material/hourglass_top: " + _("Due in 7 days"),
            formats.number(figures["due_within_7_days"]),
            formats.number(figures["due_within_24_hours"]),
            delta_arrow="off",
            delta_color="orange",
            delta_description=_("within 24 hours"),
            help=_("Unfinished processes whose deadline comes within 7 days, day by day."),
        )
        _course(by_day, [day["due"] for day in views.read("coming_days")], AMBER)
        if figures["due_within_7_days"]:
            due = figures["due_within_7_days"]
            links.to_named(
                "watchlist",
                ngettext(
                    "View {n} due in 7 days", "View {n} due in 7 days", due, n=formats.number(due)
                ),
                queue=reports.ALL,
                due="7",
            )
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(
            ":material/block: " + _("Denial rate"),
            formats.share(figures["denial_share"]),
            formats.points(figures["denial_share_change"]),
            delta_color="inverse",
            # Nobody was decided on in one of the two weeks: then nothing stands beside it.
            delta_description=None
            if figures["denial_share_change"] is None
            else _(
                "{denied} of {decided}, after {before} of {n}",
                denied=formats.number(weeks[-1]["denied"]),
                decided=formats.number(weeks[-1]["decided"]),
                before=formats.number(weeks[-2]["denied"]),
                n=formats.number(weeks[-2]["decided"]),
            ),
            help=_(
                "Sellers denied among those that the platform decided on in the last 7 days. Beside"
                " the change: how many of how many, then those of the 7 days before."
            ),
        )
        shares = [week["denial_share"] for week in weeks]
        _course(by_week, shares, RED, formats.share)
        if figures["denial_share"]:
            with st.container(key="rows_denied"):  # to the list below the charts there
                links.to_named(
                    "denials", _("View denials of the last 7 days"), ends=str(views.moment().date())
                )

# --- what to do today --------------------------------------------------------------------------

st.header(_("What needs action today"), anchor=False)
actions = views.read("open_actions")
ours = [row for row in actions if row["queue"] == reports.FIRST_QUEUE]
in_queue = Counter[str]()
for row in actions:
    in_queue[row["queue"]] += row["processes"]
with st.container(horizontal=True, gap="small", key="queues"):
    for code, name in codes.QUEUES.items():
        if code in in_queue:
            label = f"{_(name)} ({formats.number(in_queue[code])})"
            links.to_named("watchlist", label, queue=code)
    for row in ours:  # what a press sends is in sight, however many cards stand before its own
        if row["next_action"] == SUBMIT and row["processes"] > row["without_type"]:
            label = f"{_(next_actions.of(row).name)} ({formats.number(_to_view(row))})"
            links.to_named("submissions", label, list="ready")
    if figures["expired"] or figures["overdue"]:
        late = _("Sellers, most severe first")
        links.to_named("sellers", late, first="severe", state=("EXPIRED", "OVERDUE"))
if not ours:
    st.success(_("Nothing has to be done today."), icon=":material/task_alt:")
elif access.may_read("open_processes"):
    ids = [it for row in ours for it in row["first_processes"]]
    first = views.read("open_processes", where={"process_id": ids}, limit=FIRST)
    names = seller_names.all_in_clear(first)
    with st.container(gap="xsmall"):
        for row in first:
            first_to_save(row, names)
for row in ours:
    code, action = row["next_action"], next_actions.of(row)
    is_ready = code == SUBMIT  # what is answered is sent where it is listed
    elements.action_row(
        action,
        " ".join(_counts(row)),
        partial(
            links.to_named,
            "submissions" if is_ready else "watchlist",
            _(
                "{what}: view {n}",
                n=formats.number(_to_view(row)),
                what=_(action.name),
            ),
            **({"list": "ready"} if is_ready else {"action": code}),
        ),
        key=f"todo_{code}",
    )

# --- deadlines and flow ------------------------------------------------------------------------

left, right = st.columns([3, 2], gap="small")
with left.container(border=True, height="stretch"):
    notes = [_("Days are UTC days.")]
    older = [row["due"] for row in bars if row["is_older"]]
    if older:
        notes.append(
            ngettext(
                "Not drawn: {n} process whose deadline passed more than 30 days ago.",
                "Not drawn: {n} processes whose deadline passed more than 30 days ago.",
                older[0],
                n=formats.number(older[0]),
            )
        )
    explained.chart(
        _(
            "Late: {late}; due within 7 days: {soon}",
            late=formats.number(figures["expired"]),
            soon=formats.number(figures["due_within_7_days"]),
        ),
        _("The next deadline: **{next}**.", next=formats.minute(figures["next_deadline_at"])),
        deadline_bars(bars, figures["as_of"].date()),
        rests_on=("deadline_bars",),
        take=lead_to_day,
        alt=_("Deadlines of unfinished processes per day, late ones to the left of today"),
        note=" ".join(notes),
    )
with right.container(border=True, height="stretch"):
    flow = views.read("review_flow")
    ends = Counter[str]()
    for row in flow:
        ends[row["ends_as"]] += row["processes"]
    explained.chart(
        _(
            "Opened in the last 90 days: {n}; finished in time: {in_time}",
            n=formats.number(ends.total()),
            in_time=formats.number(ends["finished_in_time"]),
        )
        if flow
        else _("Where processes of the last 90 days stand"),
        # A share would look like that of Trends, and be less: these can still be finished.
        _(
            "Open and still in time: **{n}**. *Trends* has the share in time of what was due.",
            n=formats.number(ends["pending"] + ends["overdue"]),
        )
        if flow
        else "",
        review_flow(flow),
        rests_on=("review_flow",),
        alt=_("Processes of each type of review, by where they stand"),
    )
    with st.container(horizontal=True, gap="small", key="flow_leads"):
        for end in code_texts.ENDS:  # each to its rows
            if any(row["ends_as"] == end for row in flow):
                processes.to_rows_of_flow(end)
