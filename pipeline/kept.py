"""Says in SQL how kept rows follow from the log, and which entries a few subjects need. No I/O.

A rule is written once, in `queries/`. What is kept is what a view gives at the end of time, when
nothing but the clock moves any more. It is brought up to date by that view's own SQL, over the
entries of the processes that a batch touched, in the batch's own transaction.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from pipeline.catalogue import at_instant, catalogue, narrowed, whole_sql

_END_OF_TIME: Final = "timestamp 'infinity'"

_OF_PROCESSES: Final = {
    "asked_reviews": "from facts.reviews where process_id in (from asked)",
    # Which delivery of an event counts is decided among all that carry its id, of any process.
    "asked_webhooks": """
        from facts.webhooks where event_id in (select event_id from asked_reviews)""",
    # So are an attempt's start and finish, which may name two processes.
    "asked_attempts": """
        select attempt_id from facts.attempt_starts where process_id in (from asked)
        union
        select attempt_id from facts.attempt_finishes where process_id in (from asked)""",
    "asked_attempt_starts": """
        from facts.attempt_starts where attempt_id in (from asked_attempts)""",
    "asked_attempt_finishes": """
        from facts.attempt_finishes where attempt_id in (from asked_attempts)""",
    "asked_sent_leaves": """
        from facts.sent_leaves where seq in (select seq from asked_attempt_starts)""",
    "asked_collections": "from facts.collections where process_id in (from asked)",
    "asked_answered_leaves": """
        from facts.answered_leaves where seq in (select seq from asked_collections)""",
    "asked_artifacts": "from facts.artifacts where seq in (select seq from asked_collections)",
    "asked_acts": "from facts.acts where process_id in (from asked)",
    "asked_processes": "from kept.processes where process_id in (from asked)",
}
"""The rows of each table that processes can depend on, given their ids as `asked`."""


_OF_SELLERS: Final = {
    "asked_entries": """
        select seq, process_id from kept.timeline where seller_id in (from asked_sellers)""",
    "asked": "select distinct process_id from asked_entries where process_id is not null",
    "asked_seller_events": """
        from facts.seller_events where seller_id in (from asked_sellers)""",
    "asked_bank_account_events": """
        from facts.bank_account_events where seq in (select seq from asked_entries)""",
    **_OF_PROCESSES,
    "asked_webhooks": """
        from facts.webhooks where event_id in (
            select event_id from asked_reviews
            union
            select event_id from asked_seller_events
            union
            select event_id from asked_bank_account_events
        )""",
}
"""The same for sellers, given their ids as `asked_sellers`: their own entries and all of every
process that one of these is about."""


def of_processes(sql: str, asked: str) -> str:
    """The SQL over what some processes can depend on: right for a view's rows of these, and for no
    others. `asked` is a query that gives their ids, as `process_id`."""
    return narrowed(sql, {"asked": asked, **_OF_PROCESSES})


def of_sellers(sql: str, asked: str) -> str:
    """Likewise for sellers; `asked` gives theirs, as `seller_id`."""
    return narrowed(sql, {"asked_sellers": asked, **_OF_SELLERS})


def _kept_processes() -> str:
    """Rows of `kept.processes` as those of `process_facts`."""
    columns = ", ".join(catalogue()["process_facts"].columns).replace(
        "requested_fields", """from_json(requested_fields, '["VARCHAR"]') as requested_fields"""
    )
    return f"select {columns} from kept.processes where is_known"


@cache
def while_behind() -> Mapping[str, str]:
    """Bodies of views that read kept rows whatever the instant, and however far those of processes
    are: the clock changes nothing of them."""
    columns = ", ".join(catalogue()["timeline"].columns)
    columns = columns.replace("leaf_hash", "lower(hex(leaf_hash)) as leaf_hash")
    return {
        "superseded_deliveries": "select seq, event_id, is_altered from kept.superseded",
        "timeline": f"""
            select {columns}
            from kept.timeline
            where occurred_at <= (select as_of from clock)
            order by occurred_at, seq""",
    }


@cache
def when_settled() -> Mapping[str, str]:
    """Likewise for an instant that is not before any occurrence, with kept rows up to date."""
    facts = {**while_behind(), "process_facts": _kept_processes()}
    stays = of_processes(
        whole_sql(catalogue()["unsteady_stays"], facts),
        """
        select process_id from kept.processes
        where is_known and first_received_at is not null and overdue_since is null""",
    )
    return {**facts, "unsteady_stays": stays}


@cache
def before_settled() -> Mapping[str, str]:
    """Likewise for an earlier instant: processes of which something occurred after it are worked
    out from the log."""
    later = "select process_id from kept.processes where settled_at > (select as_of from clock)"
    from_log = of_processes(whole_sql(catalogue()["process_facts"], while_behind()), later)
    return {
        **while_behind(),
        "process_facts": f"""
            {_kept_processes()} and settled_at <= (select as_of from clock)
            union all by name
            from ({from_log}) where process_id in ({later})""",
    }


@cache
def processes_statement() -> str:
    """Brings `kept.processes` up to date with the entries after `{after}`."""
    names = [it for it in catalogue()["process_facts"].columns if it != "process_id"]
    values = ", ".join(
        "cast(to_json(known.requested_fields) as varchar) as requested_fields"
        if it == "requested_fields"
        else f"known.{it}"
        for it in names
    )
    rows = f"""
        with known as (
            {at_instant(whole_sql(catalogue()["process_facts"], while_behind()), _END_OF_TIME)}
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
            union all
            select named.process_id, starts.occurred_at
            from named join facts.attempt_starts as starts using (attempt_id)
            union all
            select named.process_id, finishes.occurred_at
            from named join facts.attempt_finishes as finishes using (attempt_id)
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
        {of_processes(rows, _TOUCHED)}
        on conflict (process_id) do update set {updates}"""


_TOUCHED: Final = """
    select process_id from facts.reviews where seq > {after}
    union
    select process_id from facts.collections where seq > {after}
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


REPEATED: Final = "select event_id from facts.webhooks where seq > {after} and is_again"

CLEAR_SUPERSEDED: Final = f"delete from kept.superseded where event_id in ({REPEATED})"


@cache
def superseded_statement() -> str:
    """Adds to `kept.superseded` the events that entries after `{after}` repeat, once what was
    known of these is cleared."""
    deliveries = f"from facts.webhooks where event_id in ({REPEATED})"
    rows = narrowed(whole_sql(catalogue()["superseded_deliveries"]), {"asked_webhooks": deliveries})
    return f"insert into kept.superseded by name {rows}"


@cache
def timeline_statement() -> str:
    """Adds the entries after `{after}` to `kept.timeline`."""
    view = catalogue()["timeline"]
    tables = [it for it in view.reads if it not in catalogue()]
    columns = ", ".join(view.columns).replace("leaf_hash", "unhex(leaf_hash) as leaf_hash")
    rows = narrowed(
        at_instant(whole_sql(view), _END_OF_TIME),
        {
            f"asked_{table.rpartition('.')[2]}": f"from {table} where seq > {{after}}"
            for table in tables
        },
    )
    return f"insert into kept.timeline by name select {columns} from ({rows}) order by seq"


PROGRESS: Final = """
    update kept.progress set
        entries = {size},
        kept = {kept},
        settled_at = greatest(settled_at, (
            select max(occurred_at) from kept.timeline where seq > {after}
        ))"""
