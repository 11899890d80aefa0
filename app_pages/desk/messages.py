"""Writes the message by which a seller is reminded, in Portuguese and in English. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from babel import Locale, dates

from app_pages.language import formats
from app_pages.language.i18n import LANGUAGES, N_, said_in
from pipeline.language.catalogue import Language

LINK: Final = "[link]"
"""Stands where whoever sends the message puts the address of the journey."""

_GREETING: Final = N_("Hello,")
_IN_TIME: Final = N_(
    "the payment platform asks you to bring your registration up to date by {when}. We still need:"
    " {fields}."
)
_LATE: Final = N_(
    "the payment platform asked you to bring your registration up to date by {when}, and that"
    " time has passed. You can still answer, and should do so today. We still need: {fields}."
)
_WHERE: Final = N_("It takes a few minutes: {link}")
_COST: Final = N_(
    "Without an answer from you, the platform can block money that comes into your account or"
    " leaves it."
)
_THANKS: Final = N_("Thank you.")
_FIELDS: Final[Mapping[str, str]] = {
    "revenue": N_("your revenue"),
    "address": N_("your address"),
    "owner.revenue": N_("the owner's revenue"),
    "owner.address": N_("the owner's address"),
}
_AND: Final = N_("{first} and {last}")
_ALL: Final = N_("the details that the form asks for")


def reminder(
    requested: Sequence[str],
    deadline_at: datetime | None,
    *,
    is_late: bool,
    into: Language,
    link: str = LINK,
) -> str:
    """The message to a seller who has not answered yet. `into`: `en` or `pt`. `link`: the address
    of the journey, where it is known."""
    asks = _LATE if is_late else _IN_TIME
    when = "–" if deadline_at is None else _clock(deadline_at, LANGUAGES[into])
    paragraphs = (
        said_in(into, _GREETING),
        said_in(into, asks, when=when, fields=_in_words(requested, into)),
        said_in(into, _WHERE, link=link),
        said_in(into, _COST),
        said_in(into, _THANKS),
    )
    return "\n\n".join(paragraphs)


def _clock(instant: datetime, locale: Locale) -> str:
    """Day, hour and whose clock: a day alone would promise a seller the hours after a deadline that
    ends in the morning, or in another zone."""
    local = formats.local(instant)
    zone = dates.get_timezone_name(local, locale=locale)
    return f"{dates.format_date(local.date(), 'long', locale=locale)}, {local:%H:%M} ({zone})"


def _in_words(requested: Sequence[str], into: Language) -> str:
    """The requested fields as a seller knows them; each group once."""
    groups = {_group(path) for path in requested}
    names = [said_in(into, name) for group, name in _FIELDS.items() if group in groups]
    if not names or not groups <= set(_FIELDS):
        names.append(said_in(into, _ALL))
    *first, last = names
    return said_in(into, _AND, first=", ".join(first), last=last) if first else last


def _group(path: str) -> str:
    """What a path is a part of: `owner.address.city` is of the owner's address."""
    parts = path.split(".")
    return ".".join(parts[:2] if parts[0] == "owner" else parts[:1])
