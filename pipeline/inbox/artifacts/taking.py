"""Takes in occurrences with their artifacts, but no bytes of a person who was forgotten.

Whoever heard no answer sends an occurrence again. Where its entry was erased meanwhile, nothing is
recorded, so nothing would name the bytes that came with it.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from pipeline.inbox.erased import newest_erasure
from pipeline.inbox.store import Inbox
from pipeline.log.artifacts import ArtifactStore, KeepsBytes, Stored
from pipeline.log.entries import Draft

_IS_ERASED: Final = "select 1 from entries where ingest_key = $1 and salt is null"


class Taking:
    """Reads drafts, and stores the artifacts that they name."""

    def __init__(self, inbox: Inbox, store: ArtifactStore) -> None:
        self._inbox = inbox
        self._store = store

    def read(self, read: Callable[[KeepsBytes], Draft]) -> Draft:
        """What `read` makes of an occurrence; it is given where to keep artifacts. Where anybody
        was ever forgotten, it is called once before with what keeps nothing."""
        if newest_erasure(self._inbox):
            draft = read(_Unwritten(self._store))
            if self._inbox.query(_IS_ERASED, draft.ingest_key):
                return draft
        return read(self._store)


class _Unwritten:
    """Says of bytes what a store would say, and writes none."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._sizes: dict[str, int] = {}

    def keep(self, content: bytes) -> Stored:
        """Their digest and size."""
        stored = Stored(hashlib.sha256(content).hexdigest(), len(content))
        self._sizes[stored.sha256] = stored.size_bytes
        return stored

    def vouch(self, sha256: str) -> bool:
        """Whether the store would vouch for them by now."""
        return sha256 in self._sizes or self._store.vouch(sha256)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes of those that the store would have by now."""
        return self._store.sizes(digests) | {
            digest: self._sizes[digest] for digest in digests if digest in self._sizes
        }
