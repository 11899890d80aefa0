"""Shows text from outside so that no character in it moves, hides, colours or reverses others, and
tells what in it looks like the id of a person."""

import logging
import re
import unicodedata
from typing import Any, Final

_TAX_ID: Final = "|".join(
    "[-./ ]?".join(groups)  # any of the separators may be missing
    for groups in (
        (r"\d{3}", r"\d{3}", r"\d{3}", r"\d{2}"),  # CPF
        (r"[A-Z0-9]{2}", r"[A-Z0-9]{3}", r"[A-Z0-9]{3}", r"[A-Z0-9]{4}", r"\d{2}"),  # CNPJ
    )
)
TAX_ID: Final = re.compile(_TAX_ID)
PERSONAL: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_TAX_ID})(?![A-Za-z0-9])"
    r"|[^\s\"',:;/()\[\]{}@]+@[^\s\"',:;/()\[\]{}]+"
)
"""A tax id, or an e-mail address, among other words."""


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
