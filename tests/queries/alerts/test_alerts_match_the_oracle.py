"""`alerts` holds what docs/alerts.md says, whatever happened and whenever somebody looks."""

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import depth
from tests.support.histories.episodes import EPISODES
from tests.support.histories.moments import DAY, HOUR, START, TICK, in_zulu
from tests.support.histories.questions import histories_and_as_of
from tests.support.ledgers import ledger_of, rows
from tests.support.lines import aci, acp, action, finished, invited, started
from tests.support.oracle.alerts import BEFORE, alerts, nobody
from tests.support.oracle.model import Log, entries

few = settings(max_examples=settings.default.max_examples // 20)

COLUMNS = ("kind", "severity", "role", "process_id", "since")


def plain(table: list[dict]) -> list[tuple]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table), key=repr)


def assert_same(
    history: list[dict],
    as_of: datetime,
    is_held: Callable[[dict], bool] = nobody,
    *,
    and_new: bool = True,
) -> list[dict]:
    with ledger_of(history) as reader:
        found = rows(reader, "alerts", as_of)
        unraised = rows(reader, "new_alerts", as_of) if and_new else None
        next_actions = rows(reader, "next_actions", as_of)
    actions = {row["process_id"]: row["next_action"] for row in next_actions}
    expected = alerts(Log(entries(history), as_of), actions, is_held)
    assert plain(found) == plain(expected)
    if unraised is not None:
        columns = unraised[0] if unraised else ()
        assert unraised == [
            {name: row[name] for name in columns} for row in found if row["raised_at"] is None
        ]
    assert len({row["alert_id"] for row in found}) == len(found)
    return found


@few
@given(histories_and_as_of(episodes=tuple(EPISODES)))
def test_whatever_happens_the_alerts_are_those_that_the_rules_give(case):
    history, as_of = case
    assert_same(history, as_of)


SPANS = [15 * DAY, 7 * DAY, 3 * DAY, DAY, 4 * HOUR, timedelta(0), -7 * DAY]


@st.composite
def reviews_and_as_of(draw) -> tuple[list[dict], datetime]:
    """Some reviews of any length, reported and received at any time, and an instant at a rung of
    one of them or a microsecond beside it."""
    history, points = [], []
    for number in range(draw(st.integers(1, 3))):
        opened = START + draw(st.integers(-24 * 5, 24 * 5)) * HOUR
        deadline = opened + draw(st.sampled_from([2, 10, 16, 30, 33, 60, 75])) * DAY
        # Received before it was created: the platform's clock is ahead.
        received = opened + draw(st.sampled_from([timedelta(0), HOUR, 8 * DAY, -8 * DAY]))
        review = draw(st.sampled_from([acp, aci]))
        event = review(
            f"e{number}",
            in_zulu(opened),
            process_id=f"p{number}",
            customer_id="s1",
            deadline_at=in_zulu(deadline),
            status=draw(st.sampled_from(["PENDING", "OVERDUE", "EXPIRED", "FINISHED"])),
        )
        history.append({**event, "occurred_at": in_zulu(received)})
        of_process = {"process_id": f"p{number}"}
        happenings = ["invited", "sent"] + ["extended"] * (received >= opened)
        for happens in draw(st.sets(st.sampled_from(happenings))):
            at = received + draw(st.integers(1, 24 * 40)) * HOUR
            if happens == "invited":
                history.append(invited(in_zulu(at), **of_process))
            elif happens == "sent":
                history.append(started(f"a{number}", in_zulu(at), **of_process))
                status = draw(st.sampled_from([200, 400, 500]))
                history.append(finished(f"a{number}", status, in_zulu(at + HOUR), **of_process))
            else:
                later = in_zulu(deadline + 10 * DAY)
                history.append(review(f"x{number}", in_zulu(at), **of_process, deadline_at=later))
        points += [deadline - span for span in SPANS]
        points += [received, opened + 7 * DAY, opened + 30 * DAY, deadline - 30 * DAY]
    ticks = draw(st.sampled_from([0, 0, -1, 1])) * TICK
    return history, draw(st.sampled_from(points)) + ticks


@settings(max_examples=settings.default.max_examples // 10)
@given(reviews_and_as_of())
def test_a_review_stands_on_the_rung_that_it_reached_last(case):
    history, as_of = case
    assert_same(history, as_of, and_new=depth.is_whole())


HELD = 14 * DAY


@settings(max_examples=settings.default.max_examples // 20)
@given(
    reviews_and_as_of(),
    st.sampled_from([timedelta(0), HOUR, 5 * DAY]),  # from when it is due to when it is raised
    st.sampled_from([None, timedelta(0), 10 * DAY]),  # from there to the end of a snooze
    st.sampled_from([HOUR, 6 * DAY, 8 * DAY, HELD, 23 * DAY, 30 * DAY]),
    st.sampled_from([0, -1, 1]),
)
def test_a_rung_that_was_raised_is_held(case, waited, put_off, later, ticks):
    """Everything that stands on a rung is raised; after a while, what still stands there is due."""
    history, first = case
    steps, held = [], {}
    raised_at = first + waited
    for row in assert_same(history, first, and_new=depth.is_whole()):
        if row["deadline_at"] is None or row["kind"] not in LADDER:
            continue
        of_it = {"process_id": row["process_id"], "alert": row["alert_id"]}
        steps.append(action("alert", in_zulu(raised_at), step="raised", **of_it))
        until = raised_at
        if put_off is not None:
            until += put_off
            said = {"step": "snoozed", "until": in_zulu(until), **of_it}
            steps.append(action("alert", in_zulu(raised_at), **said))
        held[row["kind"], row["process_id"], row["deadline_at"]] = until + HELD
    as_of = raised_at + later + ticks * TICK

    def is_held(row: dict) -> bool:
        until = held.get((row["kind"], row["process_id"], row["rung_of"]))
        return until is not None and as_of < until

    assert_same([*history, *steps], as_of, is_held)


LADDER = {"opened", "overdue", *BEFORE, "expired"}
