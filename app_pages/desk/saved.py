"""Keeps filters and an order of a page under a name: of one person, or of all.

Each is an entry of the log, so that everybody who follows it finds the same. What is the reader's
own is not hidden from those who read the log; it only stands in nobody else's list.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from app_pages.desk import casework, mailed
from app_pages.door import access
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, address, elements, folds, views
from pipeline.log.entries import Draft
from pipeline.log.kinds.saved_view import view_step
from pipeline.serve.roles import Permission
from pipeline.texts import printable

Query = Sequence[tuple[str, str]]

MOST: Final = 50
BUILT_IN: Final[Mapping[str, Mapping[str, Query]]] = {
    "watchlist": {
        N_("Expired ACI, due this month"): (
            ("queue", "all"),
            ("state", "EXPIRED"),
            ("type", "ACI"),
            ("period", "this_month"),
        ),
        N_("Mine, soonest first"): (("queue", "all"), ("whose", "mine")),
        N_("Unassigned, soonest first"): (("whose", "unassigned"),),
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
    place = folds.popover(_("Views"), icon=":material/bookmarks:", key=f"views of {page}")
    if place is None:
        return
    with place:
        for name, query in BUILT_IN.get(page, {}).items():
            _open(_(name), query, f"built in: {name}")
        found = _found(page)
        for row in found:
            query = parse_qsl(row["query"] or "")
            key = f"saved: {code_texts.masked(_identity(row))}"
            _open(formats.plain(code_texts.masked(row["view_name"])), query, key)
        elements.say_if_cut("saved_views", found, MOST, where=_offered(page))
        if casework.is_open():
            _save(page)
            if page == "watchlist":
                mailed.subscribe()
            _drop(page, [row for row in found if row["owner"] in ("", acting.reader_name())])


def _found(page: str) -> Sequence[views.Row]:
    """What is offered on a page, the reader's own before those for all: where there are too many,
    theirs are not among those that are left out."""
    return views.read("saved_views", where=_offered(page), order_by="owner desc", limit=MOST)


def _offered(page: str) -> dict[str, object]:
    return {"page": page, "owner": ["", *filter(None, [acting.reader_name()])]}


def _save(page: str) -> None:
    def record() -> acting.Feedback:
        name, actor = acting.typed("view_name"), acting.actor_of("view_actor")
        if (lacking := acting.missing("view_name", "view_actor")) is not None:
            return lacking

        def drafts() -> list[Draft]:
            saved = view_step(
                "saved",
                page,
                name,
                query=urlencode(address.filters()),
                for_all=st.session_state.get("view_for_all", False),
                actor=actor,
                recorded_by=acting.RECORDED_BY,
            )
            return [saved]

        done = _recorded(name)._replace(empties=("view_name",))
        return acting.record(drafts, actor, done, kept=name)

    with st.form("save_view", border=True):
        st.text_input(_("Save this view as"), key="view_name", max_chars=acting.MAX_NAME_CHARACTERS)
        acting.say_at("view_name")
        st.toggle(_("For all"), key="view_for_all")
        acting.submit(
            "save_view",
            _("Save it"),
            record,
            about=page,
            may=Permission.ANNOTATE,
            actor="view_actor",
        )


def _recorded(name: str) -> acting.Feedback:
    """That a step of a view is recorded, by its name."""
    said = _("Recorded for {processes}.", processes=formats.plain(code_texts.masked(name)))
    return acting.Feedback(said, is_done=True)


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
    folds.close()
    address.take(query)


def _drop(page: str, rows: Sequence[views.Row]) -> None:
    actor = acting.reader_name()
    if not rows or actor is None:
        return
    names = {_identity(row): row for row in rows}
    chosen = st.selectbox(
        _("Take a view away"),
        list(names),
        format_func=lambda key: printable(code_texts.masked(names[key]["view_name"])),
        index=None,
        placeholder=_("None"),
        key="view_to_drop",
    )
    if chosen is not None:
        acting.button(
            f"drop view {elements.edition('dropped view', [page, chosen])}",
            _("Take it away"),
            partial(_dropped, page, names[chosen], actor),
            icon=":material/bookmark_remove:",
            may=Permission.ANNOTATE,
        )


def _dropped(page: str, row: views.Row, actor: str) -> acting.Feedback:
    name, by = row["view_name"], {"actor": actor, "recorded_by": acting.RECORDED_BY}
    feedback = acting.record(
        lambda: [view_step("dropped", page, name, for_all=not row["owner"], **by)],
        actor,
        _recorded(name),
    )
    if feedback.is_done:
        st.session_state["view_to_drop"] = None
    return feedback
