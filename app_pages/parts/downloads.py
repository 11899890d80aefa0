"""Hands out the rows of a view as a file: all of them, and what was asked with them."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pyarrow as pa
import streamlit as st

from app_pages.door import audience, handed
from app_pages.language import columns, formats
from app_pages.language.i18n import N_, _, language, said_in
from app_pages.parts import folds, seller_names, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.language.catalogue import Language
from pipeline.ledger.views import formats as tables
from pipeline.ledger.views.catalogue import public
from pipeline.ledger.views.formats import Format
from pipeline.serve import compared, identifiers
from pipeline.serve.roles import Permission, Person
from pipeline.serve.shown_names import Showing
from pipeline.texts import printable

Form = Format | Literal["spreadsheet"]
"""A file that is offered: `spreadsheet` is a CSV for a spreadsheet of the reader's language."""
OFFERED: Final[Mapping[Form, str]] = {
    "xlsx": "XLSX",
    "spreadsheet": N_("CSV for spreadsheets"),
    "csv": N_("CSV for programs"),
    "parquet": "Parquet",
}
_SEPARATORS: Final[Mapping[Language, tuple[str, str]]] = {"en": (",", "."), "pt": (";", ",")}
"""What spreadsheets of a language expect between cells, and before decimals."""
_NAME_CHARACTERS: Final = 120
_NOT_IN_NAMES: Final = re.compile(r"[^\w.+~-]+")

_ROWS_SHEET: Final = N_("Rows")
_ABOUT_SHEET: Final = N_("What was asked")
_VIEW: Final = N_("View")
_AS_OF: Final = N_("As of")
_COMPARED: Final = N_("Compared with")
_ZONE: Final = N_("Time zone of the instants")
_ENTRIES: Final = N_("Entries of the log")
_ROWS: Final = N_("Rows")
_CONTAINS: Final = N_("contains {part}")
_FROM: Final = N_("from {end}")
_BEFORE: Final = N_("before {end}")
_SORTED: Final = N_("Sorted by")
_THEN: Final = N_("{column}, then")
_DOWN: Final = N_("{column}, the highest first")
_OR: Final = N_(" or ")
_YES: Final = N_("yes")
_NO: Final = N_("no")
_PERSONAL: Final = N_("Personal data")
_MASKED: Final = N_("masked")
_NAMED: Final = N_("masked, but for the names of sellers")
_NAME_LABEL: Final = N_("Name of the seller")
_NAME: Final = "seller_name"
"""The column in which a file has the names of sellers."""


class Reader(NamedTuple):
    """For whom a file is made, which is known before the button is pressed."""

    language: Language
    zone: ZoneInfo


class Question(NamedTuple):
    """Which rows of a view a file holds."""

    view: str
    as_of: int | None = None  # microseconds; None for the instant at which the file is made
    where: Mapping[str, object] = {}
    contains: Mapping[str, str] = {}
    between: Mapping[str, tuple[object, object]] = {}
    order_by: str | None = None
    compared_with: int | None = None
    """The earlier instant, where the file says what differs from it and not how the list is."""
    columns: tuple[str, ...] = ()  # that are compared

    def asked(self) -> dict[str, Any]:
        """The same, for `Reader.read`."""
        return {
            "where": self.where,
            "contains": self.contains,
            "between": self.between,
            "order_by": self.order_by,
        }


def say_on_paper(question: Question, *, page: int, pages: int) -> None:
    """Which page of which rows a printed list is: filters that fold away and the number of the page
    stand in controls, which paper does not have, and a part would pass for all."""
    asked = _filters(question, Reader(language(), formats.zone()))
    said = [f"{name}: {condition}" for name, condition in asked.items()]
    if pages > 1:
        said.append(_("Page {n} of {total}", n=formats.number(page), total=formats.number(pages)))
    if said:
        st.html(f'<p class="prazo-printed">{escape(printable(" · ".join(said)))}</p>')


def offer(question: Question, *, rows: int, key: str) -> None:
    """Behind one button, a button for each format, with what has to be known of each. `key`: tells
    these buttons from others of the page."""
    reader = Reader(language(), formats.zone())
    forms = forms_for(rows)
    place = folds.popover(_("Download"), icon=":material/download:", key=f"downloads {key}")
    if place is None:
        return
    with place:
        st.markdown(
            _(
                "Every row ({n}), not only those on this page. The name says which filters and"
                " which instant were chosen, and up to which entry of the log it goes; XLSX and"
                " Parquet say it inside, too. Personal data is masked.",
                n=formats.number(rows),
            )
        )
        say_names(question)
        if "xlsx" not in forms:
            st.markdown(_("No spreadsheet holds this many rows: choose CSV or Parquet."))
        # One below the other they were taller than what a window has beside the button.
        with st.container(horizontal=True, gap="small"):
            for form in forms:
                button(question, form, reader, key=key)
        if "spreadsheet" in forms:
            st.markdown(
                _(
                    "A spreadsheet that opens a CSV drops leading zeros: an id 00123 becomes 123."
                    " XLSX keeps every id as text. Times are of {zone}.",
                    zone=reader.zone,
                )
            )
        st.markdown(
            _(
                "CSV and Parquet are for programs: instants in UTC, columns by their names in SQL."
                " Read every column of a CSV as text, in pandas with dtype=str, so that ids stay as"
                " they are."
            )
        )


def beside(question: Question, *, rows: int, key: str) -> None:
    """The same buttons side by side, one click from a figure's rows; what has to be known of each
    stands below lists."""
    reader = Reader(language(), formats.zone())
    with st.container(horizontal=True, gap="small"):
        for form in forms_for(rows):
            button(question, form, reader, key=key)
    say_names(question)
    if question.as_of is None:
        newer = _(
            "A file goes to the end of the log, up to the entry in its name: this page may be"
            " older."
        )
        st.markdown(formats.muted(newer))


def forms_for(rows: int) -> list[Form]:
    """In which formats so many rows are offered."""
    return [
        form for form in OFFERED if form not in ("xlsx", "spreadsheet") or rows <= tables.XLSX_ROWS
    ]


def say_names(question: Question) -> None:
    """That a file would have the names of sellers, where it would."""
    if _showing(question) is not None:
        st.markdown(_("The names of sellers are in it: the log says whose, to whom and why."))


def button(question: Question, form: Form, reader: Reader, *, key: str) -> None:
    """Hands out a file, which is made when it is asked for; personal data is masked, but for names
    that the session sees."""
    showing = _showing(question)

    def may(whoever: Person) -> bool:
        may_name = showing is None or whoever.may(Permission.UNMASK)
        return may_name and audience.may_read(whoever, question.view)

    handed.button(
        _(OFFERED[form]),
        maker(question, form, reader, showing),
        file_name=file_name(question, form, views.moment(), reader.zone),  # until it is made
        mime=tables.MEDIA_TYPES["csv" if form == "spreadsheet" else form],
        may=may,
        key=f"download {key} {form}",
    )


def _showing(question: Question) -> Showing | None:
    """By what a file has the names of sellers, where it has them."""
    return seller_names.showing() if _may_name(question) else None


def in_python(question: Question, origin: str, *, needs_token: bool) -> str:
    """Two lines of Python that read the same rows, with personal data masked, from the API that
    stands beside these pages. `origin`: their address without a path."""
    asked = [("format", "parquet")]
    if question.as_of is not None:
        asked.append(("as_of", instants.readable(question.as_of)))
    asked += [
        ("where", f"{column}={views.shown(column, str(tables.plain(value)))}")
        for column, value in question.where.items()
    ]
    address = f"{origin}/api/views/{question.view}?{urlencode(asked)}"
    if not needs_token:
        return f"import pandas\nrows = pandas.read_parquet({address!r})"
    token = "{'Authorization': 'Bearer ' + os.environ['PRAZO_TOKEN']}"
    return f"import os, pandas\nrows = pandas.read_parquet({address!r}, storage_options={token})"


def _may_name(question: Question) -> bool:
    """Whether a file has a column for the names of sellers: of a comparison, it has none."""
    columns = public()[question.view].columns
    is_list = question.compared_with is None and _NAME not in columns
    return is_list and "seller_id" in columns


def maker(
    question: Question, form: Form, reader: Reader, showing: Showing | None = None
) -> Callable[[], handed.Made]:
    """Makes the file once its button is pressed, and names it. `showing`: by what it has the names
    of sellers, if that is not over by then."""

    def make() -> handed.Made:
        held = service.current()
        at = held.now() if question.as_of is None else question.as_of
        last_seq = held.ledger.size
        named = file_name(question, form, instants.of(at), reader.zone, last_seq)
        return handed.Made(content(held, at, last_seq), named)

    def content(held: service.LedgerService, at: int, last_seq: int) -> bytes:
        view = question.view
        seen = None if showing is None or showing.is_over else showing
        rows = _rows(question, held, at, seen)
        if form == "spreadsheet":
            return tables.spreadsheet_csv(rows, look(rows, view, reader))
        if form != "xlsx":
            said = identifiers.masked_question(question.asked())
            notes = tables.notes(view, rows, as_of=at, last_seq=last_seq, **said)
            if question.compared_with is not None:
                notes["compared_with"] = instants.readable(question.compared_with)
            if seen is not None:
                notes["personal"] = _NAMED
            return tables.encode(rows, form, notes)
        words = in_words(question, reader, at=at, last_seq=last_seq, rows=rows.num_rows)
        if seen is not None:
            words[said_in(reader.language, _PERSONAL)] = said_in(reader.language, _NAMED)
        return tables.encode(rows, form, words, look(rows, view, reader))

    return make


def _rows(
    question: Question, held: service.LedgerService, at: int, showing: Showing | None
) -> pa.Table:
    """The rows of a file, with ids masked, and with names where they are shown; of a comparison,
    what differs."""

    def read(instant: int) -> pa.Table:
        rows = held.reader.read(question.view, as_of=instant, **question.asked())
        hidden = identifiers.masked(rows, held.inbox.log_key)
        if showing is None:
            return hidden
        sellers = rows.column("seller_id").to_pylist()
        names = showing.names(held, sorted({it for it in sellers if it is not None}), instant)
        beside = hidden.schema.get_field_index("seller_id") + 1
        column = pa.array([names.get(it) for it in sellers], type=pa.string())
        return hidden.add_column(beside, _NAME, column)

    now = read(at)
    if question.compared_with is None:
        return now
    key = public()[question.view].key
    then = read(question.compared_with)
    found = compared.differences(then.to_pylist(), now.to_pylist(), key, question.columns)
    return compared.table(found, now.schema, key, question.columns)


def look(rows: pa.Table, view: str, reader: Reader) -> tables.Look:
    """A spreadsheet of a view as its reader would have made it."""
    into = reader.language
    codes = columns.meanings(view, into, columns.kinds(view, rows))
    labels = {column: columns.label(view, column, into) for column in public()[view].columns}
    labels.setdefault(_NAME, said_in(into, _NAME_LABEL))
    earlier = {
        compared.THEN + column: said_in(into, _THEN, column=label)
        for column, label in labels.items()
    }
    kinds = {code: said_in(into, name) for code, name in columns.DIFFERENCES.items()}
    return tables.Look(
        reader.zone,
        {**labels, **earlier, compared.KIND: said_in(into, columns.DIFFERENCE)},
        _at_both(codes) | {compared.KIND: kinds},
        _at_both(columns.sentences(view, into)),
        formats.SHEET_MINUTE[into],
        formats.SHEET_DAY[into],
        said_in(into, _ROWS_SHEET),
        said_in(into, _ABOUT_SHEET),
        said_in(into, _ZONE),
        *_SEPARATORS[into],
        formats.CSV_DAY[into],
        (said_in(into, _YES), said_in(into, _NO)),
    )


def _at_both(of: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of columns, for the earlier instant of a comparison, too."""
    return {**of, **{compared.THEN + column: it for column, it in of.items()}}


def in_words(
    question: Question, reader: Reader, *, at: int, last_seq: int, rows: int
) -> dict[str, str]:
    """What a file answers, in the reader's words: it must still say so where it was handed on."""
    into, view = reader.language, question.view
    said = {
        said_in(into, _VIEW): columns.view_name(view, into),
        said_in(into, _AS_OF): formats.second_in(instants.of(at), *reader),
        **(
            {}
            if (then := question.compared_with) is None
            else {said_in(into, _COMPARED): formats.second_in(instants.of(then), *reader)}
        ),
        said_in(into, _ENTRIES): str(last_seq),
        said_in(into, _ROWS): str(rows),
        said_in(into, _PERSONAL): said_in(into, _MASKED),
    }
    return said | _filters(question, reader)


def _filters(question: Question, reader: Reader) -> dict[str, str]:
    """Which rows were asked for, and in which order: what stands in words beside each column."""
    into, view = reader.language, question.view
    said: dict[str, str] = {}
    for column, condition in _conditions(question, reader):
        name = columns.label(view, column, into)
        said[name] = "; ".join(filter(None, (said.get(name), condition)))
    if question.order_by is not None:
        column, _space, direction = question.order_by.partition(" ")
        name = columns.label(view, column, into)
        said[said_in(into, _SORTED)] = (
            said_in(into, _DOWN, column=name) if direction == "desc" else name
        )
    return said


def _conditions(question: Question, reader: Reader) -> Iterator[tuple[str, str]]:
    """Each column that was asked for, and what of it."""
    into = reader.language
    words = columns.meanings(question.view, into)

    def said(column: str, value: object) -> str:
        if isinstance(value, datetime):
            return formats.second_in(value, *reader)
        if isinstance(value, bool):
            return said_in(into, _YES if value else _NO)
        text = str(tables.plain(value))
        return words.get(column, {}).get(text, views.shown(column, text))

    for column, value in question.where.items():
        either = value if isinstance(value, list | tuple) else [value]
        yield column, said_in(into, _OR).join(said(column, it) for it in either)
    for column, part in question.contains.items():
        yield column, said_in(into, _CONTAINS, part=views.shown(column, part))
    for column, ends in question.between.items():
        for word, end in zip((_FROM, _BEFORE), ends, strict=True):
            if end is not None:
                yield column, said_in(into, word, end=said(column, end))


def file_name(
    question: Question, form: Form, moment: datetime, zone: ZoneInfo, last_seq: int | None = None
) -> str:
    """View, filters, date and the last entry that counts, so that nobody has to open a file to know
    what it is, nor takes it for the page whose button made it: that is older. `moment` is naive
    UTC: a past one stands in the name to the minute. `last_seq`: None until the file is made."""
    asked = []
    for column, value in question.where.items():
        either = value if isinstance(value, list | tuple) else [value]
        some = "+".join(views.shown(column, str(tables.plain(it))) for it in either)
        asked.append(f"{column}-{some}")
    for column, part in question.contains.items():
        asked.append(f"{column}~{views.shown(column, part)}")
    for column, ends in question.between.items():
        first, beyond = ("" if it is None else str(tables.plain(it)) for it in ends)
        asked.append(f"{column}-{first}-{beyond}")
    if question.compared_with is not None:
        asked.append(f"since-{instants.of(question.compared_with):%Y-%m-%dT%H%MZ}")
    day = f"{moment.replace(tzinfo=UTC).astimezone(zone):%Y-%m-%d}"
    when = day if question.as_of is None else f"{moment:%Y-%m-%dT%H%MZ}"
    if last_seq is not None:
        when += f"_entry-{last_seq}"
    filters = "_".join(_NOT_IN_NAMES.sub("-", it).strip("-") for it in asked)
    most = _NAME_CHARACTERS - len(question.view) - len(when)
    filters = filters if len(filters) <= most else f"{filters[:most]}-etc"
    named = "_".join(filter(None, ("prazo", question.view, filters, when)))
    return f"{named}_spreadsheet.csv" if form == "spreadsheet" else f"{named}.{form}"
