"""Brings what is kept up to date with a batch, in the batch's own transaction.

Each kept row is what a view gives at the end of time, made by that view's own SQL over the entries
that can have changed it. So no rule is written twice, and `prazo rebuild` gives the same rows.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from pipeline import kept
from pipeline.catalogue import at_instant, catalogue, narrowed, whole_sql

Run = Callable[[str], Any]
"""Executes a statement on the connection that writes; gives something with `fetchall`."""

_END_OF_TIME: Final = "timestamp 'infinity'"


def keep(run: Run, *, after: int, size: int, more_follow: bool = False) -> None:
    """Of the entries after the first `after`, up to `size`. Rows of processes and sellers may wait
    for a later batch (`more_follow`): made for all of them at once, they cost a fraction."""
    [(kept_size, has_repeats, has_collections)] = run(_STANDING.format(after=after)).fetchall()
    for view in ("timeline", "unlisted_codes"):
        run(_entries_statement(view).format(after=after))
    if has_repeats:
        run(_CLEAR_SUPERSEDED.format(after=after))
        run(_superseded_statement().format(after=after))
    if has_collections:
        run(_repeated_statement().format(after=after))
        run(_SUBJECTS.format(after=after))
    if not more_follow:
        _keep_processes(run, after=kept_size)
        _keep_sellers(run, after=kept_size)
        kept_size = size
    run(_PROGRESS.format(size=size, kept=kept_size, after=after))


def _keep_processes(run: Run, *, after: int) -> None:
    """Each step reads what the one before has kept."""
    if not _made(run, "touched", _TOUCHED.format(after=after)):
        return
    [(has_attempts,)] = run(_HAS_ATTEMPTS).fetchall()
    run(_processes_statement(has_attempts))
    if has_attempts:
        run(_attempts_statement())
    run(_CLEAR_FINDINGS.format(rules="rule <> 'values_reused'", of="touched"))
    run(_findings_statement("process_findings", "from touched", has_attempts=has_attempts))
    if has_attempts and _made(run, "related", _RELATED.format(to="touched")):
        run(_CLEAR_FINDINGS.format(rules="rule = 'values_reused'", of="related"))
        if _made(run, "deciding", _RELATED.format(to="related")) > 1:
            run(_findings_statement("reused_value_findings", "from deciding", of="related"))
    for table in ("touched", "related", "deciding"):
        run(f"drop table if exists {table}")


def _keep_sellers(run: Run, *, after: int) -> None:
    if not _made(run, "touched_sellers", _TOUCHED_SELLERS.format(after=after)):
        return
    # As a table, so that DuckDB knows how few they are and finds what belongs to them by index.
    _made(run, "their_entries", _THEIR_ENTRIES)
    run(_sellers_statement())
    run(_CLEAR_SELLERS)
    for table in ("touched_sellers", "their_entries"):
        run(f"drop table {table}")


def _made(run: Run, table: str, rows: str) -> int:
    """Makes a table of this connection alone; how many rows it has."""
    run(f"create or replace temp table {table} as {rows}")
    [(count,)] = run(f"select count(*) from {table}").fetchall()
    return int(count)


_STANDING: Final = """
    select
        kept,
        exists (from facts.webhooks where seq > {after} and is_again),
        exists (from facts.collections where seq > {after})
    from kept.progress"""
"""Up to where processes are kept, and whether anything after `{after}` repeats an event, or is a
collection: planning a statement takes longer than running it, so none is run for nothing."""


# --- of entries, whose rows never change ---


@cache
def _entries_statement(view_name: str) -> str:
    """Adds what a view says of the entries after `{after}`."""
    view = catalogue()[view_name]
    tables = [it for it in view.reads if it not in catalogue()]
    columns = ", ".join(view.columns).replace("leaf_hash", "unhex(leaf_hash) as leaf_hash")
    rows = narrowed(
        at_instant(whole_sql(view), _END_OF_TIME),
        {
            f"asked_{table.rpartition('.')[2]}": f"from {table} where seq > {{after}}"
            for table in tables
        },
    )
    return f"insert into kept.{view_name} by name select {columns} from ({rows}) order by seq"


# --- of events and of evidence ---

_REPEATED: Final = "select event_id from facts.webhooks where seq > {after} and is_again"

_CLEAR_SUPERSEDED: Final = f"delete from kept.superseded where event_id in ({_REPEATED})"


@cache
def _superseded_statement() -> str:
    """Adds the events that entries after `{after}` repeat, once they are cleared."""
    deliveries = f"from facts.webhooks where event_id in ({_REPEATED})"
    rows = narrowed(whole_sql(catalogue()["superseded_deliveries"]), {"asked_webhooks": deliveries})
    return f"insert into kept.superseded by name {rows}"


@cache
def _repeated_statement() -> str:
    """Adds the collections after `{after}` that say what was said before."""
    new = "select process_id from facts.collections where seq > {after}"
    rows = narrowed(
        whole_sql(catalogue()["repeated_collections"]),
        {"asked_collections": f"from facts.collections where process_id in ({new})"},
    )
    return f"insert into kept.repeated_collections from ({rows}) where seq > {{after}}"


_SUBJECTS: Final = """
    insert into kept.subjects by name
    select subject, min(process_id) as process_id, min(process_id) <> max(process_id) as is_shared
    from (
        select journey_id as subject, process_id from facts.collections where seq > {after}
        union all
        select sha256 as subject, process_id from facts.artifacts
        where seq > {after} and sha256 is not null
    )
    group by subject
    on conflict (subject) do update set
        process_id = least(subjects.process_id, excluded.process_id),
        is_shared = subjects.is_shared or excluded.is_shared
            or subjects.process_id <> excluded.process_id"""

# --- of processes ---

_TOUCHED: Final = """
    select process_id from facts.reviews where seq > {after}
    union
    select process_id from facts.collections where seq > {after}
    union
    select process_id from facts.acts
    where seq > {after} and kind in ('override', 'replacement') and process_id is not null
    union
    select process_id from facts.reviews
    where event_id in (select event_id from facts.webhooks where seq > {after} and is_again)
    union
    select process_id from facts.attempt_starts where attempt_id in (
        select attempt_id from facts.attempt_starts where seq > {after}
        union
        select attempt_id from facts.attempt_finishes where seq > {after}
    )
    union
    select process_id from facts.attempt_finishes where attempt_id in (
        select attempt_id from facts.attempt_starts where seq > {after}
        union
        select attempt_id from facts.attempt_finishes where seq > {after}
    )"""
"""Processes of new entries, and of older ones that a new one outranks or completes."""

_RELATED: Final = """
    with own as (
        select attempt_id from facts.attempt_starts where process_id in (from {to})
        union
        select attempt_id from facts.attempt_finishes where process_id in (from {to})
    ),
    sellers as (
        select seller_id from facts.attempt_starts where attempt_id in (from own)
        union
        select seller_id from facts.attempt_finishes where attempt_id in (from own)
    ),
    theirs as (
        select attempt_id from kept.timeline
        where attempt_id is not null and seller_id in (from sellers)
    )
    select process_id from facts.attempt_starts where attempt_id in (from theirs)
    union
    select process_id from facts.attempt_finishes where attempt_id in (from theirs)"""
"""Processes with attempts for the sellers that attempts for those of `{to}` name: what was sent for
one of them may be sent again for another. An attempt's start and finish may each name another
process, or only one of them the seller."""


_HAS_ATTEMPTS: Final = """
    select exists (from facts.attempt_starts where process_id in (from touched))
        or exists (from facts.attempt_finishes where process_id in (from touched))"""
"""Whether any touched process has one: most new ones have none, and what follows from attempts is
half of what would be planned."""


_TOLD_OF_ATTEMPTS: Final = """
            union all
            select named.process_id, starts.occurred_at
            from named join facts.attempt_starts as starts using (attempt_id)
            union all
            select named.process_id, finishes.occurred_at
            from named join facts.attempt_finishes as finishes using (attempt_id)"""
"""The start and the end of an attempt count for both processes that they may name."""


@cache
def _processes_statement(has_attempts: bool) -> str:
    names = [it for it in catalogue()["process_facts"].columns if it != "process_id"]
    values = ", ".join(
        "cast(to_json(known.requested_fields) as varchar) as requested_fields"
        if it == "requested_fields"
        else f"known.{it}"
        for it in names
    )
    bodies = {**kept.while_behind(), **({} if has_attempts else kept.without_attempts())}
    rows = f"""
        with known as (
            {at_instant(whole_sql(catalogue()["process_facts"], bodies), _END_OF_TIME)}
        ),
        named as (
            select process_id, attempt_id from facts.attempt_starts
            union
            select process_id, attempt_id from facts.attempt_finishes
        ),
        told as (
            select process_id, occurred_at from facts.reviews
            union all
            select process_id, occurred_at from facts.collections
            {_TOLD_OF_ATTEMPTS if has_attempts else ""}
        ),
        spans as (
            select process_id, max(occurred_at) as settled_at
            from told
            where process_id in (from asked)
            group by process_id
        )
        select process_id, settled_at, known.process_id is not null as is_known, {values}
        from spans
        left join known using (process_id)"""
    updates = ", ".join(f"{it} = excluded.{it}" for it in ("settled_at", "is_known", *names))
    return f"""
        insert into kept.processes by name
        {kept.of_processes(rows, "from touched")}
        on conflict (process_id) do update set {updates}"""


@cache
def _attempts_statement() -> str:
    names = [it for it in catalogue()["attempt_facts"].columns if it != "is_retryable"]
    bodies = {**kept.while_behind(), "process_facts": kept.of_the_end()["process_facts"]}
    rows = at_instant(whole_sql(catalogue()["attempt_facts"], bodies), _END_OF_TIME)
    updates = ", ".join(f"{it} = excluded.{it}" for it in names if it != "attempt_id")
    return f"""
        insert into kept.attempts by name
        select {", ".join(names)}
        from ({kept.of_processes(rows, "from touched")})
        where process_id in (from touched)
        on conflict (attempt_id) do update set {updates}"""


_CLEAR_FINDINGS: Final = "delete from kept.findings where {rules} and process_id in (from {of})"


@cache
def _findings_statement(
    view: str, asked: str, *, of: str = "touched", has_attempts: bool = True
) -> str:
    """Adds the findings of a view on the processes of `of`; `asked` are those that decide them."""
    bodies = {**kept.of_the_end(), **({} if has_attempts else kept.without_attempts())}
    rows = at_instant(whole_sql(catalogue()[view], bodies), _END_OF_TIME)
    return f"""
        insert into kept.findings by name
        from ({kept.of_processes(rows, asked)})
        where process_id in (from {of})"""


# --- of sellers ---

_TOUCHED_SELLERS: Final = f"""
    select seller_id from kept.timeline
    where seq > {{after}} and kind = 'webhook' and seller_id is not null
    union
    select seller_id from kept.timeline
    where seller_id is not null
        and seq in (select seq from facts.webhooks where event_id in ({_REPEATED}))"""
"""Sellers whom new events name, and older ones that a new one outranks."""


_THEIR_ENTRIES: Final = """
    select seq, process_id from kept.timeline
    where kind = 'webhook' and seller_id in (from touched_sellers)"""


@cache
def _sellers_statement() -> str:
    view = catalogue()["seller_records"]
    rows = narrowed(
        at_instant(whole_sql(view, kept.while_behind()), _END_OF_TIME),
        {
            "asked_seller_events": """
                from facts.seller_events where seller_id in (from touched_sellers)""",
            "asked_reviews": """
                from facts.reviews where process_id in (select process_id from their_entries)""",
            "asked_bank_account_events": """
                from facts.bank_account_events where seq in (select seq from their_entries)""",
        },
    )
    updates = ", ".join(f"{it} = excluded.{it}" for it in view.columns if it != "seller_id")
    return f"""
        insert into kept.sellers by name
        {rows}
        on conflict (seller_id) do update set {updates}"""


_CLEAR_SELLERS: Final = """
    delete from kept.sellers
    where seller_id in (from touched_sellers) and seller_id not in (
        select seller_id from facts.seller_events anti join kept.superseded using (seq)
        where seller_id in (from touched_sellers)
    )"""
"""Of an event told again with another seller, the first may have had no other."""


_PROGRESS: Final = """
    update kept.progress set
        entries = {size},
        kept = {kept},
        settled_at = greatest(settled_at, (
            select max(occurred_at) from kept.timeline where seq > {after}
        ))"""
