"""Draws how submission attempts ended."""

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from app_pages.charts.figure import (
    AMBER,
    BLUE,
    DAY_BAR_WIDTH,
    GREEN,
    GREY,
    LEVEL_OR_UPRIGHT,
    RED,
    TICK_ROOM,
    VIOLET,
    Figure,
    Rows,
    count_axis,
    patterned,
    share_bars,
    stacked_weeks,
    week_ticks,
)
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _
from pipeline.language import codes

_LEGEND_ROW: Final = 20  # pixels
_LEGEND_COLUMNS: Final = 2
_COUNT_ROOM: Final = 72  # pixels
_LEGEND: Final[Figure] = {
    "orientation": "h",
    "xref": "container",
    "x": 0,
    "yref": "container",
    "y": 0,
    "yanchor": "bottom",
    # As wide as its longest name wants them, Plotly has as many columns as there is room for, and
    # takes the height from the bars: on a phone one, of all outcomes.
    "maxheight": 0.8,
    "font": {"size": 11},
    "traceorder": "normal",
}
LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "accepted": (GREEN, ""),
    "in_flight": (BLUE, ""),
    "platform_error": (RED, "/"),
    "timeout": (RED, "x"),
    "network_error": (AMBER, "\\"),
    "rate_limited": (AMBER, "."),
    "tls_refused": (AMBER, "-"),
    "unauthorized": (VIOLET, ""),
    "invalid_payload": (VIOLET, "/"),
    "not_found": (VIOLET, "x"),
    "conflict": (GREY, "|"),
    "unexpected_status": (GREY, "+"),
    "unknown": (GREY, ""),
}
"""Colour and pattern of each outcome: no two share both. What is red or amber has a pattern, and
what is green has none, for those who do not tell these apart."""


def _marker(outcome: str) -> Figure:
    return patterned(*LOOKS[outcome])


def outcome_shares(rows: Rows) -> Figure:
    """100 % bars: how first, second ... attempts ended; from the fifth on they are one bar."""
    places = sorted({row["place"] for row in rows}, reverse=True)
    names = {
        place: _("attempt {n}", n=place) if place < 5 else _("attempt {n}+", n=place)
        for place in places
    }
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": code_texts.word(codes.OUTCOMES, outcome),
            "meta": [(outcome, row["place"]) for row in mine],
            "y": [names[row["place"]] for row in mine],
            "x": [row["share"] for row in mine],
            "customdata": [
                f"{formats.share(row['share'])} ({formats.number(row['attempts'])})" for row in mine
            ],
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            "marker": _marker(outcome),
        }
        for outcome in LOOKS
        if (mine := [row for row in rows if row["outcome"] == outcome])
    ]
    counts = Counter[int]()
    for row in rows:
        counts[row["place"]] += row["attempts"]
    legend = _LEGEND_ROW * -(-len(traces) // _LEGEND_COLUMNS)
    quarters = [0, 0.25, 0.5, 0.75, 1]
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "bargap": 0.35,
            "height": 260 + legend,
            "margin": {"l": 8, "r": _COUNT_ROOM, "t": 8, "b": 36},
            "annotations": [
                {
                    "x": 1,
                    "xanchor": "left",
                    "y": names[place],
                    "text": f"n = {formats.number(counts[place])}",
                    "showarrow": False,
                    "font": {"color": GREY, "size": 12},
                }
                for place in places
            ],
            "legend": _LEGEND,
            "xaxis": {
                "range": [0, 1],
                "tickvals": quarters,
                "ticktext": [f"{formats.number(100 * part)}%" for part in quarters],
                "showgrid": False,
            },
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": [names[place] for place in places],
                "automargin": True,
            },
        },
    }


def submission_weeks(rows: Rows) -> Figure:
    """Per week, processes that were first submitted: accepted at once, later, and not so far. A
    week far above the usual is cut off."""
    return stacked_weeks(
        rows,
        "processes",
        {
            _("Accepted first time"): ("first_try_accepted", _marker("accepted")),
            _("Accepted later"): ("accepted_later", _marker("in_flight")),
            _("Not accepted so far"): ("not_accepted", _marker("unknown")),
        },
    )


def outcome_periods(
    rows: Rows, period: str, names: Mapping[object, str], *, has_legend: bool = False
) -> Figure:
    """Attempts per period, stacked by outcome. `period`: the column that says which; `names`: of
    each period that is drawn, in order. `has_legend`: where no chart beside this one has it."""
    shown = [row for row in rows if row[period] in names]
    totals = dict.fromkeys(names.values(), 0)
    for row in shown:
        totals[names[row[period]]] += row["attempts"]
    axis = count_axis(totals.values())
    drawn = len({row["outcome"] for row in shown})
    legend = _LEGEND_ROW * -(-drawn // _LEGEND_COLUMNS) if has_legend else 0
    return {
        "data": [
            {
                "type": "bar",
                "name": code_texts.word(codes.OUTCOMES, outcome),
                "x": [names[row[period]] for row in mine],
                "y": [row["attempts"] for row in mine],
                "hovertemplate": "%{x}: <b>%{y:,d}</b><extra>%{fullData.name}</extra>",
                "marker": _marker(outcome),
            }
            for outcome in LOOKS
            if (mine := [row for row in shown if row["outcome"] == outcome])
        ],
        "layout": {
            "barmode": "stack",
            "bargap": 0.25,
            "height": 330 + legend,
            "showlegend": has_legend,
            "legend": _LEGEND,
            "margin": {"l": 36, "r": TICK_ROOM, "t": 24, "b": 28},
            "xaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [*names.values()],
                "range": [-0.5, len(names) - 0.5],
                "showgrid": False,
                **LEVEL_OR_UPRIGHT,
            },
            "yaxis": axis,
        },
    }


def retries(rows: Rows) -> Figure:
    """Per outcome, the share of next attempts that were accepted: with the same bytes, and with
    others. The number behind each share stands beside it."""
    return share_bars(
        [code_texts.word(codes.OUTCOMES, row["outcome"]) for row in rows],
        [
            (
                name,
                colour,
                shape,
                [row[f"acceptance_{part}"] for row in rows],
                [_accepted_of(row, part) for row in rows],
            )
            for part, name, colour, shape in (
                ("again", _("Same content"), BLUE, ""),
                ("changed", _("Changed content"), GREEN, "/"),
            )
        ],
        height=70 + 52 * len(rows),
        room=110,
    )


def _accepted_of(row: Mapping[str, Any], part: str) -> str:
    if not row[f"sent_{part}"]:
        return ""
    return _(
        "{share} of {n}",
        share=formats.share(row[f"acceptance_{part}"]),
        n=formats.number(row[f"sent_{part}"]),
    )


def outcome_days(rows: Rows, today: date, days: int) -> Figure:
    """Attempts per day over the last days, stacked by outcome."""
    first = today - timedelta(days - 1)
    recent = [row for row in rows if row["day"] >= first]
    traces = [
        {
            "type": "bar",
            "name": code_texts.word(codes.OUTCOMES, outcome),
            "meta": [(outcome, row["day"].isoformat()) for row in mine],
            "x": [row["day"].isoformat() for row in mine],
            "y": [row["attempts"] for row in mine],
            "customdata": [formats.day(row["day"]) for row in mine],
            "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra>%{fullData.name}</extra>",
            "marker": _marker(outcome),
            "width": DAY_BAR_WIDTH,
        }
        for outcome in LOOKS
        if (mine := [row for row in recent if row["outcome"] == outcome])
    ]
    totals: Counter[str] = Counter()
    for row in recent:
        totals[row["day"].isoformat()] += row["attempts"]
    axis = count_axis(totals.values())
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "height": 330,
            "showlegend": False,
            "margin": {"l": 36, "r": TICK_ROOM, "t": 24, "b": 28},
            "xaxis": {
                "type": "date",
                "range": [f"{first - timedelta(1)}T12:00:00", f"{today}T12:00:00"],
                **week_ticks(first, today),
                "showgrid": False,
            },
            "yaxis": axis,
        },
    }
