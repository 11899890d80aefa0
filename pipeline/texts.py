"""Shows text from outside so that no character in it moves, hides, colours or reverses others;
finds ids of persons in a text; counts things in words."""

import operator
import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

MOST_NAMED: Final = 20
"""Names in one line; of further ones only the number is given."""

_SEPARATOR: Final = "[-./ \u00a0\u2007\u202f\u2010-\u2015\u2212]"
"""What separates the parts of a tax id: also the unbreakable blanks and hyphens, and the dashes,
that text programs write."""
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
"""A tax id that no letter or digit touches, with the `CPF` or `CNPJ` before it, if there is one."""
_PHONE: Final = (
    rf"(?:[+\uff0b](?<!\d.)|%2[Bb])[1-9](?:(?:{_SEPARATOR}|[()]){{0,3}}\d){{7,14}}(?!\d)"
)
"""A telephone number with its country's code (E.164), however its parts are separated. No code of
the contract has a sign before so many digits, nor has an instant with its offset."""
_IS_PHONE: Final = re.compile(_PHONE)
_SIGNS: Final = r"\s\"',:;/()\[\]{}"  # that end an e-mail address
_AT: Final = "(?:[@\ufe6b\uff20]|%40)"
_HAS_AT: Final = re.compile(_AT)
_BEFORE_AT: Final = rf"(?:[^{_SIGNS}@\ufe6b\uff20%]|%(?!40))"
_LOCAL: Final = rf"(?:(?<![^{_SIGNS}@]){_BEFORE_AT}++|(?<=\d)(?![A-Za-z\d]){_BEFORE_AT}{{1,64}}+)"
PERSONAL_ID: Final = re.compile(rf"{_LOCAL}{_AT}[^{_SIGNS}]+|{_WITHIN}")
"""A tax id, or an e-mail address, among other words. An address is looked for only from its first
character, or right behind a tax id. If it were looked for from every character, a code of a
megabyte that somebody sent would take hours."""
PERSONAL: Final = re.compile(rf"{PERSONAL_ID.pattern}|{_PHONE}")
"""One of these, or a telephone number, which few know a seller by."""
_UNSEEN: Final = (
    (0x034F, 0x034F),  # a joiner of marks
    (0x115F, 0x1160),  # fillers of Hangul
    (0x17B4, 0x17B5),  # vowels of Khmer that nobody writes
    (0x180B, 0x180F),  # variants of Mongolian
    (0x2800, 0x2800),  # Braille without a dot
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variants of any character
    (0xFFA0, 0xFFA0),
    (0xFFFC, 0xFFFC),  # the place of an object
    (0xE0000, 0xE0FFF),  # tags and further variants
)
"""What Unicode says is not shown (Default_Ignorable_Code_Point), or shown as a blank, beside what
its categories say."""
_SMALL: Final = re.compile("(?!(?i:cpf|cnpj))(?<![A-Za-z])[A-Za-z]*[a-z]")
"""A word with a small letter, other than `cpf` or `cnpj`."""


def folded(text: str) -> str:
    """A text as it is compared: without accents, upper case and width."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(it for it in plain if not unicodedata.combining(it)).casefold()


def shell(*words: object) -> str:
    """A command for a person to type: it does what it says, whatever a path or an id holds."""
    return shlex.join(str(word) for word in words)


def typed(*words: object) -> str:
    """Such a command among other words."""
    return f"`{shell(*words)}`"


def is_tax_id(text: str) -> bool:
    """Whether a text looks like a CPF or a CNPJ, with or without its separators."""
    return _IS_TAX_ID.fullmatch(text) is not None


def may_be_address(text: str) -> bool:
    """Whether a text holds an @, also as `%40` or as one of its wide forms."""
    return _HAS_AT.search(text) is not None


def is_phone(text: str) -> bool:
    """Whether a text is a telephone number with its country's code."""
    return _IS_PHONE.fullmatch(text) is not None


def is_marked_or_checked(tax_id: str) -> bool:
    """Whether what looks like a CPF or a CNPJ has all of its separators, or right check digits, so
    that other runs of digits, such as a time, do not pass for one. Many other ids are as long as a
    CNPJ and have small letters, and somebody may type a CNPJ in small letters, too: so with small
    letters the check digits count only behind `cnpj`."""
    number = re.sub(r"^(?:CPF|CNPJ)(?=.{11})", "", tax_id.upper())
    may_be_checked = len(number) < len(tax_id) or tax_id == tax_id.upper()
    number = "".join(str(int(it)) if it.isdecimal() else it for it in number)
    bare = re.sub(_SEPARATOR, "", number)
    is_marked = len(number) - len(bare) == (3 if len(bare) == 11 else 4)
    return is_marked or (may_be_checked and _check_digits(bare[:-2]) == bare[-2:])


def holds_personal_id(identifier: str) -> bool:
    """Whether an id holds an e-mail address, a telephone number, or surely a tax id, among other
    characters."""
    if may_be_address(identifier) or _IS_PHONE.search(identifier) is not None:
        return True
    return any(is_marked_or_checked(it[0]) for it in TAX_ID_WITHIN.finditer(identifier))


def names_person(text: str) -> bool:
    """Whether a text holds an id that looks personal."""
    return any(_is_personal(found[0]) for found in PERSONAL_ID.finditer(text))


def hide_personal(text: str, mask: Callable[[str], str], what: re.Pattern[str] = PERSONAL) -> str:
    """The text, with the mask of each id in it that looks personal, and of each telephone number.
    `what`: `PERSONAL_ID` for the ids alone."""

    def hide(found: str) -> str:
        return mask(found) if _is_personal(found) else found

    return what.sub(lambda found: hide(found[0]), text)


def for_anybody(text: str) -> str:
    """The text without ids that look personal, for what packages show unmasked."""
    return hide_personal(text, lambda _: "***", PERSONAL_ID)


def _is_personal(found: str) -> bool:
    """Whether a match of `PERSONAL` is really one. Words in small letters may be as long as a
    CNPJ's parts: a CNPJ in small letters must have no spaces, and all of its separators, or `cnpj`
    before it and right check digits."""
    if may_be_address(found) or is_phone(found) or not _SMALL.search(found):
        return True
    return " " not in found and is_marked_or_checked(found)


def _check_digits(number: str) -> str:
    """The check digits of a CPF or a CNPJ that is given without them. A letter, which a CNPJ may
    have since July 2026, counts by its place in ASCII."""
    most = 11 if len(number) == 9 else 9  # the highest weight
    for _digit in range(2):
        weights = [2 + place % (most - 1) for place in range(len(number))]
        values = [ord(it) - ord("0") for it in reversed(number)]
        rest = sum(map(operator.mul, values, weights)) % 11
        number += str(0 if rest < 2 else 11 - rest)
    return number[-2:]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: `1 entry`, `2 entries`. `many`: the plural, where it is not
    formed like that, or `one` has a verb."""
    if number == 1:
        return f"1 {one}"
    return f"{number} {many or re.sub('(?<![aeo])y$', 'ie', one) + 's'}"


def some_of(names: Sequence[object]) -> str:
    """The first names of many, and how many more there are: `3, 5 and 7 more`."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(str, names[:MOST_NAMED])) + more


def is_unseen(character: str) -> bool:
    """Whether nobody sees a character: it is of no width, or looks like a blank."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cn") or any(
        first <= ord(character) <= last for first, last in _UNSEEN
    )


def is_blank(text: str | None) -> bool:
    """Whether nobody sees anything in a text: it is made of blanks and of unseen characters."""
    return not any(it.isprintable() and not it.isspace() and not is_unseen(it) for it in text or "")


def printable(text: object) -> str:
    """A text in one line, for a terminal, a log or a page. Characters that these would obey or
    leave out (control characters, bidi controls, lone surrogates) are written as in Python, such as
    `\\x1b`; a blank of any width becomes a space."""
    line = str(text)
    if line.isprintable():  # nearly always; one by one takes twenty times as long
        return line
    return "".join(it if it.isprintable() else _written(it) for it in line)


def _written(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
