"""What every chart shares: colours, marks, ticks, and how a figure comes onto the page.

Figures are plain dicts, a third of the cost of `plotly.graph_objects`, and are sent as they are.
The colours have a contrast of 3:1 or more on both the light and the dark background, because a
figure does not hear of a change of theme before the next run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache, partial
from typing import Any, Final

import plotly.io
import streamlit as st
from plotly.basedatatypes import BaseFigure

from app_pages.language import formats
from app_pages.language.i18n import _

RED, AMBER, BLUE, GREEN, VIOLET, GREY = (
    "#D64550",
    "#B87900",
    "#3B76D6",
    "#1F9D68",
    "#7A63D2",
    "#7A869A",
)
LIGHT_THEME_INK: Final = "#5F6878"
INK: Final = "#111827"
PAPER: Final = "#F3F4F6"

DAY_BAR_WIDTH: Final = 0.75 * 24 * 3600 * 1000
"""Three quarters of a day, in Plotly's milliseconds: left to itself, Plotly draws a few days as
bars as wide as planks."""
TICK_ROOM: Final = 28
"""Pixels right of a chart: Plotly leaves out a last tick whose right half would not fit."""
LEVEL_OR_UPRIGHT: Final[Mapping[str, Any]] = {
    "autotickangles": [0, 90],
    "automargin": "height",
}
"""A part of an x axis whose names run into each other on a phone: there they stand upright."""
LEGEND_ABOVE: Final[Mapping[str, Any]] = {
    "orientation": "h",
    "x": 0,
    "y": 1,
    "yanchor": "bottom",
    "traceorder": "normal",  # of stacked bars Plotly names the last part first
}
_TICKS: Final = 4
_BAR: Final = 0.38
"""Of a row: how much one of two bars takes."""
_DARK_CELLS: Final[Mapping[str, Any]] = {
    "colorscale": [[0, "#3A171D"], [1, "#A93440"]],
    "textfont": {"color": "#FFFFFF"},
}
"""Of a heat map in the dark theme, where pale cells would glare."""

Figure = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


def patterned(colour: str, shape: str) -> Figure:
    """What bars are filled with: a colour, and a pattern for those who see no colours."""
    return {"color": colour, "pattern": {"shape": shape, "fillmode": "overlay", "size": 7}}


def share_bars(
    names: Sequence[str],
    parts: Iterable[tuple[str, str, str, Sequence[float | None], Sequence[str]]],
    *,
    height: int,
    room: int,
) -> Figure:
    """Some shares of each row, one bar below the other, around the middle of its name: a bar that
    is not there leaves no gap, which would move the other towards its neighbour. `parts`: name,
    colour and pattern of a share, its values, and what stands behind each. `height`, `room` for
    that: in pixels."""
    drawn = list(parts)
    there = [
        [values[place] is not None for *_look, values, _said in drawn]
        for place in range(len(names))
    ]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": names,
                "x": values,
                "text": said,
                "textposition": "outside",
                "cliponaxis": False,
                "marker": patterned(colour, shape),
                "width": _BAR,
                "offset": [_BAR * (sum(row[:number]) - sum(row) / 2) for row in there],
                "hovertemplate": "%{y}: %{text}<extra>%{fullData.name}</extra>",
            }
            for number, (name, colour, shape, values, said) in enumerate(drawn)
        ],
        "layout": {
            "height": height,
            "margin": {"l": 8, "r": room, "t": 36, "b": 8},
            "legend": LEGEND_ABOVE,
            "xaxis": {"visible": False, "range": [0, 1]},
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def show(
    figure: Figure, *, alt: str, key: str, take: Callable[[Mapping[str, Any]], None] | None = None
) -> None:
    """One figure, with `alt` for those who cannot see it; a word where there is nothing to draw.

    `take` gets the point that was clicked, as Plotly describes it, before the page is drawn again.
    """
    if any(trace.get("x") or trace.get("z") for trace in figure["data"]):
        layout = {"separators": formats.separators(), "template": _template()}
        figure = {**figure, "layout": {**figure["layout"], **layout}}
        figure = _in_ink(figure) if st.context.theme.type == "light" else _in_the_dark(figure)
        clicks: dict[str, Any] = {}
        if take is not None:
            clicks = {"on_select": partial(_take, key, take), "selection_mode": "points"}
        st.plotly_chart(
            _AsItIs(figure),
            height=figure["layout"]["height"],  # while it is fetched, too: else it moves the rest
            key=key,
            alt=alt,
            config={"displayModeBar": False},
            **clicks,
        )
    else:
        st.markdown(formats.muted(_("Nothing to show yet.")))


class _AsItIs(BaseFigure):  # type: ignore[misc]
    """A figure that is sent as it is. Of a dict Streamlit makes a figure of Plotly's, which takes
    each property apart, and then a dict again: sixty times as long. Tests have Plotly do so."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure

    def to_dict(self) -> Figure:
        return self._figure


@lru_cache(maxsize=1)
def _template() -> Figure:
    """What Plotly adds to each figure: Streamlit's theme, without what it says of kinds that are
    not drawn here, and of colours that each figure has itself: four fifths of it."""
    template: Figure = plotly.io.templates[plotly.io.templates.default].to_plotly_json()
    left_out = ("colorscale", "coloraxis")
    layout = {key: it for key, it in template["layout"].items() if key not in left_out}
    return {"data": {"scatter": template["data"].get("scatter", [])}, "layout": layout}


def _take(key: str, take: Callable[[Mapping[str, Any]], None]) -> None:
    points = st.session_state[key]["selection"]["points"]
    if points:
        take(points[0])


def _in_ink(figure: Figure) -> Figure:
    """The figure with labels dark enough to read on white: Streamlit's have a contrast of 3.7:1
    there, and WCAG 1.4.3 asks for 4.5.

    When the reader switches to the dark theme, these have 3.8:1 until the next run.
    """
    font = {"color": LIGHT_THEME_INK}
    layout = dict(figure["layout"])
    for axis in ("xaxis", "yaxis"):
        layout[axis] = {**layout.get(axis, {}), "tickfont": font}
    if "annotations" in layout:
        layout["annotations"] = [
            {**note, "font": {**note["font"], **font}} for note in layout["annotations"]
        ]
    texts: dict[str, Figure] = {
        "bar": {"outsidetextfont": font},
    }
    data = [{**trace, **texts.get(trace["type"], {})} for trace in figure["data"]]
    return {"data": data, "layout": layout}


def _in_the_dark(figure: Figure) -> Figure:
    """The figure with dark cells and light intervals, if it has any."""
    data = [it | _DARK_CELLS if it["type"] == "heatmap" else it for it in figure["data"]]
    return {**figure, "data": [_lit(it) if "error_y" in it else it for it in data]}


def _lit(trace: Figure) -> Figure:
    return {**trace, "error_y": {**trace["error_y"], "color": PAPER}}


def mark(x: str, label: str) -> Figure:
    """A vertical line at `x` with its label, visible on either background; a part of a layout."""
    return {
        "shapes": [
            {
                "type": "line",
                "x0": x,
                "x1": x,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": GREY, "width": 2, "dash": "dot"},
            }
        ],
        "annotations": [
            {
                "x": x,
                "yref": "paper",
                "y": 1.0,
                "yanchor": "bottom",
                "text": label,
                "showarrow": False,
                "font": {"color": GREY, "size": 12},
            }
        ],
    }


def level(share: float) -> Figure:
    """A dotted line across a chart at a share, such as a target; one of the shapes of a layout."""
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": share,
        "y1": share,
        "line": {"color": GREY, "width": 2, "dash": "dot"},
    }


def level_name(share: float, name: str) -> Figure:
    """What stands at the beginning of such a line; one of the annotations of a layout."""
    return {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": share,
        "yanchor": "top",
        "text": name,
        "showarrow": False,
        "font": {"color": GREY, "size": 12},
    }


def week_ticks(first: date, last: date) -> Figure:
    """Ticks on Mondays, in the reader's language (Plotly knows only English); a part of an axis."""
    monday = first + timedelta(-first.weekday() % 7)
    weeks = [monday + timedelta(7 * n) for n in range((last - monday).days // 7 + 1)]
    every = max(1, round(len(weeks) / 7))
    shown = weeks[::every]
    return {
        "tickvals": [day.isoformat() for day in shown],
        "ticktext": [formats.short_day(day) for day in shown],
    }


def count_axis(totals: Iterable[int]) -> Figure:
    """The axis along which bars or lines show these numbers."""
    axis: Figure = {"tickformat": ",d", "nticks": _TICKS, "rangemode": "tozero"}
    if max(totals, default=0) <= _TICKS:
        axis["dtick"] = 1  # there would be halves, each with the label of a whole number
    return axis


def stacked_weeks(rows: Rows, total: str, parts: Mapping[str, tuple[str, Figure]]) -> Figure:
    """A bar per week, by `ends_on` of its row, of parts on top of each other (name -> column and
    marker); `total`: the column of their sum. Without any there is nothing to
    draw."""
    weeks = [formats.short_day(row["ends_on"]) for row in rows]
    names = 36 if len(parts) < 3 else 60  # on a phone three take two lines
    axis = count_axis(row[total] for row in rows)
    return {
        "data": [
            {
                "type": "bar",
                "name": name,
                "x": weeks,
                "y": [row[column] for row in rows],
                "marker": marker,
                "hovertemplate": "%{x}: <b>%{y:,d}</b><extra>" + name + "</extra>",
            }
            for name, (column, marker) in parts.items()
        ]
        if any(row[total] for row in rows)
        else [],
        "layout": {
            "barmode": "stack",
            "bargap": 0.35,
            "height": 184 + names,
            "margin": {"l": 36, "r": TICK_ROOM, "t": names, "b": 28},
            "legend": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
            },
            "xaxis": {"type": "category", **LEVEL_OR_UPRIGHT, "showgrid": False},
            "yaxis": axis,
        },
    }
