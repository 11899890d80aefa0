"""Draws what stands behind a button, or folds away, only once it is opened: closed, it would cost
its whole contents at each drawing of the page."""

from typing import Any, Final, Literal

import streamlit as st

_LAST: Final = "popover that was opened last"
_CLOSED: Final = "popover to draw closed"
_CLOSED_BEFORE: Final = "popover that was closed last"


def expander(label: str, *, key: str, icon: str | None = None, expanded: bool = False) -> Any:
    """Where to draw what folds away; None while it is closed."""
    place = st.expander(label, expanded=expanded, icon=icon, key=key, on_change="rerun")
    return place if place.open else None


def popover(
    label: str,
    *,
    key: str,
    icon: str,
    disabled: bool = False,
    type: Literal["secondary", "tertiary"] = "secondary",
) -> Any:
    """Where to draw what a button opens; None while it is closed. The one that was opened last
    stays drawn once a click beside it has closed it: what was typed there is still there."""
    if st.session_state.get(_CLOSED) == key:
        # A run that begins again before it comes here, as one of a part of a page does after an
        # act, has the browser's word once more, to which it is still open.
        del st.session_state[_CLOSED]
        st.session_state[key] = False
    if is_last(key) and st.session_state.get(key):
        # To Streamlit it is another one under another label, which would be closed.
        st.session_state[key] = True
    place = st.popover(label, icon=icon, disabled=disabled, type=type, key=key, on_change="rerun")
    if place.open:
        st.session_state[_LAST] = key
    return place if is_last(key) else None


def is_last(key: str) -> bool:
    """Whether this popover is drawn: it is open, or no other one was opened since."""
    return st.session_state.get(_LAST) == key


def close() -> None:
    """Closes the popover that is open, and forgets what was typed there: for what is called before
    the page is drawn. The second click of a double click closes it once more: to the browser, which
    has not heard of the first, it is still open."""
    if (last := st.session_state.pop(_LAST, None)) is not None:
        st.session_state[_CLOSED_BEFORE] = last
    st.session_state[_CLOSED] = st.session_state.get(_CLOSED_BEFORE)
