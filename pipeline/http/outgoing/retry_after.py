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


def retry_after(text: str | None, now: int) -> int | None:
    """The instant that a `Retry-After` names, in seconds or as a date, at most `LONGEST` from now;
    None where it names none. Instants are in microseconds."""
    if text is None:
        return None
    given = [it.strip() for it in text.split(",")]  # of several headers the longest: it is safe
    if all(it.isascii() and it.isdigit() for it in given):
        # Cut, since Python reads no thousands of digits; zeros in front are not among them.
        seconds = max(int(it.lstrip("0")[:12] or "0") for it in given)
        return now + min(seconds * instants.SECOND, LONGEST)
    date, leaps = _LEAP_SECOND.subn(":59", text.strip())
    try:
        named = instants.from_datetime(email.utils.parsedate_to_datetime(date))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(named + leaps * instants.SECOND, now + LONGEST)
