"""Shows text from outside so that no character in it moves, hides, colours or reverses others."""

import logging
import unicodedata
from typing import Any


def printable(text: object) -> str:
    """A text in one line, for a terminal, a log or a page. A character that these would obey or
    leave out (a control character, an escape sequence's, a bidi control, a lone surrogate) stands
    there as it would be written in Python, such as `\\x1b`; a blank of any width as a space."""
    return "".join(it if it.isprintable() else _written(it) for it in str(text))


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
