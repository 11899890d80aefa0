"""Opens the ledger's DuckDB file, or makes it, and says what DuckDB's errors mean for it."""

import contextlib
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import duckdb

from pipeline.errors import (
    LedgerDamaged,
    LedgerInUse,
    LedgerOutdated,
    LedgerRefused,
    LedgerStalled,
    LedgerWithoutBodies,
    NotALedger,
    OperatorError,
)
from pipeline.files.databases import remove_spilled
from pipeline.files.disk import sync
from pipeline.files.kinds import DUCKDB, TEXT, content_of
from pipeline.ledger import arrow, facts, materialized
from pipeline.ledger.views.catalogue import macros, script
from pipeline.places import head_beside

SCHEMA_VERSION: Final = "1"
"""Raise it whenever the reading of facts in Python changes: an older file is then rebuilt. What SQL
and masks say of its rows is compared without it (`made_by`)."""

CHECKPOINT_THRESHOLD: Final = "256MB"
"""DuckDB checkpoints inside a commit; at its default of 16 MB every other batch waits for one."""

FOUND_BY_INDEX: Final = 1000
"""Ids of a join up to which DuckDB asks an index; at its default of 50 it would scan every key."""

NOT_WORTH_THEIR_TIME: Final = frozenset(
    {
        *("aggregate_reuse", "common_subplan", "duplicate_groups", "join_elimination"),
        *("outer_join_simplification", "projection_placement", "projection_pullup"),
    }
)
"""DuckDB's optimizers that change no plan of ours for the better, and take a quarter of their time
(docs/decisions/queries.md#optimizers-that-find-nothing-are-left-out)."""

WRONG: Final = frozenset({"row_group_pruner"})
"""Those that give wrong rows (docs/decisions/queries.md#an-optimizer-that-gives-wrong-rows)."""

_FULL_DISK: Final = ("No space left on device", "Disk quota exceeded")
_NOT_OPENED: Final = {
    (
        "Permission denied",
        "Read-only file system",
        "Operation not permitted",
    ): "let the user that runs Prazo read and write it, and its folder",
    ("Too many open files",): "let what runs Prazo open more at once (`ulimit -n`)",
}
"""What an error says where the file itself may be sound -> what helps."""
READING_SECONDS: Final = 10.0
"""For what others read while the file is to be closed."""

INDEX_SHARE: Final = 1 / 4
"""Of the memory, that indexes may take: DuckDB keeps what was touched of them until a checkpoint of
the file, 116 MB a million entries, and fails once the memory is full of it."""
_INDEX_MEMORY: Final = "select memory_usage_bytes from duckdb_memory() where tag = 'ART_INDEX'"
_NO_MEMORY: Final = "Out of Memory Error"
_ORIGINAL: Final = "\nOriginal Error: "
_OF_VALUES: Final = re.compile(
    r"(?:Constraint|Conversion|Invalid Input|Out of Range) Error: [^\"']*[\"'](.*)[\"']", re.DOTALL
)
"""What an error quotes of a row, which may be a tax id or a name, of several lines as well. Others
quote paths."""
_CORRUPT: Final = "Corrupt database file"
"""DuckDB says so of a block whose checksum is wrong, whatever it read it for."""
_OURS: Final = frozenset({"tree_heads", "tree_nodes"})
"""Tables that ledgers of all releases have, and hardly any other database."""
_TABLES: Final = """
    select table_name from duckdb_tables()
    union all
    select view_name from duckdb_views() where not internal
    order by all"""
_REBUILD: Final = "`prazo rebuild` makes it again from the inbox"
_TAXPAYER_MARK: Final = "taxpayer_mark"
_ERASED_TO: Final = "erased_to"
_MACROS: Final = hashlib.sha256(f"{duckdb.__version__}\n{macros()}".encode()).hexdigest()


class Identity(NamedTuple):
    """What a ledger is of, as its file says it, too."""

    log: str
    is_without_bodies: bool
    taxpayer_mark: str
    """Of the key under which its tax ids were made comparable."""
    erased_to: int = 0
    """The newest erasure of the inbox: a file that was begun before it holds what was erased."""

    @property
    def meta(self) -> dict[str, str]:
        """The rows of the table `meta` that say it."""
        return {
            "log": self.log,
            "without_bodies": str(self.is_without_bodies).lower(),
            _TAXPAYER_MARK: self.taxpayer_mark,
        }


def connected(
    path: Path | None, identity: Identity, *, memory: str, threads: int
) -> duckdb.DuckDBPyConnection:
    """A connection to the file at `path`, which is made where there is none; None: in memory.

    `memory`: what DuckDB may take, as it writes it (`2GB`). Raises `LedgerInUse`, `LedgerDamaged`,
    `LedgerOutdated`, `LedgerStalled` where there is no room, `LedgerRefused` where the file is
    another ledger, or `NotALedger` where it is none.
    """
    is_new = path is None or not path.exists()
    connection = _connection(path, memory, threads)
    with closed_on_error(connection, path):
        if is_new:
            _create(connection, identity)
        _check(connection, path, identity)
        _renew_macros(connection)
        if is_new and path is not None:
            connection.execute("checkpoint")
            sync(path.parent)  # a new file's name is only durable once its folder is
    return connection


def connected_to_entries(
    path: Path, log: str, *, memory: str, threads: int
) -> duckdb.DuckDBPyConnection:
    """A connection to a file that is there, for the entries that it holds of a log: those are the
    same whichever release made it, and under whichever key of tax ids. Raises as `connected` does
    otherwise, and `LedgerWithoutBodies` where it holds no bodies."""
    connection = _connection(path, memory, threads)
    with closed_on_error(connection, path):
        identity = Identity(log, is_without_bodies=False, taxpayer_mark="")
        _check_log(_meta(connection, path, identity), path, identity)
    return connection


@cache
def made_by() -> Mapping[str, str]:
    """The rows of the table `meta` that say what its tables hold: by what facts were read out of
    entries, and by which rules and masks rows were made of them. A ledger without bodies holds what
    the masks of its time left. Where another release says otherwise, it is made again."""
    masks = sorted(arrow.MASKED_COLUMNS.items())
    rules = hashlib.sha256(f"{materialized.rules()}\n{masks}".encode()).hexdigest()
    return MappingProxyType({"schema_version": SCHEMA_VERSION, "rules": rules})


def erased_to(connection: duckdb.DuckDBPyConnection) -> int:
    """The newest erasure that the inbox had when the ledger was begun, 0 where it says no number;
    raises DuckDB's errors."""
    sql = "select coalesce(try_cast(value as bigint), 0) from meta where name = ?"
    [*found] = connection.execute(sql, [_ERASED_TO]).fetchall()
    return int(found[0][0]) if found else 0


def other_content(path: Path) -> str | None:
    """What a file is that never was a ledger; None where it may be one, or there is none.

    Asked before DuckDB, which would look in the network for a reader of a format that it knows. Of
    a text, it is said only where no head and no WAL beside it tell that a ledger stood there: it
    may be what a damaged disk, or a hand, has put in the ledger's place, which is made again. So is
    what nobody can name, such as a ledger without its header.
    """
    content = content_of(path)
    beside = (head_beside(path), path.with_name(f"{path.name}.wal"))
    if content == TEXT and any(it.exists() for it in beside):
        return None
    return None if content == DUCKDB else content


def other_database(connection: duckdb.DuckDBPyConnection) -> str | None:
    """What a database is that never was a ledger, whatever release made it; None where it may be
    one. An empty one may be a ledger that lost its first transaction."""
    tables = [name for (name,) in connection.execute(_TABLES).fetchall()]
    if not tables or _OURS.intersection(tables):
        return None
    return f"another program's database, with a table {tables[0]}"


def _foreign(path: Path, content: str) -> NotALedger:
    return NotALedger(
        f"{path} is not used as the ledger",
        f"it is {content}: what Prazo did not write is left where it is",
        "set PRAZO_LEDGER to a path of its own; a ledger is made where there is no file",
    )


def _connection(path: Path | None, memory: str, threads: int) -> duckdb.DuckDBPyConnection:
    if path is not None and (content := other_content(path)) is not None:
        raise _foreign(path, content)
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory,
        "threads": threads,
        "checkpoint_threshold": CHECKPOINT_THRESHOLD,
        "dynamic_or_filter_threshold": FOUND_BY_INDEX,
    }
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = duckdb.connect(":memory:" if path is None else name_of(path), config=config)
        connection.execute("set global TimeZone = 'UTC'")
        leave_out_optimizers(connection)
        if path is not None:
            remove_spilled(path)
        return connection
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
            raise LedgerInUse(
                f"The ledger {path} is in use",
                "another process holds it, and DuckDB lets one process open a file",
                "stop `prazo serve`, `prazo dashboard` or `prazo follow`; commands that only read"
                " ask that process by themselves",
            ) from None
        raise fault(path, error, "cannot be opened") from error


def name_of(path: Path) -> str:
    """How DuckDB opens a file. Of another than a whole path it would take `:memory:` for no file,
    `~` for a home, and `md:` or `sqlite:` for a program that it fetches from the network."""
    return str(path.absolute())


def leave_out_optimizers(connection: duckdb.DuckDBPyConnection) -> None:
    """Has the connection's database plan without those that are wrong or not worth their time, as
    far as this DuckDB has them: it refuses a name that it does not know."""
    known = {name for (name,) in connection.execute("from duckdb_optimizers()").fetchall()}
    left_out = ",".join(sorted((NOT_WORTH_THEIR_TIME | WRONG) & known))
    connection.execute(f"set global disabled_optimizers = '{left_out}'")


@contextlib.contextmanager
def closed_on_error(connection: duckdb.DuckDBPyConnection, path: Path | None) -> Iterator[None]:
    """Closes the connection where the block fails; an error of DuckDB becomes its `fault`, and what
    no ledger says of itself, such as a root without its peaks, `LedgerDamaged`."""
    try:
        yield
    except BaseException as error:
        connection.close()
        if isinstance(error, duckdb.Error):
            raise fault(path, error, "cannot be opened") from error
        if isinstance(error, ValueError):
            raise LedgerDamaged(f"The ledger {path} is damaged", str(error), _REBUILD) from error
        raise


def fault(path: Path | None, error: duckdb.Error, what: str) -> OperatorError:
    """What DuckDB's error means: no rebuild helps against a full disk or memory, or where the file
    may not be opened or written."""
    for signs, remedy in _NOT_OPENED.items():
        if any(it in str(error) for it in signs):
            return LedgerStalled(f"The ledger {path} {what}", str(error).splitlines()[0], remedy)
    is_full = any(it in str(error) for it in _FULL_DISK)
    # Where nothing can be rolled back either, the first line says that alone.
    why = str(error).partition(_ORIGINAL)[2] or str(error)
    if quoted := _OF_VALUES.match(why):
        why = f"{why[: quoted.start(1)]}***{why[quoted.end(1) :]}"
    why = why.splitlines()[0]
    if is_full or isinstance(error, duckdb.OutOfMemoryException) or _NO_MEMORY in str(error):
        return LedgerStalled(
            f"The ledger {path} {what}",
            why,
            "make room on its disk" if is_full else "give it more with PRAZO_LEDGER_MEMORY",
        )
    return LedgerDamaged(f"The ledger {path} {what}", why, _REBUILD)


def holds_much_of_indexes(connection: duckdb.DuckDBPyConnection, memory_bytes: float) -> bool:
    """Whether DuckDB keeps more of indexes than it should until the next checkpoint."""
    [(held,)] = connection.cursor().execute(_INDEX_MEMORY).fetchall()
    return bool(held > INDEX_SHARE * memory_bytes)


def close_once_read(path: Path | None, close: Callable[[], None]) -> None:
    """Closes a ledger once others have read what they are reading: DuckDB refuses to close under
    them, and has then closed the rest. Raises `LedgerStalled` where they go on for too long; the
    next call goes on with it."""
    until = time.monotonic() + READING_SECONDS
    while True:
        try:
            return close()
        except duckdb.ResourceInUseException:
            if time.monotonic() >= until:
                raise LedgerStalled(
                    f"The ledger {path} could not be closed",
                    f"somebody has been reading it for {READING_SECONDS:.0f} s",
                    "wait until they are done: it is tried again",
                ) from None
            time.sleep(0.01)


def corruption(error: BaseException) -> str | None:
    """What an error says of a block that is not as it was written; None where it says no such."""
    _, said, rest = str(error).partition(_CORRUPT)
    return f"{said}{rest}".splitlines()[0] if said else None


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Rolls back on any error: DuckDB would commit an aborted transaction without a word."""
    connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            connection.execute("rollback")
        raise


def _create(connection: duckdb.DuckDBPyConnection, identity: Identity) -> None:
    with transaction(connection):
        connection.execute(facts.schema())
        _put_macros(connection)
        arrow.make_tables(connection, materialized.definitions())
        connection.execute(script("indexes"))
        connection.execute(script("guards"))
        connection.execute("insert into kept_watermark values (0, 0, '-infinity')")
        meta = {**identity.meta, **made_by(), _ERASED_TO: str(identity.erased_to)}
        connection.executemany("insert into meta values (?, ?)", [*meta.items()])


def _check(connection: duckdb.DuckDBPyConnection, path: Path | None, identity: Identity) -> None:
    meta = _meta(connection, path, identity)
    if not made_by().items() <= meta.items():
        raise LedgerOutdated(
            f"The ledger {path} is not of this release",
            "the rules or masks of another one made its tables",
            _REBUILD,
        )
    if int(meta.get(_ERASED_TO, 0)) < identity.erased_to:
        raise LedgerOutdated(
            f"The ledger {path} holds what was erased",
            f"it was begun before entry {identity.erased_to}, an erasure",
            _REBUILD,
        )
    _check_log(meta, path, identity)
    if meta[_TAXPAYER_MARK] != identity.taxpayer_mark:
        raise LedgerOutdated(
            f"The ledger {path} compares tax ids under another key",
            "PRAZO_TAXPAYER_KEY_FILE holds another than when it was made, and none of its tax ids"
            " would ever equal a later one",
            _REBUILD,
        )


def _meta(
    connection: duckdb.DuckDBPyConnection, path: Path | None, identity: Identity
) -> Mapping[str, str]:
    """What a file says of itself, where it is a ledger that has the bodies that it should have."""
    try:
        meta = dict(connection.execute("select name, value from meta").fetchall())
    except duckdb.Error:
        meta = {}  # a file that lost its first transaction, or no ledger at all
    is_of_this_release = made_by().items() <= meta.items()
    if path is not None and not is_of_this_release and (other := other_database(connection)):
        raise _foreign(path, other)
    if path is not None and "schema_version" not in meta:
        raise LedgerDamaged(
            f"The ledger {path} cannot be opened", "what it says of itself cannot be read", _REBUILD
        )
    # Before anything for which it is made again: not with bodies, where an analyst's had none.
    without_bodies = identity.meta["without_bodies"]
    if meta.get("without_bodies", without_bodies) != without_bodies:
        lacks = not identity.is_without_bodies
        raise (LedgerWithoutBodies if lacks else LedgerRefused)(
            f"The ledger {path} was made {'without' if lacks else 'with'} bodies",
            remedy="`prazo follow --without-bodies` serves it"
            if lacks
            else "leave out --without-bodies, or set PRAZO_LEDGER to another file",
        )
    return meta


def _check_log(meta: Mapping[str, str], path: Path | None, identity: Identity) -> None:
    if meta["log"] != identity.log:
        raise LedgerRefused(
            f"The ledger {path} belongs to another log",
            f"it follows {meta['log']}, and the inbox is {identity.log}",
            "set PRAZO_INBOX and PRAZO_LEDGER to files that belong together; if the inbox was"
            " lost, `prazo restore` puts it back from a backup",
        )


def _renew_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Puts this release's macros in place of another's. The same ones are left as they are: to
    write them takes disk, and a ledger on a full one can still be read."""
    held = connection.execute("select value from meta where name = 'macros'").fetchall()
    if held != [(_MACROS,)]:
        with transaction(connection):
            _drop_macros(connection)
            _put_macros(connection)


def _drop_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """One that only the former release had would be taken for somebody else's."""
    functions = "select distinct schema_name, function_name, function_type"
    held = connection.execute(f"{functions} from system.main.duckdb_functions() where not internal")
    for *names, kind in held.fetchall():
        path = ".".join('"{}"'.format(it.replace('"', '""')) for it in names)
        connection.execute(f"drop {kind.replace('table_macro', 'macro table')} {path}")


def _put_macros(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(macros())
    connection.execute("insert or replace into meta values ('macros', ?)", [_MACROS])
