"""Fits a message into what the service that carries it takes: cut into parts, or shortened.

Services count characters, UTF-16 units or bytes, before or after they escape markup. The largest of
these is counted for all of them, so that no service refuses what fits here.
"""

import html
from typing import Final, NamedTuple

from pipeline.alert.messages.words import Language, said

MOST_PARTS: Final = 5
"""Of one message; what is beyond them is in Prazo."""
WORTH_CUTTING: Final = 1000
"""What a service takes at once, from which on a long message is cut: of text messages for
telephones, which are dear, one is sent that says how much more there is."""
_RESERVED: Final = 200
"""For the number of a part, and the line that says how much is left out."""


class Part(NamedTuple):
    """What is sent at once."""

    title: str
    body: str


def size(text: str) -> int:
    """How long a text is, in the unit in which it is longest: bytes with its markup escaped."""
    return len(html.escape(text).encode())


def parts(subject: str, plain: str, language: Language, most: int, most_title: int) -> list[Part]:
    """The parts in which a service takes a message. `most`: of a body; `most_title`: of a title, 0
    where the title is put before the body. It is cut between lines, and a line only where it does
    not fit alone."""
    title = _cut(subject, most_title if most_title > 0 else min(250, most // 3))
    room = most - (0 if most_title > 0 else size(title) + 2)
    if size(plain) <= room:
        return [Part(title, plain)]
    room = max(room - _RESERVED, room // 3)
    bodies = _grouped(plain, room)
    kept = bodies[: MOST_PARTS if most >= WORTH_CUTTING else 1]
    left_out = sum(it.count("\n\n") + 1 for it in bodies[len(kept) :])
    if left_out:
        more = (f"… e mais {left_out}: veja no Prazo", f"… and {left_out} more: see them in Prazo")
        kept[-1] = f"{kept[-1].rstrip()}\n\n{said(more, language)}\n"
    if len(kept) == 1:
        return [Part(title, kept[0])]
    return [Part(title, f"({n}/{len(kept)})\n{body}") for n, body in enumerate(kept, 1)]


def _grouped(plain: str, room: int) -> list[str]:
    groups = [""]
    for line in plain.splitlines(keepends=True):
        for piece in _pieces(line, room):
            if groups[-1] and size(groups[-1]) + size(piece) > room:
                groups.append("")
            groups[-1] += piece
    return [it for it in groups if it.strip()]


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
