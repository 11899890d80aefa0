"""Keeps artifacts in the database of a PostgreSQL inbox, in chunks.

Several machines share such an inbox, and each would have a folder of its own. In the database,
evidence that one machine took is in the package that another makes, and in every backup
(docs/decisions/artifacts.md).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from pipeline.inbox.postgres.inbox import PostgresInbox, ask
from pipeline.log.artifacts import CHUNK_BYTES, ArtifactStore, FolderArtifacts, digest_of

NAMES_PER_READ: Final = 4096

# Writers of the same artifact take turns, so that one of them stores it and the others find it.
_LOCK: Final = "select pg_advisory_xact_lock(('x' || left($1, 16))::bit(64)::bigint)"
_CHUNK: Final = "select bytes from artifact_chunks where sha256 = $1 and position = $2"
_REMOVE: Final = "delete from artifact_chunks where sha256 = $1"
_ADD: Final = "insert into artifact_chunks (sha256, position, bytes) values ($1, $2, $3)"
_SIZES: Final = """
    select sha256, sum(octet_length(bytes))::bigint from artifact_chunks
    where sha256 = any($1::text[])
    group by sha256"""
_NAMES: Final = """
    select sha256 from artifact_chunks
    where position = 0 and sha256 > $1
    order by sha256
    limit $2"""

Ask = Callable[..., list[tuple[Any, ...]]]
"""(statement, values) -> its rows"""


class DatabaseArtifacts(ArtifactStore):
    """Chunks in the inbox's database. Those of an artifact are committed together, so that a crash
    leaves all of them or none."""

    def __init__(self, inbox: PostgresInbox, older: FolderArtifacts) -> None:
        """`older`: the folder from before there was this store. It is read where the database does
        not have an artifact; nothing is written there."""
        self._inbox = inbox
        self._older = older
        self.place = "the inbox's database"

    def _write(self, sha256: str, content: bytes) -> None:
        with self._inbox.transaction() as session:
            ask(session, _LOCK, sha256)
            found = digest_of(_stored(lambda sql, *values: ask(session, sql, *values), sha256))
            if found == sha256:
                return
            if found is not None:
                ask(session, _REMOVE, sha256)
            for position, start in enumerate(range(0, max(len(content), 1), CHUNK_BYTES)):
                ask(session, _ADD, sha256, position, content[start : start + CHUNK_BYTES])

    def probe(self, size: int) -> None:
        """As entries are tried: they lie in the same database."""
        self._inbox.probe()

    def remove(self, sha256: str) -> bool:
        """Removes its chunks, and the folder's file: what is to be erased must be nowhere."""
        with self._inbox.transaction() as session:
            ask(session, _LOCK, sha256)
            is_here = next(_stored(lambda sql, *values: ask(session, sql, *values), sha256), None)
            if is_here is not None:
                ask(session, _REMOVE, sha256)
        return self._older.remove(sha256) or is_here is not None

    def vouch(self, sha256: str) -> bool:
        """An artifact that only the folder has is put into the database first: the entry that is
        about to name it will be read on other machines."""
        if not self.stored([sha256]) and (content := self._older.read(sha256)) is not None:
            self.keep(content)
        return self.fault(sha256) is None

    def chunks(self, sha256: str) -> Iterator[bytes]:
        """The chunks under a digest, unchecked; else those of the folder's file."""
        is_here = False
        for chunk in _stored(self._inbox.query, sha256):
            is_here = True
            yield chunk
        if not is_here:
            yield from self._older.chunks(sha256)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Of the database and the folder."""
        here = self.stored(digests)
        return here | self._older.sizes([it for it in digests if it not in here])

    def stored(self, digests: Sequence[str]) -> dict[str, int]:
        """Of the database alone: what every machine reaches."""
        return dict(self._inbox.query(_SIZES, list(digests))) if digests else {}

    def names(self) -> Iterator[str]:
        """Of the database alone: the folder may hold another log's."""
        after = ""
        while rows := self._inbox.query(_NAMES, after, NAMES_PER_READ):
            yield from (name for (name,) in rows)
            after = rows[-1][0]

    def partial(self, *, is_removed: bool = False) -> int:
        """None: the chunks of an artifact are one commit. The folder may hold another log's."""
        return 0


def _stored(ask: Ask, sha256: str) -> Iterator[bytes]:
    position = 0
    while rows := ask(_CHUNK, sha256, position):
        yield rows[0][0]
        position += 1
