"""Shows a chart with all that it rests on: its reading in a sentence, its table, its query and its
file."""

import streamlit as st

from app_pages import charts, downloads, formats, frame
from app_pages.i18n import _
from pipeline import views

TABLE_ROWS = 500


def chart(
    title: str,
    reading: str,
    figure: charts.Figure,
    *,
    view: str,
    alt: str,
    note: str = "",
) -> None:
    """`reading`: the chart in one sentence, Markdown; `view`: whose rows are drawn."""
    st.header(title, anchor=False)
    if reading:
        st.markdown(reading)
    charts.show(figure, alt=alt, key=view)
    if note:
        st.markdown(formats.muted(note))
    behind = st.expander(
        _("Table and query"), icon=":material/table:", key=f"behind_{view}", on_change="rerun"
    )
    if behind.open:
        with behind:
            _basis(view)


def _basis(view: str) -> None:
    total = frame.count(view)
    rows = frame.read(view, limit=TABLE_ROWS)
    st.dataframe(rows, hide_index=True, height=260, alt=_("The rows of {view}", view=view))
    if total > len(rows):
        st.markdown(
            formats.muted(
                _(
                    "The first {n} of {total} rows; the file has all.",
                    n=formats.number(len(rows)),
                    total=formats.number(total),
                )
            )
        )
    downloads.offer(view, rows=total)
    st.code(views.public()[view].sql, language="sql", height=260)
