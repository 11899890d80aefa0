"""Draws how it goes over time: on time or late, how long steps take, load, and what to expect."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

from app_pages.charts.figure import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    INK,
    LEGEND_ABOVE,
    LEVEL_OR_UPRIGHT,
    RED,
    TICK_ROOM,
    VIOLET,
    Figure,
    Rows,
    count_axis,
    level,
    level_name,
    patterned,
)
from app_pages.language import formats
from app_pages.language.i18n import _, language
from pipeline.language import figures
from pipeline.language.catalogue import NC_
from pipeline.trends import in_time
from pipeline.trends.forecast_score import Band, Score

TYPE_LOOKS: Final[Sequence[tuple[str, str]]] = (
    (BLUE, "circle"),
    (VIOLET, "diamond"),
    (AMBER, "square"),
    (GREEN, "triangle-up"),
)
"""Colour and mark of each type of review, in turn."""
_NAME_ROOM: Final = 80  # pixels
_SHARES: Final[Figure] = {
    "range": [-0.06, 1.08],  # a mark at either end is whole
    "tickvals": [0, 0.25, 0.5, 0.75, 1],
    "ticktext": ["0%", "25%", "50%", "75%", "100%"],
}


def on_time(
    rows: Rows,
    periods: Mapping[date, str],
    period: str,
    current: date,
    *,
    kind: str,
    called: Callable[[str | None], str],
    target: float | None,
) -> Figure:
    """A line per kind of reviews of the share finished in time, over whole periods, with one across
    at the target. The current period has no share yet: it says how many of those due so far were.

    `periods`: the first days, in order, and how each is named; `kind`: the column that tells the
    lines apart, each `called` by its value."""
    kinds = {row[kind] for row in rows}
    in_order = [*sorted(kinds - {None}), *({None} & kinds)]
    traces, notes = [], []
    beside = _beside_ends({it[kind]: it["on_time_share"] for it in rows if it[period] < current})
    for place, of_kind in enumerate(in_order):
        colour, symbol = TYPE_LOOKS[place % len(TYPE_LOOKS)]
        mine = [row for row in rows if row[kind] == of_kind]
        whole = [row for row in mine if row[period] < current]
        name = called(of_kind)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": name,
                "x": [periods[row[period]] for row in whole],
                "y": [row["on_time_share"] for row in whole],
                "text": [""] * (len(whole) - 1) + [name],
                "textposition": beside.get(of_kind, "top right"),
                "line": {"color": colour},
                "marker": {"color": colour, "symbol": symbol, "size": 9},
                "customdata": [_share_hover(row) for row in whole],
                "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            }
        )
        notes += [
            {
                "x": periods[row[period]],
                "y": 0.08 + 0.11 * place,
                "text": _so_far(name, row),
                "showarrow": False,
                "xanchor": "right",
                "font": {"color": GREY, "size": 12},
            }
            for row in mine
            if row[period] == current
        ]
    return {
        "data": traces,
        "layout": {
            "height": 300,
            "showlegend": False,
            "margin": {"l": 40, "r": TICK_ROOM, "t": 12, "b": 28},
            "xaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": list(periods.values()),
                "range": [-0.5, len(periods) - 0.5],
                "showgrid": False,
                **LEVEL_OR_UPRIGHT,
            },
            "yaxis": _SHARES,
            "shapes": [level(target)] if target else [],
            "annotations": [
                *notes,
                *([level_name(target, _target_said(target))] if target else []),
            ],
        },
    }


def _beside_ends(shares: Mapping[str | None, float | None]) -> Mapping[str | None, str]:
    """Where the name of each line stands, by the share at its end: of two that end at nearly the
    same one, the higher above the other. Behind it, since before it runs the line."""
    ranked = sorted(shares, key=lambda kind: -(shares[kind] or 0))
    ends = [*ranked[:1], *ranked[-1:]] if len(ranked) > 1 else ranked
    return dict.fromkeys(ranked, "middle right") | dict(
        zip(ends, ("top right", "bottom right"), strict=False)
    )


def _target_said(target: float) -> str:
    return _("target: {share}", share=formats.share(target))


def _share_hover(row: Mapping[str, Any]) -> str:
    numbers = [formats.number(row[name]) for name in ("finished_in_time", "due_so_far")]
    return f"{formats.share(row['on_time_share'])} ({'/'.join(numbers)})"


def _so_far(name: str, row: Mapping[str, Any]) -> str:
    return f"{name}: {in_time.so_far([row], language())}"


def step_times(rows: Rows, names: Mapping[str, str]) -> Figure:
    """Per step of one month and type: a bar to the median, a mark at the ninth decile, in days."""
    shown = [row for step in names for row in rows if row["step"] == step]
    labels = [names[row["step"]] for row in shown]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": _("Half of them"),
                "y": labels,
                "x": [row["median_seconds"] / 86400 for row in shown],
                "marker": {"color": BLUE},
                "customdata": [formats.seconds(row["median_seconds"]) for row in shown],
                "text": [formats.number(row["processes"]) for row in shown],
                "textposition": "none",
                "hovertemplate": "%{y}: %{customdata} (n = %{text})<extra>%{fullData.name}</extra>",
            },
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": _("Nine of ten"),
                "y": labels,
                "x": [row["p90_seconds"] / 86400 for row in shown],
                "text": [
                    " · ".join(formats.seconds(row[it]) for it in ("median_seconds", "p90_seconds"))
                    for row in shown
                ],
                "textposition": "middle right",
                "cliponaxis": False,
                "marker": {"color": AMBER, "symbol": "line-ns-open", "size": 18},
                "customdata": [formats.seconds(row["p90_seconds"]) for row in shown],
                "hovertemplate": "%{y}: %{customdata}<extra>%{fullData.name}</extra>",
            },
        ],
        "layout": {
            "height": 90 + 38 * len(shown),
            "bargap": 0.45,
            "margin": {"l": 8, "r": 96, "t": 36, "b": 28},
            "legend": LEGEND_ABOVE,
            "xaxis": {"rangemode": "tozero", "title": {"text": _("days")}},
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def backlog(rows: Rows, nobody: str) -> Figure:
    """Per person, unfinished reviews by how long they have been open."""
    parts = (
        ("up_to_15_days", _("up to 15 days"), GREEN, ""),
        ("up_to_30_days", _("up to 30 days"), BLUE, "/"),
        ("up_to_60_days", _("up to 60 days"), AMBER, "."),
        ("older", _("older"), RED, "x"),
    )
    people = [formats.spoken(formats.plain(row["assignee"] or nobody)) for row in rows]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": people,
                "x": [row[column] for row in rows],
                "marker": patterned(colour, shape),
                "hovertemplate": "%{y}: <b>%{x:,d}</b><extra>%{fullData.name}</extra>",
            }
            for column, name, colour, shape in parts
        ],
        "layout": {
            "barmode": "stack",
            "height": 100 + 32 * len(rows),
            "margin": {"l": 8, "r": TICK_ROOM, "t": 36, "b": 28},
            "legend": LEGEND_ABOVE,
            "xaxis": count_axis(row["processes"] for row in rows),
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def flow(rows: Rows) -> Figure:
    """Per week, reviews that came and reviews that were finished."""
    weeks = [formats.short_day(row["week"]) for row in rows]
    opened, finished = _(NC_("reviews", "Opened")), _(NC_("reviews", "Finished"))
    parts = (("opened", opened, AMBER, "solid"), ("finished", finished, GREEN, "dash"))
    highest = max(("opened", "finished"), key=lambda column: rows[-1][column] if rows else 0)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": name,
                "x": weeks,
                "y": [row[column] for row in rows],
                "text": [""] * (len(rows) - 1) + [name],
                # Behind its last mark: before it, the name would stand on a line.
                "textposition": "top right" if column == highest else "bottom right",
                "cliponaxis": False,
                "line": {"color": colour, "dash": dash},
                "hovertemplate": "%{x}: <b>%{y:,d}</b><extra>%{fullData.name}</extra>",
            }
            for column, name, colour, dash in parts
        ],
        "layout": {
            "height": 260,
            "showlegend": False,
            "margin": {"l": 40, "r": _NAME_ROOM, "t": 12, "b": 28},
            "xaxis": {"type": "category", "showgrid": False, "nticks": 8, **LEVEL_OR_UPRIGHT},
            "yaxis": count_axis(row[it] for row in rows for it in ("opened", "finished")),
        },
    }


def expected_expiries(rows: Rows) -> Figure:
    """Per coming week, how many are expected to expire, with an interval, among all due."""
    known = [row for row in rows if row["expected"] is not None]
    ends = [formats.local_short_day(row["ends_at"]) for row in known]
    return {
        "data": [
            {
                "type": "bar",
                "name": _("Due"),
                "x": ends,
                "y": [row["due"] for row in known],
                "marker": {"color": GREY, "opacity": 0.45},
                "hovertemplate": "%{x}: <b>%{y:,d}</b><extra>%{fullData.name}</extra>",
            },
            {
                "type": "bar",
                "name": _("Expected to expire"),
                "x": ends,
                "y": [row["expected"] for row in known],
                "marker": patterned(RED, "/"),
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [row["expected_high"] - row["expected"] for row in known],
                    "arrayminus": [row["expected"] - row["expected_low"] for row in known],
                    "color": INK,
                },
                "customdata": [expected(row) for row in known],
                "hovertemplate": "%{x}: %{customdata}<extra>%{fullData.name}</extra>",
            },
        ]
        if any(row["due"] for row in known)
        else [],
        "layout": {
            "barmode": "overlay",
            "height": 296,
            "margin": {"l": 40, "r": TICK_ROOM, "t": 36, "b": 44},
            "legend": LEGEND_ABOVE,
            "xaxis": {
                "type": "category",
                "showgrid": False,
                "title": {"text": _("week up to")},
                **LEVEL_OR_UPRIGHT,
            },
            "yaxis": count_axis(row["due"] for row in known),
        },
    }


def expected(week: Mapping[str, Any], of: str = "expected") -> str:
    """How many are expected to expire, and between which numbers; a dash where nothing is known."""
    return figures.expected(week, language(), of)


def _beside_the_line(band: Band) -> str:
    more_expired = (band.in_time_share or 0) <= (band.mean_chance or 0)
    return "top left" if more_expired else "bottom right"


def calibration(score: Score) -> Figure:
    """How many expired of those with about the same chance to, in ten bands, beside the line on
    which as many did as was forecast; by each point, how many there were."""
    known = [band for band in score.bands if band.forecasts]
    # Without a grid, and on the side of a point that is away from the dotted line, no line goes
    # through what is said of it.
    percent = {"tickformat": ".0%", "range": [-0.15, 1.15], "showgrid": False, "zeroline": False}
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [0, 1],
                "y": [0, 1],
                "line": {"color": GREY, "dash": "dot"},
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [1 - (band.mean_chance or 0) for band in known],
                "y": [1 - (band.in_time_share or 0) for band in known],
                "cliponaxis": False,
                "marker": {"color": BLUE, "size": 10},
                "text": [f"n = {formats.number(band.forecasts)}" for band in known],
                "textposition": [_beside_the_line(band) for band in known],
                "hovertemplate": "%{x:.0%} → %{y:.0%} (%{text})<extra></extra>",
            },
        ]
        if known
        else [],
        "layout": {
            "height": 280,
            "showlegend": False,
            "margin": {"l": 48, "r": TICK_ROOM, "t": 12, "b": 40},
            "xaxis": {**percent, "title": {"text": _("chance to expire, as forecast")}},
            "yaxis": {**percent, "title": {"text": _("expired")}},
        },
    }
