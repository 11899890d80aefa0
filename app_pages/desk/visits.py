"""Knows when the reader was here last: their browser remembers it, in a cookie of two instants.

Nothing of it is stored here. A visit ends half an hour after its last page, so that whoever
reloads a page, or opens another tab, still hears of what changed since the visit before.
"""

from datetime import datetime
from typing import Final

import streamlit as st

from pipeline import instants
from pipeline.continuity import service

VISIT_MINUTES: Final = 30
KEPT: Final = 365 * instants.DAY
"""As the script says; an instant before that is of no cookie of ours."""
SEEN, BEFORE = "prazo_seen", "prazo_before"
SCRIPT: Final = f"""(() => {{
    const kept = '; path=/; max-age=31536000; samesite=strict'
    const seen = document.cookie.match(/{SEEN}=(\\d+)/), now = Date.now()
    if (seen && now - seen[1] > {VISIT_MINUTES} * 60000)
        document.cookie = '{BEFORE}=' + seen[1] + kept
    document.cookie = '{SEEN}=' + now + kept
}})()"""
"""The same for everybody, so that the content security policy can name it by its digest."""

_LAST: Final = "last visit"


def remember() -> None:
    """Lets the browser note that the reader is here."""
    st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)


def last() -> datetime | None:
    """When the last page of the visit before this one was drawn, naive UTC; None where the browser
    knows of none."""
    if _LAST not in st.session_state:
        seen, before = (_instant(st.context.cookies.get(name)) for name in (SEEN, BEFORE))
        is_over = (
            seen is not None and service.current().now() - seen > VISIT_MINUTES * instants.MINUTE
        )
        st.session_state[_LAST] = seen if is_over else before
    then: int | None = st.session_state[_LAST]
    return None if then is None else instants.naive(then)


def _instant(milliseconds: str | None) -> int | None:
    """Of a cookie, in microseconds; None for what is not an instant of the past."""
    text = milliseconds or ""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    found = int(text) * 1000
    now = service.current().now()
    return found if now - KEPT <= found <= now else None
