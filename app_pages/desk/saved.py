"""Keeps filters and an order of a page under a name: of one person, or of all.

Each is an entry of the log, so that everybody who follows it finds the same. What is the reader's
own is not hidden from those who read the log; it only stands in nobody else's list.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from app_pages.desk import casework, mailed
from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, address, views
from pipeline.ledger import service
from pipeline.log.actions import view_step
from pipeline.texts import printable

Query = Sequence[tuple[str, str]]

MOST: Final = 50
_OPENED: Final = "saved views opened"
BUILT_IN: Final[Mapping[str, Mapping[str, Query]]] = {
    "watchlist": {
        N_("Expired ACI, due this month"): (
            ("lane", "EXPIRED"),
            ("type", "ACI"),
            ("period", "this_month"),
        ),
        N_("Mine, soonest first"): (("lane", "savable"), ("whose", "mine")),
        N_("Nobody's, soonest first"): (("lane", "savable"), ("whose", "unassigned")),
    },
    "denials": {
        N_("Denied this month"): (("period", "this_month"),),
        N_("Denied this week, can be corrected"): (("period", "this_week"), ("retry", "yes")),
    },
}


def show(page: str) -> None:
    """The saved views of a page, and the form that saves what the page shows now."""
    if not access.may_read("saved_views"):
        return
    key = f"views {st.session_state.get(_OPENED, 0)}"  # another one is closed
    with st.popover(_("Views"), icon=":material/bookmarks:", key=key):
        for name, query in BUILT_IN.get(page, {}).items():
            _open(_(name), query, f"built in: {name}")
        found = _found(page)
        for row in found:
            query = parse_qsl(row["query"] or "")
            key = f"saved: {views.masked(_identity(row))}"
            _open(formats.plain(views.masked(row["view_name"])), query, key)
        if casework.is_open():
            _save(page)
            if page == "watchlist":
                mailed.subscribe()
            _drop(page, [row for row in found if row["owner"] in ("", acting.reader_name())])


def _found(page: str) -> Sequence[views.Row]:
    owners = ["", acting.reader_name()] if acting.reader_name() else [""]
    return views.read("saved_views", where={"page": page, "owner": owners}, limit=MOST)


def _save(page: str) -> None:
    with st.form("save_view", border=True, clear_on_submit=True):
        name = st.text_input(
            _("Save this view as"), key="view_name", max_chars=acting.MAX_NAME_CHARACTERS
        )
        for_all = st.toggle(_("For all"), key="view_for_all")
        actor = acting.name_of_reader("view_actor")
        if not st.form_submit_button(_("Save it")):
            return
        if not name.strip() or not actor.strip():
            st.warning(_("A text and a name are needed: both go into the log."))
            return
        draft = view_step(
            "saved",
            page,
            name,
            query=urlencode(address.filters()),
            for_all=for_all,
            actor=actor.strip(),
            recorded_by=acting.RECORDED_BY,
        )
        if acting.done(lambda: service.current().inbox.append([draft]), actor):
            st.rerun()


def _identity(row: views.Row) -> str:
    """Of a saved view: by its name as it was typed, since two that look alike are two."""
    return f"{row['owner']!r} {row['view_name']!r}"


def _open(label: str, query: Query, key: str) -> None:
    st.button(
        label,
        icon=":material/bookmark:",
        type="tertiary",
        on_click=_take,
        args=(query,),
        key=key,
    )


def _take(query: Query) -> None:
    st.session_state[_OPENED] = st.session_state.get(_OPENED, 0) + 1
    address.take(query)


def _drop(page: str, rows: Sequence[views.Row]) -> None:
    actor = acting.reader_name()
    if not rows or actor is None:
        return
    names = {_identity(row): row for row in rows}
    chosen = st.selectbox(
        _("Take a view away"),
        list(names),
        format_func=lambda key: printable(views.masked(names[key]["view_name"])),
        index=None,
        placeholder=_("None"),
        key="view_to_drop",
    )
    if chosen is None or not st.button(_("Take it away"), icon=":material/bookmark_remove:"):
        return
    draft = view_step(
        "dropped",
        page,
        names[chosen]["view_name"],
        for_all=not names[chosen]["owner"],
        actor=actor,
        recorded_by=acting.RECORDED_BY,
    )
    if acting.done(lambda: service.current().inbox.append([draft]), actor):
        st.rerun()
