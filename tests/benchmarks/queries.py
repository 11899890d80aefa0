"""Measures what the pages ask of the ledger: each question against a bare scan of what it reads.

The ledger is made with SQL alone, in bulk: log, facts and one head of the tree, as if its entries
had been followed. `PRAZO_BENCH_ENTRIES` says how many (a million by default). Times are CPU times
of this process on one thread, the best of some rounds, so that a busy machine counts less.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import duckdb

from pipeline import facts
from pipeline.ledger import Ledger
from pipeline.views import Reader
from tests.benchmarks.rows import Row

ENTRIES: Final = int(os.environ.get("PRAZO_BENCH_ENTRIES", "1000000"))
ENTRIES_OF_A_PROCESS: Final = 5
ROUNDS: Final = 3

FIRST_DAY: Final = "2024-11-01"
AS_OF_SECONDS: Final = 1_791_158_400  # 2026-10-05T00:00:00Z, with four weeks still to come

SCANS: Final = {
    "reviews": "select max(created_at), max(deadline_at), max(process_id) from facts.reviews",
    "attempts": "select max(a.occurred_at), max(f.occurred_at), max(f.status), max(a.process_id)"
    " from facts.attempt_starts a positional join facts.attempt_finishes f",
    "sellers": "select max(created_at), max(seller_id), max(event_type), max(len(reasons))"
    " from facts.seller_events",
    "webhooks": "select max(event_id), max(occurred_at), bool_or(is_again) from facts.webhooks",
}
"""Bare scans of the columns that a question cannot do without."""


def run() -> list[Row]:
    keys = facts.Keys(values=b"v" * 32, taxpayer=b"t" * 32)
    with tempfile.TemporaryDirectory(prefix="prazo-bench-") as folder:
        ledger = Ledger(Path(folder) / "bench.duckdb", log="bench", keys=keys, threads=1)
        try:
            fill(ledger.cursor(), ENTRIES // ENTRIES_OF_A_PROCESS)
            return _measure(ledger)
        finally:
            ledger.close()


def _measure(ledger: Ledger) -> list[Row]:
    reader, cursor = Reader(ledger), ledger.cursor()
    cursor.execute("set variable as_of = make_timestamp(?)", [AS_OF_SECONDS * 10**6])
    scans = {
        name: _seconds(lambda sql=sql: cursor.execute(sql).fetchall())
        for name, sql in SCANS.items()
    }
    both = scans["reviews"] + scans["attempts"]
    process_id = f"prc_{ENTRIES // 10:012}"
    as_of = AS_OF_SECONDS * 10**6

    def asked(name: str, scan: float, question: Callable[[], object], most: float) -> Row:
        seconds = _seconds(question)
        return Row(
            f"queries: {name}",
            scan / seconds,
            f"{seconds * 1000:.1f} ms, scan {scan * 1000:.1f} ms, {ENTRIES:,} entries",
            1 / most,
        )

    def view(name: str, **options: object) -> Callable[[], object]:
        return lambda: reader.read(name, as_of=as_of, **options)  # type: ignore[arg-type]

    counts = "select state, count(*) from process_state group by state"
    return [
        asked("counts by state", both, lambda: cursor.execute(counts).fetchall(), 1.5),
        asked("deadline calendar", both, view("deadline_calendar"), 1.5),
        asked("watchlist, 50 rows", both, view("watchlist", limit=50), 1.5),
        asked("state by day", both, view("state_daily"), 3.5),
        asked("denial reasons", scans["sellers"], view("denial_reasons"), 5),
        asked("denial retries", scans["sellers"], view("denial_retries"), 5),
        asked("outcomes by day", scans["attempts"], view("submission_outcomes"), 5),
        asked("redeliveries", scans["webhooks"], view("redeliveries"), 5),
        asked("one process", 0.003, view("process_state", where={"process_id": process_id}), 1),
        asked("one timeline", 0.003, view("timeline", where={"process_id": process_id}), 1),
    ]


def _seconds(question: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        started = time.process_time()
        question()
        took.append(time.process_time() - started)
    return min(took)


def fill(cursor: duckdb.DuckDBPyConnection, processes: int) -> None:
    """Writes that many review processes over two years, each with a review event, a seller event,
    an answer and, nine times in ten, an attempt that is mostly accepted; one seller event in a
    hundred is a redelivery."""
    step = 2 * 365 * 86_400 * 10**6 // processes
    cursor.execute(f"""
        create temp table processes as
        select
            number,
            {ENTRIES_OF_A_PROCESS} * number + 1 as seq,
            'prc_' || lpad(number::varchar, 12, '0') as process_id,
            'sel_' || lpad((number // 3)::varchar, 12, '0') as seller_id,
            timestamp '{FIRST_DAY}' + to_microseconds(number::bigint * {step}) as opened_at,
            number % 2 = 0 as is_acp,
            hash(number) % 100 as luck,
            ['seller.created', 'seller.denied', 'seller.enabled'][number % 3 + 1] as seller_event
        from range({processes}) as numbers (number)
    """)
    for statement in _FACTS:
        cursor.execute(statement)
    for offset, (kind, event_id, attempt_id, process_id) in enumerate(_LOG):
        cursor.execute(f"""
            insert into log by name
            select
                seq + {offset} as seq, '{kind}' as kind, opened_at as occurred_at,
                opened_at as recorded_at, 'live' as origin, 'bench' as recorded_by,
                {event_id} as event_id, {attempt_id} as attempt_id, {process_id} as process_id,
                seller_id, false as is_again, {_digest("l")} as leaf
            from processes
            where luck < 90 or {offset} < 3
        """)
    cursor.execute("checkpoint")


def _digest(what: str) -> str:
    return f"unhex(sha256('{what}' || number))"


_LOG: Final = (
    ("webhook", "'evt_' || number", "null", "process_id"),
    ("webhook", "'sev_' || number", "null", "null"),
    ("collection", "null", "null", "process_id"),
    ("submission_started", "null", "'att_' || number", "process_id"),
    ("submission_finished", "null", "'att_' || number", "process_id"),
)

_WEBHOOK: Final = """
    insert into facts.webhooks by name
    select
        seq + {offset} as seq, {event_id} as event_id, {event_type} as event_type,
        opened_at as created_at, opened_at as occurred_at, opened_at as recorded_at,
        'live' as origin, {is_again} as is_again, true as has_id, true as is_shape_known,
        {digest} as body_sha256
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
        event_id="'sev_' || number - (luck = 7 and number > 2)::integer * 3",
        event_type="seller_event",
        is_again="luck = 7 and number > 2",
        digest=_digest("s"),
    ),
    """
    insert into facts.reviews by name
    select
        seq, 'evt_' || number as event_id, opened_at as occurred_at, opened_at as created_at,
        process_id, seller_id,
        if(is_acp, 'REGISTRATION_REVIEW_REQUIRED', 'INCONSISTENT_DATA_UPDATE_REQUIRED')
            as object_type,
        if(is_acp, 'PENDING', 'OVERDUE') as status,
        opened_at + if(is_acp, interval 60 day, interval 30 day) as deadline_at,
        if(is_acp, ['revenue', 'address'], ['revenue']) as requested_fields
    from processes
    """,
    """
    insert into facts.seller_events by name
    select
        seq + 1 as seq, 'sev_' || number - (luck = 7 and number > 2)::integer * 3 as event_id,
        seller_event as event_type,
        opened_at as occurred_at, opened_at as created_at, seller_id,
        (number // 5)::varchar as taxpayer_id, unhex(sha256('t' || number // 5)) as taxpayer_key,
        if(seller_event = 'seller.denied', luck > 50, null) as retry,
        if(seller_event = 'seller.denied', [
            {'reason': 'DOCUMENT_VALIDATION', 'detail': 'DOCUMENT_QUALITY'},
            {'reason': 'INTERNAL_KYC_POLICY', 'detail': null}
        ], []) as reasons
    from processes
    """,
    f"""
    insert into facts.collections by name
    select
        seq + 2 as seq, process_id, seller_id, opened_at + interval 1 day as occurred_at,
        opened_at + interval 1 day as recorded_at, 'jny_' || number as journey_id,
        'answered' as step, 'web_form' as channel, 'seller' as source, {_digest("c")} as body_sha256
    from processes
    """,
    f"""
    insert into facts.answered_leaves by name
    select seq + 2 as seq, process_id, 'revenue' as path, {_digest("v")} as value_key
    from processes
    """,
    f"""
    insert into facts.attempt_starts by name
    select
        seq + 3 as seq, 'att_' || number as attempt_id, process_id, seller_id,
        opened_at + interval 2 day as occurred_at, false as is_again, 'api' as via,
        'individual' as payload_type, true as is_object, 300 as body_size,
        {_digest("b")} as body_sha256
    from processes
    where luck < 90
    """,
    f"""
    insert into facts.attempt_finishes by name
    select
        seq + 4 as seq, 'att_' || number as attempt_id, process_id, seller_id,
        opened_at + interval 2 day + interval 1 second as occurred_at, false as is_again,
        if(luck < 80, 200, 500) as status, 'live' as origin, {_digest("f")} as body_sha256
    from processes
    where luck < 90
    """,
    f"""
    insert into facts.sent_leaves by name
    select
        seq + 3 as seq, 'att_' || number as attempt_id, process_id, 'revenue' as path,
        false as is_null, {_digest("v")} as value_key
    from processes
    where luck < 90
    """,
)
