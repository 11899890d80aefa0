"""Asks other engines what the ledger's views answer, in the same run and on the same rows.

Each peer holds the same facts as typed, indexed tables: SQLite, PostgreSQL (where its binaries are)
and chDB. They are asked the least that answers the question: the histories that the benchmark makes
hold one event per process, so they need not look for the latest one, as ours does for each.
"""

import contextlib
import csv
import io
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
import pytest

from tests.benchmarks.rows import Row
from tests.support import postgres

ROUNDS: Final = 3
ROWS_AT_ONCE: Final = 50_000

Ask = Callable[[str], object]

_TABLES: Final = {
    "reviews": (
        "select process_id, object_type = 'REGISTRATION_REVIEW_REQUIRED' as is_acp,"
        " epoch_us(deadline_at) as deadline_at from fact_reviews",
        {"process_id": "varchar(40)", "is_acp": "integer", "deadline_at": "bigint"},
        "process_id",
    ),
    "starts": (
        "select attempt_id, process_id, epoch_us(occurred_at) as started_at"
        " from fact_attempt_starts",
        {"attempt_id": "varchar(40)", "process_id": "varchar(40)", "started_at": "bigint"},
        "attempt_id",
    ),
    "finishes": (
        "select attempt_id, process_id, status from fact_attempt_finishes",
        {"attempt_id": "varchar(40)", "process_id": "varchar(40)", "status": "integer"},
        "attempt_id",
    ),
    "reasons": (
        "select event_id, retry, unnest(reason_pairs(reasons)).reason as reason,"
        " coalesce(unnest(reason_pairs(reasons)).detail, '') as detail"
        " from fact_seller_events where event_type = 'seller.denied'",
        {
            "event_id": "varchar(40)",
            "retry": "integer",
            "reason": "varchar(40)",
            "detail": "varchar(40)",
        },
        "reason",
    ),
    "entries": (
        "select seq, kind, process_id, epoch_us(occurred_at) as occurred_at from log"
        " where process_id is not null",
        {
            "seq": "bigint",
            "kind": "varchar(40)",
            "process_id": "varchar(40)",
            "occurred_at": "bigint",
        },
        "process_id",
    ),
}
"""Of each table: what DuckDB gives for it, its columns, and the one it is indexed by."""

_DAY: Final = 86_400 * 10**6

_FINISHED: Final = "process_id in (select process_id from finishes where status = 200)"

QUESTIONS: Final = {
    "counts by state": f"""
        select state, count(*) from (
            select case
                when {_FINISHED} then 'FINISHED'
                when deadline_at <= {{as_of}} then 'EXPIRED'
                when is_acp = 0 or deadline_at - {30 * _DAY} <= {{as_of}} then 'OVERDUE'
                else 'PENDING' end as state
            from reviews
        ) as states group by state""",
    "deadline calendar": f"""
        select deadline_at - deadline_at % {_DAY} as day, count(*)
        from reviews where not {_FINISHED} group by deadline_at - deadline_at % {_DAY}""",
    "denial reasons": """
        select reason, detail, count(*), sum(retry) from reasons group by reason, detail""",
    "outcomes by day": f"""
        select started_at - started_at % {_DAY} as day, status, count(*)
        from starts left join finishes on finishes.attempt_id = starts.attempt_id
        group by started_at - started_at % {_DAY}, status""",
    "one timeline": "select * from entries where process_id = '{process_id}' order by seq",
}


def compared(
    cursor: duckdb.DuckDBPyConnection,
    as_of: int,
    ours: Mapping[str, Callable[[], object]],
    folder: Path,
) -> list[Row]:
    """How long each engine takes, over how long we do: above 1 we are faster."""
    middle = "select process_id from fact_reviews order by process_id limit 1 offset ?"
    [(count,)] = cursor.execute("select count(*) from fact_reviews").fetchall()
    [(process_id,)] = cursor.execute(middle, [count // 2]).fetchall()
    rows = []
    for name, opened in (("SQLite", _sqlite), ("PostgreSQL", _postgres), ("chDB", _chdb)):
        with contextlib.ExitStack() as stack:
            try:
                ask = stack.enter_context(opened(cursor, folder))
            except (ModuleNotFoundError, pytest.skip.Exception) as missing:
                rows.append(Row(f"queries: {name} is left out", 0, str(missing)))
                continue
            for question, sql in QUESTIONS.items():
                text = sql.format(as_of=as_of, process_id=process_id)
                theirs = _seconds(lambda text=text, ask=ask: ask(text))
                own = _seconds(ours[question])
                rows.append(
                    Row(
                        f"queries: {question}, {name} / Prazo",
                        theirs / own,
                        f"{theirs * 1000:.1f} ms, ours {own * 1000:.1f} ms",
                        1 if name == "chDB" else None,
                    )
                )
    return rows


def _seconds(question: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        question()
        took.append(time.perf_counter() - started)
    return min(took)


def _rows(cursor: duckdb.DuckDBPyConnection, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    found = cursor.execute(sql)
    while rows := found.fetchmany(ROWS_AT_ONCE):
        yield [tuple(int(it) if isinstance(it, bool) else it for it in row) for row in rows]


@contextlib.contextmanager
def _sqlite(cursor: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[Ask]:
    with contextlib.closing(sqlite3.connect(folder / "peer.sqlite")) as connection:
        for name, (sql, columns, index) in _TABLES.items():
            connection.execute(f"create table {name} ({', '.join(columns)})")
            for rows in _rows(cursor, sql):
                places = ", ".join("?" * len(columns))
                connection.executemany(f"insert into {name} values ({places})", rows)
            connection.execute(f"create index {name}_by_{index} on {name} ({index})")
        connection.execute("analyze")
        connection.commit()
        yield lambda text: connection.execute(text).fetchall()


@contextlib.contextmanager
def _postgres(cursor: duckdb.DuckDBPyConnection, _: Path) -> Iterator[Ask]:
    with tempfile.TemporaryDirectory(prefix="prazo-postgres-") as folder:
        server = postgres.PostgresServer(postgres.installed(), Path(folder))
        server.start(max_parallel_workers_per_gather="0", fsync="off", shared_buffers="1GB")
        try:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                for name, (sql, columns, index) in _TABLES.items():
                    typed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
                    connection.execute(f"create table {name} ({typed})".encode())
                    copied = f"copy {name} from stdin with (format csv)".encode()
                    with connection.cursor() as own, own.copy(copied) as copy:
                        for rows in _rows(cursor, sql):
                            text = io.StringIO()
                            csv.writer(text).writerows(rows)
                            copy.write(text.getvalue())
                    connection.execute(f"create index on {name} ({index})".encode())
                connection.execute(b"vacuum analyze")
                yield lambda text: connection.execute(text.encode()).fetchall()
        finally:
            server.stop()


@contextlib.contextmanager
def _chdb(cursor: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[Ask]:
    from chdb import session

    with contextlib.closing(session.Session(str(folder / "peer.chdb"))) as opened:
        for name, (sql, columns, index) in _TABLES.items():
            file = folder / f"{name}.parquet"
            kinds = {"integer": "Int32", "bigint": "Int64"}
            chosen = ", ".join(
                f"coalesce({column}::integer, 0)::integer as {column}"
                if kind == "integer"
                else column
                for column, kind in columns.items()
            )
            cursor.execute(f"copy (select {chosen} from ({sql})) to '{file}'")
            typed = ", ".join(f"{it} {kinds.get(kind, 'String')}" for it, kind in columns.items())
            opened.query(f"create table {name} ({typed}) engine = MergeTree order by {index}")
            opened.query(f"insert into {name} select * from file('{file}', Parquet)")
        yield lambda text: opened.query(f"{text} settings max_threads = 1", "CSV").bytes()
