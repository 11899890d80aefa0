"""Takes in occurrences with their artifacts, but no bytes of a person who was forgotten, and none
before a row says whose they are.

A sender that heard no answer sends an occurrence again. Where its entry was erased meanwhile,
nothing is recorded, so nothing would name the bytes that came with it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.artifacts.owners import Announced, Owned
from pipeline.inbox.store import Inbox
from pipeline.log.artifacts import ArtifactStore, KeepsBytes, Stored, stored_as
from pipeline.log.entries import Draft
from pipeline.settings import Settings

_BY_KEY: Final = "select seq from entries where ingest_key = $1"


class Taking:
    """Reads drafts, and stores the artifacts that they name."""

    def __init__(self, inbox: Inbox, store: ArtifactStore) -> None:
        self._inbox = inbox
        self.store = store

    @classmethod
    def of(cls, settings: Settings, inbox: Inbox) -> "Taking":
        """Into the store that the settings name. `inbox`: theirs, open."""
        return cls(inbox, artifact_store(settings, inbox))

    def read(self, read: Callable[[KeepsBytes], Draft]) -> Draft:
        """What `read` makes of an occurrence; it is given where to keep artifacts. It is called to
        see whose they are, and where there are any, once more to keep them: nothing of an
        occurrence that is refused is ever stored.

        Raises `InboxUnavailable` where nothing can be recorded: then nothing is stored.
        """
        looking = _Looking(self.store)
        draft = read(looking)
        digests = {*looking.sizes_held, *looking.vouched}
        if not digests or self._is_erased(draft):
            return draft
        owned = Owned(self._inbox, self.store, draft.seller_id, draft.process_id)
        return read(Announced(owned, digests))

    def _is_erased(self, draft: Draft) -> bool:
        found = [self._inbox.entry(seq) for (seq,) in self._inbox.query(_BY_KEY, draft.ingest_key)]
        return any(it is not None and it.is_erased for it in found)


class _Looking:
    """Stores nothing, and says of bytes what the store would say."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self.sizes_held: dict[str, int] = {}
        """By digest, of what is not stored yet."""
        self.vouched: set[str] = set()
        """Of what is there already."""

    def keep(self, content: bytes) -> Stored:
        """Their digest and size."""
        stored = stored_as(content)
        self.sizes_held[stored.sha256] = stored.size_bytes
        return stored

    def vouch(self, sha256: str) -> bool:
        """Whether the store would vouch for them by now."""
        if sha256 in self.sizes_held:
            return True
        is_there = self._store.fault(sha256) is None
        if is_there:
            self.vouched.add(sha256)
        return is_there

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes of those that the store would have by now."""
        held = {it: self.sizes_held[it] for it in digests if it in self.sizes_held}
        return self._store.sizes(digests) | held
