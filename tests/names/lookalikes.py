"""Makes `pipeline/lookalikes.py` of Unicode's table of confusable characters.

    python -m tests.names.lookalikes confusables.txt > pipeline/lookalikes.py

The table is `confusables.txt` of Unicode Security Mechanisms (UTS #39), of any version; the module
names the version.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LINE: Final = re.compile(r"([0-9A-F]{4,6})\s*;\s*([0-9A-F ]+?)\s*;")
_VERSION: Final = re.compile(r"^# Version: ([0-9.]+)$", re.MULTILINE)
WIDTH: Final = 92
MOST_LETTERS: Final = 2
"""That one character may look like."""
READ: Final = ("LATIN", "GREEK", "CYRILLIC")
"""Alphabets in which people here have names: no letter of them is taken for two others."""


def pairs(table: str) -> dict[str, str]:
    """Character -> the Latin letters that it looks like, of those that are neither ASCII nor taken
    apart to it by Unicode's own forms."""
    found = {}
    for line in table.splitlines():
        if match := _LINE.match(line):
            source = chr(int(match[1], 16))
            looks = "".join(chr(int(it, 16)) for it in match[2].split())
            most = 1 if unicodedata.name(source, "").split(" ")[0] in READ else MOST_LETTERS
            if (
                not source.isascii()
                and unicodedata.normalize("NFKD", source) == source
                and not unicodedata.combining(source)
                and looks.isascii()
                and looks.isalpha()
                and len(looks) <= most
            ):
                found[source] = looks
    return found


def lines(table: str) -> Iterator[str]:
    """The lines of the module."""
    version = _VERSION.search(table)
    if version is None:
        raise SystemExit("not Unicode's confusables.txt: it names no version")
    yield f'"""Letters of all scripts that look like Latin ones, by Unicode {version[1]} (UTS #39,'
    yield "confusables.txt). Made by `python -m tests.names.lookalikes`, never written by hand."
    yield '"""'
    yield ""
    yield "from typing import Final"
    yield ""
    yield f'VERSION: Final = "{version[1]}"'
    yield '"""Of Unicode."""'
    yield "_TABLE: Final = ("
    line = ""
    for source, looks in sorted(pairs(table).items()):
        pair = f"{ord(source):04X}:{looks} "
        if len(line) + len(pair) > WIDTH:
            yield f'    "{line}"'
            line = ""
        line += pair
    yield f'    "{line}"'
    yield ")"
    yield "LETTERS: Final[dict[str, str]] = {"
    yield "    chr(int(code, 16)): looks"
    yield '    for code, looks in (pair.split(":") for pair in _TABLE.split())'
    yield "}"
    yield '"""Character -> what it looks like."""'
    yield 'OF_TWO: Final = frozenset(source for source, looks in LETTERS.items() if "l" in looks)'
    yield '"""Those that look like an `l`, a capital `i` or a `1`, and nobody can tell which."""'


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    sys.stdout.write("".join(f"{line}\n" for line in lines(text)))
