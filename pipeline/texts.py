"""Shows text from outside so that no character in it moves, hides, colours or reverses others,
tells what in it looks like the id of a person, and says how many there are of something."""

import logging
import operator
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

MOST_NAMED: Final = 20
"""Names in one line; of others, how many there are is said."""

_SEPARATOR: Final = "[-./ \u00a0\u2007\u202f\u2010-\u2015\u2212]"
"""Of a tax id; text programs write blanks and hyphens at which no line ends, and dashes."""
_TAX_ID: Final = "|".join(
    f"{_SEPARATOR}?".join(groups)  # any of the separators may be missing
    for groups in (
        (r"\d{3}", r"\d{3}", r"\d{3}", r"\d{2}"),  # CPF
        (*(rf"[A-Za-z\d]{{{length}}}" for length in (2, 3, 3, 4)), r"\d{2}"),  # CNPJ
    )
)
_IS_TAX_ID: Final = re.compile(_TAX_ID)
_WITHIN: Final = rf"(?<![A-Za-z\d])(?:[Cc][Pp][Ff]|[Cc][Nn][Pp][Jj])?(?:{_TAX_ID})(?![A-Za-z\d])"
TAX_ID_WITHIN: Final = re.compile(_WITHIN)
"""A tax id among other characters, which are neither letters nor digits, with what says that it is
one."""
_SIGNS: Final = r"\s\"',:;/()\[\]{}"  # that end an e-mail address
_AT: Final = "(?:[@\ufe6b\uff20]|%40)"
_HAS_AT: Final = re.compile(_AT)
_BEFORE_AT: Final = rf"(?:[^{_SIGNS}@\ufe6b\uff20%]|%(?!40))"
_LOCAL: Final = rf"(?:(?<![^{_SIGNS}@]){_BEFORE_AT}++|(?<=\d)(?![A-Za-z\d]){_BEFORE_AT}{{1,64}}+)"
PERSONAL: Final = re.compile(rf"{_LOCAL}{_AT}[^{_SIGNS}]+|{_WITHIN}")
"""A tax id, or an e-mail address, among other words. What may be an address is read from its first
character, or from behind a tax id: read from each of them to its end, a code of a megabyte that
somebody sent would keep everybody waiting for hours."""
_SMALL: Final = re.compile("(?!(?i:cpf|cnpj))(?<![A-Za-z])[A-Za-z]*[a-z]")
"""A word with a small letter, but for what says that a tax id is one."""


def is_tax_id(text: str) -> bool:
    """Whether a text looks like a CPF or a CNPJ, with or without its separators."""
    return _IS_TAX_ID.fullmatch(text) is not None


def may_be_address(text: str) -> bool:
    """Whether a text holds the sign of an e-mail address, as it is or as an address of a page or
    wide letters write it."""
    return _HAS_AT.search(text) is not None


def is_marked_or_checked(tax_id: str) -> bool:
    """Whether what looks like a CPF or a CNPJ has all the separators that one is written with, or
    the check digits of one: so no run of digits passes for one by chance, such as a time of day.
    Many ids are as long as a CNPJ and have small letters, which a CNPJ has where somebody typed it:
    of these it is one that is marked, or that stands behind `cnpj`."""
    number = re.sub(r"^(?:CPF|CNPJ)(?=.{11})", "", tax_id.upper())
    may_be_checked = len(number) < len(tax_id) or tax_id == tax_id.upper()
    number = "".join(str(int(it)) if it.isdecimal() else it for it in number)
    bare = re.sub(_SEPARATOR, "", number)
    is_marked = len(number) - len(bare) == (3 if len(bare) == 11 else 4)
    return is_marked or (may_be_checked and _check_digits(bare[:-2]) == bare[-2:])


def holds_personal_id(identifier: str) -> bool:
    """Whether an id holds an e-mail address, or surely a tax id, among other characters."""
    tax_ids = TAX_ID_WITHIN.finditer(identifier)
    return may_be_address(identifier) or any(is_marked_or_checked(it[0]) for it in tax_ids)


def names_person(text: str) -> bool:
    """Whether a text holds an id that looks personal."""
    return any(_is_personal(found[0]) for found in PERSONAL.finditer(text))


def hide_personal(text: str, mask: Callable[[str], str]) -> str:
    """The text, with the mask of each id in it that looks personal."""

    def hide(found: str) -> str:
        return mask(found) if _is_personal(found) else found

    return PERSONAL.sub(lambda found: hide(found[0]), text)


def for_anybody(text: str) -> str:
    """The text without ids that look personal, for what packages show unmasked."""
    return hide_personal(text, lambda _: "***")


def _is_personal(found: str) -> bool:
    """Words of small letters may be as long as a CNPJ's parts: one needs its signs, or `cnpj`
    before it and its check digits, and no spaces."""
    if may_be_address(found) or not _SMALL.search(found):
        return True
    return " " not in found and is_marked_or_checked(found)


def _check_digits(number: str) -> str:
    """Of a CPF or a CNPJ without them. A letter counts by its place in ASCII, since July 2026."""
    most = 11 if len(number) == 9 else 9  # the highest weight
    for _digit in range(2):
        weights = [2 + place % (most - 1) for place in range(len(number))]
        values = [ord(it) - ord("0") for it in reversed(number)]
        rest = sum(map(operator.mul, values, weights)) % 11
        number += str(0 if rest < 2 else 11 - rest)
    return number[-2:]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: `1 entry`, `2 entries`. `many`: with a verb, for one."""
    if number == 1:
        return f"1 {one}"
    return f"{number} {many or re.sub('(?<![aeo])y$', 'ie', one) + 's'}"


def some_of(names: Sequence[object]) -> str:
    """The first names of many, and how many more there are: `3, 5 and 7 more`."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(str, names[:MOST_NAMED])) + more


def is_blank(text: str | None) -> bool:
    """Whether nobody sees anything in a text: it is made of blanks and of unseen characters."""
    return not any(it.isprintable() and not it.isspace() for it in text or "")


def printable(text: object) -> str:
    """A text in one line, for a terminal, a log or a page. A character that these would obey or
    leave out (a control character, an escape sequence's, a bidi control, a lone surrogate) stands
    there as it would be written in Python, such as `\\x1b`; a blank of any width as a space."""
    line = str(text)
    if line.isprintable():  # nearly always; one by one takes twenty times as long
        return line
    return "".join(it if it.isprintable() else _written(it) for it in line)


def _written(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


class LogLines(logging.Formatter):
    """Writes records of a log. What came from outside cannot begin a line that looks like another
    record: each further line of a record begins with blanks."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """One record, its message made printable."""
        record.message = _indented(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        """A traceback, whose last line may repeat text from outside."""
        return f"  {_indented(super().formatException(ei))}"


def _indented(text: str) -> str:
    return "\n  ".join(printable(line) for line in text.split("\n"))
