"""Hands out the rows of a view as a file: all of them, with the question written into it."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from app_pages.door import access, audience
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import views
from pipeline import instants
from pipeline.errors import CallerError
from pipeline.ledger import formats as tables
from pipeline.ledger import service
from pipeline.ledger.formats import Format
from pipeline.ledger.reader import Ranges
from pipeline.serve import identifiers
from pipeline.serve.roles import Person
from pipeline.texts import printable

OFFERED: Final[Mapping[Format, str]] = {"csv": "CSV", "parquet": "Parquet", "xlsx": "XLSX"}


def offer(
    view: str,
    *,
    rows: int,
    where: Mapping[str, object] | None = None,
    contains: Mapping[str, str] | None = None,
    between: Ranges | None = None,
    order_by: str | None = None,
) -> None:
    """A button for each format. The file is made when it is asked for; personal data is masked."""
    with st.popover(_("Download"), icon=":material/download:"):
        st.markdown(
            _(
                "Every row ({n}), not only those on this page. The file also says which"
                " filters and which instant were chosen. Personal data is masked.",
                n=formats.number(rows),
            )
        )
        for form, name in OFFERED.items():
            if form == "xlsx" and rows > tables.XLSX_ROWS:
                st.markdown(_("A spreadsheet cannot hold this many rows: choose another format."))
                continue
            st.download_button(
                name,
                maker(
                    view,
                    form,
                    views.as_of(),
                    dict(where or {}),
                    dict(contains or {}),
                    access.session(),
                    dict(between or {}),
                    order_by,
                ),
                file_name=f"prazo-{view}.{form}",
                mime=tables.MEDIA_TYPES[form],
                icon=":material/download:",
                on_click="ignore",
                key=f"download {view} {form}",
                width="stretch",
            )


def maker(
    view: str,
    form: Format,
    as_of: int | None,
    where: dict[str, Any],
    contains: dict[str, str],
    session: Callable[[], Person | None],
    between: Ranges | None = None,
    order_by: str | None = None,
) -> Callable[[], bytes]:
    """Makes the file once the button is pressed, when the page's run is long over, and the session
    of whoever looks may be, too."""

    def make() -> bytes:
        whoever = session()
        if whoever is None or not audience.may_read(whoever, view):
            raise CallerError(f"{view} is not handed out", "the session is over, or the role gone")
        held = service.current()
        at = instants.now() if as_of is None else as_of
        last_seq = held.status().last_seq
        asked: dict[str, Any] = {
            "where": where,
            "contains": contains,
            "between": between,
            "order_by": order_by,
        }
        rows = held.reader.read(view, as_of=at, **asked)
        rows = identifiers.masked(rows, held.inbox.log_key)
        notes = tables.notes(view, rows, as_of=at, last_seq=last_seq, **asked)
        return written(tables.encode(rows, form, notes), form, notes)

    return make


def written(content: bytes, form: Format, notes: Mapping[str, str]) -> bytes:
    """The file with its notes: CSV has no other room for them than lines on top, each with `#`."""
    if form != "csv":
        return content
    head = io.StringIO(newline="")
    lines = csv.writer(head)
    for name, note in notes.items():
        lines.writerow([tables.csv_cell(f"# {name}: {printable(note)}")])
    return head.getvalue().encode("utf-8") + content
