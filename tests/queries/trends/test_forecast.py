"""The chance of each open process to be finished in time, and what to expect of each week."""

import random
from datetime import timedelta

import pytest

from tests.support.ledgers import asked
from tests.support.lines import aci, acp, answered, at, called, finished, started
from tests.support.oracle import trends
from tests.support.oracle.model import Log, entries

NOW = "2026-05-01T00:00:00"
DAY = timedelta(days=1)
OPENED = at("2026-03-01T00:00:00")
DEADLINE = OPENED + 30 * DAY


def zulu(moment):
    return f"{moment.isoformat()}Z"


def process(
    process_id,
    finished_on=None,
    *,
    answered_on=None,
    opened=OPENED,
    of=aci,
    days=30,
    seller_id=None,
):
    """An ACI with 30 days, finished so many days after its opening."""
    lines = [
        of(
            f"e-{process_id}",
            zulu(opened),
            process_id=process_id,
            deadline_at=zulu(opened + days * DAY),
            customer_id=seller_id or f"s-{process_id}",
        )
    ]
    if answered_on is not None:
        instant = zulu(opened + answered_on * DAY)
        lines.append(answered(instant, process_id=process_id, journey_id=f"j-{process_id}"))
    if finished_on is not None:
        instant, attempt = zulu(opened + finished_on * DAY), {"process_id": process_id}
        lines.append(started(f"a-{process_id}", instant, **attempt))
        lines.append(finished(f"a-{process_id}", 200, instant, **attempt))
    return lines


def cohort(*ends, prefix="p", **more):
    return [
        line
        for number, end in enumerate(ends)
        for line in process(f"{prefix}{number:03}", end, **more)
    ]


def opened_with(days_left, process_id="open", **more):
    """An open ACI that has so many days left."""
    opened = at(NOW) - (30 - days_left) * DAY
    return process(process_id, opened=opened, **more)


def row_of(history, process_id="open", as_of=NOW):
    [row] = [it for it in asked(history, "forecast", at(as_of)) if it["process_id"] == process_id]
    return row


EARLY, LATE = [5] * 20, [25] * 20
"""Days to the finish of forty processes; twenty more are never finished."""

HISTORY = cohort(*EARLY, *LATE, *[None] * 20)


def test_the_chance_is_how_those_fared_that_were_open_with_as_much_time_left():
    """All sixty were open with 28 days left, forty of them with 20, the twenty alone with 4."""
    assert row_of([*HISTORY, *opened_with(28)])["chance"] == 40 / 60
    row = row_of([*HISTORY, *opened_with(20)])
    assert (row["comparable"], row["chance"], row["ended"]) == (40, 0.5, 60)
    assert (row["reached"], row["rests_on"], row["why_not"]) == ("none", "any_step", None)
    assert row_of([*HISTORY, *opened_with(4)])["chance"] == 0.0


def test_a_process_finished_at_that_very_distance_was_not_open_any_more():
    assert row_of([*HISTORY, *opened_with(5)])["comparable"] == 20
    tick = timedelta(microseconds=1)
    later = at(NOW) - tick
    assert row_of([*HISTORY, *opened_with(5)], as_of=later.isoformat())["comparable"] == 40


def test_its_interval_is_wilsons_of_80_percent():
    row = row_of([*HISTORY, *opened_with(20)])
    assert row["chance_low"] == pytest.approx(0.4007, abs=1e-4)
    assert row["chance_high"] == pytest.approx(0.5993, abs=1e-4)


def test_fewer_than_fifty_ended_ones_of_its_type_say_nothing():
    few = row_of([*cohort(*[5] * 49), *opened_with(20)])
    assert (few["chance"], few["ended"], few["why_not"]) == (None, 49, "few_ended")
    assert (few["chance_low"], few["chance_high"], few["rests_on"]) == (None, None, None)
    gone = row_of([*cohort(*[5] * 50), *opened_with(20)])
    assert (gone["chance"], gone["comparable"], gone["why_not"]) == (None, 0, "none_comparable")
    other = row_of([*HISTORY, *process("open", opened=at(NOW) - 10 * DAY, of=acp, days=60)])
    assert (other["ended"], other["why_not"]) == (0, "few_ended")


def test_what_ended_more_than_a_year_before_counts_no_longer():
    last = (DEADLINE + 365 * DAY).isoformat()
    history = [*HISTORY, *process("open", opened=DEADLINE + 355 * DAY)]
    before = (DEADLINE + 365 * DAY - timedelta(microseconds=1)).isoformat()
    assert row_of(history, as_of=before)["comparable"] == 40
    assert row_of(history, as_of=last)["comparable"] == 0


def test_those_that_came_as_far_count_where_there_are_fifty_of_them():
    """Fifty answered on the tenth day and were finished; fifty did nothing."""
    history = [
        *cohort(*[25] * 50, answered_on=10, prefix="a"),
        *cohort(*[None] * 50, prefix="n"),
    ]
    silent = row_of([*history, *opened_with(10)])
    assert (silent["chance"], silent["comparable"], silent["rests_on"]) == (0.0, 50, "same_step")
    asked_back = row_of([*history, *opened_with(10, answered_on=2)])
    assert (asked_back["reached"], asked_back["chance"]) == ("answered", 1.0)
    # With 25 days left none of them had answered yet.
    early = row_of([*history, *opened_with(25, answered_on=2)])
    assert (early["chance"], early["comparable"], early["rests_on"]) == (0.5, 100, "any_step")


def test_only_open_processes_have_a_row_the_lowest_chance_first():
    history = [
        *HISTORY,
        *opened_with(4, "soon"),
        *opened_with(20, "later"),
        *process("gone", opened=at(NOW) - 30 * DAY),
        *process("done", 1, opened=at(NOW) - 2 * DAY),
        aci("e-told", process_id="told", status="EXPIRED", deadline_at="2026-05-20T00:00:00Z"),
        started("a-x", process_id="unknown"),
        *process("acp", opened=at(NOW) - DAY, of=acp, days=60),
    ]
    found = asked(history, "forecast", at(NOW))
    assert [row["process_id"] for row in found] == ["soon", "later", "acp"]


def test_what_is_open_is_listed_by_the_lowest_chance_and_all_else_after_it():
    history = [
        *HISTORY,
        *opened_with(4, "soon"),
        *opened_with(20, "later"),
        *opened_with(19, "also"),
        *opened_with(3, "two", seller_id="s-also"),
        *process("acp", opened=at(NOW) - DAY, of=acp, days=60),
    ]
    found = asked(history, "open_by_chance", at(NOW))
    chances = [(row["process_id"], row["chance"]) for row in found]
    assert chances[:4] == [("two", 0.0), ("soon", 0.0), ("also", 0.5), ("later", 0.5)]
    assert chances[4] == ("acp", None)  # too few have ended; of the others the deadline has passed
    every_one = asked(history, "open_processes", at(NOW))
    listed = [{name: row[name] for name in every_one[0]} for row in found]
    assert sorted(listed, key=repr) == sorted(every_one, key=repr)
    sellers = asked(history, "sellers_by_chance", at(NOW))
    assert [(row["seller_id"], row["lowest_chance"]) for row in sellers[:3]] == [
        ("s-also", 0.0),
        ("s-soon", 0.0),
        ("s-later", 0.5),
    ]
    assert len(sellers) == len(asked(history, "seller_watchlist", at(NOW)))


def any_history(seed):
    """Two hundred processes of two types, with steps here and there."""
    draw = random.Random(seed)
    history = []
    for number in range(200):
        process_id, of = f"p{number:03}", draw.choice([aci, aci, acp])
        total = 30 if of is aci else 60
        opened = OPENED + draw.randrange(0, 60) * DAY
        end = draw.choice([None, None, draw.randrange(1, total + 5)])
        lines = process(process_id, end, opened=opened, of=of, days=total)
        if draw.random() < 0.5:
            lines.append(called(f"n{number}", zulu(opened + DAY), process_id=process_id))
        if draw.random() < 0.5:
            moment = zulu(opened + draw.randrange(-1, 20) * DAY)
            lines.append(answered(moment, process_id=process_id, journey_id=f"j{number}"))
        history += lines
    return history


def near(week):
    """Its fractions to nine digits: sums differ by their order."""
    return {name: round(it, 9) for name, it in week.items() if isinstance(it, float)}


@pytest.mark.parametrize("seed", [1, 2])
def test_any_history_has_the_chances_that_the_rules_give_and_weeks_that_follow(seed):
    """`asked` holds the view to the oracle, row by row."""
    history = any_history(seed)
    as_of = at("2026-05-05T00:00:00")
    chances = asked(history, "forecast", as_of)
    assert sum(row["chance"] is not None for row in chances) > 20
    weeks = asked(history, "forecast_weeks", as_of)
    expected = trends.forecast_weeks(Log(entries(history), as_of))
    for row, other in zip(weeks, expected, strict=True):
        assert {**row, **near(row)} == {**other, **near(other)}
    assert sum(row["due"] for row in weeks) > 50


def test_a_week_holds_what_is_due_in_its_seven_days():
    history = [*HISTORY, *opened_with(7, "last"), *opened_with(7.5, "next")]
    weeks = asked(history, "forecast_weeks", at(NOW))
    assert [(row["weeks_ahead"], row["due"], row["expected"]) for row in weeks[:3]] == [
        (1, 1, 0.5),
        (2, 1, 0.5),
        (3, 0, 0),
    ]
    assert len(weeks) == 8
    # One of two may expire or not: all is possible.
    assert (weeks[0]["expected_low"], weeks[0]["expected_high"]) == (0, 1)
    nothing = asked(opened_with(7), "forecast_weeks", at(NOW))[0]
    assert (nothing["due"], nothing["without_chance"], nothing["expected"]) == (1, 1, None)


def test_a_week_also_says_what_is_expected_of_all_weeks_up_to_its_end():
    """Two with a chance of a half each, in two weeks: one of them is expected to expire. Each alone
    adds 1.28 ^ 2 * 0.25 to the square of the interval, and both share the distance of 0.5 to
    0.4007."""
    history = [*HISTORY, *opened_with(13, "this"), *opened_with(20, "next")]
    weeks = asked(history, "forecast_weeks", at(NOW))
    shown = [(row["due"], row["expected"], row["expected_by_then"]) for row in weeks[:4]]
    assert shown == [(0, 0, 0), (1, 0.5, 0.5), (1, 0.5, 1.0), (0, 0, 1.0)]
    # The root of 2 * 0.4106 + (2 * 0.0993) ^ 2 is 0.9277.
    last = weeks[-1]
    assert last["expected_by_then_low"] == pytest.approx(0.0723, abs=1e-3)
    assert last["expected_by_then_high"] == pytest.approx(1.9277, abs=1e-3)
    unknown = asked(opened_with(20), "forecast_weeks", at(NOW))
    assert [row["expected_by_then"] for row in unknown[:4]] == [0, 0, None, None]
