"""Draws views as Plotly figures: plain dicts, a third of the cost of `plotly.graph_objects`.

The colours are chosen to stand at 3:1 or more on both the light and the dark background, because
a figure does not learn of a change of theme before the next run.
"""

import base64
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

import streamlit as st

from app_pages import formats, words
from app_pages.i18n import N_, _

RED, AMBER, BLUE, GREEN, VIOLET, GREY = (
    "#D64550",
    "#B87900",
    "#3B76D6",
    "#1F9D68",
    "#7A63D2",
    "#7A869A",
)
LIGHT_THEME_INK = "#5F6878"
INK, PALE_RED, LIGHT_RED = "#111827", "#F9DADC", "#E9868F"
URGENCIES: Final[Mapping[str, tuple[str, str]]] = {
    "late": (N_("Late"), RED),
    "soon": (N_("Within 7 days"), AMBER),
    "later": (N_("Later"), BLUE),
}
_END_COLOURS: Final[Mapping[str, str]] = {
    "finished_in_time": GREEN,
    "finished_late": VIOLET,
    "pending": BLUE,
    "overdue": AMBER,
    "expired": RED,
}

BAR_WIDTH: Final = 0.75 * 24 * 3600 * 1000
"""Three quarters of a day, in Plotly's milliseconds: of few days it would make planks."""

TICK_ROOM: Final = 28
"""Right of a chart: Plotly leaves a last tick out whose half would stand outside."""
DAYS_AHEAD: Final = 180
"""Of deadlines that are drawn: one in a far century must not make a hair of every bar."""
LEGEND_ROW, LEGEND_COLUMNS = 20, 2
NAME_LINE, NAME_WIDTH, NAME_ROOM, LEAST_ROW = 16, 30, 14, 46
"""Of charts with long names at the side: as much room a row as the longest name takes."""
WEEKS_NAMED: Final = 6
SANKEY_TEXT: Final = 13

Figure = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


def show(figure: Figure, *, alt: str, key: str) -> None:
    """One figure, named for those who cannot see it; a word where there is nothing to draw."""
    if any(trace.get("x") or trace.get("z") or trace.get("link") for trace in figure["data"]):
        figure = {**figure, "layout": {**figure["layout"], "separators": formats.separators()}}
        if st.context.theme.type == "light":
            figure = _in_ink(figure)
        st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})
    else:
        st.markdown(formats.muted(_("Nothing to draw yet.")))


def _in_ink(figure: Figure) -> Figure:
    """With names dark enough to read on white: Streamlit's are 3.7:1 there (WCAG 1.4.3 wants 4.5).

    Where the reader turns to the dark theme, they are still 3.8:1 until the next run.
    """
    font = {"color": LIGHT_THEME_INK}
    layout = dict(figure["layout"])
    for axis in ("xaxis", "yaxis"):
        layout[axis] = {**layout.get(axis, {}), "tickfont": font}
    if "annotations" in layout:
        layout["annotations"] = [
            {**it, "font": {**it["font"], **font}} for it in layout["annotations"]
        ]
    texts = {
        "bar": {"outsidetextfont": font},
        "sankey": {"textfont": {"color": INK, "size": SANKEY_TEXT}},
    }
    data = [{**trace, **texts.get(trace["type"], {})} for trace in figure["data"]]
    return {"data": data, "layout": layout}


SPARK_WIDTH, SPARK_HEIGHT, SPARK_GAP = 300, 42, 0.28


def sparkline(values: Sequence[float], colour: str, alt: str) -> None:
    """Small bars without axes, as an image whose text tells each value.

    Streamlit's own come with marks that have no name to be read aloud (WCAG 1.1.1).
    """
    highest = max(values, default=0) or 1
    step = SPARK_WIDTH / max(len(values), 1)
    bars = "".join(
        f'<rect x="{step * (place + SPARK_GAP / 2):.1f}" y="{SPARK_HEIGHT - height:.1f}"'
        f' width="{step * (1 - SPARK_GAP):.1f}" height="{height:.1f}" rx="1"/>'
        for place, height in enumerate(
            max(SPARK_HEIGHT * value / highest, 1 if value else 0.5) for value in values
        )
    )
    image = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}"'
        f' width="{SPARK_WIDTH}" height="{SPARK_HEIGHT}" fill="{colour}">{bars}</svg>'
    )
    encoded = base64.b64encode(image.encode()).decode()
    st.markdown(f"![{formats.plain(alt)}](data:image/svg+xml;base64,{encoded})")


def deadline_bars(rows: Rows, today: date) -> Figure:
    """Deadlines per day, stacked by urgency, with a line at today."""
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
                "width": BAR_WIDTH,
            }
        )
    first = min((row["day"] for row in rows if not row["is_older"]), default=today)
    last = max((row["day"] for row in rows), default=today)
    last = min(last, today + timedelta(DAYS_AHEAD))
    first, last = min(first, today - timedelta(7)), max(last, today + timedelta(14))
    # A bar is centred on its day's midnight: half a day earlier is the gap between two bars.
    edge = f"{today - timedelta(1)}T12:00:00"
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
                **_week_ticks(first, last),
                "showgrid": False,
            },
            "yaxis": {"rangemode": "tozero", "tickformat": ",d", "nticks": 5},
            **_mark(edge, _("today")),
        },
    }


_PHASE_COLOURS: Final[Mapping[str, str]] = {"pending": BLUE, "overdue": AMBER, "expired": RED}


def process_clock(phases: Rows, entries: Rows, now: datetime) -> Figure:
    """The phases of one review as a band, and what happened in it on three lanes below."""
    lanes = [_("Submission"), _("Collection"), _("Platform"), _("Clock")]
    bands = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": words.word(words.ENDS, row["phase"]),
            "x": [_local(row["starts_at"]), _local(row["ends_at"])],
            "y": [lanes[3]] * 2,
            "line": {"color": _PHASE_COLOURS[row["phase"]], "width": 16},
            "opacity": 1 if row["is_past"] else 0.35,
            "customdata": [f"{formats.minute(row['starts_at'])} – {formats.minute(row['ends_at'])}"]
            * 2,
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        }
        for row in phases
    ]
    events = []
    for lane, kinds, symbol in (
        (lanes[2], ("webhook",), "diamond"),
        (lanes[1], ("collection",), "circle"),
        (lanes[0], ("submission_finished",), "triangle-up"),
    ):
        mine = [row for row in entries if row["kind"] in kinds]
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
                    f"{formats.spoken(' · '.join(filter(None, words.told(row)[1:])))}"
                    f"<br>{formats.minute(row['occurred_at'])}"
                    for row in mine
                ],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    start = min((row["starts_at"] for row in phases), default=now)
    end = max(
        [row["ends_at"] for row in phases] + [row["occurred_at"] for row in entries], default=now
    )
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
            **_mark(_local(now), _("now")),
        },
    }


def _event_colour(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "submission_finished":
        return GREEN if entry["status"] == 200 else RED
    return VIOLET if entry["kind"] == "collection" else GREY


def _mark(x: str, label: str) -> Figure:
    """A vertical line with its name, visible on either background."""
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


def review_flow(rows: Rows) -> Figure:
    """From the type of review to where its processes stand, coloured by the end."""
    sources = [code for code in words.REVIEW_TYPES if any(r["review_type"] == code for r in rows)]
    ends = [code for code in words.ENDS if any(r["ends_as"] == code for r in rows)]
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
                    + [f"{_(words.ENDS[end])} · {formats.number(totals[end])}" for end in ends],
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


_OUTCOME_INKS: Final[Mapping[str, str]] = {
    "accepted": GREEN,
    "in_flight": BLUE,
    "platform_error": RED,
    "timeout": "#C7682B",
    "network_error": AMBER,
    "rate_limited": "#A08A00",
    "unauthorized": VIOLET,
    "invalid_payload": "#B0508F",
    "not_found": "#4F8FA8",
    "conflict": "#6C7BB8",
    "unexpected_status": "#8C6D5A",
    "unknown": GREY,
}


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
            "name": words.word(words.OUTCOMES, outcome),
            "y": [names[row["place"]] for row in mine],
            "x": [row["share"] for row in mine],
            "customdata": [
                f"{formats.share(row['share'])} ({formats.number(row['attempts'])})" for row in mine
            ],
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            "marker": {"color": colour},
        }
        for outcome, colour in _OUTCOME_INKS.items()
        if (mine := [row for row in rows if row["outcome"] == outcome])
    ]
    legend = LEGEND_ROW * -(-len(traces) // LEGEND_COLUMNS)
    quarters = [0, 0.25, 0.5, 0.75, 1]
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "bargap": 0.35,
            "height": 260 + legend,
            "margin": {"l": 8, "r": TICK_ROOM, "t": 8, "b": 36 + legend},
            "legend": {
                "orientation": "h",
                "xref": "container",
                "x": 0,
                "yref": "container",
                "y": 0,
                "yanchor": "bottom",
                "entrywidthmode": "fraction",
                "entrywidth": 0.98 / LEGEND_COLUMNS,
                "font": {"size": 11},
                "traceorder": "normal",
            },
            "xaxis": {
                "range": [0, 1],
                "tickvals": quarters,
                "ticktext": [f"{formats.number(100 * part)} %" for part in quarters],
                "showgrid": False,
            },
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": [names[place] for place in places],
                "automargin": True,
            },
        },
    }


def outcome_days(rows: Rows, today: date, days: int) -> Figure:
    """Attempts per day over the last days, stacked by outcome."""
    first = today - timedelta(days - 1)
    recent = [row for row in rows if row["day"] >= first]
    traces = [
        {
            "type": "bar",
            "name": words.word(words.OUTCOMES, outcome),
            "x": [row["day"].isoformat() for row in mine],
            "y": [row["attempts"] for row in mine],
            "customdata": [formats.day(row["day"]) for row in mine],
            "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra>%{fullData.name}</extra>",
            "marker": {"color": colour},
            "width": BAR_WIDTH,
        }
        for outcome, colour in _OUTCOME_INKS.items()
        if (mine := [row for row in recent if row["outcome"] == outcome])
    ]
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "height": 330,
            "showlegend": False,
            "margin": {"l": 36, "r": TICK_ROOM, "t": 8, "b": 28},
            "xaxis": {
                "type": "date",
                "range": [f"{first - timedelta(1)}T12:00:00", f"{today}T12:00:00"],
                **_week_ticks(first, today),
                "showgrid": False,
            },
            "yaxis": {"rangemode": "tozero", "tickformat": ",d", "nticks": 5},
        },
    }


def reason_bars(rows: Rows) -> Figure:
    """Reasons as bars, the most frequent on top, the vital few in red."""
    names = [words.reason(row) for row in rows]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": [row["denials"] for row in rows],
                "y": [_wrapped(name) for name in names],
                "text": [
                    f"{formats.number(row['denials'])} · {formats.share(row['share'])}"
                    for row in rows
                ],
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
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "xaxis": {
                "visible": False,
                "range": [0, 1.45 * max((it["denials"] for it in rows), default=1)],
            },
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }


def reason_weeks(rows: Rows, reasons: Rows) -> Figure:
    """A heat map with its numbers: reasons as above, weeks from left to right.

    Its cells are as light as the numbers on them are dark, on either background.
    """
    weeks = sorted({row["ends_on"] for row in rows})
    known = {(row["ends_on"], row["reason"], row["detail"]): row["denials"] for row in rows}
    cells = [
        [known.get((week, reason["reason"], reason["detail"])) for week in weeks]
        for reason in reasons
    ]
    names = [words.reason(reason) for reason in reasons]
    every = max(1, -(-len(weeks) // WEEKS_NAMED))
    return {
        "data": [
            {
                "type": "heatmap",
                "x": [formats.short_day(week) for week in weeks],
                "y": [_wrapped(name) for name in names],
                "z": cells,
                "zmin": 0,
                "texttemplate": "%{z:,d}",
                "textfont": {"color": INK},
                "colorscale": [[0, PALE_RED], [1, LIGHT_RED]],
                "showscale": False,
                "hoverongaps": False,
                "xgap": 2,
                "ygap": 2,
                "hovertemplate": "%{y}<br>%{x}: <b>%{z:,d}</b><extra></extra>",
            }
        ],
        "layout": {
            "height": max(240, _row_height(names) * len(reasons) + 28),
            "margin": {"l": 8, "r": TICK_ROOM, "t": 8, "b": 28},
            "xaxis": {
                "type": "category",
                "showgrid": False,
                "tickangle": 0,
                "tickvals": [formats.short_day(week) for week in weeks[::-1][::every]],
            },
            "yaxis": {"autorange": "reversed", "automargin": True, "showgrid": False},
        },
    }


def _wrapped(text: str) -> str:
    """A long name over several lines; `<` would begin a tag of Plotly's."""
    return "<br>".join(textwrap.wrap(text.replace("<", "‹"), NAME_WIDTH)) or "–"


def _row_height(names: Sequence[str]) -> int:
    lines = max((len(textwrap.wrap(name, NAME_WIDTH)) for name in names), default=1)
    return max(LEAST_ROW, lines * NAME_LINE + NAME_ROOM)


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.38)"


def _week_ticks(first: date, last: date) -> Figure:
    """Mondays, written in the reader's language: Plotly itself knows English alone."""
    monday = first + timedelta(-first.weekday() % 7)
    weeks = [monday + timedelta(7 * n) for n in range((last - monday).days // 7 + 1)]
    every = max(1, round(len(weeks) / 7))
    shown = weeks[::every]
    return {
        "tickvals": [day.isoformat() for day in shown],
        "ticktext": [formats.short_day(day) for day in shown],
    }
