"""Draws views as Plotly figures: plain dicts, a third of the cost of `plotly.graph_objects`.

The colours are chosen to stand at 3:1 or more on both the light and the dark background, because
a figure does not learn of a change of theme before the next run.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
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

Figure = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


def show(figure: Figure, *, alt: str, key: str) -> None:
    """One figure, named for those who cannot see it."""
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False, "scrollZoom": False})


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
                "hovertemplate": "%{customdata}: <b>%{y}</b><extra>" + _(label) + "</extra>",
                "marker": {"color": colour},
            }
        )
    first = min((row["day"] for row in rows if not row["is_older"]), default=today)
    last = max((row["day"] for row in rows), default=today)
    first, last = min(first, today - timedelta(7)), max(last, today + timedelta(14))
    # A bar is centred on its day's midnight: half a day earlier is the gap between two bars.
    edge = f"{today - timedelta(1)}T12:00:00"
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "bargap": 0.25,
            "height": 320,
            "margin": {"l": 36, "r": 8, "t": 36, "b": 28},
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
                    f"{words.told(row).title}<br>{formats.minute(row['occurred_at'])}"
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
            "margin": {"l": 8, "r": 8, "t": 24, "b": 24},
            "xaxis": {
                "type": "date",
                "range": [_local(start - margin), _local(end + margin)],
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
    return instant.replace(tzinfo=UTC).astimezone(formats.zone()).strftime("%Y-%m-%dT%H:%M:%S")


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
    place = {code: index for index, code in enumerate([*sources, *ends])}
    totals = {end: sum(row["processes"] for row in rows if row["ends_as"] == end) for end in ends}
    return {
        "data": [
            {
                "type": "sankey",
                "textfont": {"size": 13},
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
