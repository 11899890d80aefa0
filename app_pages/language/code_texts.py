"""Puts the codes of reviews and attempts into words: states and what they may cost, outcomes.

A code that is not listed is shown as it came: the platform may send what the contract does not
know, and hiding it would hide the news.
"""

from collections.abc import Mapping
from typing import Final, Literal

from app_pages.language import formats
from app_pages.language.i18n import N_, language, said_in
from pipeline.continuity import service
from pipeline.journey import page_texts
from pipeline.language import codes, fields, states
from pipeline.language.catalogue import Language
from pipeline.serve.identifiers import mask_within
from pipeline.texts import PERSONAL

Colour = Literal["red", "orange", "blue", "green", "violet", "gray"]

OF_SELLERS: Final[Mapping[page_texts.Language, str]] = {"pt-BR": "Português", "en": "English"}
"""The languages in which sellers are written to, by their own names."""
STATE_COLOURS: Final[Mapping[str, Colour]] = {
    "EXPIRED": "red",
    "OVERDUE": "orange",
    "PENDING": "blue",
    "FINISHED": "green",
    "UNKNOWN": "gray",
}
STATE_ICONS: Final[Mapping[str, str]] = {
    "EXPIRED": ":material/event_busy:",
    "OVERDUE": ":material/alarm:",
    "PENDING": ":material/hourglass_top:",
    "FINISHED": ":material/check_circle:",
    "UNKNOWN": ":material/help:",
}
# What a state may cost (docs/contract.md#states-and-transitions).
COSTS: Final[Mapping[str, str]] = {
    "EXPIRED": N_(
        "The seller can be exposed to regulatory penalties, up to a block of cash-in and cash-out."
        " The platform still accepts the submission."
    ),
    "OVERDUE": N_(
        "A submission is still in time. Once the deadline has passed, the seller can be exposed to"
        " regulatory penalties, up to a block of cash-in and cash-out."
    ),
    "PENDING": N_(
        "In time. If the deadline passes without an accepted submission, the seller can be exposed"
        " to regulatory penalties."
    ),
    "FINISHED": N_("Nothing is left to do. The evidence of the collection has to be kept."),
    "UNKNOWN": N_(
        "No review event of this process is in the log, so its deadline is not known. It can pass"
        " unnoticed."
    ),
}


OUTCOME_COLOURS: Final[Mapping[str, Colour]] = {
    "accepted": "green",
    "in_flight": "blue",
    "platform_error": "red",
    "timeout": "red",
    "unauthorized": "violet",
    "invalid_payload": "violet",
    "not_found": "violet",
    "refused": "gray",
    "unknown": "gray",
}

ENDS: Final[Mapping[str, str]] = {
    "finished_in_time": N_("Finished in time"),
    "finished_late": N_("Finished late"),
    **{code.lower(): codes.STATES[code] for code in ("PENDING", "OVERDUE", "EXPIRED")},
}


def field(path: str) -> str:
    """A field by its name for people, with its path beside; a path that the contract does not show
    alone. As Markdown."""
    name, code = field_name(path), formats.code(masked(path))
    return code if name == path else f"{formats.plain(name)} {code}"


def field_name(path: str) -> str:
    """A field by its name for people alone, where a cell has room for no more."""
    return fields.name(path, language())


def by_code(words: Mapping[str, str]) -> dict[str, str]:
    """Every code of a table in words, in the reader's language."""
    return {code: word(words, code) for code in words}


def word(words: Mapping[str, str], code: str | None, into: Language | None = None) -> str:
    """The code in words, in the reader's language or another; itself where it is not listed, but
    for an id in it that looks personal, which is masked: who sends one may write anything in its
    place. A dash for none."""
    if code is None:
        return "–"
    if code in words:
        return said_in(into or language(), words[code])
    return masked(code)


def masked(text: str) -> str:
    """A text from outside, with the mask of each id in it that looks personal."""
    is_personal = PERSONAL.search(text) is not None
    return mask_within(text, service.current().inbox.log_key) if is_personal else text


def state_chip(state: str, seconds: int | None) -> str:
    """A process's state as a chip, with what it means and the time left: a colour, and words for
    readers who cannot see it. `seconds`: to the deadline, if that matters still."""
    said = states.standing(state, seconds, language())
    return formats.badge(said, STATE_COLOURS[state], STATE_ICONS[state])


def outcome_chip(outcome: str) -> str:
    """How an attempt ended, as a chip."""
    return formats.badge(formats.plain(word(codes.OUTCOMES, outcome)), outcome_colour(outcome))


def outcome_colour(outcome: str) -> Colour:
    """The colour of how an attempt ended."""
    return OUTCOME_COLOURS.get(outcome, "orange")


def type_chip(review_type: str | None) -> str:
    """A review's type as a chip."""
    return formats.badge(formats.plain(word(codes.REVIEW_TYPES, review_type)), "gray")
