"""Reads the `Retry-After` of an answer (RFC 9110, 10.2.3): seconds, or a date."""

import email.utils

from pipeline import instants


def retry_after(text: str | None, now: int) -> int | None:
    """The instant that a `Retry-After` names, in seconds or as a date; None where it names none."""
    if text is None:
        return None
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit():
        return now + min(int(stripped[:12]), 10 * 366 * 86_400) * instants.SECOND
    try:
        return instants.from_datetime(email.utils.parsedate_to_datetime(stripped))
    except (ValueError, TypeError, OverflowError):
        return None
