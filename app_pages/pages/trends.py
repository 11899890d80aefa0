"""Trends: whether it gets better, where the time goes, who has too much, and what will expire."""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial
from typing import NamedTuple

import streamlit as st

from app_pages.charts import trends
from app_pages.charts.figure import show
from app_pages.door import access, audience, handed
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _, language, ngettext
from app_pages.parts import (
    address,
    contents,
    elements,
    explained,
    folds,
    links,
    lists,
    seller_names,
    views,
)
from pipeline import browser, texts
from pipeline.alert_rules import reports
from pipeline.continuity import service
from pipeline.language import codes, figures
from pipeline.serve.ledger_access import OwnLedger
from pipeline.serve.roles import Person
from pipeline.trends import forecast_score, in_time, one_page, printed

PAGE = Page(
    title=N_("Trends"),
    icon="trending_up",
    section=Section.DAILY,
    place=60,
    for_analysts=True,
)

PERIODS_DRAWN = {"month": 13, "week": 27}


class Cut(NamedTuple):
    """One way in which reviews are counted that were in time."""

    period: str  # month or week
    kind: str  # the column that tells apart what is drawn as a line each
    label: str


# By what reviews and their steps are told apart besides their type: column and label, by the last
# words of the views' names.
KINDS = {
    "seller_type": ("seller_type", N_("Type of seller")),
    "channel": ("channel", N_("Channel")),
    "person": ("assignee", N_("Person")),
}
CUTS = {
    "month": Cut("month", "review_type", N_("Month")),
    "week": Cut("week", "review_type", N_("Week")),
    **{code: Cut("month", *kind) for code, kind in KINDS.items()},
}


class StepCut(NamedTuple):
    """By what the time of steps is shown."""

    view: str
    kind: str
    label: str


STEP_CUTS = {
    "type": StepCut("phase_durations", "review_type", N_("Type")),
    **{code: StepCut(f"phases_by_{code}", *kind) for code, kind in KINDS.items()},
}
NOBODY = "none"
FEW = 4  # that stand side by side
WEEKS_OF_FLOW = 26
WEEKS_BEFORE = 4  # with which the backlog is compared
LEAST_LIKELY = 8
STEPS = {
    "contact": N_("Contacted"),
    "opened": N_("Opened by the seller"),
    "answered": N_("Answered"),
    "confirmed": N_("Confirmed"),
    "sent": N_("Sent"),
    "finished": N_("Finished"),
}


def on_time_by(code: str) -> str:
    """The view of a cut."""
    return f"on_time_by_{code}"


def first_day(of: date, period: str) -> date:
    """Of the month or ISO week in which a day lies."""
    return of.replace(day=1) if period == "month" else of - timedelta(days=of.weekday())


def before(first: date, period: str) -> date:
    """The first day of the month or week before."""
    return first_day(first - timedelta(days=1), period)


def drawn_periods(current: date, period: str, since: date) -> dict[date, str]:
    """The first days of the periods that are drawn, in order, and how each is named: none before
    the first in which anything was due."""
    found = [current]
    while len(found) < PERIODS_DRAWN[period] and found[-1] > since:
        found.append(before(found[-1], period))
    named = formats.month if period == "month" else formats.short_day
    return {first: named(first) for first in reversed(found)}


def type_name(review_type: str | None) -> str:
    return review_type or _("Unknown type")


def kind_name(kind: str, code: str | None) -> str:
    """What a line is named by: a type of review or of seller, a person, or a channel."""
    if kind == "review_type":
        return type_name(code)
    if kind == "seller_type":
        return code_texts.word(codes.SELLER_TYPES, code) if code else _("type of seller not known")
    if kind == "assignee":
        return code or _("Unassigned")
    return code_texts.word(codes.SELLER_CHANNELS, code) if code else _("never contacted")


def on_time_reading(rows: Sequence[views.Row], cut: Cut, last: date) -> str:
    """The last whole period beside the one before, of all and then of each kind, in a sentence for
    each."""
    shares = {(row[cut.period], row[cut.kind]): row for row in rows}
    said = []
    in_all, earlier_in_all = wholes(rows, cut, last)
    if in_all and len({row[cut.kind] for row in rows}) > 1:
        said.append(
            share_reading(
                _("All"),
                in_all.share,
                in_all.due,
                earlier_in_all and (earlier_in_all.share, earlier_in_all.due),
            )
        )
    for (first, code), row in shares.items():
        if first != last or row["on_time_share"] is None:
            continue
        earlier = shares.get((before(last, cut.period), code))
        known = earlier is not None and earlier["on_time_share"] is not None
        said.append(
            share_reading(
                formats.plain(kind_name(cut.kind, code)),
                row["on_time_share"],
                row["due_so_far"],
                (earlier["on_time_share"], earlier["due_so_far"]) if earlier and known else None,
            )
        )
    return " ".join(said)


def share_reading(name: str, share: float, due: int, earlier: tuple[float, int] | None) -> str:
    """What was in time of some that were due, beside the share and number of the period before."""
    said = {"type": name, "share": formats.share(share), "due": formats.number(due)}
    if earlier is None:
        return _("{type}: **{share}** of {due} in time.", **said)
    return _(
        "{type}: **{share}** of {due} in time, after {before} of {n}.",
        **said,
        before=formats.share(earlier[0]),
        n=formats.number(earlier[1]),
    )


def wholes(
    rows: Sequence[views.Row], cut: Cut, last: date
) -> tuple[in_time.Whole | None, in_time.Whole | None]:
    """All that was due in the last whole period, and in the one before."""
    firsts = (last, before(last, cut.period))
    found = [in_time.whole(row for row in rows if row[cut.period] == it) for it in firsts]
    return found[0], found[1]


def on_time_title(rows: Sequence[views.Row], cut: Cut, last: date) -> str:
    """What the chart finds: which way it went, of all kinds together, where that is clear; and how
    it goes since, of what is due already: on its last days that is most of a month."""
    firsts = (last, before(last, cut.period))
    found = in_time.compared(*([row for row in rows if row[cut.period] == it] for it in firsts))
    if found is None:
        return _("Reviews in time")
    title = in_time.headline(found, in_period(last, cut), language())
    since = [row for row in rows if row[cut.period] > last and row["due_so_far"]]
    if not since:
        return title
    current = in_period(since[0][cut.period], cut)
    return f"{title}; {current}: {in_time.so_far(since, language())}"


def in_period(first: date, cut: Cut) -> str:
    """A month or week, as a part of a sentence."""
    if cut.period == "month":
        return _("in {month}", month=formats.month(first))
    return _("in the week of {day}", day=formats.short_day(first))


@st.fragment  # a press draws these buttons again, and no chart
def offer_page(as_of: int | None) -> None:
    """The page for the boss, as a file; a PDF where a browser is set. `as_of`: the earlier instant
    that is on the screen, in microseconds; None for now, which is the moment of the press."""
    into, zone = language(), formats.zone()
    drawn_by = service.current().settings.journey_browser
    shown = (*one_page.VIEWS, one_page.SCORED)
    if not all(access.may_read(it) for it in shown):
        return

    def may(whoever: Person) -> bool:
        return all(audience.may_read(whoever, it) for it in shown)

    def html() -> bytes:
        held = service.current()
        at = held.now() if as_of is None else as_of
        of = one_page.read(OwnLedger(held), at, held.settings.marketplace)
        return printed.document(of, zone, into).encode()

    def pressed() -> None:
        # It takes seconds, in which a browser shows nothing.
        said = _("The page is being made. Your browser saves it once it is ready.")
        st.toast(said, icon=":material/download:")

    name = f"prazo-{views.moment():%Y-%m-%d}"
    with st.container(horizontal=True, horizontal_alignment="right", width="content"):
        label, mime = _("One page, to print (HTML)"), "text/html"
        handed.button(
            label,
            html,
            file_name=f"{name}.html",
            mime=mime,
            may=may,
            key="one_page",
            pressed=pressed,
        )
        if drawn_by is not None:
            handed.button(
                _("One page as PDF"),
                lambda: browser.pdf(drawn_by, html()),
                file_name=f"{name}.pdf",
                mime="application/pdf",
                may=may,
                key="one_page_pdf",
                pressed=pressed,
            )


def draw_on_time(today: date) -> None:
    """On time or late, per month or week and type, or per month and type of seller, channel or
    person: by what whoever looks may read."""
    offered = {code: _(it.label) for code, it in CUTS.items() if access.may_read(on_time_by(code))}
    chosen = address.choice(_("Per"), offered, "per")
    view, cut = on_time_by(chosen), CUTS[chosen]
    period, current = cut.period, first_day(today, cut.period)
    target = service.current().settings.on_time_target
    found = views.read(view)
    first = min((row[period] for row in found), default=current)
    named = drawn_periods(current, period, first)
    rows = [row for row in found if row[period] in named]
    last = before(current, period)
    explained.chart(
        on_time_title(rows, cut, last),
        on_time_reading(rows, cut, last),
        trends.on_time(
            rows,
            named,
            period,
            current,
            kind=cut.kind,
            called=partial(kind_name, cut.kind),
            target=target,
        ),
        rests_on=(view,),
        alt=_("Share of the reviews due in each period that were finished in time, by type"),
        note=_(
            "By the deadline, in UTC. Of a period that is not over, the share is of those due so"
            " far alone, and no line is drawn to it; `finished_in_time` in the table also counts"
            " what was finished before a deadline that is still to come."
        ),
        found_in=findings,
    )


def draw_steps() -> None:
    """Where the time goes, of the last month in which any review was finished: of one type of
    reviews or of sellers, one channel or one person, by what whoever looks may read."""
    offered = {code: _(it.label) for code, it in STEP_CUTS.items() if access.may_read(it.view)}
    cut = STEP_CUTS[address.choice(_("Where the time goes by"), offered, "steps")]
    rows = views.read(cut.view)
    month = max((row["month"] for row in rows), default=None)
    ends = [row for row in rows if row["month"] == month and row["step"] == "finished"]
    if not ends:
        st.header(_("Where the time goes"), anchor=False)
        st.markdown(formats.muted(_("No review has been finished yet.")))
        return
    ends.sort(key=lambda row: -row["processes"])
    names = {row[cut.kind] or NOBODY: kind_name(cut.kind, row[cut.kind]) for row in ends}
    if len(names) <= FEW:  # by name: which of them has most may be another at the next visit
        names = dict(sorted(names.items(), key=lambda named: named[1]))
    first = next(iter(names))
    if len(names) <= FEW:
        chosen = address.choice(_(cut.label), names, "of_steps")
    else:
        asked = address.one_of(_(cut.label), names, "of_steps", placeholder=names[first])
        chosen = asked or first
    longest = next(row for row in ends if (row[cut.kind] or NOBODY) == chosen)
    of_kind = [row for row in rows if row["month"] == month and row[cut.kind] == longest[cut.kind]]
    explained.chart(
        _(
            "{type}: half finished within {time}",
            type=formats.plain(names[chosen]),
            time=_time(longest, "median"),
        ),
        _(
            "Finished in {month}: {n}. Half of them took at most **{half}** from their opening,"
            " nine of ten at most **{most}**.",
            n=formats.number(longest["processes"]),
            month=formats.month(longest["month"]),
            half=_time(longest, "median"),
            most=_time(longest, "p90"),
        ),
        trends.step_times(of_kind, {code: _(name) for code, name in STEPS.items()}),
        rests_on=(cut.view,),
        where={"month": longest["month"]},
        alt=_("Time from the opening to each step: the median and the ninth decile"),
        note=_("Each from the opening, over those that came to the step."),
        found_in=findings,
    )


def _time(row: views.Row, part: str) -> str:
    return formats.seconds(row[f"{part}_seconds"])


def draw_after_expiry() -> None:
    """What the log shows of sellers after a deadline that they missed."""
    rows = views.read("after_expiry")
    if not rows:
        return
    longest = rows[-1]
    with st.container(border=True):
        explained.table(
            _(
                "{share} disabled within {time} of a missed deadline ({disabled} of {n})",
                disabled=formats.number(longest["disabled"]),
                n=formats.number(longest["sellers"]),
                share=formats.share(longest["disabled_share"]),
                time=_of_days(longest),
            ),
            _(
                "Sellers whose first missed deadline was {time} ago or more: **{n}**. Of these"
                " disabled by then: **{disabled}**; finished late: **{late}**.",
                n=formats.number(longest["sellers"]),
                time=_of_days(longest),
                disabled=formats.number(longest["disabled"]),
                late=formats.number(longest["finished_late"]),
            ),
            [
                {
                    _("Within"): _of_days(row),
                    _("Sellers"): formats.number(row["sellers"]),
                    _("Disabled"): _share_and_number(row, "disabled"),
                    _("Finished late"): _share_and_number(row, "finished_late"),
                }
                for row in rows
            ],
            rests_on=("after_expiry",),
            alt=_("Sellers disabled, and reviews finished late, after a missed deadline"),
            note=_(
                "Each seller by their first missed deadline, once so many days have passed since."
            ),
            found_in=findings,
        )


def _of_days(row: views.Row) -> str:
    return ngettext("{n} day", "{n} days", row["days"], n=formats.number(row["days"]))


def _share_and_number(row: views.Row, column: str) -> str:
    return f"{formats.share(row[f'{column}_share'])} ({formats.number(row[column])})"


def draw_backlog() -> None:
    """Who has how much, and what is oldest."""
    rows = views.read("backlog_by_person")
    nobody = _("Unassigned")
    oldest = min(
        (row for row in rows if row["oldest_opened_at"]),
        key=lambda row: row["oldest_opened_at"],
        default=None,
    )
    explained.chart(
        _backlog_title(rows[0]["assignee"] or nobody, rows[0]["processes"], oldest)
        if rows
        else _("Unfinished reviews by person"),
        backlog_reading(rows, oldest),
        trends.backlog(rows, nobody),
        rests_on=("backlog_by_person",),
        alt=_("Unfinished reviews of each person by how long they have been open"),
        note=_("Unfinished now, by the days since each was opened."),
        found_in=findings,
    )
    if (most := who_has_most(rows)) and is_found_alone(most, rows):
        label = _("View the reviews of {person}", person=formats.plain(most["assignee"]))
        links.to_named("watchlist", label, queue=reports.ALL, assignee=most["assignee"])
    if oldest:
        process = oldest["oldest_process_id"]
        shown = formats.plain(views.shown("process_id", process))
        links.to_named("process", _("Open the oldest: {process}", process=shown), process=process)
        if (state := views.read_one("process_state", where={"process_id": process})) is not None:
            links.to_seller(state["seller_id"], is_named=True)


def _backlog_title(person: str, processes: int, oldest: views.Row | None) -> str:
    """Who has most, and since when the oldest is open."""
    title = _(
        "Most unfinished reviews: {person}, {n}",
        person=formats.plain(person),
        n=formats.number(processes),
    )
    if oldest is None:
        return title
    said = _(
        "the oldest: {process}, since {day}",
        process=formats.plain(views.shown("process_id", oldest["oldest_process_id"])),
        day=formats.local_short_day(oldest["oldest_opened_at"]),
    )
    return f"{title}; {said}"


def who_has_most(rows: Sequence[views.Row]) -> views.Row | None:
    """Who has the most; None where all is unassigned. `rows`: the most first."""
    return next((row for row in rows if row["is_assigned"]), None)


def is_found_alone(one: views.Row, rows: Sequence[views.Row]) -> bool:
    """Whether a list by a part of the name, without regard to case or accents, shows that person's
    reviews alone: "Bia" is a part of "Bianca"."""
    part = texts.folded(one["assignee"])
    return sum(part in texts.folded(row["assignee"]) for row in rows if row["is_assigned"]) == 1


def backlog_reading(rows: Sequence[views.Row], oldest: views.Row | None) -> str:
    """Who has the most, and with whom the oldest is; `rows`: the most first."""
    said = []
    if rows and not rows[0]["is_assigned"]:
        said.append(
            _(
                "Unassigned: **{n}**, **{expired}** of them EXPIRED.",
                n=formats.number(rows[0]["processes"]),
                expired=formats.number(rows[0]["expired"]),
            )
        )
    if most := who_has_most(rows):
        said.append(
            _(
                "**{person}** has the most: **{n}**; EXPIRED among them: **{expired}**.",
                person=formats.plain(most["assignee"]),
                n=formats.number(most["processes"]),
                expired=formats.number(most["expired"]),
            )
        )
    if oldest:
        day = formats.local_day(oldest["oldest_opened_at"])
        said.append(
            _(
                "The oldest, opened on **{day}**, is with **{person}**.",
                day=day,
                person=formats.plain(oldest["assignee"]),
            )
            if oldest["is_assigned"]
            else _("The oldest, opened on **{day}**, is unassigned.", day=day)
        )
    return " ".join(said)


def draw_flow(today: date) -> None:
    """Arrivals against completions; the week that is not over is left out."""
    current = first_day(today, "week")
    rows = [row for row in views.read("flow_by_week") if row["week"] < current][-WEEKS_OF_FLOW:]
    title, reading = flow_said(rows)
    explained.chart(
        title,
        reading,
        trends.flow(rows),
        rests_on=("flow_by_week",),
        alt=_("Reviews opened and finished per week"),
        note=_("Weeks begin on Monday, in UTC; the one that is not over is left out."),
        found_in=findings,
    )


def flow_said(rows: Sequence[views.Row]) -> tuple[str, str]:
    """Title and reading: whether the backlog grows, and by what it changed in the last week."""
    if not rows:
        return _("Opened against finished"), ""
    last = rows[-1]
    reading = _(
        "In the week of {day}, **{opened}** were opened and **{finished}** finished; **{n}** were"
        " unfinished at its end.",
        day=formats.short_day(last["week"]),
        opened=formats.number(last["opened"]),
        finished=formats.number(last["finished"]),
        n=formats.number(last["unfinished"]),
    )
    earlier = [row for row in rows if row["week"] <= last["week"] - timedelta(weeks=WEEKS_BEFORE)]
    if not earlier:
        return _("Opened against finished"), reading
    now, before = last["unfinished"], earlier[-1]["unfinished"]
    numbers = {"n": formats.number(now), "before": formats.number(before)}
    if now == before:
        return _("The backlog is what it was four weeks before: {n}", n=numbers["n"]), reading
    if now < before:
        return _(
            "The backlog shrinks: {n} unfinished at the end of last week, {before} four weeks"
            " before",
            **numbers,
        ), reading
    return _(
        "The backlog grows: {n} unfinished at the end of last week, {before} four weeks before",
        **numbers,
    ), reading


def draw_forecast() -> None:
    """What is expected to expire of what is open now, how sure that is, and what is least likely to
    be finished in time."""
    weeks = views.read("forecast_weeks")
    silent = sum(row["without_chance"] for row in weeks)
    due = sum(row["due"] for row in weeks) - silent
    title = _("Expected to expire in the next 8 weeks")
    if due:
        title = _(
            "Expected to expire in the next 8 weeks: {n}",
            n=trends.expected(weeks[-1], "expected_by_then"),
        )
        reading = forecast_reading(weeks, due)
    elif silent:
        reading = _(
            "Of the reviews open now nothing can be said, for lack of comparable ones in the year"
            " before."
        )
    else:
        reading = _("Nothing that is open now is due in the next 8 weeks.")
    notes = [
        _(
            "A review that is opened tomorrow can expire in week five, and is not counted; nor is"
            " what is finished, so that of what is still open a greater share expires than of all"
            " reviews. Each week is rounded by itself. The forecast says how earlier ones fared,"
            " not why."
        )
    ]
    if silent:
        notes.append(
            _(
                "Not counted, for lack of comparable reviews in the year before: {n}.",
                n=formats.number(silent),
            )
        )
    may_see_each = access.may_read("forecast")
    explained.chart(
        title,
        reading,
        trends.expected_expiries(weeks),
        rests_on=("forecast_weeks", "forecast") if may_see_each else ("forecast_weeks",),
        alt=_("Reviews due per coming week, and how many of them are expected to expire"),
        note=" ".join(notes),
        found_in=findings,
    )
    if may_see_each:
        draw_least_likely()


def forecast_reading(weeks: Sequence[views.Row], due: int) -> str:
    """What is expected over all weeks, how sure that is, and in which week most."""
    n, low, high = figures.expiries(weeks[-1], language(), "expected_by_then")
    most = max(weeks, key=lambda row: row["expected"] or 0)
    in_all = ngettext(
        "Of **{due}** review open now and due in the next 8 weeks **{n}** is expected to expire;"
        " four times in five it is between **{low}** and **{high}**.",
        "Of **{due}** reviews open now and due in the next 8 weeks **{n}** are expected to expire;"
        " four times in five it is between **{low}** and **{high}**.",
        due,
        due=formats.number(due),
        n=n,
        low=low,
        high=high,
    )
    in_week = _(
        "Most in the week up to **{day}**: **{n}**.",
        day=formats.local_short_day(most["ends_at"]),
        n=trends.expected(most),
    )
    to_come = _("Reviews that are still to be opened are not counted.")
    return " ".join([in_all, *([in_week] if most["expected"] else []), to_come])


def draw_least_likely() -> None:
    """What can still be saved, by the lowest chance: worked out when somebody asks."""
    listed = folds.expander(
        _("Least likely to be finished in time, of what can still be saved"),
        icon=":material/sort:",
        key="least_likely",
    )
    if listed is None:
        return
    rows = [row for row in views.read("forecast", limit=LEAST_LIKELY) if row["chance"] is not None]
    names = seller_names.all_in_clear(rows)
    listed.markdown(
        formats.muted(
            _(
                "The chance that each is finished in time, by how comparable ones fared; in"
                " brackets what it is four times in five."
            )
        )
    )
    for row in rows:
        with listed, st.container(horizontal=True, vertical_alignment="center", gap="small"):
            lists.begin_line(row, names)
            st.markdown(
                _(
                    "{share} ({low} to {high}), due {day}",
                    share=formats.share(row["chance"]),
                    low=formats.share(row["chance_low"]),
                    high=formats.share(row["chance_high"]),
                    day=formats.local_day(row["deadline_at"]),
                ),
                width="content",
            )


def draw_score() -> None:
    """How good the forecast was, by what came: worked out when somebody asks."""
    judged = folds.expander(
        _("How good was the forecast?"), icon=":material/fact_check:", key="score"
    )
    if judged is None:
        return
    held = service.current()
    at = views.as_of()
    found = forecast_score.scores(held.reader, as_of=held.now() if at is None else at)
    for column, score in zip(judged.columns(len(found)), found, strict=True):
        with column:
            draw_one_score(score)
    if any(it.brier is not None for it in found):
        judged.markdown(
            formats.muted(
                _(
                    "On the dotted line as many expired as was forecast; n reviews stand behind a"
                    " point. The error is the Brier score: the mean square of the distance between"
                    " the chance and what came; 0 is perfect."
                )
            )
        )
    same = formats.code("prazo trends score --format json")
    judged.markdown(formats.muted(_("The same for programs: {command}", command=same)))


def score_reading(of: forecast_score.Score) -> str:
    """Whether the forecasts were worth more than their average."""
    error, average = (None if it is None else round(it, 3) for it in (of.brier, of.brier_of_share))
    if error is None or average is None:
        return ""
    numbers = {"error": formats.number(error), "average": formats.number(average)}
    if error < average:
        return _(
            "One by one they were **better** than always saying the average: error {error}, against"
            " {average}.",
            **numbers,
        )
    if error > average:
        return _(
            "One by one they were **worse** than always saying the average: error {error}, against"
            " {average}.",
            **numbers,
        )
    return _(
        "One by one they were **no better** than always saying the average: error {error}.",
        error=numbers["error"],
    )


def draw_one_score(score: forecast_score.Score) -> None:
    """The forecasts of one day, beside what came."""
    st.markdown(
        ngettext(
            "**{days} days ago**: {n} forecast whose deadline has passed.",
            "**{days} days ago**: {n} forecasts whose deadline has passed.",
            score.forecasts,
            days=score.days,
            n=formats.number(score.forecasts),
        )
    )
    if score.brier is None:
        return
    st.markdown(f"{forecast_score.in_numbers(score, language())} {score_reading(score)}")
    show(
        trends.calibration(score),
        alt=_("What was forecast against what came, in ten bands"),
        key=f"calibration_{score.days}",
    )


today = views.moment().date()
if views.read_one("on_time_by_month") is None:
    elements.empty(
        _("No review is known yet"),
        _("How it goes appears here once the platform has asked for reviews."),
    )
    elements.end_page()

with st.container(horizontal=True, horizontal_alignment="distribute", key="headlines"):
    findings = contents.place()
    offer_page(views.as_of())
left, right = st.columns([3, 2], gap="small")
with left.container(border=True, height="stretch"):
    draw_on_time(today)
with right.container(border=True, height="stretch"):
    draw_steps()
with st.container(border=True):
    draw_forecast()
    if access.may_read("forecast"):
        draw_score()
left, right = st.columns(2, gap="small")
with left.container(border=True, height="stretch"):
    draw_flow(today)
if access.may_read("backlog_by_person"):
    with right.container(border=True, height="stretch"):
        draw_backlog()
draw_after_expiry()
