"""The ledger's one DuckDB file: the only `duckdb.connect`, the only writer of the log.

`append` writes a batch of entries, the facts read out of them and the tree over them in one
transaction, so the file always tells of a prefix of the log and never of half a batch.
"""

import contextlib
import functools
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

import duckdb
import pyarrow as pa

from pipeline import facts, keeping, tree
from pipeline.catalogue import QUERIES as QUERIES
from pipeline.errors import LedgerInUse, LedgerRefused, OperatorError
from pipeline.occurrences import Entry

SCHEMA_VERSION: Final = "6"
"""Raise it whenever tables or the reading of facts change: an older file is then built anew."""

CHECKPOINT_THRESHOLD: Final = "256MB"
"""DuckDB checkpoints inside a commit; at its default of 16 MB every other batch waits for one."""

FOUND_BY_INDEX: Final = 1000
"""Ids of a join up to which DuckDB asks an index; at its default of 50 it would scan every key."""

_LOG_COLUMNS: Final = tuple(name for name in Entry._fields if name != "ingest_key")

_MASKED_COLUMNS: Final = {
    "log": {"body": "null", "salt": "null"},
    "facts.seller_events": {
        "first_name": "mask_text(first_name)",
        "last_name": "mask_text(last_name)",
        "email": "mask_text(email)",
        "taxpayer_id": "mask_number(taxpayer_id)",
        "phone_number": "mask_number(phone_number)",
        "birthdate": "mask_all(birthdate)",
        "address": "mask_all(address)",
        "metadata": "mask_all(metadata)",
        "document_number": "mask_number(document_number)",
    },
    "facts.collections": {"actor": "mask_text(actor)"},
    "facts.acts": {"content": "null"},
}
"""What a ledger without bodies keeps in place of personal values."""


MAX_SCRIPT_SECONDS: Final = 900.0
"""For a query that somebody else wrote, over a copy in memory."""

_REMEMBERED_BLOCKS: Final = 1024
"""Of 256 nodes each, while proofs are made: 30 MB at most."""

INDEX_SHARE: Final = 1 / 4
"""Of the memory, that indexes may take: DuckDB keeps what was touched of them until a checkpoint of
the file, 116 MB a million entries, and fails once the memory is full of it."""

_INDEX_MEMORY: Final = "select memory_usage_bytes from duckdb_memory() where tag = 'ART_INDEX'"
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}

_Config = dict[str, str | bool | int | float | list[str]]


class LedgerDamaged(OperatorError):
    """DuckDB cannot open the file, or cannot go on with it."""


class LedgerStalled(OperatorError):
    """The file is sound, and has no room for more: memory or disk."""

    exit_code = 1


class LedgerOutdated(OperatorError):
    """The file was written under another schema version."""


class Progress(NamedTuple):
    """How far a state of the ledger is; whoever reads views has to know."""

    kept: int  # entries whose processes and sellers have their kept rows
    is_behind: bool  # those of later entries wait for a later batch
    settled_at: int  # microseconds; the last instant of an occurrence, -1 where there is none

    @classmethod
    def of(cls, cursor: duckdb.DuckDBPyConnection) -> Self:
        """That of the state which the cursor sees."""
        [row] = cursor.execute(
            "select kept, kept < entries, if(isinf(settled_at), -1, epoch_us(settled_at))"
            " from kept.progress"
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

        Raises `LedgerInUse`, `LedgerDamaged`, `LedgerOutdated`, or `LedgerRefused` where the file
        belongs to another log.
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
        self.progress: Progress | None
        """Of the last commit; None while one is under way, and the next state may be seen."""
        self._most_of_indexes = INDEX_SHARE * _bytes(memory)
        self._lock = threading.Lock()
        self._open()

    # --- opening ---

    def _open(self) -> None:
        is_new = self.path is None or not self.path.exists()
        self._connection = self._connect()
        try:
            if is_new:
                self._create()
            self._check_identity()
            self._load_position()
            tables = ("log", "tree_heads", "tree_nodes", *facts.TABLES.values())
            self._columns = _arrow_columns(self._connection, tables)
        except duckdb.Error as error:
            self._connection.close()
            raise self._damaged(error) from error
        except BaseException:
            self._connection.close()
            raise
        if is_new and self.path is not None:
            self._connection.execute("checkpoint")
            _sync_directory(self.path.parent)

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
            raise self._damaged(error) from error
        except duckdb.Error as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> LedgerDamaged:
        return LedgerDamaged(
            f"The ledger {self.path} cannot be opened",
            str(error).splitlines()[0],
            "`prazo rebuild` makes it anew from the inbox",
        )

    def _create(self) -> None:
        with self._transaction() as connection:
            connection.execute((QUERIES / "schema.sql").read_text())
            connection.execute((QUERIES / "indexes.sql").read_text())
            connection.execute((QUERIES / "guards.sql").read_text())
            connection.execute("insert into kept.progress values (0, 0, '-infinity')")
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
                remedy="`prazo rebuild` makes it anew from the inbox",
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

    def _load_position(self) -> None:
        self._connection.execute((QUERIES / "macros.sql").read_text())
        heads = self._rows("select size, peaks from tree_heads order by size desc limit 1")
        self.frontier = tree.Frontier(*heads[0]) if heads else tree.Frontier()
        [(last_seq,)] = self._rows("select coalesce(max(seq), 0) from log")
        if last_seq != self.size:
            raise LedgerDamaged(
                f"The ledger {self.path} contradicts itself",
                f"its log ends at {last_seq}, its tree at {self.size}",
                "`prazo rebuild` makes it anew from the inbox",
            )
        self.progress = Progress.of(self.cursor())

    # --- writing ---

    @property
    def size(self) -> int:
        """Entries in the log, which is also the seq of the last."""
        return self.frontier.size

    def append(self, entries: Sequence[Entry], *, more_follow: bool = False) -> None:
        """Writes the entries that follow the last one, all or none.

        `more_follow`: whole batches wait already, and the kept rows of processes wait for a later
        one; until then views work them out from the log.

        Raises `LedgerRefused` where they do not follow it, `LedgerStalled` where memory or disk is
        full, `LedgerDamaged` where DuckDB failed otherwise; the ledger has then been reopened at
        what is durable, so the caller reads its `size` anew.
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
        nodes = frontier.extend(tree.leaf_hash(entry.leaf) for entry in entries)
        extracted = facts.extract(entries, self._keys)
        self.progress = None
        try:
            with self._transaction():
                self._insert("log", [entry[: len(_LOG_COLUMNS)] for entry in entries])
                for kind, table in facts.TABLES.items():
                    self._insert(table, extracted[kind])
                self._insert("tree_nodes", nodes)
                self._insert(
                    "tree_heads",
                    [(frontier.size, frontier.root(), frontier.peaks, entries[-1].recorded_at)],
                )
                keeping.keep(
                    self._connection.execute,
                    after=self.size,
                    size=frontier.size,
                    more_follow=more_follow,
                )
        except duckdb.Error as error:
            # Whether a failed commit is durable cannot be known from here: look at the file again.
            self.reopen()
            raise self._failed(error, entries) from error
        self.frontier = frontier
        self.progress = Progress.of(self.cursor())
        self._let_go_of_indexes()

    def _let_go_of_indexes(self) -> None:
        """Writes what was touched of the indexes to the file, and so out of memory. Where DuckDB
        takes somebody's reading for writing it refuses, and the next batch tries again."""
        [(held,)] = self._rows(_INDEX_MEMORY)
        if held > self._most_of_indexes:
            with contextlib.suppress(duckdb.TransactionException):
                self._connection.execute("checkpoint")

    def _failed(self, error: duckdb.Error, entries: Sequence[Entry]) -> OperatorError:
        is_full = "No space left" in str(error)
        if not is_full and not isinstance(error, duckdb.OutOfMemoryException):
            return self._damaged(error)
        return LedgerStalled(
            f"The ledger {self.path} did not take entries {entries[0].seq} to {entries[-1].seq}",
            str(error).splitlines()[0],
            "make room on its disk" if is_full else "give it more with PRAZO_LEDGER_MEMORY",
        )

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        masks = _MASKED_COLUMNS.get(table, {}) if self._without_bodies else {}
        _insert(self._connection, table, self._columns[table], rows, masks)

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
        """Closes the file, under whoever is reading, and opens it at what is durable."""
        self._connection.close()
        self._open()

    # --- reading ---

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one thread and one call: sharing one gives wrong results silently."""
        return self._connection.cursor()

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.cursor().execute(sql, parameters).fetchall()

    @property
    def is_without_bodies(self) -> bool:
        return self._without_bodies

    def select(self, condition: str, parameters: Sequence[object]) -> list[Entry]:
        """The entries for which an SQL condition on `log` is true, in order of seq, without their
        ingest keys, which no ledger holds."""
        columns = ", ".join(
            f"epoch_us({it})" if it in ("occurred_at", "recorded_at") else it for it in _LOG_COLUMNS
        )
        rows = self._rows(f"select {columns} from log where {condition} order by seq", parameters)
        return [Entry._make((*row, None)) for row in rows]

    def run(self, script: str, variables: Mapping[str, object]) -> list[pa.Table]:
        """What each query of our own script gives, in its order."""
        return _run(self.cursor(), script, variables)

    def facts_between(self, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Facts of the entries `first` to `last`: instants in microseconds, in order."""
        return _facts(self.cursor(), table, self._columns[table], f"seq between {first} and {last}")

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
                    "`prazo rebuild` makes it anew from the inbox",
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
        self._connection.close()


class Copy:
    """Entries of a log in memory, without a tree, for queries that others wrote: once it is
    closed off, no statement reaches a file or the network."""

    def __init__(self, *, threads: int = 2, memory: str = "2GB") -> None:
        self._connection = duckdb.connect(
            ":memory:", config={"threads": str(threads), "memory_limit": memory}
        )
        self._connection.execute("set global TimeZone = 'UTC'")
        self._connection.execute((QUERIES / "schema.sql").read_text())
        self._connection.execute((QUERIES / "macros.sql").read_text())
        self._columns = _arrow_columns(self._connection, ("log", *facts.TABLES.values()))
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")

    def add(self, entries: Sequence[Entry]) -> None:
        """Entries alone, without the facts that stand in their bodies."""
        rows = [entry[: len(_LOG_COLUMNS)] for entry in entries]
        _insert(self._connection, "log", self._columns["log"], rows)

    def add_facts(self, table: str, rows: Sequence[Sequence[object]], *, masked: bool) -> None:
        """Facts of a table, instants in microseconds; `masked`: as a ledger without bodies has
        them."""
        masks = _MASKED_COLUMNS.get(table, {}) if masked else {}
        _insert(self._connection, table, self._columns[table], rows, masks)

    def facts(self, table: str) -> list[tuple[Any, ...]]:
        """Rows of a table as `add_facts` takes them, in order."""
        return _facts(self._connection, table, self._columns[table])

    def clear_facts(self) -> None:
        for table in facts.TABLES.values():
            self._connection.execute(f"truncate {table}")

    def columns(self, table: str) -> pa.Schema:
        return self._columns[table]

    def run(self, script: str, variables: Mapping[str, object]) -> list[pa.Table]:
        """What each query of a script gives, in its order; raises `duckdb.Error`, also for one
        that takes too long."""
        patience = threading.Timer(MAX_SCRIPT_SECONDS, self._connection.interrupt)
        patience.start()
        try:
            return _run(self._connection, script, variables)
        finally:
            patience.cancel()

    def close(self) -> None:
        self._connection.close()


FEW_ROWS: Final = 50


class Excerpt:
    """The facts of a few entries in memory, without log and tree: what one decision needs.

    Made once and filled again and again, since making it takes longer than anything it is asked.
    For one thread at a time.
    """

    def __init__(
        self,
        views: Iterable[tuple[str, str]],
        tables: Iterable[str],
        questions: Mapping[str, str],
    ) -> None:
        """`views`: name and SQL, each after those it reads; `tables`: the facts that they read;
        `questions`: what will be asked of them, by name."""
        self._tables = frozenset(tables)
        self._connection = duckdb.connect(":memory:", config={"threads": "1"})
        self._connection.execute("set global TimeZone = 'UTC'")
        self._connection.execute((QUERIES / "schema.sql").read_text())
        self._connection.execute((QUERIES / "macros.sql").read_text())
        # The clock is a row here, not the view over a variable, which is always given: what reads a
        # variable is bound anew for every question, and binding takes longer than answering.
        self._connection.execute("create table clock (as_of timestamp not null)")
        for name, sql in views:
            if name != "clock":
                self._connection.execute(f"create view {name} as {sql}")
        self._columns = _arrow_columns(self._connection, self._tables)
        # For a handful of rows, looking for a better plan takes longer than a worse one.
        self._connection.execute("pragma disable_optimizer")
        for name, sql in questions.items():
            self._connection.execute(f"prepare {name} as {sql}")

    @contextlib.contextmanager
    def of(
        self, entries: Iterable[Entry], keys: facts.Keys, as_of: int
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """The views over these entries alone, as of an instant in microseconds."""
        connection = self._connection
        connection.execute("begin")
        try:
            connection.execute("insert into clock values (make_timestamp(?::bigint))", (as_of,))
            for kind, rows in facts.extract(entries, keys).items():
                if not rows or (table := facts.TABLES[kind]) not in self._tables:
                    continue
                if len(rows) > FEW_ROWS:
                    _insert(connection, table, self._columns[table], rows)
                else:
                    values = [it for row in rows for it in row]
                    connection.execute(self._insertion(table, len(rows)), values)
            yield connection
        finally:
            connection.execute("rollback")  # and it is empty again

    def _insertion(self, table: str, rows: int) -> str:
        """Values one by one: for a handful of rows, making Arrow tables takes several times longer.

        Instants are microseconds, as everywhere outside of DuckDB.
        """
        places = ", ".join(
            "make_timestamp(?::bigint)" if pa.types.is_timestamp(it.type) else "?"
            for it in self._columns[table]
        )
        return f"insert into {table} values {', '.join([f'({places})'] * rows)}"

    def close(self) -> None:
        self._connection.close()


def _arrow_columns(
    connection: duckdb.DuckDBPyConnection, tables: Iterable[str]
) -> dict[str, pa.Schema]:
    """Types of each table's columns, read from the one place that says them: schema.sql."""
    return {
        table: connection.sql(f"from {table} limit 0").to_arrow_table().schema for table in tables
    }


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    schema: pa.Schema,
    rows: Sequence[Sequence[object]],
    masks: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Adds rows to a table, through Arrow; `masks` are expressions that stand in for columns."""
    if not rows:
        return
    batch = pa.Table.from_arrays(
        [
            pa.array(values, type=column.type)
            for values, column in zip(zip(*rows, strict=True), schema, strict=True)
        ],
        schema=schema,
    )
    columns = ", ".join(f"{masks.get(name, name)} as {name}" for name in schema.names)
    connection.register("batch", batch)
    try:
        connection.execute(f"insert into {table} select {columns} from batch")
    finally:
        connection.unregister("batch")


def _facts(
    connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema, condition: str = "true"
) -> list[tuple[Any, ...]]:
    columns = ", ".join(
        f"epoch_us({it.name})" if pa.types.is_timestamp(it.type) else it.name for it in schema
    )
    sql = f"select {columns} from {table} where {condition} order by all"
    return connection.execute(sql).fetchall()


def _run(
    connection: duckdb.DuckDBPyConnection, script: str, variables: Mapping[str, object]
) -> list[pa.Table]:
    for name, value in variables.items():
        connection.execute(f"set variable {name} = ?", (value,))
    results = []
    for statement in connection.extract_statements(script):
        if statement.type == duckdb.StatementType.SELECT:
            results.append(connection.sql(statement).to_arrow_table())
        else:
            connection.execute(statement)
    return results


def _sync_directory(directory: Path) -> None:
    """A new file's name is only durable once its directory is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes(size: str) -> float:
    """Of a size as the settings take it, such as 2GB or 1.5 GiB."""
    number, unit = size[:-1].rstrip("iKMGT "), size[:-1].strip(".0123456789 ")
    base = 1024.0 if unit.endswith("i") else 1000.0
    return float(number) * math.pow(base, _POWERS[unit[0]])
