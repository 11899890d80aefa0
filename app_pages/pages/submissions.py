"""Submissions: how attempts ended, how often a retry succeeded, and each attempt."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any

import streamlit as st

from app_pages.charts.outcomes import (
    outcome_days,
    outcome_periods,
    outcome_shares,
    retries,
    submission_weeks,
)
from app_pages.desk import journeys, saved
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, next_actions
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, contents, elements, explained, links, lists, views
from pipeline import periods
from pipeline.language import codes

PAGE = Page(
    title=N_("Submissions"),
    icon="send",
    section=Section.DAILY,
    place=70,
    for_analysts=True,
)

DAYS = 30
WEEKS = 12
MOST_WAITING = 15
ATTEMPTS, WAITING, READY = "attempts", "waiting", "ready"
LEAST_OF_AN_HOUR = 10  # attempts: of fewer, a share says little
LAST_PLACE = 5  # it stands for all later ones
FAILURES = [code for code in codes.OUTCOMES if code not in ("accepted", "in_flight", "refused")]
# What a figure counts, as it stands in the URL: the column that says so, and a sentence.
STANDINGS = {
    "pending": ("is_retry_pending", N_("Attempts that wait for a retry.")),
    "given_up": ("is_given_up", N_("Attempts after which nothing more is tried.")),
}
OUTCOME_ROWS = DAYS * len(codes.OUTCOMES)


def listed() -> lists.Listed:
    """What the list shows of each row."""
    outcomes = code_texts.by_code(codes.OUTCOMES)

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "outcome": [outcomes.get(row["outcome"], row["outcome"])],
            "via": code_texts.word(codes.VIAS, row["via"]),
            "duration_ms": None if row["duration_ms"] is None else round(row["duration_ms"]),
        }

    return lists.Listed(
        cells,
        {
            "started_at": lists.instant(_("Started")),
            "outcome": lists.coded(
                _("Outcome"),
                codes.OUTCOMES,
                code_texts.OUTCOME_COLOURS,
                150,
            ),
            "status": lists.number(_("Status"), 64),
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 104),
            "attempt_number": lists.number(_("Attempt"), 78),
            "duration_ms": lists.number(_("Duration, ms"), 94),
            "via": lists.text(_("Via"), 110),
        },
        alt=_("Submission attempts, newest first"),
    )


def card(attempt: views.Row) -> None:
    """One attempt: how it ended, where it stands among its tries, and the way to its process."""
    st.markdown(f"{elements.cell(attempt, 'process_id')} {elements.cell(attempt, 'seller_id')}")
    ended = code_texts.outcome_chip(attempt["outcome"])
    if attempt["status"] is not None:
        ended += " " + formats.badge(f"HTTP {attempt['status']}", "gray")
    st.markdown(ended)
    took = attempt["duration_ms"]
    elements.details(
        {
            _("Started"): formats.second(attempt["started_at"]),
            _("Duration"): "–" if took is None else f"{formats.number(round(took))} ms",
            _("Attempt"): formats.number(attempt["attempt_number"]),
            _("Content number"): formats.number(attempt["try_number"]),
            _("Via"): formats.plain(code_texts.word(codes.VIAS, attempt["via"])),
            **(
                {_("Retry due"): formats.second(attempt["retry_due_at"])}
                if attempt["retry_due_at"]
                else {}
            ),
        },
        alt=_("The chosen attempt"),
    )
    links.to_process(attempt["process_id"])
    links.to_seller(attempt["seller_id"])


def waiting_row(row: views.Row) -> None:
    """A process whose submission waits: for what, why, how long still, and the way to it."""
    left = formats.time_badge(row["seconds_to_deadline"])
    elements.action_row(
        next_actions.of(row),
        f"{code_texts.outcome_chip(row['last_outcome'])} {left}",
        partial(links.to_process, row["process_id"], is_named=True),
        key=f"waits_{views.shown('process_id', row['process_id'])}",
    )


def take_place(point: Mapping[str, Any]) -> None:
    """Shows the attempts behind a bar: of an outcome, at a place."""
    outcome, place = by_place["data"][point["curve_number"]]["meta"][point["point_index"]]
    address.take([("outcome", outcome), ("place", str(place))])


def take_day(point: Mapping[str, Any]) -> None:
    """Shows the attempts behind a bar: of an outcome, on a day."""
    outcome, day = by_day["data"][point["curve_number"]]["meta"][point["point_index"]]
    address.take([("outcome", outcome), ("day", day)])


def only_led(key: str, text: str) -> None:
    """Says to which rows a bar or a figure led, with the way back to all."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(text, width="content")
        st.button(
            _("All attempts"),
            icon=":material/close:",
            on_click=address.leave_out,
            args=(key,),
            key=f"all {key}",
        )


def days_reading(sent: int, accepted: int) -> str:
    """The last 30 days in a sentence."""
    attempts = ngettext(
        "In the last 30 days **{n}** attempt was sent",
        "In the last 30 days **{n}** attempts were sent",
        sent,
        n=formats.number(sent),
    )
    ended = ngettext("**{n}** accepted", "**{n}** accepted", accepted, n=formats.number(accepted))
    return f"{attempts}, {ended}."


def weeks_reading(seconds_to_acceptance: float | None) -> str:
    """How long it takes from a failure to an answer 200, in a sentence; nothing where none came."""
    if seconds_to_acceptance is None:
        return ""
    return _(
        "Of all that failed and were accepted after all, half took at most **{time}** from the"
        " first failure.",
        time=formats.seconds(seconds_to_acceptance),
    )


def is_failure(row: views.Row) -> bool:
    return row["outcome"] in FAILURES


def draw_weeks(today: date) -> None:
    """Attempts per ISO week by outcome; the week that is not over is drawn, and named as such."""
    current = today - timedelta(days=today.weekday())
    first = current - timedelta(days=7 * (WEEKS - 1))
    weeks: list[Any] = [first + timedelta(days=7 * number) for number in range(WEEKS)]
    rows = views.read("outcomes_by_week", order_by="week desc", limit=WEEKS * len(codes.OUTCOMES))
    last = [row for row in rows if row["week"] == weeks[-2]]
    failed = sum(row["attempts"] for row in last if is_failure(row))
    explained.chart(
        _(
            "{n} failed in the week of {day}",
            n=formats.number(failed),
            day=formats.short_day(weeks[-2]),
        ),
        _(
            "Sent in the last whole week: **{n}**. Of these failed: **{failed}**.",
            n=formats.number(sum(row["attempts"] for row in last)),
            failed=formats.number(failed),
        ),
        outcome_periods(
            rows,
            "week",
            {
                week: _("{day} so far", day=formats.short_day(week))
                if week == current
                else formats.short_day(week)
                for week in weeks
            },
        ),
        rests_on=("outcomes_by_week",),
        alt=_("Attempts per week by outcome"),
        note=_("Weeks begin on Monday, in UTC."),
    )


def days_title(failing: Sequence[views.Row]) -> str:
    """The day on which most failed, of those whose failures stand out."""
    if not failing:
        return _("Attempts per day")
    worst = max(failing, key=lambda row: row["failed"])
    title = _(
        "{failed} of {n} failed on {day}",
        failed=formats.number(worst["failed"]),
        n=formats.number(worst["attempts"]),
        day=formats.short_day(worst["day"]),
    )
    return title + mostly_of_one(worst, worst["failed"])


def mostly_of_one(row: views.Row, total: int) -> str:
    """What ends a title: the process that most of these attempts are of, since its resends say
    little of the platform; nothing where no process has most. `row`: with `most_of`."""
    if row["most_of_one"] < 2 or 2 * row["most_of_one"] <= total:
        return ""
    process = formats.plain(views.shown("process_id", row["most_of"]))
    if row["most_of_one"] == total:
        return f"; {_('all of one process: {process}', process=process)}"
    said = _(
        "of one process, {process}: {n} of {total}",
        n=formats.number(row["most_of_one"]),
        total=formats.number(total),
        process=process,
    )
    return f"; {said}"


def failures_said(failing: Sequence[views.Row]) -> str:
    """Each day that stands out, the one with the most failures first, beside the other days."""
    return " ".join(
        _(
            "On {day} **{failed}** of **{n}** failed; on the other days {share}.",
            day=formats.short_day(row["day"]),
            failed=formats.number(row["failed"]),
            n=formats.number(row["attempts"]),
            share=formats.share(row["others_share"]),
        )
        for row in sorted(failing, key=lambda row: -row["failed"])
    )


def hours_said(
    rows: Sequence[views.Row], ahead: int | None, worst_day: views.Row | None
) -> tuple[str, str]:
    """Title and reading: the hour of which the greatest share failed, of those with attempts enough
    to say so, beside the whole day; or the day that has most of all failures, whose hours say
    nothing of others. `ahead`: as `formats.hours_ahead` gives it. `worst_day`: that on which most
    failed, where it stands out."""
    sent, failed = Counter[int](), Counter[int]()
    for row in rows:
        sent[row["hour"]] += row["attempts"]
        failed[row["hour"]] += row["attempts"] if is_failure(row) else 0
    in_all = _(
        "Of attempts in the last 28 days **{failed}** of **{n}** failed ({share}).",
        failed=formats.number(failed.total()),
        n=formats.number(sent.total()),
        share=formats.share(failed.total() / sent.total() if sent else None),
    )
    if worst_day is not None and 2 * worst_day["failed"] > failed.total():
        day, most = formats.short_day(worst_day["day"]), formats.number(worst_day["failed"])
        title = _(
            "By the hour, most failures are those of {day}: {n} of {total}",
            day=day,
            n=most,
            total=formats.number(failed.total()),
        )
        said = _(
            "Most of these, **{n}**, failed on {day}: the hours show that day above all.",
            n=most,
            day=day,
        )
        return title + mostly_of_one(worst_day, worst_day["failed"]), f"{in_all} {said}"
    enough = [hour for hour in sent if sent[hour] >= LEAST_OF_AN_HOUR and failed[hour]]
    if not enough:
        return _("Attempts by the hour of the day"), in_all
    worst = max(enough, key=lambda hour: (failed[hour] / sent[hour], failed[hour], -hour))
    numbers = {
        "failed": formats.number(failed[worst]),
        "n": formats.number(sent[worst]),
        "share": formats.share(failed[worst] / sent[worst]),
    }
    begins, ends = (formats.hour((it + (ahead or 0)) % 24) for it in (worst, worst + 1))
    title = _(
        "Of hours with {number} attempts or more, the greatest share fails between {hour} and"
        " {next}: {failed} of {n} ({share})",
        hour=begins,
        next=f"{ends} UTC" if ahead is None else ends,
        number=formats.number(LEAST_OF_AN_HOUR),
        **numbers,
    )
    of_worst = next(row for row in rows if row["hour"] == worst)
    return title + mostly_of_one(of_worst, failed[worst]), in_all


def draw_hours(rows: Sequence[views.Row], ahead: int | None, worst_day: views.Row | None) -> None:
    """Attempts per hour of the day by outcome, and in which the greatest share failed: hours of the
    reader's zone, where those of UTC are whole hours there."""
    if not rows:
        return
    title, reading = hours_said(rows, ahead, worst_day)
    zone = "UTC" if ahead is None else formats.plain(str(formats.zone()))
    with st.container(border=True):
        explained.chart(
            title,
            reading,
            outcome_periods(
                rows,
                "hour",
                {(hour - (ahead or 0)) % 24: f"{hour:02}" for hour in range(24)},
                has_legend=True,
            ),
            rests_on=("outcomes_by_hour",),
            alt=_("Attempts per hour of the day by outcome"),
            note=_("Hours are of {zone}.", zone=zone),
        )


def retries_title(most: views.Row) -> str:
    """How often another attempt was accepted, after what was followed by most."""
    name = formats.plain(code_texts.word(codes.OUTCOMES, most["outcome"]))
    if most["sent_again"]:
        title = _(
            "After “{outcome}”: {share} of single retries accepted",
            outcome=name,
            share=formats.share(most["acceptance_again"]),
        )
        return title + mostly_of_one(most, most["sent_again"])
    return _(
        "After “{outcome}”: {share} accepted with changed content",
        outcome=name,
        share=formats.share(most["acceptance_changed"]),
    )


def draw_retries(rows: Sequence[views.Row]) -> None:
    """What came after a failure, per outcome: with the same bytes, and with others. `rows`: of the
    most attempts first."""
    if not rows:
        return
    first = rows[0]
    name = formats.plain(code_texts.word(codes.OUTCOMES, first["outcome"]))
    said = []
    if first["sent_again"]:
        said.append(
            _(
                "With the same content right after “{outcome}”: **{again}** accepted of **{n}**.",
                n=formats.number(first["sent_again"]),
                outcome=name,
                again=formats.number(first["accepted_again"]),
            )
        )
    if first["sent_changed"]:
        said.append(
            _(
                "With changed content right after “{outcome}”: **{again}** accepted of **{n}**.",
                n=formats.number(first["sent_changed"]),
                outcome=name,
                again=formats.number(first["accepted_changed"]),
            )
        )
    with st.container(border=True):
        explained.chart(
            retries_title(first),
            " ".join(said),
            retries(rows),
            rests_on=("retries_by_outcome",),
            alt=_("By outcome, the share of next attempts that were accepted"),
            note=_("What followed in the log, not why."),
        )
        links.to_rows(
            _("View the attempts that ended so: {outcome}", outcome=name),
            outcome=[first["outcome"]],
        )


def draw_failure_times(rows: Sequence[views.Row]) -> None:
    """How long it took from first failures to acceptance: what a support ticket can say. `rows`: of
    one month, what the platform caused first, each longest first."""
    if not rows:
        return
    month = rows[0]["month"]
    with st.container(border=True):
        explained.table(
            failure_times_title(rows, formats.month(month)),
            " ".join(failure_times_reading(it, formats.month(month)) for it in worst_of(rows)),
            [
                {
                    _("First failure"): formats.plain(
                        code_texts.word(codes.OUTCOMES, row["failed_outcome"])
                    ),
                    _("Processes"): formats.number(row["processes"]),
                    _("Accepted since"): formats.number(row["accepted"]),
                    _("Not accepted so far"): formats.number(row["processes"] - row["accepted"]),
                    _("These, until now in all"): took(row["seconds_unaccepted"]),
                    _("In all"): took(row["seconds"]),
                    _("Waits at the same time counted once"): took(row["seconds_once"]),
                    _("Half within"): took(row["median_seconds_to_acceptance"]),
                }
                for row in rows
            ],
            rests_on=("failure_time_by_month", "failure_times"),
            alt=_("Time from the first failed attempt to the accepted one, by outcome"),
            note=_(
                "For a support ticket: *Table and query* has each process with its times. Rows"
                " may overlap in time, so that their times do not add up."
            ),
        )


def worst_of(rows: Sequence[views.Row]) -> Sequence[views.Row]:
    """Of a month's outcomes the longest time that the platform caused, then the longest that a
    payload of ours did, if any was accepted; `rows`: as above."""
    longest = {row["is_retryable"]: row for row in reversed(rows) if row["accepted"]}
    return [longest[it] for it in (True, False) if it in longest] or rows[:1]


def time_from_failures(row: views.Row) -> str:
    return _(
        "{time} from first failures to acceptance, after “{outcome}”",
        time=formats.seconds(row["seconds_once"]),
        outcome=formats.plain(code_texts.word(codes.OUTCOMES, row["failed_outcome"])),
    )


def failure_times_title(rows: Sequence[views.Row], month: str, most: int = 2) -> str:
    """How many of a month have not been accepted, then the longest times of its outcomes, of so
    many at most; `rows`: as above."""
    failed, accepted = (sum(row[it] for row in rows) for it in ("processes", "accepted"))
    if not accepted:
        failed = formats.number(failed)
        return _("First failures in {month}: {n}, none accepted yet", month=month, n=failed)
    titles = [time_from_failures(row) for row in worst_of(rows)[:most]]
    if failed > accepted:
        titles.insert(0, _("Not accepted so far: {n}", n=formats.number(failed - accepted)))
    return "; ".join(titles)


def failure_times_reading(most: views.Row, month: str) -> str:
    """The same in a sentence or two; without a time where none was accepted."""
    failed = _(
        "First failed in {month} as “{outcome}”: **{n}**; accepted since: **{accepted}**.",
        month=month,
        n=formats.number(most["processes"]),
        outcome=formats.plain(code_texts.word(codes.OUTCOMES, most["failed_outcome"])),
        accepted=formats.number(most["accepted"]),
    )
    if (still := most["processes"] - most["accepted"]) > 0:
        waited = _(
            "Not accepted so far: **{n}**, which have waited **{time}** in all until now.",
            n=formats.number(still),
            time=formats.seconds(most["seconds_unaccepted"]),
        )
        failed = f"{failed} {waited}"
    if not most["accepted"]:
        return failed
    took_them = _(
        "From the first failed attempt to the acceptance, the accepted ones took **{time}** added"
        " up.",
        time=formats.seconds(most["seconds"]),
    )
    if most["seconds_once"] == most["seconds"]:
        return f"{failed} {took_them}"
    once = _(
        "Counting time in which several waited only once, **{once}**.",
        once=formats.seconds(most["seconds_once"]),
    )
    return f"{failed} {took_them} {once}"


def took(seconds: float | None) -> str:
    return "–" if seconds is None else formats.seconds(seconds)


def counted(total: int) -> str:
    return ngettext("{n} attempt", "{n} attempts", total, n=formats.number(total))


def list_waiting() -> None:
    """The processes whose submission waits, for what and for whom."""
    rows = views.read("waiting_submissions", limit=MOST_WAITING)
    for row in rows:
        waiting_row(row)
    if not rows:
        elements.empty(
            _("Nothing waits"),
            _("An open review whose last attempt was not accepted appears here."),
        )
    elif len(rows) == MOST_WAITING:
        lists.about(_("Showing the {n} nearest to their deadline.", n=formats.number(MOST_WAITING)))


def list_attempts(
    by_outcome: Any, by_via: Any, process: str, found: Sequence[tuple[str, str]]
) -> None:
    """Each attempt under its filters, of which those with numbers stand in `by_outcome` and
    `by_via`. `found`: what the charts below find, and where that stands."""
    place = st.query_params.get("place", "")
    numbers: Sequence[int] = [int(place)] if place in ("1", "2", "3", "4") else []
    since_number = (LAST_PLACE, None) if place == str(LAST_PLACE) else (None, None)
    day = address.day("day")
    standing: dict[str, Sequence[object]] = {}
    if st.query_params.get("standing") in STANDINGS:
        standing = {STANDINGS[st.query_params["standing"]][0]: [True]}
    led_to: dict[str, Sequence[object]] = {"attempt_number": numbers, **standing}
    others = views.filtered(
        where=led_to,
        contains={"process_id": process},
        between={
            "attempt_number": since_number,
            "started_at": (None, None) if day is None else periods.utc_days(day, day),
        },
    )
    where: dict[str, Sequence[object]] = {
        "outcome": address.asked_for("outcome", codes.OUTCOMES),
        "via": address.asked_for("via", codes.VIAS),
    }
    facets = views.Facets("submission_attempts", where, others)
    # Only now is it known among which attempts each of these counts.
    with by_outcome:
        address.choices(
            _("Outcome"),
            facets.numbered("outcome", code_texts.by_code(codes.OUTCOMES)),
            "outcome",
            placeholder=_("Outcome"),
        )
    with by_via:
        address.choices(
            _("Via"),
            facets.numbered("via", code_texts.by_code(codes.VIAS)),
            "via",
        )
    if numbers or since_number[0]:
        only_led("place", _("Attempts at place **{n}** of their process.", n=place))
    if day is not None:
        only_led("day", _("Started on **{day}**, a UTC day.", day=formats.day(day)))
    if standing:
        only_led("standing", _(STANDINGS[st.query_params["standing"]][1]))
    lists.with_card(
        facets,
        listed(),
        card,
        counted=counted,
        nothing_matches=_("No attempt matches these filters"),
        below_card=partial(contents.beside, found),
    )


figures = views.read_one("submission_figures")
assert figures is not None  # the view is one row, always
ready = journeys.how_many_ready()
if not figures["attempts"] and not figures["refused"]:
    if journeys.is_any_answered():
        journeys.ready_to_send()
    elements.empty(
        _("Nothing has been submitted yet"),
        _(
            "Submissions appear here once they go through Prazo: see *Send* in the guide *For"
            " the marketplace's developers*. What a seller answered on our page is sent from here."
        ),
    )
    elements.end_page()

# --- what the charts find ------------------------------------------------------------------------

ahead = formats.hours_ahead(views.moment() - timedelta(days=28), views.moment())
of_hours = views.read("outcomes_by_hour")
retried = sorted(
    (row for row in views.read("retries_by_outcome") if row["sent_again"] or row["sent_changed"]),
    key=lambda row: -row["sent_again"] - row["sent_changed"],
)
by_month = views.read("failure_time_by_month")
last_month = max((row["month"] for row in by_month), default=None)
last_failed = sorted(
    (row for row in by_month if row["month"] == last_month),
    key=lambda row: (not row["is_retryable"], -(row["seconds_once"] or 0), -row["processes"]),
)
failing = views.read("failures_by_day", where={"stands_out": True})
since = views.moment().date() - timedelta(days=27)
worst_day = max(
    (row for row in failing if row["day"] >= since), key=lambda row: row["failed"], default=None
)
found: list[tuple[str, str]] = []
if failing and st.query_params.get("by", "day") == "day":
    found.append((days_title(failing), "submission_outcomes"))
if of_hours:
    found.append((hours_said(of_hours, ahead, worst_day)[0], "outcomes_by_hour"))
if retried:
    found.append((retries_title(retried[0]), "retries_by_outcome"))
if last_month is not None:
    # Of one outcome alone: these links end above the fold.
    title = failure_times_title(last_failed, formats.month(last_month), most=1)
    found.append((title, "failure_time_by_month"))

# --- the lists -----------------------------------------------------------------------------------

waiting = views.count("waiting_submissions")
names = {ATTEMPTS: _("Attempts"), WAITING: _("Not accepted yet ({n})", n=formats.number(waiting))}
if ready is not None:
    names[READY] = _("Ready to send ({n})", n=formats.number(ready))
with lists.filters():
    with st.container(width="content"):
        shown = address.choice(_("List"), names, "list")
    if shown == ATTEMPTS:
        with st.container(width="content"):
            saved.show("submissions")
        by_outcome = st.container(width=260)
        with st.container(width=220):
            process = address.text(
                _("Process"), "of", placeholder=lists.sought_process(), width="stretch"
            )
        with lists.more_filters(("via",)):
            by_via = st.container()
if shown == READY:
    journeys.ready_to_send()
elif shown == WAITING:
    list_waiting()
else:
    list_attempts(by_outcome, by_via, process, found)

# --- the four figures --------------------------------------------------------------------------

if shown == ATTEMPTS:
    st.markdown(
        formats.muted(
            _(
                "Figures and charts count every attempt. The filters above apply to the list and"
                " its files."
            )
        )
    )
with elements.facts(4):
    elements.fact(
        _("Accepted first time"),
        formats.share(figures["first_try_acceptance"]),
        _("of processes with an attempt"),
        "green",
        lead=elements.lead_if(
            figures["attempts"], links.to_rows, _("View first attempts"), place="1"
        ),
    )
    elements.fact(
        _("Recovered by a retry"),
        formats.share(figures["success_after_retry"]),
        _("of processes with a failure, after all retries"),
        "blue",
        # Of a share of 0 there are failures to see, too.
        lead=elements.lead_if(
            figures["success_after_retry"] is not None,
            links.to_rows,
            _("View failures"),
            outcome=FAILURES,
        ),
    )
    elements.fact(
        _("Waiting for a retry"),
        formats.number(figures["retries_pending"]),
        _("the deadline keeps running"),
        "orange" if figures["retries_pending"] else "gray",
        lead=elements.lead_if(
            figures["retries_pending"], links.to_rows, _("View what waits"), standing="pending"
        ),
    )
    elements.fact(
        _("Given up"),
        formats.number(figures["given_up"]),
        _("open a support ticket") if figures["given_up"] else _("none"),
        "red" if figures["given_up"] else "gray",
        lead=elements.lead_if(
            figures["given_up"], links.to_rows, _("View what was given up"), standing="given_up"
        ),
    )

# --- how attempts ended --------------------------------------------------------------------------

by_place = outcome_shares(views.read("outcomes_by_attempt"))
left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    explained.chart(
        _(
            "{share} accepted at the first attempt",
            share=formats.share(figures["first_try_acceptance"]),
        )
        if figures["first_try_acceptance"] is not None
        else _("Outcome by attempt number"),
        _(
            "**{first}** of processes are accepted at the first attempt; of those with a failure,"
            " **{later}** after all.",
            first=formats.share(figures["first_try_acceptance"]),
            later=formats.share(figures["success_after_retry"]),
        ),
        by_place,
        rests_on=("outcomes_by_attempt",),
        take=take_place,
        alt=_("Share of each outcome among first, second and later attempts"),
    )
with right.container(border=True, height="stretch"):
    unit = address.choice(
        _("Over time by"),
        {
            "day": _("Attempt and day"),
            "attempts": _("Attempt and week"),
            "week": _("Process and week"),
        },
        "by",
    )
    if unit == "day":
        by_day = outcome_days(
            views.read("submission_outcomes", order_by="day desc", limit=OUTCOME_ROWS),
            views.moment().date(),
            DAYS,
        )
        said = days_reading(figures["recent_attempts"], figures["recent_accepted"])
        explained.chart(
            days_title(failing),
            f"{said} {failures_said(failing)}".strip(),
            by_day,
            rests_on=("submission_outcomes", "failures_by_day"),
            take=take_day,
            alt=_("Attempts per day by outcome"),
            note=_("Days are UTC days."),
        )
    elif unit == "attempts":
        draw_weeks(views.moment().date())
    else:
        explained.chart(
            _("First submitted, week by week"),
            weeks_reading(figures["median_seconds_to_acceptance"]),
            submission_weeks(views.read("submission_weeks")),
            rests_on=("submission_weeks",),
            alt=_("Processes first submitted per week, and how many of them were accepted"),
            note=_("Weeks end on the day named, a UTC day."),
        )

draw_hours(of_hours, ahead, worst_day)
draw_retries(retried)
draw_failure_times(last_failed)
