"""Brings materialized rows up to date with a batch, in its own transaction or in a later one.

Each materialized row is what a view gives once everything in the log has occurred. That view's own
SQL makes it, over the entries that can have changed it (`queries/narrowed/`). So no rule is written
twice, and `prazo rebuild` gives the same rows. What else a batch asks stands in `queries/refresh/`.
"""

from collections.abc import Callable, Mapping, Set
from functools import cache
from typing import Any, Final, NamedTuple, Self

import duckdb

from pipeline.ledger import facts, materialized
from pipeline.ledger.file import FOUND_BY_INDEX
from pipeline.ledger.narrowing import named, narrowed, rows_of
from pipeline.ledger.syntax.parsed import parsed
from pipeline.ledger.views.catalogue import View, all_read, catalogue, script, whole_sql

Run = Callable[[str], Any]
"""Executes a statement on the connection that writes; gives something with `fetchall`."""

Lead = Callable[[str, str], str]
"""Leads the SQL of a view to what the processes of a query can depend on."""

_NEW: Final = "seq > getvariable('after')"

MANY: Final = FOUND_BY_INDEX
"""From more rows on DuckDB would look through whole tables for earlier rows of the same processes:
those that had none are told from the others first."""

ANY_TABLE: Final = frozenset({"log", *facts.TABLES.values()})
"""For `new` of `refresh`, where it is not known which tables have new rows."""


class Watermark(NamedTuple):
    """How many entries of a ledger's state have materialized rows; every reader has to know."""

    entries: int  # those whose processes and sellers have their materialized rows
    is_behind: bool  # those of later entries wait for a later batch
    settled_at: int  # microseconds; the last instant of an occurrence, -1 where there is none
    waits: bool  # entries have no materialized rows of any kind yet

    @property
    def has_all_rows(self) -> bool:
        """Whether all entries have all their materialized rows."""
        return not self.waits and not self.is_behind

    @classmethod
    def of(cls, cursor: duckdb.DuckDBPyConnection) -> Self:
        """The watermark of the state that the cursor sees."""
        [row] = cursor.execute(
            "select materialized_entries, materialized_entries < entries,"
            " if(isinf(settled_at), -1, epoch_us(settled_at)),"
            " exists (from log where seq > (select entries from kept_watermark))"
            " from kept_watermark"
        ).fetchall()
        return cls(*row)


def refresh(
    connection: duckdb.DuckDBPyConnection,
    *,
    after: int,
    size: int,
    new: Set[str] = ANY_TABLE,
    more_follow: bool = False,
) -> None:
    """Makes the materialized rows for the entries after the first `after`, up to `size`. With
    `more_follow`, rows of processes and sellers wait for a later batch: made for several batches at
    once, they cost a fraction.

    `new`: the tables that have rows of these entries. Statements that read only other tables are
    left out: planning them takes longer than running them."""

    def run(sql: str) -> duckdb.DuckDBPyConnection:
        return connection.execute(parsed(sql).statement(connection))

    connection.execute("set variable as_of = timestamp 'infinity'")
    connection.execute(f"set variable after = {after}")
    connection.execute(f"set variable size = {size}")
    [(covered, has_repeats)] = run(script("refresh/covered")).fetchall()
    connection.execute(f"set variable covered = {covered}")
    for view in ("timeline", "unlisted_codes"):
        if not new.isdisjoint(_tables_behind(view)):
            run(_rows_of_entries(view, _NEW))
    if "fact_notices" in new:
        if _made(run, "reported", script("refresh/reported")):
            run("delete from kept_timeline where seq in (from reported)")
            run(_rows_of_entries("timeline", "seq in (from reported)"))
        run("drop table reported")
    if has_repeats:
        run(script("refresh/clear_repeated_deliveries"))
        _write(run, "repeated_deliveries", _rows("repeated_deliveries", "repeated_events"))
    if "fact_collections" in new:
        _write(
            run, "repeated_collections", _rows("repeated_collections", "new_collections", of=_NEW)
        )
        run(script("refresh/subjects"))
    if not more_follow:
        unwritten = new if covered == after else ANY_TABLE
        if not unwritten.isdisjoint(_read_by("refresh/touched_processes")):
            _refresh_processes(run)
        if not unwritten.isdisjoint(_read_by("refresh/named_sellers")):
            _refresh_sellers(run)
        connection.execute(f"set variable covered = {size}")
    run(script("refresh/watermark"))


@cache
def _read_by(name: str) -> frozenset[str]:
    """The tables of facts that a script reads."""
    return frozenset(it for it in facts.TABLES.values() if it in script(name))


def _refresh_processes(run: Run) -> None:
    """Each step reads what the one before has written."""
    touched = _made(run, "touched", script("refresh/touched_processes"))
    if not touched:
        return
    lead = materialized.of_processes
    if touched > MANY:
        lead = materialized.of_many_processes
        _made(run, "former", script("refresh/former_processes"))
    [(has_attempts, has_answers)] = run(script("refresh/what_touched_have")).fetchall()
    if has_attempts:
        _write(run, "attempt_facts", _of_touched("attempt_facts", lead))
    _write(run, "process_facts", _of_touched("process_facts", lead, has_attempts=has_attempts))
    if has_attempts:
        _made(run, "touched_fields", _sent_fields(lead))
    if has_attempts or has_answers:
        run(_cleared("field_evidence", "touched"))
        _write(
            run, "field_evidence", _of_touched("field_evidence", lead, has_attempts=has_attempts)
        )
    run(_cleared("findings", "touched", "rule <> 'values_reused'"))
    if has_attempts or run(_suspects(lead)).fetchall() != [(0,)]:
        run(_findings("process_findings", "touched", "touched", lead, has_attempts=has_attempts))
    if has_attempts and _made(run, "related", related_to("touched")):
        run(_cleared("findings", "related", "rule = 'values_reused'"))
        if _made(run, "deciding", related_to("related")) > 1:
            run(_findings("reused_value_findings", "deciding", "related"))
    for table in ("touched", "former", "touched_fields", "related", "deciding"):
        run(f"drop table if exists {table}")


def _refresh_sellers(run: Run) -> None:
    """Each step is a table, so that DuckDB knows how few they are and finds what belongs to them by
    index."""
    _made(run, "named_sellers", script("refresh/named_sellers"))
    if _made(run, "touched_sellers", script("refresh/touched_sellers")):
        _made(run, "their_entries", script("refresh/their_entries"))
        _write(run, "seller_records", _rows("seller_records", "touched_sellers"))
        run(script("refresh/clear_sellers"))
    for table in ("named_sellers", "touched_sellers", "their_entries"):
        run(f"drop table if exists {table}")


def _made(run: Run, table: str, rows: str) -> int:
    """Makes a table of this connection alone; how many rows it has."""
    [(count,)] = run(f"create or replace temp table {table} as {rows}").fetchall()
    return int(count)


@cache
def _rows_of_entries(view_name: str, which: str) -> str:
    """Adds what a view says of some entries."""
    view, tables = catalogue()[view_name], _tables_behind(view_name)
    clauses = [named({it: f"from main.{it} where {which}" for it in tables})]
    if "fact_notices" in tables:
        clauses.append(rows_of("notices_of_results"))
    rows = _stored(view, narrowed(whole_sql(materialized.written_by(view)), *clauses))
    return f"insert into {materialized.table_of(view)} by name {rows} order by seq"


@cache
def _tables_behind(view_name: str) -> tuple[str, ...]:
    """The tables from which a view's rows are made."""
    view = materialized.written_by(catalogue()[view_name])
    reads = [view.reads, *(catalogue()[it].reads for it in all_read(view))]
    return tuple({it: None for each in reads for it in each if it not in catalogue()})


@cache
def _rows(view_name: str, narrowed_by: str, *, of: str = "true") -> str:
    """The rows of a view over the rows that `queries/narrowed/` names, as they are stored."""
    view = catalogue()[view_name]
    rows = narrowed(whole_sql(view, materialized.earlier(view_name)), rows_of(narrowed_by))
    return _stored(view, rows, of=of)


@cache
def _of_touched(view_name: str, lead: Lead, *, has_attempts: bool = True) -> str:
    """A view's rows of the processes that were touched, as they are stored."""
    view = catalogue()[view_name]
    rows = lead(
        whole_sql(
            materialized.written_by(view),
            _stand_ins(view_name, "touched", has_attempts=has_attempts),
        ),
        "from touched",
    )
    return _stored(view, rows, of="process_id in (from touched)")


@cache
def _sent_fields(lead: Lead) -> str:
    """What the processes that were touched have sent, against its evidence, from which both rows of
    fields and findings follow: of a process that is answered and sent often, that takes longest."""
    sql = whole_sql(catalogue()["sent_fields"], materialized.earlier("field_evidence"))
    return f"select * from ({lead(sql, 'from touched')}) where process_id in (from touched)"


@cache
def _findings(
    view_name: str,
    asked: str,
    of: str,
    lead: Lead = materialized.of_processes,
    *,
    has_attempts: bool = True,
) -> str:
    """Adds the findings of a view on the processes of the table `of`; those of `asked` decide."""
    view = catalogue()["settled_findings"]
    stand_ins = _stand_ins(view.name, asked, has_attempts=has_attempts)
    rows = lead(whole_sql(catalogue()[view_name], stand_ins), f"from {asked}")
    rows = _stored(view, rows, of=f"process_id in (from {of})")
    return f"insert into {materialized.table_of(view)} by name {rows}"


@cache
def _suspects(lead: Lead) -> str:
    """How many of the processes that were touched, and have no attempts, may have a finding."""
    view = catalogue()["suspected_processes"]
    sql = whole_sql(view, _stand_ins("settled_findings", "touched", has_attempts=False))
    return f"select count(*) from ({lead(sql, 'from touched')})"


def _stand_ins(view_name: str, asked: str, *, has_attempts: bool) -> Mapping[str, str]:
    """Stand-ins for rows of the processes of the table `asked`. What those of `touched` have sent
    is a table before any view reads it."""
    earlier = materialized.earlier(view_name)
    if not has_attempts:
        return {**earlier, **materialized.without_attempts()}
    return {**earlier, "sent_fields": "from touched_fields"} if asked == "touched" else earlier


def _stored(view: View, rows: str, *, of: str = "true") -> str:
    return f"{materialized.stored(view, rows)} where {of}"


def _write(run: Run, view_name: str, rows: str) -> None:
    """Writes rows into a view's table, over those of the same key. They are a table of their own
    first: of these DuckDB knows how few they are, and finds the former ones by index; else it
    reads all that there are. To look for a row that may be replaced costs as much as to write it:
    of many rows those that have no former one are written by themselves, in an order by which rows
    of one time lie together: so they take less room, and less time to be read."""
    view = catalogue()[view_name]
    storage = materialized.storage_of(view)
    table, key = materialized.table_of(view), storage.key
    renewed = _made(run, "renewed", rows)
    if renewed and not key:
        run(_insertion(table))
    elif renewed > MANY:
        keys = f"select {key} from {table} where {key} in (select {key} from renewed)"
        replaced = _made(run, "replaced", keys)
        order = f"order by {storage.clustered}" if storage.clustered else ""
        run(f"{_insertion(table)} anti join replaced using ({key}) {order}")
        if replaced:
            run(_replacement(view, f"semi join replaced using ({key})"))
        run("drop table replaced")
    elif renewed:
        run(_replacement(view))
    run("drop table renewed")


def _insertion(table: str) -> str:
    return f"insert into {table} by name from renewed"


def _replacement(view: View, only: str = "") -> str:
    table, key = materialized.table_of(view), materialized.storage_of(view).key
    updated = _updates(view)
    return f"{_insertion(table)} {only} on conflict ({key}) do update set {updated}"


def _updates(view: View) -> str:
    storage = materialized.storage_of(view)
    columns = [*materialized.written_by(view).columns, *view.columns]
    return ", ".join(
        f"{column} = excluded.{column}"
        for column in dict.fromkeys(columns)
        if column != storage.key
    )


def related_to(table: str) -> str:
    """A query of the processes on which what was sent for those of a table can decide."""
    return f"with asked as (from {table}) select * from ({script('refresh/related_processes')})"


def _cleared(table: str, of: str, which: str = "true") -> str:
    return f"delete from kept_{table} where {which} and process_id in (from {of})"
