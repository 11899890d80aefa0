"""Which entry was the last that occurred by an instant: nobody may be told an earlier one."""

import pytest

from pipeline import instants
from pipeline.ledger import last_occurred
from pipeline.ledger.last_occurred import LastOccurred


def at(text: str) -> int:
    found = instants.parse(f"2026-03-{text}:00Z")
    assert found is not None
    return found


def test_it_is_the_last_that_occurred_by_then_and_else_any_before_the_start() -> None:
    last = LastOccurred(10)
    assert last.by(at("01T12:00")) == 10
    last.add(at("02T12:00"), 11)
    last.add(at("03T12:00"), 15)
    assert last.by(at("02T12:00") - 1) == 10
    assert last.by(at("02T12:00")) == 11
    assert last.by(at("03T12:00") - 1) == 11
    assert last.by(at("03T12:00")) == 15


def test_what_came_late_counts_from_when_it_occurred_on() -> None:
    last = LastOccurred(10)
    for seq, text in enumerate(("02T12:00", "03T12:00", "04T12:00", "03T08:00"), start=11):
        last.add(at(text), seq)
    assert last.by(at("03T08:00") - 1) == 11
    assert last.by(at("03T08:00")) == last.by(at("05T12:00")) == 14
    last.add(at("05T12:00"), 15)
    assert last.by(at("04T12:00")) == 14
    last.add(at("01T00:00"), 16)
    assert last.by(at("01T00:00") - 1) == 10
    assert last.by(at("01T00:00")) == last.by(at("05T12:00")) == 16


def test_of_an_hour_the_last_entry_counts_from_the_first_ones_occurrence_on() -> None:
    last = LastOccurred(10)
    for seq, text in enumerate(("02T12:10", "02T12:30", "02T12:59", "02T13:00"), start=11):
        last.add(at(text), seq)
    assert last.by(at("02T12:10") - 1) == 10
    assert last.by(at("02T12:10")) == last.by(at("02T12:59")) == 13
    assert last.by(at("02T13:00")) == 14


def test_hours_that_were_forgotten_may_have_any_entry_up_to_their_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(last_occurred, "MOST_STEPS", 2)
    last = LastOccurred(10)
    for seq, text in enumerate(("02T12:00", "03T12:00", "04T12:00"), start=11):
        last.add(at(text), seq)
    assert last.by(at("01T12:00")) == last.by(at("02T12:00")) == 11
    assert last.by(at("03T12:00")) == 12
    assert last.by(at("04T12:00")) == 13
