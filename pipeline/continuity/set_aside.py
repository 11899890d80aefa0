"""Puts other entries in the place of those of a PostgreSQL inbox, and sets its tables aside.

A file is replaced by another name. In a database the same is one transaction: the schema gets
another name, and a new one takes its place with what was proved. A crash leaves the one or the
other, and no reader or writer sees anything between. What stands beside the log
(artifacts, leases, how far deliveries were passed on, sellers' links) goes on in the new schema.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql

from pipeline.continuity.backup import batches, opened_inbox
from pipeline.continuity.restoring import draft_of
from pipeline.errors import OperatorError, quoting
from pipeline.files import databases
from pipeline.inbox import Inbox, schema
from pipeline.inbox.postgres.inbox import PostgresInbox, tables_of
from pipeline.inbox.postgres.session import ADVISORY_LOCK, Session, said
from pipeline.log.entries import Entry
from pipeline.settings import Settings

_PROOF: Final = ("heads", "checkpoints", "signing_keys")
"""Tables of what the entries are proved by: their rows are copied, so that the set-aside schema
shows what there was."""
_OF_THE_LOG: Final = ("meta", "entries", "actors", "probes", *_PROOF)
_TABLES: Final = "select tablename from pg_tables where schemaname = %s"
_MAY: Final = "select has_database_privilege(current_database(), 'create')"
_IN_USE: Final = (
    "stop every receiver and whatever else writes to the inbox, on every machine, then run it again"
)


@contextmanager
def replaced_tables(settings: Settings, log: Inbox, notes: list[str]) -> Iterator[Inbox]:
    """An inbox to fill and to prove, in a file beside the ledger. When the block ends without an
    error, its entries take the place of those of `log`, in its database."""
    assert isinstance(log, PostgresInbox)
    draft = draft_of(settings)
    databases.remove_database(draft)
    try:
        after, _ = log.last()
        with opened_inbox(str(draft), log.identity) as inbox:
            yield inbox
            aside = replace_entries(log, batches(inbox, 0, inbox.last()[0]), after)
        notes.append(f"the former tables were kept in the schema {aside} of the database")
    finally:
        databases.remove_database(draft)


def replace_entries(inbox: PostgresInbox, entries: Iterable[Sequence[Entry]], after: int) -> str:
    """Puts `entries`, in batches in order of seq, in the place of those of an inbox, in one durable
    transaction; returns the name of the schema with the former tables.

    `after`: the newest entry that the inbox was seen to have. Raises `OperatorError` where others
    have been recorded since, or where this user may not make a schema, and `InboxUnavailable` where
    the database fails; then nothing was changed.
    """
    aside = f"prazo_set_aside_{time.time_ns()}"
    with inbox.transaction() as session:
        if session.execute(_MAY).fetchone() != (True,):
            raise OperatorError(
                "The inbox was not rebuilt",
                "this user may not make the schema into which the former tables are set aside",
                "let the database's owner `grant create on database ... to` the user of PRAZO_INBOX"
                " and own the schema prazo, then run it again",
            )
        session.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
        session.execute(
            "lock table prazo.entries, prazo.heads, prazo.checkpoints in exclusive mode"
        )
        newest = session.execute("select coalesce(max(seq), 0) from prazo.entries").fetchone()
        if newest != (after,):
            raise OperatorError(
                "The inbox was not rebuilt", "entries were recorded meanwhile", _IN_USE
            )
        schema.require_whole(tables_of(session), "The inbox was not rebuilt")
        _rename(session, aside)
        session.execute(schema.steps("postgres", until=inbox.version))
        meta = {
            "version": str(inbox.version).encode(),
            **schema.meta_of(inbox.identity, inbox.version),
        }
        session.cursor().executemany(
            "insert into prazo.meta (name, value) values (%s, %s)",
            [*meta.items()],
        )
        for batch in entries:
            inbox.insert(session, batch)
        for table in _PROOF:
            _run(session, "insert into prazo.{table} select * from {aside}.{table}", table, aside)
        for (table,) in session.execute(_TABLES, (aside,)).fetchall():
            if table not in _OF_THE_LOG:
                _run(session, "drop table if exists prazo.{table}", table, aside)
                _run(session, "alter table {aside}.{table} set schema prazo", table, aside)
    return aside


def _rename(session: Session, aside: str) -> None:
    try:
        session.execute(
            sql.SQL("alter schema prazo rename to {aside}").format(aside=sql.Identifier(aside))
        )
    except psycopg.errors.InsufficientPrivilege as error:
        raise OperatorError(
            "The inbox was not rebuilt",
            quoting(lambda why: f"this user may not rename the schema prazo: {why}", said(error)),
            "run it as the user who owns that schema",
        ) from None


def _run(session: Session, statement: str, table: str, aside: str) -> None:
    names = {"table": sql.Identifier(table), "aside": sql.Identifier(aside)}
    session.execute(sql.SQL(statement).format(**names))
