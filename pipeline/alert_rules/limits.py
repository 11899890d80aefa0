"""Fits a message into what the service that carries it takes: cut into parts, or shortened.

Services count characters, UTF-16 units or bytes, before or after they escape markup. The largest of
these is counted for all of them, so that no service refuses what fits here.
"""

import html
import re
from typing import Final, NamedTuple

from pipeline.language.catalogue import Language, counted_in

MOST_PARTS: Final = 5
"""Of one message; what is beyond them is in Prazo."""
WORTH_CUTTING: Final = 1000
"""What a service takes at once, from which on a long message is cut: of text messages for
telephones, which are dear, one is sent that says how much more there is."""
_BLOCK: Final = re.compile(r".+?(?:\n\n|\Z)", re.DOTALL)
_NUMBERED: Final = len(f"({MOST_PARTS}/{MOST_PARTS})\n")


class Part(NamedTuple):
    """What is sent at once."""

    title: str
    body: str


def size(text: str) -> int:
    """How long a text is, in the unit in which it is longest: bytes with its markup escaped."""
    return len(html.escape(text).encode())


def parts(
    subject: str,
    plain: str,
    language: Language,
    most: int,
    most_title: int,
    page: str | None = None,
) -> list[Part]:
    """The parts in which a service takes a message. `most`: of a body; `most_title`: of a title, 0
    where the title is put before the body. It is cut between alerts, and an alert between its lines
    only where it does not fit alone. `page`: where all of it is, for a reader of one part."""
    title = _cut(subject, most_title if most_title > 0 else min(250, most // 3))
    room = most - (0 if most_title > 0 else size(title) + 2)
    if size(plain) <= room:
        return [Part(title, plain)]
    blocks = [it for it in _BLOCK.findall(plain) if it.strip()]
    is_one = len(blocks) == 1  # such as a digest: what is left out of it are lines
    units = plain.splitlines(keepends=True) if is_one else blocks
    rest = _more(len(units), page, language, is_of_lines=is_one)
    if size(rest) > room // 2:
        rest, page = _more(len(units), None, language, is_of_lines=is_one), None
    bodies, ends = _grouped(units, max(room - size(rest) - _NUMBERED, room // 3))
    kept = bodies[: MOST_PARTS if most >= WORTH_CUTTING else 1]
    if left_out := sum(it >= len(kept) for it in ends):
        kept[-1] = kept[-1].rstrip() + _more(left_out, page, language, is_of_lines=is_one)
    if len(kept) == 1:
        return [Part(title, kept[0])]
    return [Part(title, f"({n}/{len(kept)})\n{body}") for n, body in enumerate(kept, 1)]


def _more(number: int, page: str | None, language: Language, *, is_of_lines: bool) -> str:
    """What says how much was left out, and where it is."""
    if is_of_lines:
        more = counted_in(
            language,
            "and {n} more line: see Prazo",
            "and {n} more lines: see Prazo",
            number,
            n=number,
        )
    else:
        more = counted_in(
            language,
            "and {n} more alert: see Prazo",
            "and {n} more alerts: see Prazo",
            number,
            n=number,
        )
    return f"\n\n… {more}{(page and f' {page}') or ''}\n"


def _grouped(units: list[str], room: int) -> tuple[list[str], list[int]]:
    """The units in texts that fit, and in which of these each ends."""
    groups, ends = [""], []
    for unit in units:
        if groups[-1] and size(groups[-1]) + size(unit) > room >= size(unit):
            groups.append("")
        for line in unit.splitlines(keepends=True):
            for piece in _pieces(line, room):
                is_full = size(groups[-1]) + size(piece) > room
                if is_full and groups[-1] and piece.strip():
                    groups.append("")
                if piece.strip() or (groups[-1] and not is_full):
                    groups[-1] += piece
        ends.append(len(groups) - 1)
    return groups, ends


def _pieces(line: str, room: int) -> list[str]:
    """The line, or what of it fits, again and again."""
    pieces = []
    while size(line) > room:
        piece = _cut(line, room, mark="")
        pieces.append(piece)
        line = line[len(piece) :]
    return [*pieces, line]


def _cut(text: str, most: int, mark: str = "…") -> str:
    """As much of the text as fits, and a mark where that is not all; one character at least."""
    if size(text) <= most:
        return text
    length = max(1, min(len(text), most))
    while length > 1 and size(text[:length] + mark) > most:
        length -= max(1, (size(text[:length] + mark) - most) // 6)
    return text[: max(1, length)] + mark
