"""Draws why sellers were denied."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

from app_pages.charts.figure import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LEVEL_OR_UPRIGHT,
    RED,
    TICK_ROOM,
    Figure,
    Rows,
    level,
    level_name,
    patterned,
    share_bars,
    stacked_weeks,
    week_ticks,
)
from app_pages.language import code_texts, formats, sellers
from app_pages.language.i18n import _
from pipeline.language import codes

_PALE_RED, _LIGHT_RED = "#F9DADC", "#E9868F"
_NAME_WIDTH: Final = 22  # characters a line
_NAME_LINE, _NAME_ROOM, _LEAST_ROW = 16, 14, 46  # pixels
_COUNT_CHARACTER, _LEAST_PLOT = 6, 24  # pixels
_WEEKS_NAMED: Final = 6
PROMISED: Final = 0.99
"""Of analyses, the share that takes up to 180 s (docs/contract.md#limits)."""


def reason_bars(rows: Rows) -> Figure:
    """Reasons as bars, the most frequent on top, the vital few in red."""
    names = [sellers.reason(row) for row in rows]
    counts = [f"{formats.number(row['denials'])} · {formats.share(row['share'])}" for row in rows]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": [row["denials"] for row in rows],
                "y": [_wrapped(name) for name in names],
                "text": counts,
                "textposition": "outside",  # inside of a short bar it is turned or shrunk
                "cliponaxis": False,
                "marker": {"color": [RED if row["is_vital"] else GREY for row in rows]},
                "customdata": [formats.share(row["cumulative_share"]) for row in rows],
                "hovertemplate": "%{y}: <b>%{x:,d}</b><br>Σ %{customdata}<extra></extra>",
            }
        ],
        "layout": {
            "height": max(220, _row_height(names) * len(rows)),
            "bargap": 0.25,
            # Beside the longest bar its count takes as many pixels on a phone as on a wide screen;
            # there bars give way to their names and counts.
            "minreducedwidth": _LEAST_PLOT,
            "margin": {
                "l": 8,
                "r": _COUNT_CHARACTER * max(map(len, counts), default=0),
                "t": 8,
                "b": 8,
            },
            "xaxis": {
                "visible": False,
                "range": [0, max((it["denials"] for it in rows), default=1)],
            },
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def reason_periods(rows: Rows, reasons: Rows, *, named: Callable[[date], str]) -> Figure:
    """A heat map with its numbers: reasons as above, weeks or months from left to right, each
    `named` by its last day, from the first with a denial on. A later one without any keeps its
    column, so that neighbours are neighbours in time.
    """
    began = min((row["ends_on"] for row in rows if row["denials"]), default=date.max)
    weeks = sorted({row["ends_on"] for row in rows if row["ends_on"] >= began})
    known = {
        (row["ends_on"], row["reason"], row["detail"]): row["denials"]
        for row in rows
        if row["denials"]
    }
    cells = [
        [known.get((week, reason["reason"], reason["detail"])) for week in weeks]
        for reason in reasons
    ]
    names = [sellers.reason(reason) for reason in reasons]
    every = max(1, -(-len(weeks) // _WEEKS_NAMED))
    return {
        "data": [
            {
                "type": "heatmap",
                "x": [named(week) for week in weeks],
                "y": [_wrapped(name) for name in names],
                "z": cells,
                "zmin": 0,
                "texttemplate": "%{z:,d}",
                "textfont": {"color": INK},
                "colorscale": [[0, _PALE_RED], [1, _LIGHT_RED]],
                "showscale": False,
                "hoverongaps": False,
                "xgap": 2,
                "ygap": 2,
                "hovertemplate": "%{y}<br>%{x}: <b>%{z:,d}</b><extra></extra>",
            },
            _taps(weeks, reasons, [named(week) for week in weeks], names, known),
        ]
        if known
        else [],
        "layout": {
            "height": max(240, _row_height(names) * len(reasons) + 28),
            "margin": {"l": 8, "r": TICK_ROOM, "t": 8, "b": 28},
            "xaxis": {
                "type": "category",
                "showgrid": False,
                **LEVEL_OR_UPRIGHT,
                "tickvals": [named(week) for week in weeks[::-1][::every]],
                # Left to itself, Plotly leaves room around it for the marks that nobody sees.
                "range": [-0.5, len(weeks) - 0.5],
            },
            "yaxis": {
                "range": [len(reasons) - 0.5, -0.5],
                "automargin": True,
                "showgrid": False,
            },
        },
    }


def _taps(
    ends: Sequence[date],
    reasons: Rows,
    across: Sequence[str],
    down: Sequence[str],
    known: Mapping[Any, int],
) -> Figure:
    """What a click on a cell of a heat map meets, since Plotly tells of no click on the cell: a
    mark that nobody sees, and that says which end and which reason it stands for."""
    cells = [
        (column, row)
        for row, reason in enumerate(reasons)
        for column, end in enumerate(ends)
        if known.get((end, reason["reason"], reason["detail"]))
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [across[column] for column, _row in cells],
        "y": [_wrapped(down[row]) for _column, row in cells],
        "meta": [(ends[column].isoformat(), row) for column, row in cells],
        "marker": {"symbol": "square", "size": 26, "color": INK, "opacity": 0.001},
        "hoverinfo": "none",
        "showlegend": False,
    }


def reason_changes(rows: Rows) -> Figure:
    """Per reason, a line from the denials of the 30 days before to those of the last 30: red where
    these are more than chance would have them, green where they are fewer, else grey."""
    names = [_wrapped(sellers.reason(row)) for row in rows]
    lines: list[Figure] = [
        {
            "type": "scatter",
            "mode": "lines+markers+text",
            "x": [row["denials_before"], row["denials_now"]],
            "y": [name, name],
            # Beside the greater one: beside the other it would stand on the line.
            "text": [change_said(row), ""]
            if row["denials_before"] > row["denials_now"]
            else ["", change_said(row)],
            "textposition": "middle right",
            "cliponaxis": False,
            "line": {"color": _change_colour(row), "width": 4 if row["is_more_than_chance"] else 2},
            "marker": {
                "color": _change_colour(row),
                "symbol": ["circle-open", "circle"],
                "size": 10,
            },
            "hovertemplate": "%{y}: <b>%{x:,d}</b><extra></extra>",
        }
        for name, row in zip(names, rows, strict=True)
    ]
    return {
        "data": lines,
        "layout": {
            "height": max(200, _row_height(names) * len(rows) + 36),
            "showlegend": False,
            "margin": {"l": 8, "r": 110, "t": 8, "b": 28},
            "xaxis": {"rangemode": "tozero", "tickformat": ",d"},
            # A line of the grid would run through what stands beside the marks.
            "yaxis": {
                "autorange": "reversed",
                "automargin": True,
                "type": "category",
                "showgrid": False,
            },
        },
    }


def change_said(row: Mapping[str, Any]) -> str:
    """Both numbers, and how often the one is the other."""
    numbers = f"{formats.number(row['denials_before'])} → {formats.number(row['denials_now'])}"
    return f"{numbers} (×{formats.number(round(row['times'], 1))})" if row["times"] else numbers


def _change_colour(row: Mapping[str, Any]) -> str:
    if not row["is_more_than_chance"]:
        return GREY
    return RED if row["denials_now"] > row["denials_before"] else GREEN


def reason_returns(rows: Rows) -> Figure:
    """Per reason of one month, the share of sellers that came back within 60 days, and of these the
    share that was cured."""
    names = [_wrapped(sellers.reason(row)) for row in rows]
    return share_bars(
        names,
        [
            (
                name,
                colour,
                shape,
                [row[column] for row in rows],
                [_rate_said(row, column, among, seconds) for row in rows],
            )
            for column, among, seconds, name, colour, shape in (
                ("reonboarding_rate", "followed", None, _("Came back"), BLUE, ""),
                (
                    "cure_rate",
                    "reonboarded",
                    "median_seconds_to_cure",
                    _("of these cured"),
                    GREEN,
                    "/",
                ),
            )
        ],
        height=max(220, (_row_height(names) + 14) * len(rows) + 36),
        room=150,
    )


def _rate_said(row: Mapping[str, Any], column: str, among: str, seconds: str | None) -> str:
    """A share, of how many, and how long half of them took at most, where that is known."""
    if not row[among]:
        return ""
    said = _("{share} of {n}", share=formats.share(row[column]), n=formats.number(row[among]))
    if seconds is None or row[seconds] is None:
        return said
    return _("{said}, half in {time}", said=said, time=formats.seconds(row[seconds]))


def record_fields(rows: Rows) -> Figure:
    """Per field of the record, the share of accepted records in which it differs from the denied
    one; in grey the share in which none does."""
    names = [field_name(row) for row in rows]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": [row["share"] for row in rows],
                "y": names,
                "text": [
                    f"{formats.share(row['share'])} · {formats.number(row['differing'])}"
                    f"/{formats.number(row['compared'])}"
                    for row in rows
                ],
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {
                    "color": [GREY if row["field"] is None else BLUE for row in rows],
                    "pattern": {
                        "shape": ["/" if row["field"] is None else "" for row in rows],
                        "fillmode": "overlay",
                        "size": 7,
                    },
                },
                "hovertemplate": "%{y}: %{text}<extra></extra>",
            }
        ],
        "layout": {
            "height": max(160, 30 * len(rows) + 24),
            "bargap": 0.3,
            "minreducedwidth": _LEAST_PLOT,
            "margin": {"l": 8, "r": 110, "t": 8, "b": 8},
            "xaxis": {"visible": False, "range": [0, 1]},
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def field_name(row: Mapping[str, Any]) -> str:
    """A field of the record in words."""
    if row["field"] is None:
        return _("No field of the record")
    return code_texts.word(codes.SELLER_RECORD, row["field"])


def analysis_days(rows: Rows) -> Figure:
    """Per day, the share of analyses that took up to 180 s, beside what the platform promises."""
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [row["day"].isoformat() for row in rows],
                "y": [row["share"] for row in rows],
                "line": {"color": BLUE},
                "marker": {
                    "color": [BLUE if row["share"] >= PROMISED else RED for row in rows],
                    "symbol": ["circle" if row["share"] >= PROMISED else "x" for row in rows],
                    "size": 8,
                },
                "customdata": [
                    f"{formats.day(row['day'])}: {formats.share(row['share'])}"
                    f" ({formats.number(row['within_180_s'])}/{formats.number(row['analysed'])})"
                    for row in rows
                ],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        ],
        "layout": {
            "height": 240,
            "showlegend": False,
            "margin": {"l": 48, "r": TICK_ROOM, "t": 12, "b": 28},
            "xaxis": {
                "type": "date",
                "showgrid": False,
                **(week_ticks(rows[0]["day"], rows[-1]["day"]) if rows else {}),
            },
            "yaxis": {"tickformat": ".0%", "range": [0, 1.05]},
            "shapes": [level(PROMISED)],
            "annotations": [level_name(PROMISED, _("promised: 99%"))],
        },
    }


def return_weeks(rows: Rows) -> Figure:
    """Per week, denied sellers that came back: those cured so far, and the others on top. A
    week far above the usual is cut off."""
    not_cured = [{**row, "not_cured": row["came_back"] - row["cured"]} for row in rows]
    return stacked_weeks(
        not_cured,
        "came_back",
        {
            _("Cured"): ("cured", patterned(GREEN, "/")),
            _("Not cured yet"): ("not_cured", patterned(GREY, "")),
        },
    )


def _wrapped(text: str) -> str:
    """A long name over several lines; `<` would begin a tag of Plotly's."""
    return "<br>".join(textwrap.wrap(text.replace("<", "‹"), _NAME_WIDTH)) or "–"


def _row_height(names: Sequence[str]) -> int:
    lines = max((len(textwrap.wrap(name, _NAME_WIDTH)) for name in names), default=1)
    return max(_LEAST_ROW, lines * _NAME_LINE + _NAME_ROOM)
