"""Draws the course of one process: its phases, and what happened in them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from app_pages.charts.figure import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    RED,
    TICK_ROOM,
    VIOLET,
    Figure,
    Rows,
    mark,
)
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import _

_PHASE_COLOURS: Final[Mapping[str, str]] = {"pending": BLUE, "overdue": AMBER, "expired": RED}


def process_clock(phases: Rows, entries: Rows, now: datetime, *, is_finished: bool) -> Figure:
    """The phases of one review as a band, and what happened in it on three lanes below. Once it is
    finished its clock stands: it is drawn to its last entry, and not to now."""
    lanes = [_("Submission"), _("Collection"), _("Platform"), _("Clock")]
    bands = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": code_texts.word(code_texts.ENDS, row["phase"]),
            "x": [_local(row["starts_at"]), _local(row["ends_at"])],
            "y": [lanes[3]] * 2,
            "line": {"color": _PHASE_COLOURS[row["phase"]], "width": 16},
            "opacity": 1 if row["is_past"] else 0.35,
            "customdata": [_phase_hover(row, now)] * 2,
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        }
        for row in phases
    ]
    events = []
    # An attempt is where it ended; one that has no end, where it began.
    ended = {row["attempt_id"] for row in entries if row["kind"] == "submission_finished"}
    attempts = [
        row
        for row in entries
        if row["kind"] == "submission_finished"
        or (row["kind"] == "submission_started" and row["attempt_id"] not in ended)
    ]
    for lane, mine, symbol in (
        (lanes[2], [row for row in entries if row["kind"] == "webhook"], "diamond"),
        (lanes[1], [row for row in entries if row["kind"] == "collection"], "circle"),
        (lanes[0], attempts, "triangle-up"),
    ):
        events.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": lane,
                "x": [_local(row["occurred_at"]) for row in mine],
                "y": [lane] * len(mine),
                "marker": {
                    "symbol": symbol,
                    "size": 11,
                    "color": [_event_colour(row) for row in mine],
                },
                "customdata": [
                    f"{formats.spoken(' · '.join(filter(None, occurrences.entry(row)[1:])))}"
                    f"<br>{formats.minute(row['occurred_at'])}"
                    for row in mine
                ],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    start = min((row["starts_at"] for row in phases), default=now)
    ends = [row["ends_at"] for row in phases] + [row["occurred_at"] for row in entries]
    end = max(ends, default=now)
    margin = (end - start) * 0.03
    return {
        "data": [*bands, *events],
        "layout": {
            "height": 210,
            "showlegend": False,
            "margin": {"l": 8, "r": TICK_ROOM, "t": 24, "b": 24},
            "xaxis": {
                "type": "date",
                "range": [_local(_moved(start, -margin)), _local(_moved(end, margin))],
                "showgrid": False,
                "zeroline": False,
                **_even_ticks(start, end),
            },
            "yaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": lanes,
                "automargin": True,
                "range": [-0.6, 3.6],
            },
            **({} if is_finished else mark(_local(now), _("now"))),
        },
    }


def _phase_hover(phase: Mapping[str, Any], now: datetime) -> str:
    """From when to when a phase lasts; of what is still to come also how long until its end."""
    span = f"{formats.minute(phase['starts_at'])} – {formats.minute(phase['ends_at'])}"
    if phase["is_past"]:
        return span
    return f"{span}<br>{formats.time_left(int((phase['ends_at'] - now).total_seconds()))}"


def _event_colour(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "submission_finished":
        return GREEN if entry["status"] == 200 else RED
    return VIOLET if entry["kind"] == "collection" else GREY


def _local(instant: datetime) -> str:
    """An instant of a view on the reader's wall clock: Plotly draws no time zones."""
    return formats.local(instant).replace(tzinfo=None).isoformat(timespec="seconds")


def _moved(instant: datetime, by: timedelta) -> datetime:
    """Later or earlier, as far as the calendar goes."""
    try:
        return instant + by
    except OverflowError:
        return instant


def _even_ticks(start: datetime, end: datetime) -> Figure:
    at = [start + (end - start) * part / 5 for part in range(6)]
    name = formats.minute if end - start < timedelta(days=6) else formats.local_short_day
    return {
        "tickvals": [_local(instant) for instant in at],
        "ticktext": [name(instant) for instant in at],
    }
