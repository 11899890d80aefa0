"""What a batch says follows from earlier batches as well, and not from what comes later."""

from typing import Any

from pipeline.ledger.views.reader import Reader
from tests.support.ledgers import Step, ledger_of, rows
from tests.support.lines import (
    acp,
    action,
    answered,
    at,
    finished,
    live,
    seller,
    started,
    webhook,
)

SCREEN = "ab" * 32
ARTIFACT = [{"name": "screen.png", "sha256": SCREEN}]


def held(reader: Reader, sql: str) -> list[Any]:
    """What a query finds in the ledger's tables."""
    return reader._ledger.cursor().execute(sql).fetchall()


def test_what_one_entry_follows_from_in_earlier_batches_is_found():
    """That a journey or an artifact is of two processes, that a collection says what an earlier one
    said, and when a seller was first heard of."""
    banked = {"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s9"}}
    later = "2026-03-01T19:00:00Z"
    history = [
        # All of the journey j1, and two of one artifact.
        *[answered(), answered(process_id="p2", artifacts=ARTIFACT), answered(later)],
        live(answered(process_id="p3", journey_id="j3")),
        live(answered(process_id="p3", journey_id="j3")),  # the same once more
        webhook(banked, "2026-03-01T12:00:00Z"),
        seller("enabled", "v1", "2026-03-05T00:00:00Z", "s9"),
        answered(process_id="p5", journey_id="j4", artifacts=ARTIFACT),
        answered(later, process_id="p5", journey_id="j4"),
        answered(process_id="p4", journey_id="j4"),
    ]
    with ledger_of(history, [*[Step(1)] * 8, Step(2)]) as reader:
        shared = "select subject, process_id from kept_subjects where is_shared order by all"
        assert held(reader, shared) == [(SCREEN, "p2"), ("j1", "p1"), ("j4", "p4")]
        assert held(reader, "select seq from kept_repeated_collections") == [(5,)]
        known = "select seller_id, created_at from kept_sellers"
        assert held(reader, known) == [("s9", at("2026-03-01T12:00:00"))]


def test_the_batch_that_makes_rows_makes_those_of_every_batch_that_waited():
    """Nothing of its own is about a process or a seller."""
    ticket = action("ticket", "2026-03-02T06:00:00Z", process_id="p5", step="opened", number="T-1")
    waiting = [
        seller("denied", "v1", "2026-03-02T00:00:00Z", "s1"),  # outranks the first one
        seller("enabled", "v2", "2026-03-03T00:00:00Z", "s3"),
        acp(),
        answered(process_id="p2"),
        started("a3", process_id="p3"),
        finished("a4", 500, process_id="p4"),
        ticket,
    ]
    history = [
        seller("denied", "v1", "2026-03-01T00:00:00Z", "s2"),
        *waiting,
        webhook("no JSON", "2026-03-04T00:00:00Z"),
    ]
    steps = [Step(1), *[Step(1, more_follow=True)] * len(waiting)]
    with ledger_of(history, steps) as reader:
        known = "select seller_id, created_at from kept_sellers order by seller_id"
        assert held(reader, known) == [
            ("s1", at("2026-03-01T12:00:00")),
            ("s3", at("2026-03-03T00:00:00")),
        ]
        settled = "select process_id, settled_at from kept_processes order by process_id"
        assert held(reader, settled) == [
            ("p1", at("2026-03-01T12:00:00")),
            ("p2", at("2026-03-01T18:00:00")),
            ("p3", at("2026-03-02T00:00:00")),
            ("p4", at("2026-03-02T00:00:01")),
            ("p5", at("2026-03-02T06:00:00")),
        ]


def test_an_instant_just_before_an_entry_is_worked_out_without_it():
    """Of a process that a later entry is about, rows are not those of the end of time."""
    history = [acp(), started(), finished(), acp("e2", "2026-05-01T00:00:00Z", process_id="p2")]
    with ledger_of(history) as reader:
        for as_of, state in (("00:00:00.999999", "PENDING"), ("00:00:01", "FINISHED")):
            [found] = rows(reader, "process_state", at(f"2026-03-02T{as_of}"))
            assert (found["process_id"], found["state"]) == ("p1", state)
