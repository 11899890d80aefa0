"""Data dictionary: every view with what one row is, its key, what it reads and its columns."""

import re
from collections.abc import Sequence
from typing import Final

import streamlit as st

from app_pages.door import access
from app_pages.door.pages import Page, Section
from app_pages.language import formats
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import address, elements, explained, folds
from pipeline.ledger.views.catalogue import View, public

PAGE = Page(
    title=N_("Data dictionary"),
    icon="menu_book",
    section=Section.PROOF,
    place=30,
    for_analysts=True,
)

# The folders at the top of `queries/`, in the order in which an analyst will want them.
GROUPS: Final = {
    "state": N_("Processes and deadlines"),
    "trends": N_("Over time"),
    "submissions": N_("Submissions"),
    "sellers": N_("Sellers and denials"),
    "evidence": N_("Collection and evidence"),
    "findings": N_("Findings"),
    "alerts": N_("Alerts"),
    "deliveries": N_("Deliveries"),
    "log": N_("The log"),
    "pages": N_("Figures of the pages"),
    "": N_("Time"),
}


def says(view: View) -> str:
    """All that a search looks through."""
    return " ".join((view.name, view.summary, *view.columns, *view.columns.values())).casefold()


def described(text: str) -> str:
    """A header's text, with names in backticks as names."""
    return re.sub(
        r"\\`(.*?)\\`",
        lambda name: formats.code(re.sub(r"\\(.)", r"\1", name[1])),
        formats.plain(text),
    )


def entry(view: View, *, is_sought: bool) -> None:
    """One view; what is behind its name is fetched when it is opened."""
    opened = folds.expander(
        f"{formats.code(view.name)} · {described(view.summary)}",
        expanded=is_sought,
        key=f"view_{view.name}",
    )
    if opened is None:
        return
    with opened:
        keys = ", ".join(map(formats.code, view.key))
        reads = ", ".join(map(formats.code, view.reads)) or "–"
        key_label, reads_label = _("Key"), _("Reads")
        st.markdown(f"{key_label}: {keys} · {reads_label}: {reads}")
        elements.details(
            {formats.code(name): described(meaning) for name, meaning in view.columns.items()},
            alt=view.name,
        )
        if access.may_read(view.name):
            explained.basis(view.name)
        else:
            st.markdown(formats.muted(_("The rows of this view are not open to your role.")))


def grouped(found: Sequence[View]) -> dict[str, list[View]]:
    """The views by folder, in the order of `GROUPS`; a folder without any is left out."""
    by_group: dict[str, list[View]] = {group: [] for group in GROUPS}
    for view in found:
        by_group[view.group.partition("/")[0]].append(view)
    return {group: its_views for group, its_views in by_group.items() if its_views}


st.markdown(
    _(
        "What stands behind every figure: the views of the ledger, described by their own SQL"
        " files, in English. The same names serve the command line and the HTTP API."
    )
)
sought = address.text(
    _("Search"), "q", placeholder=_("A view, a column, a word"), width=360
).casefold()

found = [view for view in public().values() if sought in says(view)]
if not found:
    elements.empty(_("No view mentions that"), _("Search for another word."))
st.markdown(
    formats.muted(ngettext("{n} view", "{n} views", len(found), n=formats.number(len(found))))
)
for group, its_views in grouped(found).items():
    st.header(_(GROUPS[group]), anchor=False)
    with st.container(gap="xsmall"):
        for view in its_views:
            entry(view, is_sought=len(found) == 1 or view.name == sought)
