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
    GREY,
    RED,
    SANKEY_TEXT,
    TICK_ROOM,
    VIOLET,
    Figure,
    Rows,
    count_axis,
    mark,
    week_ticks,
)
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from pipeline.language import codes

URGENCIES: Final[Mapping[str, tuple[str, str]]] = {
    "late": (N_("Late"), RED),
    "soon": (N_("Within 7 days"), AMBER),
    "later": (N_("Later"), BLUE),
}
DAYS_AHEAD: Final = 180
"""How far ahead deadlines are drawn: one in a distant century would make every bar hair-thin."""
_END_COLOURS: Final[Mapping[str, str]] = {
    "finished_in_time": GREEN,
    "finished_late": VIOLET,
    "pending": BLUE,
    "overdue": AMBER,
    "expired": RED,
}


def deadline_bars(rows: Rows, today: date) -> Figure:
    """Deadlines per day, stacked by urgency, with a line at today. Of a day with far more than is
    usual the bar is cut off, and its number stands above it."""
    traces = []
    for urgency, (label, colour) in URGENCIES.items():
        mine = [row for row in rows if row["urgency"] == urgency and not row["is_older"]]
        traces.append(
            {
                "type": "bar",
                "name": _(label),
                "x": [row["day"].isoformat() for row in mine],
                "y": [row["due"] for row in mine],
                "customdata": [formats.day(row["day"]) for row in mine],
                "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra>" + _(label) + "</extra>",
                "marker": {"color": colour},
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
    axis, above = count_axis(totals)
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
            "annotations": [*today_line["annotations"], *above],
        },
    }


def review_flow(rows: Rows) -> Figure:
    """A flow from each type of review to where its processes stand, in the colours of the ends."""
    sources = [code for code in codes.REVIEW_TYPES if any(r["review_type"] == code for r in rows)]
    ends = [code for code in code_texts.ENDS if any(r["ends_as"] == code for r in rows)]
    if not rows:
        return {"data": [], "layout": {}}
    place = {code: index for index, code in enumerate([*sources, *ends])}
    totals = {end: sum(row["processes"] for row in rows if row["ends_as"] == end) for end in ends}
    return {
        "data": [
            {
                "type": "sankey",
                "textfont": {"size": SANKEY_TEXT},
                "arrangement": "snap",
                "node": {
                    "label": [*sources]
                    + [
                        f"{_(code_texts.ENDS[end])} · {formats.number(totals[end])}" for end in ends
                    ],
                    "color": [GREY] * len(sources) + [_END_COLOURS[end] for end in ends],
                    "thickness": 14,
                    "pad": 18,
                    "line": {"width": 0},
                    "hovertemplate": "%{label}<extra></extra>",
                },
                "link": {
                    "source": [place[row["review_type"]] for row in rows],
                    "target": [place[row["ends_as"]] for row in rows],
                    "value": [row["processes"] for row in rows],
                    "color": [_faded(_END_COLOURS[row["ends_as"]]) for row in rows],
                    "hovertemplate": "%{source.label} → %{target.label}: <b>%{value:,d}</b>"
                    "<extra></extra>",
                },
            }
        ],
        "layout": {"height": 320, "margin": {"l": 4, "r": 4, "t": 16, "b": 16}},
    }


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.38)"
