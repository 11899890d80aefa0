"""Keeps by what somebody sees sellers' names: one showing for each browser, which a page that is
loaded again finds again, until its time is over.

It is that person's alone: whoever else uses the browser, under whatever login, sees masks.
"""

import threading
from typing import Final

from app_pages.door import browsers
from pipeline.serve.shown_names import Showing

_LATEST: Final[dict[str, Showing]] = {}
"""By the number of the browser, which stands in no address and in no text log."""
_LOCK: Final = threading.Lock()


def of(name: str | None) -> Showing | None:
    """What the browser's last reason shows to the person of this name now."""
    seen = _LATEST.get(browsers.current())
    return seen if seen is not None and not seen.is_over and seen.by.actor == name else None


def keep(seen: Showing) -> Showing:
    """Lets whoever looks see by this showing from now on."""
    with _LOCK:
        for browser, kept in list(_LATEST.items()):
            if kept.is_over:
                del _LATEST[browser]
        _LATEST[browsers.current()] = seen
    return seen


def end() -> None:
    """Masks the names on all pages of the browser."""
    with _LOCK:
        seen = _LATEST.pop(browsers.current(), None)
    if seen is not None:
        seen.end()
