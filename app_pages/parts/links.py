"""Leads from one page to another, for whoever may open it.

A link to a page that somebody's role does not open would be an error on the page it stands on.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from typing import Final

import streamlit as st

from app_pages.door import access, pages
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import address, views

_LEADS = "a click leads to"
_PAGES = "pages that links lead to"
ABOUT: Final = "about"
"""In the address of the page Help: the page that it begins with."""


def page(name: str, title: str, icon: str) -> st.Page:
    """A page of the navigation, by the stem of its file. To make one, Streamlit looks for each
    folder of its path on the disk: seventeen of them took a sixtieth of a click."""
    return copy(_page(name, title, icon))


@cache
def _page(name: str, title: str, icon: str) -> st.Page:
    is_first = name == next(iter(pages.pages()))
    return st.Page(pages.path_of(name), title=title, icon=f":material/{icon}:", default=is_first)


def use_pages(named: Mapping[str, st.Page]) -> None:
    """Sets the pages of the navigation, by the stems of their files, for links to lead to. If links
    named paths, Streamlit would look for each folder of each path on the disk."""
    st.session_state[_PAGES] = named


def copy_this() -> None:
    """Copies the page's address, which holds all that was chosen on it."""
    if st.button(_("Copy link"), icon=":material/link:", key="copy_link", type="tertiary"):
        st.toast(_("The link to this page, as it is, is copied."), icon=":material/link:")


def to_help(page: str) -> None:
    """From a page to what Help says of it, by a question mark."""
    if page != "help":
        with st.container(key="help", width="content"):
            _to("help", _("Help on this page"), "help", **{ABOUT: page})


def to_process(process_id: str | None, *, is_named: bool = False) -> None:
    """The process's whole story; `is_named`: under its id, where several stand side by side."""
    if process_id:
        name = formats.plain(views.shown("process_id", process_id))
        label = name if is_named else _("Open the process")
        _to("process", label, "timeline", process=process_id)


def to_seller(seller_id: str | None, *, is_named: bool = False, name: str | None = None) -> None:
    """Every process of the seller, its denials and its record; `is_named`: under its id, or under
    the `name` that is given."""
    if seller_id:
        named = formats.plain(name or views.shown("seller_id", seller_id))
        label = named if is_named else _("Open the seller")
        _to("seller", label, "storefront", seller_id=seller_id)


def open_process(process_id: str) -> None:
    """Goes to the process at once."""
    st.switch_page(st.session_state[_PAGES]["process"], query_params={"process": process_id})


def open_seller(seller_id: str) -> None:
    """Goes to the seller at once."""
    st.switch_page(st.session_state[_PAGES]["seller"], query_params={"seller_id": seller_id})


def to_watchlist() -> None:
    """Where processes and sellers are found without knowing their ids."""
    _to("watchlist", _("Open the watchlist"), "alarm")


def to_package(**query: str | Sequence[str]) -> None:
    """Where a package of evidence is made, with what is asked for in its address: a `scope`, as
    `process`, with its `subject`, or the `days` of a period."""
    _to("evidence", _("Export evidence"), "inventory_2", position="left", **query)


def go_on_to_package() -> None:
    """Goes to where packages are made, if the address asks for one. While a page is being drawn, a
    part of it that is drawn by itself overtakes a click on a link: the address is the link's then,
    and the page is still the one before."""
    asked = {name: st.query_params.get(name, "") for name in ("scope", "subject")}
    if all(asked.values()) and access.may_open("evidence"):
        st.switch_page(st.session_state[_PAGES]["evidence"], query_params=asked)


def to_privacy(seller_id: str) -> None:
    """All that is held of a person, and who saw it."""
    _to("privacy", _("View what is held, and who saw it"), "shield_person", seller_id=seller_id)


def to_ledger() -> None:
    """Whether the log is whole, up to date, and has room."""
    _to("ledger", _("Ledger"), "verified")


def to_alerts(label: str, *, severity: Sequence[str] = (), **query: str) -> None:
    """What is due and nobody has taken yet, of these severities; of all where none is given."""
    _to("alerts", label, "notifications_active", shown="open", severity=severity, **query)


def to_named(page: str, label: str, **query: str | Sequence[str]) -> None:
    """From a summary, or a part of one, to the page that has the rest. `label`: says what is there,
    since whoever has links read aloud hears no more of it."""
    _to(page, label, "arrow_forward", position="right", **query)


def to_rows(label: str, **query: str | Sequence[str]) -> None:
    """From a figure to its rows in the list of its own page, with these filters in the address.
    `label`: says which rows. A browser leads into the list by the key (`static/page.js`)."""
    asked = [
        (key, value)
        for key, values in query.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    st.button(
        label,
        icon=":material/arrow_forward:",
        icon_position="right",
        type="tertiary",
        on_click=address.take,
        args=(asked,),
        key=f"rows {asked}",
    )


def lead(page: str, **query: str) -> None:
    """Goes to a page once the drawn page calls `follow`. For callbacks, such as a click on a chart,
    from which no page can be opened."""
    st.session_state[_LEADS] = (page, query)


def follow() -> None:
    """Goes where a click led, if it did."""
    led: tuple[str, dict[str, str]] | None = st.session_state.pop(_LEADS, None)
    if led is not None and access.may_open(led[0]):
        st.switch_page(st.session_state[_PAGES][led[0]], query_params=led[1])


def _to(
    page: str, label: str, icon: str, *, position: str = "left", **query: str | Sequence[str]
) -> None:
    if access.may_open(page):
        st.page_link(
            st.session_state[_PAGES][page],
            label=label,
            icon=f":material/{icon}:",
            icon_position="right" if position == "right" else "left",
            query_params=query,
        )
