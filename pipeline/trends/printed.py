"""Writes the page for the boss as HTML that prints on one A4, and as the part of a mail.

A bar is a cell of a table with a colour: mail programs show neither scripts nor SVG, and load a
picture only once somebody allows it (docs/decisions/pages.md#bars-in-mail-are-cells).
"""

from collections.abc import Sequence
from html import escape
from typing import Final
from zoneinfo import ZoneInfo

from pipeline.language.catalogue import Language
from pipeline.trends import one_page
from pipeline.trends.one_page import Line, OnePage, Section

TAGS: Final = {"en": "en", "pt": "pt-BR"}
_NOTE: Final = "·"
"""What stands before a note in plain text."""
_GOOD: Final = "#1f5fa8"
_BAD: Final = "#b3471f"
_EMPTY: Final = "#e4e7eb"
_FONT: Final = "font-family:Arial,Helvetica,sans-serif;color:#1a1a1a"
_CELL: Final = "padding:2px 8px 2px 0;font-size:13px;vertical-align:middle"
_ON_PAPER: Final = """
@page { size: A4; margin: 12mm 14mm; }
body { margin: 16px auto; max-width: 182mm; background: #fff; }
table, p, h2 { break-inside: avoid; }
* { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
@media print {
  body { margin: 0; }
  body > div { display: flex; flex-direction: column; min-height: 270mm; }
  h2 { display: flex; align-items: flex-end; flex: 1 1 auto; max-height: 72px; }
  body > div > :last-child { margin-top: auto !important; }
}
"""
"""On paper the sections spread over the sheet, as far as that keeps a title with its lines."""


def document(of: OnePage, zone: ZoneInfo, into: Language) -> str:
    """The page as a file of its own: no script, and nothing from elsewhere."""
    title = escape(one_page.title(of, into))
    return (
        f'<!doctype html>\n<html lang="{TAGS[into]}"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{_ON_PAPER}</style></head>"
        f"<body>{part(of, zone, into)}</body></html>\n"
    )


def part(of: OnePage, zone: ZoneInfo, into: Language) -> str:
    """The page as a part of other HTML, with all of its looks inside, as mails need them."""
    title = escape(one_page.title(of, into))
    shown = "".join(_section(it) for it in one_page.sections(of, zone, into))
    heading = f'<h1 style="font-size:20px;margin:0">{title}</h1>'
    finding = f'<p style="font-size:16px;margin:6px 0">{escape(one_page.finding(of, into))}</p>'
    when, foot = _note(one_page.when(of, zone, into)), _note(one_page.foot(into))
    return f'<div style="{_FONT}">{heading}{finding}{when}{shown}{foot}</div>'


def lines(of: OnePage, zone: ZoneInfo, into: Language) -> list[tuple[str, str]]:
    """The page in plain text: label and value of each line, a title without a label."""
    found = [
        ("", one_page.title(of, into)),
        (_NOTE, one_page.finding(of, into)),
        (_NOTE, one_page.when(of, zone, into)),
    ]
    for section in one_page.sections(of, zone, into):
        found.append(("", section.title))
        found += [(line.label, line.said) for line in section.lines]
        found += [(_NOTE, note) for note in section.notes]
    return [*found, (_NOTE, one_page.foot(into))]


def _section(of: Section) -> str:
    title = f'<h2 style="font-size:14px;margin:12px 0 3px">{escape(of.title)}</h2>'
    return f"{title}{_table(of.lines)}{''.join(map(_note, of.notes))}"


def _table(of: Sequence[Line]) -> str:
    if not of:
        return ""
    rows = "".join(map(_row, of))
    return f'<table width="100%" cellpadding="0" cellspacing="0">{rows}</table>'


def _row(line: Line) -> str:
    label = f'<th scope="row" align="left" width="38%" style="{_CELL};font-weight:normal">'
    shown = "" if line.part is None else _bar(line.part, _BAD if line.is_bad else _GOOD)
    said = f'<td align="right" width="36%" style="{_CELL};padding-right:0">'
    return (
        f"<tr>{label}{escape(line.label)}</th>"
        f'<td width="26%" style="{_CELL}">{shown}</td>{said}<b>{escape(line.said)}</b></td></tr>'
    )


def _bar(filled: float, colour: str) -> str:
    """What it shows is said beside it."""
    percent = round(min(max(filled, 0), 1) * 100)
    cells = "".join(
        f'<td width="{width}%" bgcolor="{of}" style="line-height:9px;font-size:1px">&nbsp;</td>'
        for width, of in ((percent, colour), (100 - percent, _EMPTY))
        if width
    )
    table = '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" height="9">'
    return f"{table}<tr>{cells}</tr></table>"


def _note(text: str) -> str:
    return f'<p style="font-size:11px;color:#4a4a4a;margin:3px 0">{escape(text)}</p>'
