"""Says what the masked profile shows as it came, and what it hides behind a keyed hash.

An exporter masks by it; a verifier, who does not know the log's key, judges by it whether whatever
a masked package shows had to be masked.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pipeline import instants
from pipeline.contract.body import parse_json
from pipeline.contract.event_types import REVIEW_REQUIRED
from pipeline.log.entries import Entry, public_name
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.texts import PERSONAL, holds_personal_id

_USUAL: Final = re.compile("[A-Za-z_./-]+[0-9]?(?:; ?charset=[A-Za-z]+(?:-[0-9]{1,4}){0,2})?")
"""Most codes, paths and media types, which no tax id, telephone number or e-mail address can be."""
_PARTS: Final = re.compile(rf"(?:{PERSONAL.pattern}|[^./])++")
"""Of a path or a type: what may be an id of a person is one part, however it is punctuated."""
_INDEX: Final = re.compile("[0-9]{1,7}")
_REVIEW_SHAPE: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"id", "type", "created_at", "payload"}),
    "payload": frozenset({"object"}),
    "object": frozenset(
        {"type", "process_id", "customer_id", "status", "deadline_at", "requested_fields"}
    ),
}


class Masking:
    """What stands for each text in a masked package; a text stays where nothing in it can be
    personal."""

    def __init__(self, key: bytes, held: Collection[str]) -> None:
        """`key`: of the log, by which its leaves hash identifiers; which texts stay does not depend
        on it. `held`: the identifiers that leaves of the package hold."""
        self._key, self._held = key, held

    def name(self, identifier: str) -> str:
        """What stands for an identifier that a leaf holds, or that of a bank account."""
        return public_name(identifier, self._key)

    def word(self, text: str) -> str:
        """What stands for any other id, or for a word in the place of a code. What is an id that a
        leaf holds, too, keeps its name from there: a journey may be called as its process is."""
        name = public_name(text, self._key)
        return self.path(text) if name == text and text not in self._held else name

    def path(self, text: str) -> str:
        """The same for a path, or for a code that is written like one: part by part, so that what
        was asked for still covers what is under it."""
        if _USUAL.fullmatch(text):
            return text
        return _PARTS.sub(lambda part: _new_part(part[0], self._key), text)

    def is_impersonal(self, entry: Entry) -> bool:
        """Whether a body is a review event with only the contract's keys and no text that could be
        personal. Anything else may hold a person's name."""
        if entry.kind != WEBHOOK:
            return False
        event = parse_json(entry.body or b"")
        return event.get("type") == REVIEW_REQUIRED and self._is_plain(event, "")

    def _is_plain(self, value: Any, key: str) -> bool:
        match value:
            case dict():
                shown = _REVIEW_SHAPE.get(key, frozenset())
                return value.keys() <= shown and all(
                    self._is_plain(inner, name) for name, inner in value.items()
                )
            case list():
                return all(self._is_plain(it, "[]") for it in value)
            case str():
                is_opaque = public_name(value, self._key) == value
                # Behind the dot of one with an offset stands what looks like a number of a person.
                is_instant = is_opaque and instants.parse(value) is not None
                return is_instant or self.word(value) == value
            case _:
                return value is None


def _new_part(part: str, key: bytes) -> str:
    name = part if _INDEX.fullmatch(part) else public_name(part, key)
    if name == part and holds_personal_id(part):
        return public_name(f" {part}", key)  # one that a leaf would hold as it is
    return name
