"""What holds for every history, by property."""

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import histories, oracle

COUNTS_OF_DELIVERIES = ("deliveries", "redeliveries", "quarantine")
STATE_VIEWS = [view for view in oracle.VIEWS if view not in COUNTS_OF_DELIVERIES]
RECORDED = ("seq", "recorded_at")
DERIVED_FROM_RECORDING = ("slow_record", "evidence_recorded_late", "quarantined")


def settled(view: str, history: list[dict], as_of: datetime) -> list[str]:
    """The rows without what derives from seq and recorded_at, in an order of their own."""
    return sorted(
        repr({key: value for key, value in row.items() if key not in RECORDED})
        for row in oracle.rows(view, history, as_of)
        if row.get("rule") not in DERIVED_FROM_RECORDING
    )


@settings(max_examples=settings.default.max_examples // 8)
@given(st.data())
def test_the_order_of_recording_and_repetition_change_no_state(data):
    history, as_of = data.draw(histories.histories_and_as_of())
    other = data.draw(
        histories.repeated(history).flatmap(histories.reordered), label="the same, again"
    )
    for view in STATE_VIEWS:
        assert settled(view, other, as_of) == settled(view, history, as_of)


@settings(max_examples=settings.default.max_examples // 8)
@given(histories.histories_and_as_of())
def test_the_lists_of_processes_agree_with_each_other(history_and_as_of):
    history, as_of = history_and_as_of
    states = [row["state"] for row in oracle.rows("process_state", history, as_of)]
    count = {state: states.count(state) for state in ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")}
    assert len(oracle.rows("watchlist", history, as_of)) == count["OVERDUE"] + count["EXPIRED"]
    assert len(oracle.rows("expired_processes", history, as_of)) == count["EXPIRED"]
    due = sum(row["due"] for row in oracle.rows("deadline_calendar", history, as_of))
    assert due == count["PENDING"] + count["OVERDUE"] + count["EXPIRED"]
