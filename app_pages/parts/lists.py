"""Shows long views fifty rows at a time, and writes a grid's columns the reader's way.

The database cuts the pages, so that a browser gets only the rows that it shows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa
import streamlit as st

from app_pages.door import access
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _, language
from app_pages.parts import (
    acting,
    address,
    alone,
    compared,
    downloads,
    elements,
    links,
    seller_names,
    ticks,
    views,
)
from pipeline.continuity import service
from pipeline.ledger.syntax.filters import Ranges
from pipeline.ledger.views.catalogue import public
from pipeline.ledger.views.formats import plain
from pipeline.serve.roles import Permission
from pipeline.serve.shown_names import Showing
from pipeline.texts import printable

ROWS = 50
ROW_HEIGHT = 36
VISIBLE_ROWS = 12
"""As many as let what stands below a list be seen in a window 720 pixels high."""
SUBJECT_ID_WIDTH = 154
"""Pixels for one of the platform's usual ids, a prefix and 16 hexadecimal digits."""
SUBJECT_ID_CHARACTERS = 20
SELLER = "seller_name"
"""The column with a row's seller: its id, or while names are shown its name where one is known."""
SELLER_ID_CHARACTERS = 11
"""The characters of an id that have room in that column, where a list has no more room for it; the
card has the whole id."""
NAME_WIDTH, NAME_CHARACTERS = 206, 29
"""Pixels for a name that is not masked, or the whole id of whom none is known; what has room there.
"""
LINE_SELLER_WIDTH = 236
"""Pixels in a line for a name, or for the id of whom no name is known, which says so."""
PRINTED_WORD = 36  # characters, as of a UUID: on paper only a longer word may break anywhere
_UNTICKED = "lists unticked"
_LINE = "line of filters"
_CLICKED = "a list was clicked"
_SHOWN = "rows of a list"

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """One page of a view, drawn."""

    total: int  # rows of the whole view
    drawn: T | None  # what drawing it gave; None where there was nothing to draw


@dataclass(frozen=True, repr=False)
class _Shown:
    """The rows that a list shows, unmasked, and what was asked for them, of which file, and after
    which act of the reader."""

    asked: tuple[Any, ...]
    rows: Sequence[views.Row]
    rests_on: tuple[datetime, int]


def paged(
    view: str,
    draw: Callable[[Sequence[views.Row], str], T],
    *,
    counted: Callable[[int], str],
    where: Mapping[str, object] | None = None,
    contains: Mapping[str, str] | None = None,
    between: Ranges | None = None,
    order_by: str | None = None,
    total: int | None = None,
    beside_count: Callable[[], None] | None = None,
) -> Page[T]:
    """Draws one page of a view, and below it how many rows there are.

    `draw` takes the page's rows and a key for the element that shows them. `counted` puts the
    number of rows into words; `total` is that number, where it is known already. `beside_count`
    draws what can be done with rows.
    """
    chosen: dict[str, Any] = {"where": where, "contains": contains, "between": between}

    def rows_of(page: int) -> Sequence[views.Row]:
        offset = (page - 1) * ROWS
        return views.read(view, **chosen, order_by=order_by, limit=ROWS, offset=offset)

    if total is None:
        total = views.count(view, **chosen)
    if not total:
        return Page(0, None)
    pages = -(-total // ROWS)
    number = address.page_number(pages) if pages > 1 else address.only_page()
    file = views.source(service.current())  # another one once somebody in it was forgotten
    asked = file, views.as_of(), chosen, order_by, number, acting.caught_up()
    rows = _staying(view, asked, partial(rows_of, number))
    if not rows:  # the ledger went on since they were counted, and fewer are left
        number, total = 1, views.count(view, **chosen)
        rows = rows_of(number)
        if not rows:
            return Page(0, None)
        pages = -(-total // ROWS)
    question = downloads.Question(
        view, views.as_of(), where or {}, contains or {}, between or {}, order_by
    )
    downloads.say_on_paper(question, page=number, pages=pages)
    # From the top down: an element that appears above others moves them while somebody reads.
    drawn = draw(rows, f"{view} {number}")
    with st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key=f"under_{view}",
    ):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(formats.muted(counted(total)), width="content")
            downloads.offer(question, rows=total, key=view)
            if beside_count is not None:
                beside_count()
        if pages > 1:
            address.turn_pages(pages)
    return Page(total, drawn)


def _staying(
    view: str, asked: tuple[Any, ...], read: Callable[[], Sequence[views.Row]]
) -> Sequence[views.Row]:
    """The rows of a list. A click in it leaves those where they are that were asked for alike: the
    next click may be on its way to them. Not so after an act of the reader, which they would not
    show."""
    last: _Shown | None = st.session_state.get(f"{_SHOWN} {view}")
    is_clicked = st.session_state.pop(f"{_CLICKED} {view}", False)
    if is_clicked and last is not None and last.asked == asked:
        views.rest_on(*last.rests_on)
        return last.rows
    rows = read()
    st.session_state[f"{_SHOWN} {view}"] = _Shown(asked, rows, views.rests_on())
    return rows


def begin_line(row: views.Row, names: Mapping[str, str]) -> None:
    """Begins a line about a review: its process and its seller as links, by `names` (id -> name
    in clear) where it has one; lines below each other begin alike."""
    with st.container(width=SUBJECT_ID_WIDTH + 40):  # of the link's icon and edges
        links.to_process(row["process_id"], is_named=True)
    seller_id = row["seller_id"]
    seller = seller_names.shown(seller_id, names.get(seller_id), seller_names.showing())
    with st.container(width=LINE_SELLER_WIDTH + 40):
        links.to_seller(seller_id, is_named=True, name=seller)


class Listed(NamedTuple):
    """What a list shows of its rows, and what may be done with them."""

    cells: Callable[[views.Row], Mapping[str, Any]]
    """Column -> what a row's cell shows, where that is not the view's own value."""
    columns: Mapping[str, Any]
    alt: str
    sorts: Mapping[str, str] = {}
    """Column of the grid -> the view's column by which a click on its head sorts, where that is
    another one; "" where nothing is sorted by it."""
    act: Callable[[Sequence[views.Row]], None] | None = None
    """Draws what can be done with the ticked rows; None: rows cannot be ticked."""


def with_card(
    facets: views.Facets,
    listed: Listed,
    card: Callable[[views.Row], None],
    *,
    counted: Callable[[int], str],
    nothing_matches: str,
    within: Mapping[str, Sequence[object]] | None = None,
    order_by: str | None = None,
    when_empty: Callable[[], None] | None = None,
    below_card: Callable[[], None] | None = None,
    beside_count: Callable[[], None] | None = None,
) -> None:
    """A filtered view page by page, with a card about the chosen row beside it.

    A click anywhere on a row chooses it; a click on the head of a column sorts all rows by it. The
    URL holds both. `facets` are the view, the reader's filters and how many rows these leave.
    `within`, the facets' `period` and `order_by` say what the list is about: each holds for a
    column until the reader chooses otherwise, and none counts as a filter that could be removed.
    `within` has columns that the facets count. `when_empty` draws what is said where the list has
    no row and no filter is set; otherwise `nothing_matches` is said. `below_card` and
    `beside_count` draw what leads to the rest of the page: below the card where that leaves room,
    else beside the number of rows.
    """
    view, asked = facets.view, facets.asked
    about = {column: some for column, some in (within or {}).items() if column not in asked.where}
    order = address.order(_sorts(view, listed).values()) or order_by
    chosen: dict[str, Any] = {
        "where": {**about, **asked.where} or None,
        "contains": asked.contains or None,
        "between": {**facets.period, **asked.between} or None,
    }
    compared.show(view, listed.cells, listed.columns, grid, **chosen)
    drawn = _Grid(facets, listed, order, chosen)

    def act() -> None:
        drawn.act()
        if beside_count is not None:
            beside_count()

    def draw() -> None:
        main, beside = st.columns([5, 2], gap="small")
        with main:
            page = paged(
                view,
                drawn.draw,
                counted=counted,
                **chosen,
                order_by=order,
                total=facets.rows(**about),
                beside_count=act,
            )
        if page.drawn is not None:
            with beside.container(border=True, key="card"):
                _draw_card(view, page.drawn.row, card)
            if below_card is not None:
                with beside:
                    below_card()
        elif when_empty is not None and not any(asked):
            when_empty()
        else:
            elements.empty(nothing_matches, _("Remove a filter to see more."))

    alone.part(draw)
    drawn.name_sellers()


def _draw_card(view: str, row: views.Row | None, card: Callable[[views.Row], None]) -> None:
    """The card of a row; None: the one in the URL is not in the list."""
    # On a phone the card lies over the list, and is only there once a row was chosen.
    if address.chosen():
        st.button(
            _("Back to the list"),
            icon=":material/arrow_back:",
            on_click=_close_card,
            key="card_closed",
        )
    else:
        st.empty()
    if row is None:
        _say_left(view)
    else:
        card(row)


def _say_left(view: str) -> None:
    """Says that the row in the URL is not in the list. The card of another row in its place would
    be mistaken for it. Its forms were here, so what became of their presses is said here."""
    acting.say_rest()
    column, *others = public()[view].key
    chosen = address.chosen()
    name = _("the row that was chosen") if others else formats.code(views.shown(column, chosen))
    st.info(
        _("Choose another row, or go on with the list as it is now."),
        title=_("This list does not have {row}, or not any more", row=name),
        icon=":material/playlist_remove:",
    )
    if column == "process_id" and not others:
        links.to_process(chosen)
    st.button(_("Show the first row"), on_click=_close_card, key="card_of_first")


def _close_card() -> None:
    """Back to the list; a tap on the same row opens it again."""
    address.choose("")
    untick()


def untick() -> None:
    """Unticks all rows of the lists that are drawn from here on."""
    st.session_state[_UNTICKED] = unticked() + 1


def unticked() -> int:
    """How often `untick` was called. It is a part of each grid's key, so that each call gives the
    grids new keys, and so no ticks."""
    times: int = st.session_state.get(_UNTICKED, 0)
    return times


def _sorts(view: str, listed: Listed) -> dict[str, str]:
    """Columns of the grid -> the view's column by which a click on their head sorts."""
    own = {name: listed.sorts.get(name, name) for name in listed.columns}
    return {name: column for name, column in own.items() if column in public()[view].columns}


class _Drawn(NamedTuple):
    row: views.Row | None  # the one that is chosen; None where it is not in the list


class _Grid:
    """One page of rows of which one is chosen, and any may be ticked."""

    def __init__(
        self,
        facets: views.Facets,
        listed: Listed,
        order: str | None,
        chosen: Mapping[str, Any],
    ) -> None:
        """`chosen`: what is asked of the view, as `views.read` takes it."""
        self._view, self._counted_in = facets.view, facets.counted_in
        self._listed, self._order, self._asked = listed, order, chosen
        self._rows: Sequence[views.Row] = ()
        self._ticked: list[views.Row] = []

    def draw(self, rows: Sequence[views.Row], key: str) -> _Drawn:
        """Draws the rows. Returns the chosen one, which is the first until the reader chooses."""
        self._rows = rows
        names = [self._name(row) for row in rows]
        row = self._chosen(rows, names)
        chosen = None if row is None else self._name(row)
        mark(names.index(chosen) if chosen in names else None)
        ticked = ticks.of(self._counted_in, unticked())
        ids = [self._id(row) for row in rows]
        others = self._of_other_pages(ticked.ids.difference(ids))
        key, begun_with = ticked.begin(
            f"{key} {self._order or ''} {unticked()}", ids, [self._id(row) for row in others]
        )
        modes: list[Any] = ["single-cell", "single-column"]
        if self._listed.act is not None:
            modes.append("multi-row")
        seen = self._showing()
        sellers = {} if seen is None else seller_names.of(rows)
        columns = self._columns()
        shown = still(
            (
                {
                    SELLER: seller_names.shown(
                        row.get("seller_id"), sellers.get(row.get("seller_id")), seen
                    ),
                    **row,
                    **self._listed.cells(row),
                }
                for row in rows
            ),
            columns,
        )
        room = SELLER_ID_CHARACTERS
        if seen is not None:
            room = NAME_CHARACTERS
        elif columns.get(SELLER, {}).get("width") == SUBJECT_ID_WIDTH:
            room = SUBJECT_ID_CHARACTERS
        said = [line.get(SELLER, "") for line in shown]
        named = kept_apart([row.get("seller_id") for row in rows], said, room)
        event = st.dataframe(
            _table(
                [
                    line | {SELLER: name} if SELLER in line else line
                    for line, name in zip(shown, named, strict=True)
                ]
            ),
            key=key,
            hide_index=True,
            placeholder="",
            row_height=ROW_HEIGHT,
            height=height_of(rows),
            on_select=partial(self._take, key, ids, names, ticked),
            selection_mode=modes,
            selection_default={"selection": {"rows": begun_with}} if begun_with else None,
            column_config=columns,
            column_order=list(columns),
            alt=self._listed.alt,
        )
        printed(shown, columns)
        ticked.take(key, ids, event["selection"]["rows"])
        here = [row for row, it in zip(rows, ids, strict=True) if it in ticked.ids]
        self._ticked = [*here, *others]
        return _Drawn(row)

    def act(self) -> None:
        """What can be done with the list, and with the rows that were ticked."""
        compared.control()
        if self._listed.act is not None:
            self._listed.act(self._ticked)

    def name_sellers(self) -> None:
        """What shows the names of the sellers who stand in the list, at the end of its filters."""
        line = st.session_state.pop(_LINE, None)
        if line is not None and SELLER in self._listed.columns:
            with line, st.container(key="names_of_list"):
                seller_names.control(self._rows, _("Show names"))

    def _showing(self) -> Showing | None:
        """By what sellers are named in the list now. Masked names beside the ids of those without
        one made a column of two things, by which nobody was found."""
        return seller_names.showing() if SELLER in self._listed.columns else None

    def _of_other_pages(self, ticked: set[str]) -> Sequence[views.Row]:
        """The rows of these ids that the list still has, whatever page they are on."""
        column, *more = public()[self._view].key
        where = self._asked["where"] or {}
        wanted = sorted(ticked.intersection(where.get(column, ticked)))
        if more or not wanted:
            return ()
        asked = {**self._asked, "where": {**where, column: wanted}}
        return views.read(self._view, **asked, order_by=self._order)

    def _key_of(self, row: views.Row) -> dict[str, str]:
        return {column: str(plain(row[column])) for column in public()[self._view].key}

    def _id(self, row: views.Row) -> str:
        """The key of a row as text. Ticks hold on to it: two that are masked may look the same."""
        return " ".join(self._key_of(row).values())

    def _name(self, row: views.Row) -> str:
        """The same as the URL holds it. For a reader who may not see people it is masked."""
        if access.may(Permission.UNMASK):
            return self._id(row)
        parts = self._key_of(row).items()
        return " ".join(views.shown(column, part) for column, part in parts)

    def _chosen(self, rows: Sequence[views.Row], names: Sequence[str]) -> views.Row | None:
        chosen = address.chosen()
        if not chosen:
            return rows[0]
        return rows[names.index(chosen)] if chosen in names else self._elsewhere(chosen)

    def _elsewhere(self, chosen: str) -> views.Row | None:
        """The chosen row, where it stands on another page; None where it is not in the view."""
        key = public()[self._view].key
        return views.read_one(self._view, where={key[0]: chosen}) if len(key) == 1 else None

    def _columns(self) -> dict[str, Any]:
        """The columns of the grid; the one by which its rows are sorted says so."""
        column, _, direction = (self._order or "").partition(" ")
        sorts = _sorts(self._view, self._listed)
        columns = dict(self._listed.columns)
        if self._showing() is not None:
            columns[SELLER] = {**columns[SELLER], "width": NAME_WIDTH}
        elif SELLER in columns and "seller_id" in columns:  # once is enough, and whole
            order = ["seller_id" if it == SELLER else it for it in columns]
            columns = {it: columns[it] for it in order}
        if not column:
            return columns
        mark = "↓" if direction == "desc" else "↑"
        return {
            name: {**config, "label": f"{config['label']} {mark}"}
            if sorts.get(name) == column
            else config
            for name, config in columns.items()
        }

    def _take(
        self, key: str, ids: Sequence[str], names: Sequence[str], ticked: ticks.Ticks
    ) -> None:
        """Acts on a click: on a box, it ticks the row; on a cell, it chooses the row; on the head
        of a column, it sorts. A cell of the row that is chosen already changes nothing, since Tab
        goes through its cells. `ids`, `names`: of the rows in the grid that was clicked, which need
        not be the one that was drawn last."""
        st.session_state[f"{_CLICKED} {self._view}"] = True
        selection = st.session_state[key]["selection"]
        ticked.take(key, ids, selection["rows"])
        for number, _column in selection["cells"]:
            if number < len(names) and names[number] != address.chosen():
                address.choose(names[number])
        for column in selection["columns"]:
            if found := _sorts(self._view, self._listed).get(column):
                address.sort_by(found, is_sorted=self._order)


def about(text: str, *, is_ticked: bool = False) -> None:
    """What a list shows, below it: above it, it would stand between its reader and the rows.
    `is_ticked`: whether its rows can be ticked, which nobody guesses how by the keyboard."""
    ticks = [
        _("Shift with the space bar ticks the row in focus."),
        _("Ticks stay on other pages of the list, and in another order."),
    ]
    st.markdown(formats.muted(" ".join([text, *ticks] if is_ticked else [text])))


def sought_id() -> str:
    """The placeholder of a filter by an id: what may be typed there."""
    return _("Part of the id") if access.may(Permission.UNMASK) else _("The whole id")


def sought_process() -> str:
    """The same of a process, where the line shows no label."""
    is_part = access.may(Permission.UNMASK)
    return _("Process: part of the id") if is_part else _("Process: the whole id")


def begin() -> None:
    """Forgets the line of filters that an earlier run drew: a list that this one draws without any
    would add to it."""
    st.session_state.pop(_LINE, None)


def filters() -> Any:
    """Where the filters of a list stand, side by side; their labels are said to the ear alone."""
    line = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="filters")
    st.session_state[_LINE] = line  # what acts on the whole list comes at its end
    return line


@contextmanager
def more_filters(keys: Sequence[str]) -> Iterator[None]:
    """Filters that fold away, since the line has no room for them. `keys`: their keys in the URL;
    the button says how many of them are set."""
    set_now = sum(key in st.query_params for key in keys)
    label = _("More filters")
    if set_now:
        label = f"{label} **({formats.number(set_now)})**"
    with st.popover(label, icon=":material/tune:", key="more_filters"):
        yield
    if sum(key in st.query_params for key in keys) != set_now:
        st.rerun()  # before the list: what was just set in it has to be seen on it


def grid(
    rows: Sequence[dict[str, Any]], columns: Mapping[str, Any], *, alt: str, key: str | None = None
) -> None:
    """A grid to read, with nothing to choose in it."""
    rows = still(rows, columns)
    st.dataframe(
        _table(rows),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height_of(rows),
        column_config=columns,
        column_order=list(columns),
        alt=alt,
    )
    printed(rows, columns)


def _table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a browser gets them. By way of pandas, as Streamlit goes with rows, it takes ten
    times as long, a millisecond for fifty."""
    return pa.Table.from_pylist([*rows])


def mark(place: int | None) -> None:
    """Says which row is the chosen one of the grid that comes next; None: it has none such. By
    that a browser marks the whole row, over the grid (`static/page.js`): a column or a style in it
    would have the grid sent, and drawn, again for each row that is chosen."""
    st.html(f'<i class="prazo-chosen" data-row="{"" if place is None else place}"></i>')


def printed(rows: Sequence[dict[str, Any]], columns: Mapping[str, Any]) -> None:
    """The rows of a grid, as `still` gives them, as a table for paper, where a grid would show only
    the part that is scrolled to."""
    head = "".join(f"<th>{escape(str(it['label']))}</th>" for it in columns.values())
    body = "".join(
        f"<tr>{''.join(_printed_cell(_on_paper(row.get(name))) for name in columns)}</tr>"
        for row in rows
    )
    st.html(
        f'<div class="prazo-printed"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _printed_cell(said: str) -> str:
    # Most texts are shorter as a whole: 50 rows of ten are a page's.
    is_long = len(said) > PRINTED_WORD and any(len(it) > PRINTED_WORD for it in said.split())
    return f"<td{' class=long' if is_long else ''}>{escape(said)}</td>"


def _on_paper(value: Any) -> str:
    """A grid's value as text, as the grid itself writes it."""
    match value:
        case None:
            return ""
        case datetime():
            return formats.minute(value)
        case list():
            return ", ".join(map(str, value))
        case int() | float() if not isinstance(value, bool):
            return formats.number(value)
        case _:
            return str(value)


def still(rows: Iterable[dict[str, Any]], columns: Iterable[str]) -> list[dict[str, Any]]:
    """The rows as a grid shows them: ids that look personal are masked, and text from outside can
    neither reverse nor hide anything in the grid. A browser gets what it shows, and no other value
    of a row: there, anybody could bring a hidden column to light."""

    def shown(column: str, value: Any) -> Any:
        if isinstance(value, list):
            return [shown(column, it) for it in value]
        if isinstance(value, dict):
            return {name: shown(column, it) for name, it in value.items()}
        return printable(views.shown(column, value)) if isinstance(value, str) else value

    columns = [*columns]
    return [{name: shown(name, row.get(name)) for name in columns} for row in rows]


def cut(whole: str, room: int) -> str:
    """A text, such as a seller's name, as far as its column has room, with a sign that there is
    more."""
    return f"{whole[: room - 1].rstrip()}…" if len(whole) > room else whole


def kept_apart(ids: Sequence[str | None], names: Sequence[str], room: int) -> list[str]:
    """The names of sellers as far as there is room; where those of two would look alike, with the
    end of their ids, as pages show them: one may be a tax id."""
    short = [cut(name, room) for name in names]
    alike = Counter(name for _id, name in set(zip(ids, short, strict=True)))
    return [
        f"{cut(whole, room - 6)} …{views.shown('seller_id', seller_id)[-4:]}"
        if seller_id and alike[name] > 1
        else name
        for seller_id, whole, name in zip(ids, names, short, strict=True)
    ]


def height_of(rows: Sequence[dict[str, Any]]) -> int:
    """The height of a grid in pixels. It is fixed, so that what stands below the grid does not move
    when the browser draws it."""
    return ROW_HEIGHT * (min(len(rows), VISIBLE_ROWS) + 1) + 3


def text(label: str, width: int | None = None) -> Any:
    return st.column_config.TextColumn(label, width=width)


def subject_id(label: str) -> Any:
    """A column wide enough for a whole id of a process or a seller: a grid cuts a text that has no
    room without a sign, and a cut id that somebody copies finds nothing."""
    return text(label, SUBJECT_ID_WIDTH)


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


def chips(label: str, colours: Mapping[str, str], width: int | None = 102) -> Any:
    """Cells are lists of words; each word a chip in its colour."""
    return st.column_config.MultiselectColumn(
        label, options=list(colours), color=list(colours.values()), width=width
    )


def coded(
    label: str, words: Mapping[str, str], colours: Mapping[str, code_texts.Colour], width: int = 152
) -> Any:
    """Cells are lists of the words of codes; each word a chip in the colour of its code, orange
    where it has none of its own."""
    named = code_texts.by_code(words).items()
    return chips(label, {name: colours.get(code, "orange") for code, name in named}, width)
