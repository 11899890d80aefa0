"""Reads the `Retry-After` of an answer (RFC 9110, 10.2.3): seconds, or a date."""

import email.utils
from typing import Final

from pipeline import instants

LONGEST: Final = 10 * 366 * instants.DAY
"""No answer is waited for longer; a date with an offset may lie beyond the calendar, where no
instant can be written down."""


def retry_after(text: str | None, now: int) -> int | None:
    """The instant that a `Retry-After` names, in seconds or as a date, at most `LONGEST` from now;
    None where it names none. Instants are in microseconds."""
    if text is None:
        return None
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit():
        return now + min(int(stripped[:12]) * instants.SECOND, LONGEST)
    try:
        named = instants.from_datetime(email.utils.parsedate_to_datetime(stripped))
    except (ValueError, TypeError, OverflowError):
        return None
    return min(named, now + LONGEST)
