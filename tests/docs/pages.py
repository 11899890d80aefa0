"""The documents of this repository: their text, their headings and their links."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?: {4}|\t).*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _INDENTED.sub("", _FENCE.sub("", text(page)))


def commands(page: Path) -> list[str]:
    """The lines of its blocks of code that call `prazo`, without what stands around it."""
    found = re.findall(r"^ {4}(?:[A-Z_]+=\S+ )*(prazo [^#\n]*)", text(page), re.MULTILINE)
    return [re.split(r" [>|] ", line)[0].strip() for line in found]


def headings(page: Path) -> list[str]:
    return _HEADING.findall(prose(page))


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    return {anchor(it) for it in headings(page)}


def links(page: Path) -> list[str]:
    """The targets of its links and pictures."""
    return _LINK.findall(_CODE.sub("", prose(page)))
