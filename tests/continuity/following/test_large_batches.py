"""Rows of many processes, which are made and written otherwise than those of a few."""

from tests.support.ledgers import Step, ledger_of, materialized_rows, renewed_in_large_batches
from tests.support.lines import acp, answered, at, finished, started

EACH_AFTER_ITS_OWN = [
    *[answered(), acp()],
    *[started("a2", process_id="p2"), acp("e2", process_id="p2")],
    *[finished("a3", 500, process_id="p3"), acp("e3", process_id="p3")],
    *[acp("e4", process_id="p4"), started("a4", process_id="p4")],
    *[acp("e5", process_id="p5"), finished("a5", 500, process_id="p5")],
    *[acp("e6", process_id="p6", status="OVERDUE"), answered(process_id="p6")],
    # What is known of p7 until the start is, which names p8: no entry of its own counts then.
    finished("a7", 200, "2026-03-02T00:00:00Z", process_id="p7"),
    *[started("a7", "2026-03-03T00:00:00Z", process_id="p8"), acp("e7", process_id="p7")],
]


def test_an_entry_of_a_large_batch_finds_what_the_batch_before_has_of_its_process():
    """Of the processes that a large batch touches, only those that had a row are looked for among
    earlier entries: up to the last one, and none of them twice."""
    with ledger_of(EACH_AFTER_ITS_OWN) as reader:
        expected = materialized_rows(reader._ledger)
    steps = [Step(1)] * len(EACH_AFTER_ITS_OWN)
    with renewed_in_large_batches(), ledger_of(EACH_AFTER_ITS_OWN, steps) as reader:
        found = materialized_rows(reader._ledger)
        said = reader._ledger.cursor().execute("""
            select process_id, settled_at, answered_at, attempts, last_outcome, overdue_since
            from kept_processes
            where is_known
            order by process_id""")
        overdue, always = at("2026-03-31T12:00:00"), at("0001-01-01T00:00:00")
        answered_at, sent = at("2026-03-01T18:00:00"), at("2026-03-02T00:00:00")
        assert said.fetchall() == [
            ("p1", answered_at, answered_at, 0, None, overdue),
            ("p2", sent, None, 1, "unknown", overdue),
            ("p3", at("2026-03-02T00:00:01"), None, 1, "platform_error", overdue),
            ("p4", sent, None, 1, "unknown", overdue),
            ("p5", at("2026-03-02T00:00:01"), None, 1, "platform_error", overdue),
            ("p6", answered_at, answered_at, 0, None, always),
            ("p7", at("2026-03-03T00:00:00"), None, 0, None, overdue),
            ("p8", at("2026-03-03T00:00:00"), None, 1, "accepted", None),
        ]
    for said_of in (expected, found):
        del said_of["kept_timeline"]  # its leaves are salted
    assert found == expected


def test_many_rows_that_are_written_together_lie_in_the_order_of_time():
    days = [5, 9, 2, 7, 3, 8, 4, 6]
    history = [started(f"a{it}", f"2026-03-0{it}T00:00:00Z", process_id=f"p{it}") for it in days]
    with renewed_in_large_batches(), ledger_of(history) as reader:
        for table in ("processes", "attempts"):
            sql = f"select process_id from kept_{table} order by rowid"
            lying = [it for (it,) in reader._ledger.cursor().execute(sql).fetchall()]
            assert lying == [f"p{it}" for it in range(2, 10)], table
