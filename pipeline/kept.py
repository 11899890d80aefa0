"""Says in SQL which views read kept rows in place of the log, and which entries a few subjects
need. No I/O.

A rule is written once, in `queries/`. What is kept is what a view gives at the end of time, when
nothing but the clock moves any more (`keeping.py` brings it up to date).
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from pipeline.catalogue import catalogue, narrowed, whole_sql

TABLES: Final = (
    "kept.timeline",
    "kept.unlisted_codes",
    "kept.superseded",
    "kept.repeated_collections",
    "kept.subjects",
    "kept.processes",
    "kept.attempts",
    "kept.findings",
    "kept.sellers",
    "kept.progress",
)

_OF_PROCESSES: Final = {
    "asked_reviews": "from facts.reviews where process_id in (from asked)",
    # Which delivery of an event counts is decided among all that carry its id, of any process.
    "asked_webhooks": """
        from facts.webhooks where event_id in (select event_id from asked_reviews)""",
    # So are an attempt's start and finish, which may name two processes.
    "asked_attempt_ids": """
        select attempt_id from facts.attempt_starts where process_id in (from asked)
        union
        select attempt_id from facts.attempt_finishes where process_id in (from asked)""",
    "asked_attempt_starts": """
        from facts.attempt_starts where attempt_id in (from asked_attempt_ids)""",
    "asked_attempt_finishes": """
        from facts.attempt_finishes where attempt_id in (from asked_attempt_ids)""",
    "asked_sent_leaves": """
        from facts.sent_leaves where seq in (select seq from asked_attempt_starts)""",
    "asked_collections": "from facts.collections where process_id in (from asked)",
    "asked_answered_leaves": """
        from facts.answered_leaves where seq in (select seq from asked_collections)""",
    "asked_artifacts": "from facts.artifacts where seq in (select seq from asked_collections)",
    "asked_acts": "from facts.acts where process_id in (from asked)",
    "asked_processes": "from kept.processes where process_id in (from asked)",
    "asked_attempts": "from kept.attempts where attempt_id in (from asked_attempt_ids)",
    "asked_findings": "from kept.findings where process_id in (from asked)",
}
"""The rows of each table that processes can depend on, given their ids as `asked`."""


_FINDINGS_OF_ATTEMPTS: Final = (
    "changed_payload_findings",
    "payload_findings",
    "evidence_findings",
    "late_evidence_findings",
)
"""Findings of which every row follows from an attempt."""


_OF_SELLERS: Final = {
    "asked_entries": """
        select seq, process_id, attempt_id
        from kept.timeline where seller_id in (from asked_sellers)""",
    # An attempt's start and finish may each name another process, or only one of them the seller.
    "asked": """
        select process_id from asked_entries where process_id is not null
        union
        select process_id from facts.attempt_starts
        where attempt_id in (select attempt_id from asked_entries)
        union
        select process_id from facts.attempt_finishes
        where attempt_id in (select attempt_id from asked_entries)""",
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


def _columns(view: str) -> str:
    return ", ".join(catalogue()[view].columns)


def _kept_processes() -> str:
    """Rows of `kept.processes` as those of `process_facts`."""
    columns = _columns("process_facts").replace(
        "requested_fields", """from_json(requested_fields, '["VARCHAR"]') as requested_fields"""
    )
    return f"select {columns} from kept.processes where is_known"


# An attempt without an end is in flight until its timeout; at the end of time it is unknown.
_KEPT_ATTEMPTS: Final = """
    select *, is_retryable(outcome) as is_retryable
    from (
        select * replace (
            case
                when finish_seq is null and (select as_of from clock) < timeout_at then 'in_flight'
                else outcome
            end as outcome
        )
        from kept.attempts
    )"""


@cache
def while_behind() -> Mapping[str, str]:
    """Bodies of views that read kept rows whatever the instant, and however far those of processes
    and sellers are: the clock changes nothing of them."""
    columns = _columns("timeline").replace("leaf_hash", "lower(hex(leaf_hash)) as leaf_hash")
    return {
        "superseded_deliveries": "select seq, event_id, is_altered from kept.superseded",
        "unlisted_codes": f"select {_columns('unlisted_codes')} from kept.unlisted_codes",
        "repeated_collections": "select seq from kept.repeated_collections",
        "shared_subjects": "select subject from kept.subjects where is_shared",
        "timeline": f"""
            select {columns}
            from kept.timeline
            where occurred_at <= (select as_of from clock)""",
    }


@cache
def of_the_end() -> Mapping[str, str]:
    """Likewise over rows of processes and attempts, where nothing occurs after the instant."""
    return {
        **while_behind(),
        "process_facts": _kept_processes(),
        "attempts": f"select {_columns('attempts')} from ({_KEPT_ATTEMPTS})",
        "attempt_facts": f"select {_columns('attempt_facts')} from ({_KEPT_ATTEMPTS})",
    }


@cache
def without_attempts() -> Mapping[str, str]:
    """Bodies of views in place of others, for processes without an attempt: what follows from
    attempts alone has no rows then, and planning it takes the most time."""
    return {
        "attempts": f"select {_columns('attempts')} from ({_KEPT_ATTEMPTS}) where false",
        **{
            findings: f"select {_columns(findings)} from kept.findings where false"
            for findings in _FINDINGS_OF_ATTEMPTS
        },
    }


@cache
def when_settled() -> Mapping[str, str]:
    """Likewise for an instant that is not before any occurrence, with kept rows up to date."""
    stays = of_processes(
        whole_sql(catalogue()["unsteady_stays"], of_the_end()),
        """
        select process_id from kept.processes
        where is_known and first_received_at is not null and overdue_since is null""",
    )
    return {
        **of_the_end(),
        "unsteady_stays": stays,
        "settled_findings": f"select {_columns('settled_findings')} from kept.findings",
        "seller_records": f"select {_columns('seller_records')} from kept.sellers",
    }


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
