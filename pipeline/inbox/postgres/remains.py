"""What a PostgreSQL server still holds of rows that were erased, and how it lets go of that.

Rows that are no longer there stand in the tables' free places, short values in the statistics, and
all of them in the write-ahead log: segments of before are renamed and used again, and hold what was
in them until then. Each step was tried by searching a server's whole data directory.
"""

from typing import Final, NamedTuple

from pipeline import instants
from pipeline.inbox.store import Inbox

TABLES: Final = (
    *("prazo.entries", "prazo.artifact_chunks", "prazo.artifact_owners"),
    *("prazo.journeys", "prazo.journey_sessions", "prazo.journey_flow"),
)
"""From which something is erased."""
STEPS: Final = (
    f"vacuum full {', '.join(TABLES)};",
    "analyze;",
    "vacuum full pg_catalog.pg_statistic;",
    "alter system set wal_recycle = off;",
    "select pg_reload_conf(), pg_sleep(2);",
    "checkpoint;",
    "do $$ begin for segment in 0 .. (select count(*) from pg_ls_waldir()) loop"
    " perform pg_logical_emit_message(false, 'prazo', ''), pg_switch_wal(); end loop; end $$;",
    "checkpoint;",
    "alter system reset wal_recycle;",
    "select pg_reload_conf();",
    "insert into prazo.heartbeats values ('emptied', (extract(epoch from now()) * 1000000)::bigint)"
    " on conflict (name) do update set at = excluded.at;",
)
"""In `psql`, by a superuser, with every receiver stopped; each is a line."""

_EMPTIED: Final = "select at from heartbeats where name = 'emptied'"
_MAY_LIST: Final = "select has_function_privilege('pg_ls_waldir()', 'execute')"
_SEGMENTS: Final = """
    select count(*), count(*) filter (where modification < $1::timestamptz) from pg_ls_waldir()
    where name ~ '^[0-9A-F]{24}$'"""
_KEPT: Final = """
    select string_agg(said, ', ') from (
        select 'the replication slot ' || slot_name as said from pg_replication_slots
        union all
        select 'the standby ' || coalesce(application_name, '') from pg_stat_replication
        union all
        select 'archived WAL (archive_mode = ' || current_setting('archive_mode') || ')'
        where current_setting('archive_mode') <> 'off') as others"""


class Remains(NamedTuple):
    """What a server may still hold. `why`: empty where the steps were taken since the erasure.
    `elsewhere`: what holds WAL of before beside it, in words; empty where nothing is known to."""

    why: str
    elsewhere: str


def look(inbox: Inbox, erased_at: int) -> Remains:
    """What a server may still hold of what was erased at an instant. Raises `InboxUnavailable`."""
    rows = inbox.query(_EMPTIED)
    reasons = []
    if not rows or rows[0][0] < erased_at:
        reasons.append("nobody has emptied its free places, statistics and WAL since")
    if inbox.query(_MAY_LIST)[0][0]:
        [(segments, older)] = inbox.query(_SEGMENTS, instants.of(erased_at))
        if older:
            reasons.append(f"{older} of {segments} segments of its WAL are of before")
    elsewhere = inbox.query(_KEPT)[0][0]
    return Remains("; ".join(reasons), elsewhere or "")
