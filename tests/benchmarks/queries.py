"""Measures what the pages ask of the ledger: each question against a bare scan of what it reads.

The ledger is made with SQL alone, in bulk: log, facts and one head of the tree, as if its entries
had been followed; then materialized rows are brought up to date, as the follower does it after
catching up. `PRAZO_BENCH_SIZES` says how many entries (a million by default); of several sizes
(`1000000,10000000`) it also tells how each question grows. From 20 million on, bodies and leaves
are shortened to nothing.

Times are CPU times of this process on one thread, the best of some rounds, so that a busy machine
counts less; beside other engines (`peers.py`) they are times on the wall, for all of them. Short
questions are asked as often before as the dashboard asks them: only then are they planned as there.
"""

import hashlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import duckdb

from pipeline.contract.body import canonical_json
from pipeline.ledger import facts, materialized, refresh
from pipeline.ledger.store import Ledger
from pipeline.ledger.syntax.questions import PRUNED_AT
from pipeline.ledger.views.catalogue import catalogue, whole_sql
from pipeline.ledger.views.reader import Reader
from tests.benchmarks import peers
from tests.benchmarks.rows import Row

SIZES: Final = [int(it) for it in os.environ.get("PRAZO_BENCH_SIZES", "1000000").split(",")]
ENTRIES_OF_A_PROCESS: Final = 5
PEERS_TAKE: Final = 10_000_000
"""Entries; copying more of them into other engines takes hours."""
ENTRIES_PER_PART: Final = 1_000_000
ROUNDS: Final = 3
OFTEN: Final = 2 * PRUNED_AT
SHORT_SECONDS: Final = 0.5
"""A question that takes less is asked often."""

FIRST_DAY: Final = "2024-11-01"
AS_OF_SECONDS: Final = 1_793_836_800  # 2026-11-05T00:00:00Z, when everything had occurred
AS_OF: Final = AS_OF_SECONDS * 10**6

SCANS: Final = {
    "reviews": "select max(created_at), max(deadline_at), max(process_id) from fact_reviews",
    "attempts": "select max(a.occurred_at), max(f.occurred_at), max(f.status), max(a.process_id)"
    " from fact_attempt_starts a positional join fact_attempt_finishes f",
    "sellers": "select max(created_at), max(seller_id), max(event_type), max(reasons)"
    " from fact_seller_events",
    "retries": "select max(seller_id), max(created_at), max(event_type), max(taxpayer_key),"
    " max(record_created_at), bool_or(retry) from fact_seller_events",
    "webhooks": "select max(event_id), max(occurred_at), bool_or(is_again) from fact_webhooks",
}
"""Bare scans of the columns that a question cannot do without."""


SHARES: Final = {
    "counts by state": ("both", 1.5, 1.0),
    "deadline calendar": ("both", 1.5, 1.0),
    "expired, 50 rows": ("both", 1.5, 1.0),
    "watchlist, 50 rows": ("both", 1.5, 0.2),
    "state by day": ("both", 3.5, 1.2),
    "denial reasons": ("sellers", 5, 1.2),
    "denial retries": ("retries", 5, 1.2),
    "outcomes by day": ("attempts", 5, 1.2),
    "redeliveries": ("webhooks", 5, 1.2),
    "alerts that are due": (0.1, 5, 0.6),
    "alerts nobody has raised": (0.1, 1, 0.3),
    "evidence coverage, whole": (2.0, 1, 1.2),
    "sellers, whole": (2.0, 1, 1.2),
    "one process": (0.003, 1, 0.2),
    "one timeline": (0.003, 1, 0.2),
    "one seller's timeline": (0.003, 1, 0.2),
}
"""Of each question: the scan it is held to, or seconds; how often its time it may take; and the
exponent by which it may grow with the log."""


def run() -> list[Row]:
    rows: list[Row] = []
    former: dict[str, float] = {}
    for number, entries in enumerate(SIZES):
        with tempfile.TemporaryDirectory(prefix="prazo-bench-") as folder:
            ledger = make(Path(folder) / "bench.duckdb", entries)
            try:
                scans, seconds = _measured(ledger)
                rows += [_held(name, scans, seconds[name], entries) for name in seconds]
                rows += [
                    _grown(name, former[name], seconds[name], entries / SIZES[number - 1])
                    for name in former
                ]
                former = seconds
                if number == 0 and entries <= PEERS_TAKE:
                    questions = _questions(ledger)
                    rows += peers.compared(ledger.cursor(), AS_OF, questions, Path(folder))
            finally:
                ledger.close()
    return rows


def _questions(ledger: Ledger) -> dict[str, Callable[[], object]]:
    reader, cursor = Reader(ledger), ledger.cursor()
    cursor.execute(f"set variable as_of = make_timestamp({AS_OF})")
    states = whole_sql(catalogue()["process_state"], materialized.when_settled())
    middle = ledger.size // ENTRIES_OF_A_PROCESS // 2
    process, seller = named("prc", middle), named("sel", middle // 3)

    def view(name: str, **options: object) -> Callable[[], object]:
        return lambda: reader.read(name, as_of=AS_OF, **options)  # type: ignore[arg-type]

    def few(name: str, **where: str) -> Callable[[], object]:
        """Plain rows, as commands take a few, and as peers give theirs."""
        return lambda: reader.records(name, as_of=AS_OF, where=where)

    return {
        "counts by state": lambda: cursor.execute(
            f"select state, count(*) from ({states}) group by state"
        ).fetchall(),
        "deadline calendar": view("deadline_calendar"),
        "expired, 50 rows": view("expired_processes", limit=50),
        "watchlist, 50 rows": view("watchlist", limit=50),
        "state by day": view("state_daily"),
        "denial reasons": view("denial_reasons"),
        "denial retries": view("denial_retries"),
        "outcomes by day": view("submission_outcomes"),
        "redeliveries": view("redeliveries"),
        "alerts that are due": view("alerts"),
        "alerts nobody has raised": view("new_alerts"),
        "evidence coverage, whole": view("evidence_coverage"),
        "sellers, whole": view("seller_state"),
        "one process": few("process_state", process_id=process),
        "one timeline": few("timeline", process_id=process),
        "one seller's timeline": few("timeline", seller_id=seller),
    }


def named(kind: str, number: int) -> str:
    """An id as random as real ones are: of ids in their order DuckDB would know where each is."""
    return f"{kind}_{hashlib.md5(str(number).encode()).hexdigest()[:16]}"


def _measured(ledger: Ledger) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each bare scan and of each question."""
    cursor = ledger.cursor()
    scans = {
        name: _seconds(lambda sql=sql: cursor.execute(sql).fetchall())
        for name, sql in SCANS.items()
    }
    scans["both"] = scans["reviews"] + scans["attempts"]
    return scans, {name: _seconds(it) for name, it in _questions(ledger).items()}


def _held(name: str, scans: Mapping[str, float], seconds: float, entries: int) -> Row:
    scan, most, _ = SHARES[name]
    bare = scans[scan] if isinstance(scan, str) else float(scan)
    what = "scan" if isinstance(scan, str) else "aim"
    return Row(
        f"queries: {name}, {entries:,} entries",
        bare / seconds,
        f"{seconds * 1000:.1f} ms, {what} {bare * 1000:.1f} ms",
        1 / most,
    )


def _grown(name: str, before: float, after: float, times: float) -> Row:
    exponent = math.log(after / before) / math.log(times)
    _, _, most = SHARES[name]
    return Row(
        f"queries: growth of {name}",
        times**most / (after / before),
        f"{before * 1000:.1f} to {after * 1000:.1f} ms over {times:g} times the entries,"
        f" exponent {exponent:.2f}",
        1,
    )


def _seconds(question: Callable[[], object]) -> float:
    took = []
    while len(took) < ROUNDS or (len(took) < OFTEN and min(took) < SHORT_SECONDS):
        started = time.process_time()
        question()
        took.append(time.process_time() - started)
    return min(took)


def make(path: Path, entries: int) -> Ledger:
    """A ledger of that many entries, with every materialized row."""
    keys = facts.Keys(values=b"v" * 32, taxpayer=b"t" * 32)
    ledger = Ledger(path, log="bench", keys=keys, threads=1)
    for first in range(0, entries, ENTRIES_PER_PART):
        last = min(first + ENTRIES_PER_PART, entries)
        cursor = ledger.cursor()
        _fill(cursor, first, last, entries)
        cursor.execute("begin")
        refresh.refresh(cursor, after=first, size=last)
        head = [last, b"\0" * 32, [b"\0" * 32] * last.bit_count()]
        cursor.execute("insert into tree_heads values (?, ?, ?, now())", head)
        cursor.execute("commit")
        cursor.execute("checkpoint")  # else what was touched of the indexes fills the memory
        cursor.close()
    ledger.reopen()
    _raise_alerts(ledger)
    return ledger


def _raise_alerts(ledger: Ledger) -> None:
    """Writes down every alert that is due, with a try and its end, as what sends them does."""
    due = Reader(ledger).read("alerts", as_of=AS_OF)
    cursor = ledger.cursor()
    cursor.register("due", due)
    cursor.execute(f"""
        insert into fact_actions by name
        select
            10 * {ledger.size} + row_number() over () as seq, 'alert' as kind, step,
            make_timestamp({AS_OF}) - interval 1 minute as occurred_at, process_id, seller_id,
            ''::blob as body_sha256, 'live' as origin,
            json_object('alert', alert_id, 'step', step, 'about', kind, 'severity', severity,
                'role', role, 'to', 'ana', 'via', 'email', 'level', 0, 'try', 1) as content
        from due cross join (select unnest(['raised', 'tried', 'sent']) as step)
    """)
    cursor.execute("checkpoint")
    cursor.close()


def _fill(cursor: duckdb.DuckDBPyConnection, first: int, last: int, entries: int) -> None:
    """Writes review processes over two years, each with a review event, a seller event, an answer
    and, nine times in ten, an attempt that is mostly accepted; one seller event in a hundred is a
    redelivery."""
    step = 2 * 365 * 86_400 * 10**6 * ENTRIES_OF_A_PROCESS // entries
    cursor.execute(f"""
        create or replace temp table processes as
        select
            number,
            {ENTRIES_OF_A_PROCESS} * number + 1 as seq,
            'prc_' || left(md5(number::varchar), 16) as process_id,
            'sel_' || left(md5((number // 3)::varchar), 16) as seller_id,
            timestamp '{FIRST_DAY}' + to_microseconds(number::bigint * {step}) as opened_at,
            timestamp '{FIRST_DAY}' + to_microseconds((number - number % 3)::bigint * {step})
                as seller_created_at,
            number % 2 = 0 as is_acp,
            hash(number) % 100 as luck,
            ['seller.created', 'seller.denied', 'seller.enabled'][number % 3 + 1] as seller_event
        from range({first // ENTRIES_OF_A_PROCESS}, {last // ENTRIES_OF_A_PROCESS})
            as numbers (number)
    """)
    for statement in _FACTS:
        cursor.execute(statement)
    body = "null" if entries >= SHORTENED else "encode(repeat('x', 400))"
    parts = " union all by name ".join(
        f"""
        select
            seq + {offset} as seq, if(luck < 90 or {offset} < 3, '{kind}', 'note') as kind,
            opened_at as occurred_at, opened_at as recorded_at, 'live' as origin,
            'bench' as recorded_by, {event_id} as event_id,
            if(luck < 90 or {offset} < 3, {attempt_id}, null) as attempt_id,
            {process_id} as process_id, seller_id, false as is_again, {body} as body,
            {_digest("l")} as leaf
        from processes"""
        for offset, (kind, event_id, attempt_id, process_id) in enumerate(_LOG)
    )
    cursor.execute(f"insert into log by name select * from ({parts}) order by seq")


SHORTENED: Final = 20_000_000


def _digest(what: str) -> str:
    return f"encode('{what}' || hash(number))"


_LOG: Final = (
    ("webhook", "'evt_' || number", "null", "process_id"),
    ("webhook", "'sev_' || number", "null", "null"),
    ("collection", "null", "null", "process_id"),
    ("submission_started", "null", "'att_' || number", "process_id"),
    ("submission_finished", "null", "'att_' || number", "process_id"),
)

_IS_TOLD_AGAIN: Final = "luck = 7 and number > 2"
"""Of one in a hundred of these, with other bytes."""

_REASONS: Final = canonical_json(
    [
        {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
        {"reason": "INTERNAL_KYC_POLICY", "detail": None},
    ]
).decode()

_WEBHOOK: Final = """
    insert into fact_webhooks by name
    select
        seq + {offset} as seq, {event_id} as event_id, {event_type} as event_type,
        opened_at as created_at, opened_at as occurred_at, opened_at as recorded_at,
        'live' as origin, {is_again} as is_again, true as has_id, true as is_shape_known,
        {digest} as content_sha256
    from processes
"""

_FACTS: Final = (
    _WEBHOOK.format(
        offset=0,
        event_id="'evt_' || number",
        event_type="'regulatory.registration.review.required'",
        is_again="false",
        digest=_digest("r"),
    ),
    _WEBHOOK.format(
        offset=1,
        event_id=f"'sev_' || number - ({_IS_TOLD_AGAIN})::integer * 3",
        event_type="seller_event",
        is_again=_IS_TOLD_AGAIN,
        digest=f"encode('s' || hash(number - ({_IS_TOLD_AGAIN} and number % 99 > 0)::integer * 3))",
    ),
    f"""
    insert into fact_reviews by name
    select
        seq, 'evt_' || number as event_id, opened_at as occurred_at, opened_at as created_at,
        process_id, seller_id,
        if(is_acp, 'REGISTRATION_REVIEW_REQUIRED', 'INCONSISTENT_DATA_UPDATE_REQUIRED')
            as object_type,
        if(is_acp, 'PENDING', 'OVERDUE') as status,
        opened_at + if(is_acp, interval 60 day, interval 30 day) as deadline_at,
        if(is_acp, ['revenue', 'address'], ['revenue']) as requested_fields,
        {_digest("r")} as content_sha256, 'live' as origin
    from processes
    """,
    f"""
    insert into fact_seller_events by name
    select
        seq + 1 as seq, 'sev_' || number - ({_IS_TOLD_AGAIN})::integer * 3 as event_id,
        seller_event as event_type,
        opened_at as occurred_at, opened_at as created_at, seller_id,
        (number // 6)::varchar as taxpayer_id, encode('t' || hash(number // 6)) as taxpayer_key,
        seller_created_at as record_created_at,
        if(seller_event = 'seller.denied', luck > 50, null) as retry,
        if(seller_event = 'seller.denied', '{_REASONS}', '[]') as reasons
    from processes
    """,
    f"""
    insert into fact_collections by name
    select
        seq + 2 as seq, process_id, seller_id, opened_at + interval 1 day as occurred_at,
        opened_at + interval 1 day as recorded_at, 'jny_' || number as journey_id,
        'answered' as step, 'web_form' as channel, 'seller' as source, ['revenue'] as paths,
        false as is_link, 0 as artifacts, {_digest("c")} as body_sha256
    from processes
    """,
    f"""
    insert into fact_answered_fields by name
    select seq + 2 as seq, process_id, 'revenue' as path, {_digest("v")} as value_key
    from processes
    """,
    f"""
    insert into fact_attempt_starts by name
    select
        seq + 3 as seq, 'att_' || number as attempt_id, process_id, seller_id,
        opened_at + interval 2 day as occurred_at, false as is_again, 'api' as via,
        'individual' as payload_type, true as is_object, 300 as body_size,
        {_digest("b")} as body_sha256, {_digest("b")} as content_sha256
    from processes
    where luck < 90
    """,
    f"""
    insert into fact_attempt_finishes by name
    select
        seq + 4 as seq, 'att_' || number as attempt_id, process_id, seller_id,
        opened_at + interval 2 day + interval 1 second as occurred_at, false as is_again,
        if(luck < 80, 200, 500) as status, 'live' as origin, {_digest("f")} as content_sha256
    from processes
    where luck < 90
    """,
    f"""
    insert into fact_sent_fields by name
    select
        seq + 3 as seq, 'att_' || number as attempt_id, process_id, 'revenue' as path,
        false as is_null, {_digest("v")} as value_key
    from processes
    where luck < 90
    """,
)
