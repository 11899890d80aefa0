"""Takes in occurrences with their artifacts, but no bytes of a person who was forgotten.

Whoever heard no answer sends an occurrence again. Where its entry was erased meanwhile, nothing is
recorded, so nothing would name the bytes that came with it.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.erased import newest_erasure
from pipeline.inbox.store import Inbox
from pipeline.log.artifacts import ArtifactStore, KeepsBytes, Stored
from pipeline.log.entries import Draft
from pipeline.settings import Settings

_BY_KEY: Final = "select seq from entries where ingest_key = $1"


class Taking:
    """Reads drafts, and stores the artifacts that they name."""

    def __init__(self, inbox: Inbox, store: ArtifactStore) -> None:
        self._inbox = inbox
        self._store = store

    @classmethod
    def of(cls, settings: Settings, inbox: Inbox) -> "Taking":
        """Into the store that the settings name. `inbox`: theirs, open."""
        return cls(inbox, artifact_store(settings, inbox))

    def read(self, read: Callable[[KeepsBytes], Draft]) -> Draft:
        """What `read` makes of an occurrence; it is given where to keep artifacts. Where it keeps
        any, and anybody was ever forgotten, it is called again to keep them."""
        looking = _Looking(self._inbox, self._store)
        draft = read(looking)
        if looking.sizes_held and not self._is_erased(draft):
            return read(self._store)
        return draft

    def _is_erased(self, draft: Draft) -> bool:
        found = [self._inbox.entry(seq) for (seq,) in self._inbox.query(_BY_KEY, draft.ingest_key)]
        return any(it is not None and it.is_erased for it in found)


class _Looking:
    """Stores bytes at once where nobody was ever forgotten. Else it stores none, and says of them
    what the store would say."""

    def __init__(self, inbox: Inbox, store: ArtifactStore) -> None:
        self._inbox = inbox
        self._store = store
        self.sizes_held: dict[str, int] = {}
        """By digest, of what is not stored yet."""

    def keep(self, content: bytes) -> Stored:
        """Their digest and size."""
        if not self._holds:
            return self._store.keep(content)
        stored = Stored(hashlib.sha256(content).hexdigest(), len(content))
        self.sizes_held[stored.sha256] = stored.size_bytes
        return stored

    @cached_property
    def _holds(self) -> bool:
        return newest_erasure(self._inbox) > 0

    def vouch(self, sha256: str) -> bool:
        """Whether the store would vouch for them by now."""
        return sha256 in self.sizes_held or self._store.vouch(sha256)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes of those that the store would have by now."""
        held = {it: self.sizes_held[it] for it in digests if it in self.sizes_held}
        return self._store.sizes(digests) | held
