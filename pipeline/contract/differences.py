"""Says how two values of a field differ that look the same, without showing either. Pure.

Evidence has to have the same JSON value as what is sent (docs/rules.md#the-evidence-gate). An
accent that is composed otherwise, or a blank at the end, makes another one, and both look the same.
"""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Final, Literal

from pipeline.contract.body import JsonValue, canonical_json

How = Literal["composition", "blanks", "width", "case", "marks", "accents", "number", "type"]


def _without_blanks(text: str) -> str:
    """Without blanks of any width, and without characters that nobody sees."""
    return "".join(it for it in text if not it.isspace() and unicodedata.category(it) != "Cf")


def _without_marks(text: str) -> str:
    """Letters, digits, accents and blanks alone."""
    return "".join(it for it in text if it.isalnum() or it.isspace() or unicodedata.combining(it))


def _without_accents(text: str) -> str:
    apart = unicodedata.normalize("NFD", text)
    return "".join(it for it in apart if not unicodedata.combining(it))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _of_one_width(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


_FOLDS: Final[Mapping[How, Callable[[str], str]]] = {
    "composition": _composed,
    "blanks": _without_blanks,
    "width": _of_one_width,
    "case": str.casefold,
    "marks": _without_marks,
    "accents": _without_accents,
}
"""What a difference may lie in -> what takes it away; the later, the more."""

_WORDS: Final[Mapping[How, str]] = {
    "composition": "how accents are composed",
    "blanks": "blanks or characters that nobody sees",
    "width": "the width or form of characters",
    "case": "upper and lower case",
    "marks": "punctuation, such as a mask's",
    "accents": "accents",
    "number": "how the number is written",
    "type": "its type: one is a text, the other is not",
}


def how_they_differ(one: JsonValue, other: JsonValue) -> tuple[How, ...]:
    """In what two values differ, where they are the same but for that; empty where they are the
    same, or differ otherwise."""
    if canonical_json(one) == canonical_json(other):
        return ()
    if isinstance(one, str) and isinstance(other, str):
        return _of_texts(one, other)
    if _is_number(one) and _is_number(other):
        return ("number",) if one == other else ()
    texts = [it if isinstance(it, str) else canonical_json(it).decode() for it in (one, other)]
    is_one_text = isinstance(one, str) != isinstance(other, str)
    if is_one_text and (texts[0] == texts[1] or _of_texts(*texts)):
        return ("type", *_of_texts(*texts))
    return ()


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_texts(one: str, other: str) -> tuple[How, ...]:
    if _folded(one, "composition") == _folded(other, "composition"):
        return () if one == other else ("composition",)
    needed: list[How] = [it for it in _FOLDS if it != "composition"]
    if _folded(one, *needed) != _folded(other, *needed) or not _folded(one, *needed):
        return ()
    for fold in reversed(needed):  # what takes more away is left out first
        rest = [it for it in needed if it != fold]
        if _folded(one, "composition", *rest) == _folded(other, "composition", *rest):
            needed = rest
    if _folded(one, *needed) != _folded(other, *needed):
        needed.insert(0, "composition")
    return tuple(needed)


def _folded(text: str, *folds: How) -> str:
    for fold in folds:
        text = _FOLDS[fold](text)
    return text


def in_words(how: tuple[How, ...]) -> str:
    """The same as a part of a sentence; empty for nothing."""
    return " and ".join(_WORDS[it] for it in how)
