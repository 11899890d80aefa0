"""What is read of the log's alerts, where there are very many or a clock was ahead."""

import json
from typing import Any

from pipeline import instants
from pipeline.alert import alarms
from pipeline.alert.alarms import READ_AT_ONCE, Recorded
from tests.alert.test_decision import MONDAY, at

Row = tuple[int, int, str | None, bytes, bytes]


class Inbox:
    """Has these entries about alerts, and gives so many at once."""

    def __init__(self, *instants_of: int) -> None:
        self.rows: list[Row] = []
        for seq, instant in enumerate(instants_of, 1):
            said = {"alert": f"a{seq}", "step": "raised", "about": "expired", "since": MONDAY}
            self.rows.append((seq, instant, None, json.dumps(said).encode(), b"leaf %d" % seq))

    def query(self, sql: str, value: int) -> list[Any]:
        if sql == alarms._BEFORE:
            return [(seq,) for seq, instant, *_ in self.rows if instant < value][-1:]
        return [it for it in self.rows if it[0] > value][:READ_AT_ONCE]

    def leaf(self, seq: int) -> bytes:
        return self.rows[seq - 1][-1]


def test_very_many_are_read_to_the_last_at_once() -> None:
    """One that was not read would be taken for one that was raised long ago: nobody would hear."""
    inbox = Inbox(*[at(MONDAY)] * (READ_AT_ONCE + 1))
    recorded = Recorded(inbox)  # type: ignore[arg-type]
    assert recorded.read_on(at(MONDAY), list)
    assert len(recorded.alarms) == 10_001
    assert not recorded.read_on(at(MONDAY), list)


def test_what_is_due_no_longer_is_remembered_for_a_day_since_clocks_differ() -> None:
    monday = at(MONDAY)
    kept = Recorded(Inbox(monday - 1, monday))  # type: ignore[arg-type]
    kept.read_on(monday + instants.DAY, list)
    assert [*kept.alarms] == ["a2"]


def test_what_was_forgotten_by_a_clock_that_was_ahead_is_read_again() -> None:
    monday = at(MONDAY)
    recorded = Recorded(Inbox(monday, monday))  # type: ignore[arg-type]
    recorded.read_on(monday + 30 * instants.DAY, list)
    assert [*recorded.alarms] == []
    recorded.read_on(monday, list)
    assert [*recorded.alarms] == ["a1", "a2"]


def test_where_the_inbox_is_another_one_its_alerts_are_read() -> None:
    monday = at(MONDAY)
    inbox = Inbox(monday)
    recorded = Recorded(inbox)  # type: ignore[arg-type]
    recorded.read_on(monday, list)
    seq, instant, process_id, body, _ = inbox.rows[0]
    inbox.rows = [(seq, instant, process_id, body.replace(b"a1", b"b1"), b"another leaf")]
    recorded.read_on(monday, list)
    assert [*recorded.alarms] == ["b1"]
