"""The page for the boss: what is late, how it goes, what to expect and what sellers are denied for,
short enough to be read in a minute.

It counts nothing: each number is a column of a view, or the forecast's score.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from pipeline import instants
from pipeline.language import codes, figures
from pipeline.language.catalogue import N_, Language, counted_in, said_in
from pipeline.language.next_actions import ACTIONS
from pipeline.texts import printable
from pipeline.trends import forecast_score, in_time
from pipeline.trends.forecast_score import Score

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
VIEWS: Final = (
    "overview_figures",
    "expired_actions",
    "on_time_by_month",
    "forecast_weeks",
    "denial_changes",
)
"""Where its numbers stand, in the order of the page."""
SCORED: Final = "forecast"
"""The view whose score it says."""
MOST_COMMON: Final = 3
MONTHS: Final = 6
"""The one that is not over among them."""
TYPES: Final = 3

TITLE: Final = N_("Reviews: how it stands and where it goes")
_OF_MARKETPLACE: Final = N_("{marketplace} · Reviews: how it stands and where it goes")
_MORE_TO_COME: Final = N_(
    "Of those open now, {n} are expected to expire in the next 8 weeks, four times in five between"
    " {low} and {high}."
)
_IN_MONTH: Final = N_("in {month}")
_THIS_MONTH: Final = N_("{month}: {said}")
_LATE: Final = N_("Late, and due soon")
_WITH_CHANGE: Final = N_("{n} ({change} in 7 days)")
_SOON: Final = N_("Due in 7 days")
_WAITING: Final = N_("What most of the late ones wait for (full bar: all of them)")
_OF_ALL: Final = N_("{n} ({share})")
_NONE_LATE: Final = N_("None is EXPIRED.")
_IN_TIME: Final = N_("Finished in time: {type}, by month of the deadline (full bar: 100%)")
_UNKNOWN_TYPE: Final = N_("Unknown type")
_SHARE: Final = N_("{share} of {n}")
_EXPECTED: Final = N_("Expected to expire, of those open now, by week of the deadline")
_EXPECTED_ON_SCALE: Final = N_(
    "Expected to expire, of those open now, by week of the deadline (full bar: {n})"
)
_WEEK: Final = N_("week up to {day}")
_OF_DUE: Final = N_("{expected} of {due} due")
_TO_COME: Final = N_(
    "In brackets: where it ends up four times in five. Each week is rounded by itself. Reviews that"
    " are still to be opened are not counted; nor is what is finished, so that more of these expire"
    " than of all."
)
_SILENT: Final = N_("Not counted, for lack of comparable reviews in the year before: {n}.")
_SCORE: Final = N_("How good were the forecasts of {days} days ago? {said}")
_NO_SCORE: Final = N_("No forecast of {days} days ago can be judged yet.")
_REASONS: Final = N_("Most common reasons of denials in the last 30 days (full bar: {n})")
_NO_REASONS: Final = N_("Most common reasons of denials in the last 30 days")
_AGAINST: Final = N_("{n}, after {before} in the 30 before")
_MORE: Final = N_("{said}: clearly more")
_FEWER: Final = N_("{said}: clearly fewer")
_NO_DENIAL: Final = N_("Nobody was denied in the last 30 days.")
_WHEN: Final = N_("As of {when}, {zone}")
_FOOT: Final = N_("The rows behind each number: the pages Overview, Trends and Denials of Prazo.")


class Ledger(Protocol):
    """What the page asks of a ledger."""

    def read(
        self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()
    ) -> "pa.Table":
        """The rows of a view."""

    def forecast_scores(self, as_of: int | None = None) -> Sequence[Score]:
        """How good the forecast was."""


class OnePage(NamedTuple):
    """The rows that the page shows."""

    as_of: int  # microseconds
    rows: Mapping[str, Sequence[Row]]  # of each of `VIEWS`
    scores: Sequence[Score]
    marketplace: str | None = None  # whose reviews these are, where a setting says so


class Line(NamedTuple):
    """One line: of what, what is said of it, and how much of the bar is full, from 0 to 1."""

    label: str
    said: str
    part: float | None = None
    is_bad: bool = False


class Section(NamedTuple):
    """Lines under a title, with what has to be known to read them."""

    title: str
    lines: Sequence[Line]
    notes: Sequence[str] = ()


def read(ledger: Ledger, as_of: int, marketplace: str | None) -> OnePage:
    """Reads what the page shows of an instant, in microseconds. Raises as the ledger does."""
    rows = {view: ledger.read(view, as_of=as_of).to_pylist() for view in VIEWS}
    return OnePage(as_of, rows, ledger.forecast_scores(as_of), marketplace)


def title(of: OnePage, into: Language) -> str:
    """What the page is about, and of whom."""
    if of.marketplace is None:
        return said_in(into, TITLE)
    return said_in(into, _OF_MARKETPLACE, marketplace=printable(of.marketplace))


def finding(of: OnePage, into: Language) -> str:
    """What the page finds, in a sentence each: which way it went in the last whole month, how it
    goes in the one that is not over, what is late, and what to expect."""
    rows = of.rows["on_time_by_month"]
    current = instants.of(of.as_of).date().replace(day=1)
    last = _month_before(current)
    found = in_time.compared(
        *([row for row in rows if row["month"] == of_it] for of_it in (last, _month_before(last)))
    )
    said = []
    if found is not None:
        month = said_in(into, _IN_MONTH, month=figures.month(last, into))
        said.append(f"{in_time.headline(found, month, into)}.")
    if due := [row for row in rows if row["month"] == current and row["due_so_far"]]:
        month, so_far = figures.month(current, into), in_time.so_far(due, into)
        said.append(f"{said_in(into, _THIS_MONTH, month=month, said=so_far)}.")
    for row in of.rows["overview_figures"]:
        said.append(
            counted_in(
                into,
                "{n} review is EXPIRED ({change} in 7 days).",
                "{n} reviews are EXPIRED ({change} in 7 days).",
                row["expired"],
                n=figures.number(row["expired"], into),
                change=figures.change(row["expired_change"], into),
            )
        )
    if of.rows["forecast_weeks"]:
        whole = of.rows["forecast_weeks"][-1]
        if whole["expected_by_then"]:
            n, low, high = figures.expiries(whole, into, "expected_by_then")
            said.append(said_in(into, _MORE_TO_COME, n=n, low=low, high=high))
    return " ".join(said)


def _month_before(month: date) -> date:
    return (month - timedelta(days=1)).replace(day=1)


def sections(of: OnePage, zone: ZoneInfo, into: Language) -> list[Section]:
    """The page in a language. `zone`: in which the days of the forecast are."""
    return [
        _late(of.rows["overview_figures"], into),
        _waiting(of.rows["expired_actions"], into),
        *_in_time(of.rows["on_time_by_month"], instants.of(of.as_of).date(), into),
        _expected(of.rows["forecast_weeks"], of.scores, zone, into),
        _denied(of.rows["denial_changes"], into),
    ]


def when(of: OnePage, zone: ZoneInfo, into: Language) -> str:
    """Of when the page is."""
    moment = instants.naive(of.as_of)
    shown = figures.instant(moment, figures.MINUTE[into], zone, into)
    return said_in(into, _WHEN, when=shown, zone=str(zone))


def foot(into: Language) -> str:
    """Where its numbers stand."""
    return said_in(into, _FOOT)


def _late(rows: Sequence[Row], into: Language) -> Section:
    lines = []
    for row in rows:
        for state in ("expired", "overdue"):
            n, change = figures.number(row[state], into), row[f"{state}_change"]
            said = said_in(into, _WITH_CHANGE, n=n, change=figures.change(change, into))
            lines.append(Line(said_in(into, codes.STATES[state.upper()]), said))
        due = figures.number(row["due_within_7_days"], into)
        lines.append(Line(said_in(into, _SOON), due))
    return Section(said_in(into, _LATE), lines)


def _waiting(rows: Sequence[Row], into: Language) -> Section:
    lines = [
        Line(
            said_in(into, ACTIONS[row["next_action"]].name),
            said_in(
                into,
                _OF_ALL,
                n=figures.number(row["processes"], into),
                share=figures.share(row["share"], into),
            ),
            row["share"],
            is_bad=True,
        )
        for row in rows[:MOST_COMMON]
    ]
    notes = () if lines else (said_in(into, _NONE_LATE),)
    return Section(said_in(into, _WAITING), lines, notes)


def _in_time(rows: Sequence[Row], today: date, into: Language) -> Iterator[Section]:
    """A section for each type of which most were due, of the last months in which any was."""
    current = today.replace(day=1)
    past = sorted({row["month"] for row in rows if row["month"] <= current})[-MONTHS:]
    latest = [row for row in rows if row["month"] in past]
    due = Counter[str | None]()
    for row in latest:
        due[row["review_type"]] += row["due"]
    for review_type in sorted(due, key=lambda name: (-due[name], name is None, name or ""))[:TYPES]:
        lines = [
            Line(
                figures.month(row["month"], into),
                in_time.so_far([row], into) if row["month"] == current else _share_said(row, into),
                None if row["month"] == current else row["on_time_share"],
            )
            for row in latest
            if row["review_type"] == review_type
        ]
        name = said_in(into, _UNKNOWN_TYPE) if review_type is None else printable(review_type)
        yield Section(said_in(into, _IN_TIME, type=name), lines)


def _share_said(row: Row, into: Language) -> str:
    share, due = figures.share(row["on_time_share"], into), figures.number(row["due"], into)
    return said_in(into, _SHARE, share=share, n=due)


def _expected(
    weeks: Sequence[Row], scores: Sequence[Score], zone: ZoneInfo, into: Language
) -> Section:
    most = max((row["due"] for row in weeks), default=0)
    lines = []
    for row in weeks:
        expected, due = figures.expected(row, into), figures.number(row["due"], into)
        day = figures.instant(row["ends_at"], figures.DAY_OF_YEAR[into], zone, into)
        said = said_in(into, _OF_DUE, expected=expected, due=due)
        part = row["expected"] / most if most and row["expected"] is not None else None
        lines.append(Line(said_in(into, _WEEK, day=day), said, part, is_bad=True))
    notes = [said_in(into, _TO_COME)]
    if silent := sum(row["without_chance"] for row in weeks):
        notes.append(said_in(into, _SILENT, n=figures.number(silent, into)))
    notes += [_score_said(it, into) for it in scores]
    title = said_in(into, _EXPECTED_ON_SCALE, n=figures.number(most, into))
    return Section(title if most else said_in(into, _EXPECTED), lines, notes)


def _score_said(of: Score, into: Language) -> str:
    said = forecast_score.in_numbers(of, into)
    return said_in(into, _SCORE if said else _NO_SCORE, days=of.days, said=said)


def _denied(rows: Sequence[Row], into: Language) -> Section:
    shown = [it for it in rows if it["denials_now"]][:MOST_COMMON]
    if not shown:
        return Section(said_in(into, _NO_REASONS), [], (said_in(into, _NO_DENIAL),))
    most = shown[0]["denials_now"]
    lines = []
    for row in shown:
        n, before = (figures.number(row[it], into) for it in ("denials_now", "denials_before"))
        said = said_in(into, _AGAINST, n=n, before=before)
        if row["is_more_than_chance"]:
            is_more = row["denials_now"] > row["denials_before"]
            said = said_in(into, _MORE if is_more else _FEWER, said=said)
        lines.append(Line(_reason(row, into), said, row["denials_now"] / most, is_bad=True))
    return Section(said_in(into, _REASONS, n=figures.number(most, into)), lines)


def _reason(row: Row, into: Language) -> str:
    """A code that nobody has listed is shown as it came."""
    parts = ((codes.REASONS, row["reason"]), (codes.DETAILS, row["detail"]))
    return ": ".join(
        said_in(into, names[code]) if code in names else printable(code)
        for names, code in parts
        if code is not None
    )
