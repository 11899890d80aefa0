"""Shows a chart, or a table in its place, with all that it rests on: its reading in a sentence, its
rows, its query and its file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app_pages.charts.figure import Figure, show
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import contents, downloads, folds, lists, views
from pipeline.continuity import service
from pipeline.ledger.views.catalogue import public

TABLE_ROWS = 500
SHORT_ROWS = 6
BASIS_HEIGHT = 260


def chart(
    title: str,
    reading: str,
    figure: Figure,
    *,
    rests_on: tuple[str, ...],
    alt: str,
    where: Mapping[str, object] | None = None,
    note: str = "",
    take: Callable[[Mapping[str, Any]], None] | None = None,
    found_in: DeltaGenerator | None = None,
) -> None:
    """`reading`: the chart in one sentence, Markdown; `rests_on`: the views whose rows are
    drawn, of those that `where` leaves; `take`: gets the point that was clicked; `found_in`: the
    place of what the page finds."""
    contents.header(title, rests_on[0], found_in)
    if reading:
        st.markdown(reading)
    show(figure, alt=alt, key=rests_on[0], take=take)
    _behind(note, rests_on, where)


def table(
    title: str,
    reading: str,
    rows: Sequence[Mapping[str, str]],
    *,
    rests_on: tuple[str, ...],
    alt: str,
    where: Mapping[str, object] | None = None,
    note: str = "",
    found_in: DeltaGenerator | None = None,
) -> None:
    """Numbers that no chart would say better, likewise; `rows`: column -> what its cell shows."""
    contents.header(title, rests_on[0], found_in)
    if reading:
        st.markdown(reading)
    st.table(
        {name: [row[name] for row in rows] for name in rows[0]},
        hide_index=True,
        border="horizontal",
        alt=alt,
    )
    _behind(note, rests_on, where)


def _behind(note: str, rests_on: tuple[str, ...], where: Mapping[str, object] | None) -> None:
    if note:
        st.markdown(formats.muted(note))
    behind = folds.expander(
        _("Table and query"), icon=":material/table:", key=f"behind_{rests_on[0]}"
    )
    if behind is not None:
        with behind:
            for view in rests_on:
                basis(view, where)


def basis(view: str, where: Mapping[str, object] | None = None) -> None:
    """A view's rows, its file and its query, under the names that it has everywhere else."""
    total = views.count(view, where=where)
    rows = views.read(view, where=where, limit=TABLE_ROWS)
    asked = [
        f"{formats.code(column)} = {formats.code(views.shown(column, str(value)))}"
        for column, value in (where or {}).items()
    ]
    own_names = formats.muted(_("Names and codes are the view's own; instants are UTC."))
    st.markdown(f"{' · '.join([f'**{formats.code(view)}**', *asked])}  \n{own_names}")
    if rows:
        st.dataframe(
            lists.still(rows, rows[0]),
            hide_index=True,
            placeholder="",
            height="content" if len(rows) <= SHORT_ROWS else BASIS_HEIGHT,
            alt=_("The rows of {view}", view=view),
        )
    if total > len(rows):
        st.markdown(
            formats.muted(
                _(
                    "The first {n} of {total} rows; the download has them all.",
                    n=formats.number(len(rows)),
                    total=formats.number(total),
                )
            )
        )
    question = downloads.Question(view, views.as_of(), where or {})
    downloads.beside(question, rows=total, key=view)
    st.markdown(_("**In a notebook**, the same rows with pandas:"))
    needs_token = service.current().settings.api_tokens_file is not None
    _code(downloads.in_python(question, _origin(), needs_token=needs_token))
    if needs_token:
        st.markdown(
            formats.muted(
                _(
                    "The token in it is one for reading: whoever runs Prazo gives you one, with"
                    " the scope `read`. See *A token* in the guide *For the marketplace's"
                    " developers*."
                )
            )
        )
    shown = public()[view]
    st.markdown(_("**In SQL**, how they come about:"))
    _code(shown.sql + shown.order_by)
    st.markdown(
        formats.muted(
            _(
                "It runs as it stands in a ledger's file, which DuckDB opens while no process holds"
                " it, and so does {query}. With a file of these rows, name that instead."
                " See *SQL of your own* in the guide *For analysts*.",
                query=formats.code(f"from {view}"),
            )
        )
    )


def _code(text: str) -> None:
    """Without colours: those that Streamlit gives to SQL are too pale to read (WCAG 1.4.3), and in
    a box of less height nobody without a mouse could scroll it."""
    st.code(text, language=None, wrap_lines=True)


def _origin() -> str:
    """Where these pages are, as the reader's browser reaches them."""
    found = urlsplit(st.context.url or "")
    settings = service.current().settings
    return (
        f"{found.scheme}://{found.netloc}"
        if found.netloc
        else f"http://127.0.0.1:{settings.dashboard_port}"
    )
