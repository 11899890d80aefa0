"""The ledger's one DuckDB file: the only writer of the log.

`append` writes a batch of entries, the facts read out of them and the tree over them in one
transaction, so the file always holds a prefix of the log and never half a batch.
"""

import contextlib
import functools
import hashlib
import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import duckdb

from pipeline.errors import LedgerInUse, LedgerRefused, OperatorError
from pipeline.files import sync
from pipeline.ledger import arrow, facts, materialized, refresh
from pipeline.ledger.catalogue import script
from pipeline.log import tree
from pipeline.log.entries import Entry

SCHEMA_VERSION: Final = "14"
"""Raise it whenever tables or the reading of facts change: an older file is then rebuilt."""

CHECKPOINT_THRESHOLD: Final = "256MB"
"""DuckDB checkpoints inside a commit; at its default of 16 MB every other batch waits for one."""

FOUND_BY_INDEX: Final = 1000
"""Ids of a join up to which DuckDB asks an index; at its default of 50 it would scan every key."""

_REMEMBERED_BLOCKS: Final = 1024
"""Of 256 nodes each, while proofs are made: 30 MB at most."""

INDEX_SHARE: Final = 1 / 4
"""Of the memory, that indexes may take: DuckDB keeps what was touched of them until a checkpoint of
the file, 116 MB a million entries, and fails once the memory is full of it."""

_FULL_DISK: Final = ("No space left on device", "Disk quota exceeded")

_INDEX_MEMORY: Final = "select memory_usage_bytes from duckdb_memory() where tag = 'ART_INDEX'"

_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}

_MACROS: Final = hashlib.sha256(script("macros").encode()).hexdigest()

_Config = dict[str, str | bool | int | float | list[str]]


class LedgerDamaged(OperatorError):
    """DuckDB cannot open the file, or cannot go on with it."""


class LedgerStalled(OperatorError):
    """The file is sound, and has no room for more: memory or disk."""

    exit_code = 1


class LedgerOutdated(OperatorError):
    """The file was written under another schema version."""


class LastEntry(NamedTuple):
    """The last entry: its seq, and its leaf; 0 and nothing while there is none."""

    seq: int
    leaf: bytes


class Watermark(NamedTuple):
    """How far a state of the ledger is; whoever reads views has to know."""

    entries: int  # those whose processes and sellers have their materialized rows
    is_behind: bool  # those of later entries wait for a later batch
    settled_at: int  # microseconds; the last instant of an occurrence, -1 where there is none

    @classmethod
    def of(cls, cursor: duckdb.DuckDBPyConnection) -> Self:
        """The watermark of the state that the cursor sees."""
        [row] = cursor.execute(
            "select materialized_entries, materialized_entries < entries,"
            " if(isinf(settled_at), -1, epoch_us(settled_at))"
            " from materialized.watermark"
        ).fetchall()
        return cls(*row)


class Ledger:
    """An open ledger. One writer thread appends; any number of threads read through cursors."""

    def __init__(
        self,
        path: Path | None,
        *,
        log: str,
        keys: facts.Keys,
        memory: str = "2GB",
        threads: int = 2,
        without_bodies: bool = False,
    ) -> None:
        """Opens or makes the file at `path`; None holds the ledger in memory.

        Raises `LedgerInUse`, `LedgerDamaged`, `LedgerOutdated`, `LedgerStalled` where there is no
        room, or `LedgerRefused` where the file belongs to another log.
        """
        self.path = path
        self.log = log
        self._keys = keys
        self._config: _Config = {
            "memory_limit": memory,
            "threads": threads,
            "checkpoint_threshold": CHECKPOINT_THRESHOLD,
            "dynamic_or_filter_threshold": FOUND_BY_INDEX,
        }
        self._without_bodies = without_bodies
        self.watermark: Watermark | None
        """Of the last commit; None while one is under way, and the next state may be seen."""
        self._most_of_indexes = INDEX_SHARE * _bytes(memory)
        self._lock = threading.Lock()
        self._shut: OperatorError | None = None  # why the file could not be opened again
        self._open()

    # --- opening ---

    def _open(self) -> None:
        is_new = self.path is None or not self.path.exists()
        self._connection = self._connect()
        try:
            if is_new:
                self._create()
            self._check_identity()
            self._renew_macros()
            self._load_position()
            tables = ("log", "tree_heads", "tree_nodes", *facts.TABLES.values())
            self._columns = arrow.schemas(self._connection, tables)
            if is_new and self.path is not None:
                self._connection.execute("checkpoint")
                sync(self.path.parent)  # a new file's name is only durable once its folder is
        except duckdb.Error as error:
            self._connection.close()
            raise self._fault(error, "cannot be opened") from error
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = duckdb.connect(str(self.path or ":memory:"), config=self._config)
            connection.execute("set global TimeZone = 'UTC'")
            return connection
        except duckdb.IOException as error:
            if "lock" in str(error).lower():
                raise LedgerInUse(
                    f"The ledger {self.path} is in use",
                    "another process holds it, and DuckDB lets one process open a file",
                    "ask that process over its API, or stop it; `prazo show` finds it by itself",
                ) from None
            raise self._fault(error, "cannot be opened") from error
        except duckdb.Error as error:
            raise self._fault(error, "cannot be opened") from error

    def _fault(self, error: duckdb.Error, what: str) -> OperatorError:
        """What DuckDB's error means: no rebuild helps against a full disk or memory."""
        is_full = any(it in str(error) for it in _FULL_DISK)
        why = str(error).splitlines()[0]
        if is_full or isinstance(error, duckdb.OutOfMemoryException):
            return LedgerStalled(
                f"The ledger {self.path} {what}",
                why,
                "make room on its disk" if is_full else "give it more with PRAZO_LEDGER_MEMORY",
            )
        return LedgerDamaged(
            f"The ledger {self.path} {what}", why, "`prazo rebuild` makes it again from the inbox"
        )

    def _create(self) -> None:
        with self._transaction() as connection:
            connection.execute(script("schema"))
            _put_macros(connection)
            arrow.make_tables(connection, "materialized", materialized.definitions())
            connection.execute(script("indexes"))
            connection.execute(script("guards"))
            connection.execute("insert into materialized.watermark values (0, 0, '-infinity')")
            connection.executemany(
                "insert into meta values (?, ?)",
                [
                    ("log", self.log),
                    ("schema_version", SCHEMA_VERSION),
                    ("without_bodies", str(self._without_bodies).lower()),
                ],
            )

    def _check_identity(self) -> None:
        try:
            meta = dict(self._rows("select name, value from meta"))
        except duckdb.Error:
            meta = {}  # a file that lost its first transaction, or no ledger at all
        if meta.get("schema_version") != SCHEMA_VERSION:
            raise LedgerOutdated(
                f"The ledger {self.path} has schema {meta.get('schema_version', 'none')},"
                f" this release needs {SCHEMA_VERSION}",
                remedy="`prazo rebuild` makes it again from the inbox",
            )
        if meta["log"] != self.log:
            raise LedgerRefused(
                f"The ledger {self.path} belongs to another log",
                f"it follows {meta['log']}, and the inbox is {self.log}",
                "set PRAZO_INBOX and PRAZO_LEDGER to files that belong together; if the inbox was"
                " lost, `prazo restore` puts it back from a backup",
            )
        if meta["without_bodies"] != str(self._without_bodies).lower():
            raise LedgerRefused(
                f"The ledger {self.path} was made "
                f"{'without' if meta['without_bodies'] == 'true' else 'with'} bodies",
                remedy="open it the same way, or set PRAZO_LEDGER to another file",
            )

    def _renew_macros(self) -> None:
        """Puts this release's macros in place of another's. The same ones are left as they are: to
        write them takes disk, and a ledger on a full one can still be read."""
        if self._rows("select value from meta where name = 'macros'") != [(_MACROS,)]:
            with self._transaction() as connection:
                _put_macros(connection)

    def _load_position(self) -> None:
        heads = self._rows("select size, peaks from tree_heads order by size desc limit 1")
        self.frontier = tree.Frontier(*heads[0]) if heads else tree.Frontier()
        newest = self._rows("select seq, leaf from log order by seq desc limit 1")
        self.last_entry = LastEntry(*newest[0]) if newest else LastEntry(0, b"")
        self._peaks_before: list[bytes] | None = None  # those that the newest leaf was appended to
        if self.last_entry.seq != self.size:
            raise LedgerDamaged(
                f"The ledger {self.path} contradicts itself",
                f"its log ends at {self.last_entry.seq}, its tree at {self.size}",
                "`prazo rebuild` makes it again from the inbox",
            )
        self.watermark = Watermark.of(self.cursor())

    # --- writing ---

    @property
    def size(self) -> int:
        """Entries in the log, which is also the seq of the last."""
        return self.frontier.size

    last_entry: LastEntry
    """Of the last commit."""

    def newest_proof(self) -> list[bytes]:
        """That the last entry's leaf is the tree's newest, to be checked against its root."""
        if self._peaks_before is None:
            self._peaks_before = tree.Frontier.at(self.size - 1, self.subtrees()).peaks
        return tree.newest_proof(self._peaks_before)

    def append(self, entries: Sequence[Entry], *, more_follow: bool = False) -> None:
        """Writes the entries that follow the last one, all or none.

        `more_follow`: whole batches wait already, and the materialized rows of processes wait for
        a later one; until then views work them out from the log.

        Raises `LedgerRefused` where they do not follow it, `LedgerStalled` where memory or disk is
        full, `LedgerDamaged` where DuckDB failed otherwise; the ledger has then been reopened at
        what is durable, so the caller reads its `size` again.
        """
        if not entries:
            return
        expected = range(self.size + 1, self.size + 1 + len(entries))
        if any(entry.seq != seq for entry, seq in zip(entries, expected, strict=True)):
            raise LedgerRefused(
                "The inbox's entries do not follow the ledger's",
                f"after {self.size} came {entries[0].seq} to {entries[-1].seq} ({len(entries)})",
                "the inbox was changed by hand or replaced: restore it from a backup",
            )
        frontier = tree.Frontier(self.size, self.frontier.peaks)
        nodes = frontier.extend(tree.leaf_hash(entry.leaf) for entry in entries[:-1])
        peaks_before = list(frontier.peaks)
        nodes += frontier.extend([tree.leaf_hash(entries[-1].leaf)])
        extracted = facts.extract(entries, self._keys)
        self.watermark = None
        try:
            with self._transaction():
                self._insert("log", [entry[: len(arrow.LOG_COLUMNS)] for entry in entries])
                for kind, table in facts.TABLES.items():
                    self._insert(table, extracted[kind])
                self._insert("tree_nodes", nodes)
                self._insert(
                    "tree_heads",
                    [(frontier.size, frontier.root(), frontier.peaks, entries[-1].recorded_at)],
                )
                refresh.refresh(
                    self._connection,
                    after=self.size,
                    size=frontier.size,
                    more_follow=more_follow,
                )
        except duckdb.Error as error:
            # Whether a failed commit is durable cannot be known from here: look at the file again.
            fault = self._fault(
                error, f"did not take entries {entries[0].seq} to {entries[-1].seq}"
            )
            self.reopen()
            raise fault from error
        self.frontier, self.last_entry = frontier, LastEntry(entries[-1].seq, entries[-1].leaf)
        self._peaks_before = peaks_before
        self.watermark = Watermark.of(self.cursor())
        self._let_go_of_indexes()

    def _let_go_of_indexes(self) -> None:
        """Writes what was touched of the indexes to the file, and so out of memory. Where DuckDB
        takes somebody's reading for writing it refuses, and the next batch tries again."""
        [(held,)] = self._rows(_INDEX_MEMORY)
        if held <= self._most_of_indexes:
            return
        try:
            self._connection.execute("checkpoint")
        except duckdb.TransactionException:
            pass
        except duckdb.Error as error:
            fault = self._fault(error, "could not be checkpointed")
            self.reopen()  # a failed checkpoint invalidates it for every reader
            raise fault from error

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        masks = arrow.MASKED_COLUMNS.get(table, {}) if self._without_bodies else {}
        arrow.insert(self._connection, table, self._columns[table], rows, masks)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Rolls back on any error: DuckDB would commit an aborted transaction without a word."""
        with self._lock:
            self._connection.execute("begin")
            try:
                yield self._connection
                self._connection.execute("commit")
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    self._connection.execute("rollback")
                raise

    def reopen(self) -> None:
        """Closes the file, under whoever is reading, and opens it at what is durable. Raises as
        the constructor does; `open_again` then tries once more."""
        self._connection.close()
        self._shut = None
        try:
            self._open()
        except OperatorError as fault:
            self._shut = fault
            raise

    def open_again(self) -> None:
        """Opens the file where the last try to open it again failed; else does nothing."""
        if self._shut is not None:
            self.reopen()

    # --- reading ---

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one thread and one call: sharing one gives wrong results silently.

        Raises why the file could not be opened again, while it could not.
        """
        if self._shut is not None:
            raise type(self._shut)(*self._shut.args)
        return self._connection.cursor()

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.cursor().execute(sql, parameters).fetchall()

    @property
    def is_without_bodies(self) -> bool:
        """Whether the file holds commitments and masked facts, but no bodies."""
        return self._without_bodies

    def select(self, condition: str, parameters: Sequence[object]) -> list[Entry]:
        """The entries for which an SQL condition on `log` is true, in order of seq, without their
        ingest keys, which no ledger holds."""
        instants = ("occurred_at", "recorded_at")
        columns = ", ".join(f"epoch_us({it})" if it in instants else it for it in arrow.LOG_COLUMNS)
        rows = self._rows(f"select {columns} from log where {condition} order by seq", parameters)
        return [Entry._make((*row, None)) for row in rows]

    def seqs(self, condition: str, parameters: Sequence[object]) -> list[int]:
        """The seqs of the entries for which a condition on `log` is true, in order."""
        rows = self._rows(f"select seq from log where {condition} order by seq", parameters)
        return [seq for (seq,) in rows]

    def newest(self, condition: str, parameters: Sequence[object]) -> int | None:
        """The highest seq among these entries; None if there is none."""
        [(seq,)] = self._rows(f"select max(seq) from log where {condition}", parameters)
        return None if seq is None else int(seq)

    def leaves(self, seqs: Sequence[int]) -> list[tuple[int, bytes]]:
        """The leaves of these entries, in order of seq."""
        return self._rows(
            "select seq, leaf from log where seq between ? and ? and seq in (select unnest(?))"
            " order by seq",
            (seqs[0], seqs[-1], seqs),
        )

    def identifiers(self, condition: str, parameters: Sequence[object]) -> list[str]:
        """All ids of events, attempts, processes and sellers in these entries."""
        rows = self._rows(
            "select distinct unnest([event_id, attempt_id, process_id, seller_id]) as id from log"
            f" where {condition} order by id nulls last",
            parameters,
        )
        return [name for (name,) in rows if name is not None]

    def journeys(self, condition: str, parameters: Sequence[object]) -> list[str]:
        """All ids of journeys in these entries."""
        rows = self._rows(
            "select distinct journey_id from facts.collections where seq in"
            f" (select seq from log where {condition}) and journey_id is not null order by all",
            parameters,
        )
        return [name for (name,) in rows]

    def facts_between(self, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Facts of the entries `first` to `last`: instants in microseconds, in order."""
        condition = f"seq between {first} and {last}"
        return arrow.facts_of(self.cursor(), table, self._columns[table], condition)

    def tree_table(self, table: str) -> list[tuple[Any, ...]]:
        """Rows of `tree_nodes` (level, position, hash) or `tree_heads` (size, root, peaks)."""
        columns = {"tree_nodes": "level, position, hash", "tree_heads": "size, root, peaks"}[table]
        return self._rows(f"select {columns} from {table} order by all")

    def root_at(self, size: int) -> bytes:
        """The tree's root when the log had `size` entries (at most the ledger's own size)."""
        return tree.Frontier.at(size, self.subtrees()).root()

    def subtrees(self) -> tree.Subtree:
        """Reads roots of full subtrees, remembering what it read: for many proofs in a row.

        What it gave stays true while the log grows, since a full subtree never changes.
        """
        read = functools.lru_cache(maxsize=_REMEMBERED_BLOCKS)(self._block)

        def subtree(level: int, position: int) -> bytes:
            stored, above = level - level % tree.STORED_LEVELS, level % tree.STORED_LEVELS
            within = tree.STORED_LEVELS - above
            nodes = read(stored, position >> within)[above]
            place = position & (1 << within) - 1
            if place >= len(nodes):
                raise LedgerDamaged(
                    f"The ledger {self.path} is damaged",
                    f"its tree lacks the node {level}/{position}: entries or nodes are gone",
                    "`prazo rebuild` makes it again from the inbox",
                )
            return nodes[place]

        return subtree

    def _block(self, level: int, block: int) -> list[list[bytes]]:
        """Up to 256 stored nodes of a level, side by side, and the levels above them."""
        first = block << tree.STORED_LEVELS
        if level == 0:
            sql = "select leaf from log where seq between ? and ? order by seq"
            rows = self._rows(sql, (first + 1, first + (1 << tree.STORED_LEVELS)))
            nodes = [tree.leaf_hash(leaf) for (leaf,) in rows]
        else:
            sql = (
                "select hash from tree_nodes where level = ? and position between ? and ?"
                " order by position"
            )
            last = first + (1 << tree.STORED_LEVELS) - 1
            nodes = [node for (node,) in self._rows(sql, (level, first, last))]
        levels = [nodes]
        while len(nodes) > 1:
            nodes = list(map(tree.node_hash, nodes[::2], nodes[1::2]))
            levels.append(nodes)
        return levels + [[]] * (tree.STORED_LEVELS - len(levels))

    def close(self) -> None:
        """Closes the file; it is whole after that."""
        self._connection.close()


def _put_macros(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(script("macros"))
    connection.execute("insert or replace into meta values ('macros', ?)", [_MACROS])


def _bytes(size: str) -> float:
    """The bytes of a size as the settings take it, such as 2GB or 1.5 GiB."""
    number, unit = size[:-1].rstrip("iKMGT "), size[:-1].strip(".0123456789 ")
    base = 1024.0 if unit.endswith("i") else 1000.0
    return float(number) * math.pow(base, _POWERS[unit[0]])
