"""Recognises a file that is one JSON document where each line is to be one occurrence. No I/O.

The platform's own list of events is such a file, and so is whatever a program wrote to be read by
people, over several lines: line by line none of it could be taken, and each for a wrong reason.
"""

import re
from typing import Final, NamedTuple

from pipeline.contract.body import parse_json
from pipeline.errors import Unreadable
from pipeline.log.ndjson import list_in

_LIST: Final = re.compile(
    rb"""\s*(?:\{\s*
        (?:"(?!type")[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*,\s*)*  # what a page says of itself
        "(items|data)"\s*:\s*
    )?\[""",
    re.VERBOSE,
)


class Document(NamedTuple):
    """What a file holds, and the filter of jq that makes one line of each of its values."""

    is_list: bool
    filter: str


def document_in(head: bytes) -> Document | None:
    """The document that begins here, without a byte order mark; None where lines do. `head`: as
    much as one line may have, or the whole file."""
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        place = list_in(parse_json(first))
    except Unreadable:
        found = _LIST.match(head)
        if found is None:
            return Document(False, ".") if _goes_on(first.rstrip(), rest) else None
        place = (found[1] or b"").decode()
    return None if place is None else Document(True, f".{place}[]")


def _goes_on(first: bytes, rest: bytes) -> bool:
    """Whether an object that begins on a line goes on below it. A line that was cut off would be
    followed by others that are whole."""
    if not (first.startswith(b"{") and first.endswith((b"{", b"[", b","))):
        return False
    second = rest.lstrip().partition(b"\n")[0]
    try:
        return bool(second) and not isinstance(parse_json(second), dict)
    except Unreadable:
        return True
