"""What a batch says follows from earlier batches as well, and not from what comes later."""

from typing import Any

from tests.support.ledgers import Step, ledger_of, rows
from tests.support.lines import acp, answered, at, finished, live, seller, started, webhook


def test_what_one_entry_follows_from_in_earlier_batches_is_found():
    """That a journey is of two processes, that a collection says what an earlier one said, and when
    a seller was first heard of."""
    banked = {"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s9"}}
    later = "2026-03-01T19:00:00Z"
    history = [
        *[answered(), answered(process_id="p2"), answered(later)],  # all of the journey j1
        live(answered(process_id="p3", journey_id="j3")),
        live(answered(process_id="p3", journey_id="j3")),  # the same once more
        webhook(banked, "2026-03-01T12:00:00Z"),
        seller("enabled", "v1", "2026-03-05T00:00:00Z", "s9"),
        answered(process_id="p4", journey_id="j4"),
        answered(later, process_id="p4", journey_id="j4"),
        answered(process_id="p5", journey_id="j4"),
    ]
    with ledger_of(history, [*[Step(1)] * 8, Step(2)]) as reader:

        def held(sql: str) -> list[Any]:
            return reader._ledger.cursor().execute(sql).fetchall()

        shared = "select subject from materialized.subjects where is_shared order by subject"
        assert held(shared) == [("j1",), ("j4",)]
        assert held("select seq from materialized.repeated_collections") == [(5,)]
        known = "select seller_id, created_at from materialized.sellers"
        assert held(known) == [("s9", at("2026-03-01T12:00:00"))]


def test_an_instant_just_before_an_entry_is_worked_out_without_it():
    """Of a process that a later entry is about, rows are not those of the end of time."""
    history = [acp(), started(), finished(), acp("e2", "2026-05-01T00:00:00Z", process_id="p2")]
    with ledger_of(history) as reader:
        for as_of, state in (("00:00:00.999999", "PENDING"), ("00:00:01", "FINISHED")):
            [found] = rows(reader, "process_state", at(f"2026-03-02T{as_of}"))
            assert (found["process_id"], found["state"]) == ("p1", state)
