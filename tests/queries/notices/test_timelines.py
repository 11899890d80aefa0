"""On whose timeline a result or retraction stands that names no process: on that of each process of
its message, and of no other. Each case by hand, and by the oracle."""

from typing import Any

import pytest

from pipeline import instants
from tests import depth
from tests.support.ledgers import Step, ledger_of, rows
from tests.support.lines import at, called, notice, result, retracted
from tests.support.oracle import notices
from tests.support.oracle.model import Log, entries

END = "2026-03-09T00:00:00"
BEFORE = "2026-03-01T23:59:59"
ACCEPTED = result("accepted", "2026-03-02T00:00:05Z")
EARLY = result("accepted", "2026-03-01T00:00:00Z")
SECOND = notice(process_id="p2", seller_id="s2")
RETRACTED = retracted("2026-03-03T00:00:00Z")
STRANGER = result("accepted", "2026-03-02T00:00:05Z", "n9", seller_id="s9")

CASES = {
    "a result before its notice": ([ACCEPTED, notice()], END, [(1, "p1", "s1")]),
    "one that happened before it": ([EARLY, notice()], END, [(1, "p1", "s1")]),
    "as long as no notice happened": ([EARLY, notice()], BEFORE, [(1, None, None)]),
    "a message with two processes": (
        [notice(), ACCEPTED, SECOND],
        END,
        [(2, "p1", "s1"), (2, "p2", "s2")],
    ),
    "a notice that was recorded twice": (
        [notice(), notice(template="first@3"), ACCEPTED],
        END,
        [(3, "p1", "s1")],
    ),
    "a retraction of a call": ([called(), RETRACTED], END, [(2, "p1", "s1")]),
    "a stranger's message": ([notice(), STRANGER], END, [(2, None, "s9")]),
    "a result that names one of two": (
        [notice(), SECOND, {**ACCEPTED, "process_id": "p2"}],
        END,
        [(3, "p2", None)],
    ),
}


@pytest.mark.parametrize("steps", depth.few([[Step(1)] * 3, []], 2))
@pytest.mark.parametrize(("history", "as_of", "expected"), CASES.values(), ids=CASES)
def test_what_names_no_process_stands_on_the_timeline_of_each_of_its_message(
    history: list[dict[str, Any]],
    as_of: str,
    expected: list[tuple[int, str | None, str | None]],
    steps: list[Step],
) -> None:
    kinds = ("seller_notice_result", "retraction")
    with ledger_of(history, steps) as reader:
        found = [it for it in rows(reader, "timeline", at(as_of)) if it["kind"] in kinds]
        places = [(it["seq"], it["process_id"], it["seller_id"]) for it in found]
        assert places == expected
        oracle = notices.reported_processes(Log(entries(history), at(as_of)))
        assert oracle == [(seq, process) for seq, process, _ in expected]
        instant = instants.parse(f"{as_of}Z")
        for column in ("process_id", "seller_id"):
            for name in {row[column] for row in found} - {None}:
                of_one = reader.read("timeline", as_of=instant, where={column: name}).to_pylist()
                expected_of_one = [it for it in found if it[column] == name]
                assert [it for it in of_one if it["kind"] in kinds] == expected_of_one
        for name in ("p1", "p2"):
            asked = {"process_id": name}
            counted = reader.read("process_contents", as_of=instant, where=asked).to_pylist()
            entries_of = sum(it["entries"] for it in counted if it["kind"] in kinds)
            assert entries_of == sum(it["process_id"] == name for it in found)
