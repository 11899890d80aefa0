"""Says whose the bytes of artifacts are, before they are stored.

    1. a row: these digests are of this seller's process
    2. the bytes
    3. the entry that names them

A crash, or a refusal, at any step leaves no bytes without a known owner. The rows stay: what the
log says of an artifact may be erased, and they say nothing else of a person.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.errors import Unreadable
from pipeline.inbox.artifacts import digests_named
from pipeline.inbox.store import Inbox, Statement
from pipeline.log.artifacts import ArtifactStore, Stored, is_digest, stored_as

_ARE_OF: Final = """
    insert into artifact_owners (sha256, seller_id, process_id, at) values ($1, $2, $3, $4)
    on conflict (sha256, seller_id) do update set at = excluded.at"""
_OF_SELLER: Final = "select sha256 from artifact_owners where seller_id = $1"
_OWNERS: Final = "select sha256, seller_id from artifact_owners order by sha256, seller_id"
_FORGET: Final = "delete from artifact_owners where seller_id = $1 and at < $2"
_SCREENS: Final = "select detail from journey_flow where detail is not null"
"""Screens that showed a fault: the flow of a journey names them, and no entry does."""


class Owned:
    """A store that takes the bytes of one seller's process, once a row says so."""

    def __init__(
        self, inbox: Inbox, store: ArtifactStore, seller_id: str | None, process_id: str | None
    ) -> None:
        self._inbox = inbox
        self._store = store
        self._whose = (seller_id or "", process_id or "")
        self._said: set[str] = set()

    def announce(self, digests: Iterable[str]) -> None:
        """Says of bytes that are about to be stored whose they are, in one durable commit. Raises
        `InboxUnavailable`: then none of them may be stored."""
        new = sorted({*digests} - self._said)
        if new:
            now = self._inbox.now()
            claim, *others = [Statement(_ARE_OF, (it, *self._whose, now)) for it in new]
            self._inbox.change(claim, others)
            self._said |= {*new}

    def keep(self, content: bytes) -> Stored:
        """Stores bytes, after the row. Raises `InboxUnavailable`, and as the store does."""
        self.announce([stored_as(content).sha256])
        return self._store.keep(content)

    def vouch(self, sha256: str) -> bool:
        """Whether an entry may name the bytes under a digest."""
        return self._store.vouch(sha256)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """How many bytes there are under each of the digests that are there."""
        return self._store.sizes(digests)


class Announced:
    """A store that takes only bytes which were announced: a file may change after it was read."""

    def __init__(self, owned: Owned, digests: Iterable[str]) -> None:
        """Raises `InboxUnavailable`; nothing is stored then."""
        self._owned = owned
        self._digests = {*digests}
        owned.announce(self._digests)

    def keep(self, content: bytes) -> Stored:
        """The same; raises `Unreadable` for other bytes."""
        if stored_as(content).sha256 not in self._digests:
            raise Unreadable("the artifact's file changed while it was read; send it again")
        return self._owned.keep(content)

    def vouch(self, sha256: str) -> bool:
        """As the store does."""
        return self._owned.vouch(sha256)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """As the store does."""
        return self._owned.sizes(digests)


def of_seller(inbox: Inbox, seller_id: str) -> set[str]:
    """Digests of all that was ever about to be stored for a seller."""
    return {sha256 for (sha256,) in inbox.query(_OF_SELLER, seller_id)}


def forget_rows(inbox: Inbox, seller_id: str, before: int) -> None:
    """Takes away the rows of a seller whose bytes are gone. Those from `before` on stay: a request
    under way may still store what they speak of."""
    inbox.execute(_FORGET, seller_id, before)


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Bytes in the store that neither an entry nor a journey's flow names."""

    of_sellers: Mapping[str, Sequence[str]]
    """Seller -> digests that came for it: its request is under way, or was never recorded."""
    of_nobody: Sequence[str]
    """Digests of which no row says whose they are."""
    partial: int
    """Files whose writer was killed."""

    @property
    def is_none(self) -> bool:
        """Whether there are none."""
        return not (self.of_sellers or self.of_nobody or self.partial)


def unnamed(inbox: Inbox, store: ArtifactStore) -> Unnamed:
    """What a store holds that nothing names. In this order, what comes meanwhile is nobody's at no
    moment: its row is there before its bytes are, and its bytes are before its entry is."""
    there = {*store.names()}
    owners: dict[str, list[str]] = defaultdict(list)
    for sha256, seller_id in inbox.query(_OWNERS) if there else ():
        owners[sha256].append(seller_id)
    there -= {it.hex() for it in digests_named(inbox)} if there else set()
    there -= on_screens(inbox) if there else set()
    of_sellers: dict[str, list[str]] = defaultdict(list)
    for sha256 in sorted(there):
        for seller_id in owners[sha256]:
            of_sellers[seller_id].append(sha256)
    of_nobody = sorted(it for it in there if not owners[it])
    return Unnamed(of_sellers, of_nobody, store.partial())


def on_screens(inbox: Inbox) -> set[str]:
    """Digests of the screens that journeys' flows name."""
    details = (detail for (detail,) in inbox.query(_SCREENS))
    return {it for detail in details for it in detail.split() if is_digest(it)}
