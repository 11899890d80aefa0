"""Draws a part of a page by itself: a click in it leaves the rest of the page as it is."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app_pages.door import access
from app_pages.language.i18n import language
from app_pages.parts import acting, address, elements

_DRAWN_FOR: Final = "what the page around a part was drawn for"


def part(draw: Callable[[], None]) -> None:
    """Draws a part of the page; after a click in it, that part alone. Where the click changes what
    stands around it, as an act, an order or another page of a list does, the page is drawn."""
    _part(draw)
    st.session_state[_DRAWN_FOR] = _drawn_for()


@st.fragment
def _part(draw: Callable[[], None]) -> None:
    context = get_script_run_ctx()
    if context is None or not context.fragment_ids_this_run:  # the whole page is drawn
        draw()
        return
    if st.session_state.get(_DRAWN_FOR) != _drawn_for():
        st.rerun()
    with elements.failures_said(), suppress(elements.PageEnd):
        draw()


def _drawn_for() -> tuple[Any, ...]:
    """All that a click in the part can change and the page around it shows, too: not which row is
    chosen, which are ticked, and what is open."""
    chosen = tuple(address.filters()), st.session_state.get(address.PAGE)
    return *chosen, access.person(), acting.reader_name(), language(), acting.pressed()
