"""Data dictionary: every view with what one row is, its key, what it reads and its columns."""

import streamlit as st

from app_pages import address, formats, frame
from app_pages.i18n import _, ngettext
from pipeline import views

st.markdown(
    _(
        "What stands behind every figure: the views of the ledger, described by their own SQL"
        " files, in English. The same names serve `prazo show` and the HTTP API."
    )
)
sought = address.text(
    _("Search"), "q", placeholder=_("A view, a column, a word"), width=360
).casefold()


def says(view: views.View) -> str:
    """All that a search looks through."""
    return " ".join((view.name, view.summary, *view.columns, *view.columns.values())).casefold()


found = [view for view in views.public().values() if sought in says(view)]
if not found:
    frame.empty(_("No view says that"), _("Search for another word."))
st.markdown(
    formats.muted(ngettext("{n} view", "{n} views", len(found), n=formats.number(len(found))))
)
for view in found:
    label = f"{formats.code(view.name)} · {formats.plain(view.summary)}"
    with st.expander(label, key=f"view_{view.name}"):
        keys = ", ".join(map(formats.code, view.key))
        reads = ", ".join(map(formats.code, view.reads)) or "–"
        key_label, reads_label = _("Key"), _("Reads")
        st.markdown(f"{key_label}: {keys} · {reads_label}: {reads}")
        st.table(
            {formats.code(name): formats.plain(meaning) for name, meaning in view.columns.items()},
            border="horizontal",
            alt=view.name,
        )
