"""Reads the `Retry-After` of an answer (RFC 9110, 10.2.3): seconds, or a date."""

import email.utils
import re
from typing import Final

from pipeline import instants

LONGEST: Final = 10 * 366 * instants.DAY
"""No answer is waited for longer; a date with an offset may lie beyond the calendar, where no
instant can be written down."""

_LEAP_SECOND: Final = re.compile(r"(?<=:[0-5][0-9]):60\b")
"""The grammar allows it, and no calendar of ours has it."""

_ONE: Final = re.compile(r"\s*[A-Za-z]+,[^,]*|[^,]+")
"""Of a list: most dates have a comma of their own, after the day of the week."""


def retry_after(text: str | None, now: int) -> int | None:
    """The instant that a `Retry-After` names, in seconds or as a date, at most `LONGEST` from now;
    None where it names none. Several headers come joined by commas: the latest instant is the one
    before which none of them allows anything. Instants are in microseconds."""
    named = [_instant(it.strip(), now) for it in _ONE.findall(text or "")]
    return max((it for it in named if it is not None), default=None)


def _instant(text: str, now: int) -> int | None:
    if text.isascii() and text.isdigit():
        # Cut, since Python reads no thousands of digits; zeros in front are not among them.
        seconds = int(text.lstrip("0")[:12] or "0")
        return now + min(seconds * instants.SECOND, LONGEST)
    date, leaps = _LEAP_SECOND.subn(":59", text)
    try:
        named = instants.from_datetime(email.utils.parsedate_to_datetime(date))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(named + leaps * instants.SECOND, now + LONGEST)
