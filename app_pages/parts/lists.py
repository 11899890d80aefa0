"""Shows long views fifty rows at a time, and writes a grid's columns the reader's way.

The database pages: what a browser does not show is never sent to it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import streamlit as st

from app_pages.language import formats
from app_pages.language.i18n import _, language
from app_pages.parts import address, downloads, elements, views
from pipeline.texts import printable

ROWS = 50
ROW_HEIGHT = 36
VISIBLE_ROWS = 14

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """One page of a view, drawn."""

    total: int  # rows of the whole view
    drawn: T | None  # what drawing it gave; None where there was nothing to draw


def paged(
    view: str,
    draw: Callable[[Sequence[views.Row], str], T],
    *,
    counted: Callable[[int], str],
    where: Mapping[str, object] | None = None,
    contains: Mapping[str, str] | None = None,
) -> Page[T]:
    """Draws one page of a view, and below it how much there is.

    `draw` takes the rows and a key of their own; `counted` puts their number into words.
    """
    total = views.count(view, where=where, contains=contains)
    if not total:
        return Page(0, None)
    above = st.container()
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        shown = [counted(total)]
        pages = -(-total // ROWS)
        if pages > 1:
            shown.append(_("{n} a page", n=formats.number(ROWS)))
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(formats.muted(" · ".join(shown)), width="content")
            downloads.offer(view, rows=total, where=where, contains=contains)
        number = address.page_number(pages) if pages > 1 else 1
    rows = views.read(view, where=where, contains=contains, limit=ROWS, offset=(number - 1) * ROWS)
    with above:
        return Page(total, draw(rows, f"{view} {number}"))


def with_card(
    view: str,
    draw: Callable[[Sequence[views.Row], str], views.Row],
    card: Callable[[views.Row], None],
    *,
    counted: Callable[[int], str],
    where: Mapping[str, Sequence[object]],
    contains: Mapping[str, str],
    nothing_matches: str,
    within: Mapping[str, Sequence[object]] | None = None,
    when_empty: Callable[[], None] | None = None,
) -> None:
    """A filtered view page by page, with what there is to say of the chosen row beside it.

    `draw` gives back the row that is chosen; a filter without a value filters nothing, but for
    what the list is about: `within` holds for each column until the reader chooses otherwise.
    `when_empty` speaks where the list has no row at all.
    """
    values = {column: chosen for column, chosen in where.items() if chosen}
    parts = {column: part for column, part in contains.items() if part}
    listed, beside = st.columns([2, 1], gap="small")
    with listed:
        chosen = paged(
            view,
            draw,
            counted=counted,
            where={**(within or {}), **values} or None,
            contains=parts or None,
        )
    if chosen.drawn is not None:
        with beside.container(border=True):
            card(chosen.drawn)
    elif when_empty is not None and not values and not parts:
        when_empty()
    else:
        elements.empty(nothing_matches, _("Remove a filter to see more."))


def filters() -> Any:
    """Where the filters of a list stand, side by side, their labels in one line."""
    return st.container(horizontal=True, vertical_alignment="top", gap="small")


def grid(
    rows: Sequence[dict[str, Any]], columns: Mapping[str, Any], *, alt: str, key: str | None = None
) -> None:
    """A grid to read, with nothing to choose in it."""
    st.dataframe(
        still(rows),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height_of(rows),
        column_config=columns,
        column_order=list(columns),
        alt=alt,
    )


def still(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows as a grid shows them: ids that look personal are masked, and text from outside
    reverses and hides nothing in it."""

    def shown(column: str, value: Any) -> Any:
        if isinstance(value, list):
            return [shown(column, it) for it in value]
        return printable(views.shown(column, value)) if isinstance(value, str) else value

    return [{name: shown(name, value) for name, value in row.items()} for row in rows]


def choosable_grid(
    rows: Sequence[dict[str, Any]], columns: Mapping[str, Any], *, alt: str, key: str
) -> int:
    """A grid of which one row is always chosen; which one that is."""
    event = st.dataframe(
        still(rows),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height_of(rows),
        on_select="rerun",
        selection_mode="single-row-required",
        column_config=columns,
        column_order=list(columns),
        alt=alt,
    )
    chosen: list[int] = event["selection"]["rows"]
    return chosen[0] if chosen and chosen[0] < len(rows) else 0


def height_of(rows: Sequence[dict[str, Any]]) -> int | Literal["content"]:
    return "content" if len(rows) <= VISIBLE_ROWS else ROW_HEIGHT * (VISIBLE_ROWS + 1) + 3


def text(label: str, width: int | None = None) -> Any:
    return st.column_config.TextColumn(label, width=width)


def number(label: str, width: int | None = None, *, help: str | None = None) -> Any:
    return st.column_config.NumberColumn(label, width=width, help=help, format="localized")


def instant(label: str, width: int | None = 138) -> Any:
    """Naive UTC in the rows, the reader's zone on the screen."""
    return st.column_config.DatetimeColumn(
        label,
        format=formats.GRID_MINUTE[language()],
        timezone=str(formats.zone()),
        width=width,
    )


def chips(label: str, colours: Mapping[str, str], width: int | None = 92) -> Any:
    """Cells are lists of words; each word a chip in its colour."""
    return st.column_config.MultiselectColumn(
        label, options=list(colours), color=list(colours.values()), width=width
    )
