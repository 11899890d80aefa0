"""Draws deadlines by day, and where reviews stand."""

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from app_pages.charts.figure import (
    AMBER,
    BLUE,
    DAY_BAR_WIDTH,
    GREEN,
    RED,
    TICK_ROOM,
    VIOLET,
    Figure,
    Rows,
    count_axis,
    mark,
    patterned,
    week_ticks,
)
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from pipeline.language import codes

URGENCIES: Final[Mapping[str, tuple[str, str, str]]] = {
    "late": (N_("Late"), RED, "/"),
    "soon": (N_("Within 7 days"), AMBER, "."),
    "later": (N_("Later"), BLUE, ""),
}
"""Name, colour and pattern."""
DAYS_AHEAD: Final = 180
"""How far ahead deadlines are drawn: one in a distant century would make every bar hair-thin."""
_END_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "finished_in_time": (GREEN, ""),
    "finished_late": (VIOLET, "x"),
    "pending": (BLUE, ""),
    "overdue": (AMBER, "."),
    "expired": (RED, "/"),
}
"""Colour and pattern."""


def deadline_bars(rows: Rows, today: date) -> Figure:
    """Deadlines per day, stacked by urgency, with a line at today."""
    traces = []
    for urgency, (label, *look) in URGENCIES.items():
        mine = [row for row in rows if row["urgency"] == urgency and not row["is_older"]]
        traces.append(
            {
                "type": "bar",
                "name": _(label),
                "x": [row["day"].isoformat() for row in mine],
                "y": [row["due"] for row in mine],
                "customdata": [formats.day(row["day"]) for row in mine],
                "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra>" + _(label) + "</extra>",
                "marker": patterned(*look),
                "width": DAY_BAR_WIDTH,
            }
        )
    first = min((row["day"] for row in rows if not row["is_older"]), default=today)
    last = max((row["day"] for row in rows), default=today)
    last = min(last, today + timedelta(DAYS_AHEAD))
    first, last = min(first, today - timedelta(7)), max(last, today + timedelta(14))
    # A bar is centred on its day's midnight: half a day earlier is the gap between two bars.
    totals: Counter[str] = Counter()
    for row in rows:
        if first <= row["day"] <= last and not row["is_older"]:
            totals[row["day"].isoformat()] += row["due"]
    axis = count_axis(totals.values())
    edge = f"{today - timedelta(1)}T12:00:00"
    today_line = mark(edge, _("today"))
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "height": 320,
            "margin": {"l": 36, "r": TICK_ROOM, "t": 36, "b": 28},
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1.16,
                "traceorder": "normal",
            },
            "xaxis": {
                "type": "date",
                "range": [f"{first - timedelta(1)}T06:00:00", f"{last}T18:00:00"],
                **week_ticks(first, last),
                "showgrid": False,
            },
            "yaxis": axis,
            "shapes": today_line["shapes"],
            "annotations": today_line["annotations"],
        },
    }


def review_flow(rows: Rows) -> Figure:
    """A bar of each type of review, by where its processes stand, in the colours of the ends."""
    types = [code for code in codes.REVIEW_TYPES if any(r["review_type"] == code for r in rows)]
    counts = {(row["review_type"], row["ends_as"]): row["processes"] for row in rows}
    ends = [code for code in code_texts.ENDS if any(end == code for _type, end in counts)]
    traces = []
    for end in ends:
        of_each = [counts.get((code, end), 0) for code in types]
        name = f"{_(code_texts.ENDS[end])} · {formats.number(sum(of_each))}"
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": types,
                "x": of_each,
                "marker": patterned(*_END_LOOKS[end]),
                "hovertemplate": "%{y}: <b>%{x:,d}</b><extra>" + name + "</extra>",
            }
        )
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "bargap": 0.4,
            "height": 110 + 64 * len(types),
            "margin": {"l": 8, "r": TICK_ROOM, "t": 72, "b": 28},
            "legend": {
                "orientation": "h",
                "x": 0,
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "traceorder": "normal",
            },
            "xaxis": count_axis(counts.values()),
            "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
        },
    }
