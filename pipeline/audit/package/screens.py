"""Finds what a report shows of artifacts: each by its name, and what texts say.

The exporter asks it of the artifact store, a verifier that makes the report again of the package's
files.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from pipeline.contract.body import parse_json
from pipeline.errors import Unreadable

MAX_ENTRIES: Final = 2000
"""Of which the artifacts are named one by one; of any other the report says how many there are."""
MAX_TEXT_BYTES: Final = 8192
"""A longer text is only named, however short its entry says that it is."""
TEXT: Final = "text/plain"


class Screen(NamedTuple):
    """One artifact of an entry, as the report shows it."""

    name: str
    href: str  # from the report
    text: str | None  # what it says, where it is a short text


def screens_of(
    body: bytes, path_of: Callable[[str], str | None], read: Callable[[str], bytes | None]
) -> list[Screen]:
    """The artifacts that an entry names and the package holds. Pure but for `read`.

    `path_of`: digest -> path in the package, None where it is not there. `read`: digest -> its
    bytes; None may stand for more than `MAX_TEXT_BYTES`.
    """
    try:
        said = parse_json(body)
    except Unreadable:
        return []
    artifacts: Any = said.get("artifacts") if isinstance(said, Mapping) else None
    found = []
    for artifact in artifacts or ():
        digest = artifact.get("sha256")
        path = path_of(digest) if isinstance(digest, str) else None
        if path is not None:
            found.append(
                Screen(
                    str(artifact.get("name") or digest),
                    path.removeprefix("data/"),
                    _text(artifact, digest, read) if artifact.get("media_type") == TEXT else None,
                )
            )
    return found


def _text(
    artifact: Mapping[str, Any], digest: str, read: Callable[[str], bytes | None]
) -> str | None:
    size = artifact.get("size_bytes")
    if not isinstance(size, int) or size > MAX_TEXT_BYTES:
        return None
    content = read(digest)
    if content is None or len(content) > MAX_TEXT_BYTES:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
