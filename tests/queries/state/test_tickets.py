"""When a support ticket is due (docs/rules.md#tickets)."""

import pytest

from tests.support.ledgers import World, asked
from tests.support.lines import ACP_DEADLINE, acp, action, at, finished, started

WORLD = World()


def process(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row


def failures(hours, deadline_at=ACP_DEADLINE):
    """A review whose one try the platform could not process, at each of these hours of 2 March."""
    lines = [acp(deadline_at=deadline_at)]
    for number, hour in enumerate(hours):
        instant = f"2026-03-02T{hour:05.2f}:00Z".replace(".", ":")
        lines += [started(f"a{number}", instant), finished(f"a{number}", 500, instant)]
    return lines


@pytest.mark.parametrize(
    ("history", "ticket_due"),
    [
        (WORLD.add(*failures([0.00, 0.10, 0.20, 0.40, 1.00])), True),
        (WORLD.add(*failures([0.00, 0.10, 0.20, 0.40, 0.59])), False),  # an hour is not over
        (WORLD.add(*failures([0.00, 0.10, 0.20, 1.00])), False),  # four
    ],
)
def test_a_ticket_is_due_after_five_failures_over_an_hour(history, ticket_due):
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is ticket_due


@pytest.mark.parametrize(
    ("history", "ticket_due"),
    [
        (WORLD.add(*failures([0.00, 0.01, 0.02], "2026-03-05T01:59:59.999999Z")), True),
        (WORLD.add(*failures([0.00, 0.01, 0.02], "2026-03-05T02:00:00Z")), False),
        (WORLD.add(*failures([0.00, 0.01], "2026-03-05T00:00:00Z")), False),
        (WORLD.add(*failures([0.00, 0.01, 0.02], "2026-03-01T13:00:00Z")), True),  # late already
    ],
)
def test_a_ticket_is_due_after_three_failures_within_72_hours_of_the_deadline(history, ticket_due):
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is ticket_due


FIVE = failures([0.00, 0.10, 0.20, 0.40, 1.00])
OTHER_ANSWER = [started("b", "2026-03-02T00:15:00Z"), finished("b", 429, "2026-03-02T00:15:00Z")]


@WORLD.given(*FIVE[:5], *OTHER_ANSWER, *FIVE[5:])
def test_another_answer_than_a_failure_begins_the_run_again(history):
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is False


given_up = WORLD.add(acp(), started(), finished("a1", None, error="timeout"))


def test_a_ticket_is_due_once_the_last_try_was_given_up():
    assert process(given_up, "2026-03-02T23:59:59.999999")["ticket_due"] is False
    assert process(given_up, "2026-03-03T00:00:00")["ticket_due"] is True


OTHER = {**started()["body"], "revenue": "5000_to_9000"}


def sent_once_more(status, **more):
    return WORLD.add(
        *given_up,
        started("a2", "2026-03-04T00:00:00Z", **more),
        finished("a2", status, "2026-03-04T00:00:01Z"),
    )


@pytest.mark.parametrize(
    ("again", "corrected"),
    [(sent_once_more(it), sent_once_more(it, body=OTHER)) for it in (400, 404, 409, 429)],
)
def test_a_try_that_was_given_up_stays_so_when_its_bytes_are_sent_once_more(again, corrected):
    assert process(again, "2026-03-05T00:00:00")["ticket_due"] is True
    assert process(corrected, "2026-03-04T12:00:00")["ticket_due"] is False


SHORT = failures([0.00, 0.10, 0.20, 0.40, 0.50])
FOURTH_END = {**SHORT[8], "occurred_at": "2026-03-02T01:30:00Z"}
FIFTH_END = {**SHORT[10], "occurred_at": "2026-03-02T01:00:00Z"}


@WORLD.given(*SHORT[:8], FOURTH_END, *SHORT[9:], over=[*SHORT[:8], FOURTH_END, SHORT[9], FIFTH_END])
def test_a_run_of_failures_ends_with_the_one_that_started_last(history, over):
    """Several machines of another system may have several under way."""
    assert process(history, "2026-03-02T02:00:00")["ticket_due"] is False
    assert process(over, "2026-03-02T02:00:00")["ticket_due"] is True


FAILED = [acp(), started(), finished("a1", 500)]
OPENED = action("ticket", "2026-03-04T00:00:00Z", step="opened", number="T-1")
CLOSED = action("ticket", "2026-03-05T00:00:00Z", step="closed")


@WORLD.given(
    *FAILED,
    opened=[*FAILED, OPENED],
    closed=[*FAILED, OPENED, CLOSED],
    reported=[*FAILED, acp("e2", "2026-03-05T00:00:00Z", status="FINISHED")],
)
def test_no_ticket_is_due_while_one_is_open_nor_once_finished(history, opened, closed, reported):
    due_at = "2026-03-06T00:00:00"
    assert process(history, due_at)["ticket_due"] is True
    assert process(opened, due_at)["ticket_due"] is False
    assert process(opened, "2026-03-03T12:00:00")["ticket_due"] is True
    assert process(closed, due_at)["ticket_due"] is True
    assert process(reported, due_at)["ticket_due"] is False


# --- to the microsecond, at instants after which more of the process follows or nothing does ---


@pytest.mark.parametrize(
    ("history", "ticket_due"),
    [
        (WORLD.add(*given_up, action("replacement", "2026-03-02T23:59:59.999999Z")), False),
        (WORLD.add(*given_up, action("replacement", "2026-03-03T00:00:00Z")), False),
        (WORLD.add(*given_up, action("replacement", "2026-03-03T00:00:00.000001Z")), True),
    ],
)
def test_no_ticket_is_due_of_a_payload_that_was_replaced_before_its_try_was_given_up(
    history, ticket_due
):
    """The 24 hours are over on 3 March at 0:00. No retry is pending any more where the payload is
    replaced at that instant."""
    assert process(history, "2026-03-04T00:00:00")["ticket_due"] is ticket_due


UNANSWERED = [*given_up, started("a2", "2026-03-02T23:59:30Z")]
ANSWERED_LATE = finished("a2", 503, "2026-03-05T00:00:00Z")


@WORLD.given(*UNANSWERED, answered_late=[*UNANSWERED, ANSWERED_LATE])
def test_a_try_that_waits_for_an_answer_is_given_up_when_the_wait_is_over(history, answered_late):
    """It waits for 60 s, until half a minute after the 24 hours."""
    for each in (history, answered_late):
        waits = process(each, "2026-03-03T00:00:29.999999")
        assert (waits["last_outcome"], waits["ticket_due"]) == ("in_flight", False)
        lost = process(each, "2026-03-03T00:00:30")
        assert (lost["last_outcome"], lost["ticket_due"]) == ("unknown", True)
    assert process(answered_late, "2026-03-05T00:00:00")["ticket_due"] is True


THREE = failures([0.00, 0.01, 0.02], "2026-03-05T01:00:00Z")


@WORLD.given(
    *THREE,
    extended=[*THREE, acp("e2", "2026-03-02T01:30:00Z")],
    no_event=THREE[1:],
)
def test_three_failures_make_a_ticket_due_by_the_deadline_that_holds(history, extended, no_event):
    """At 1:00 exactly 72 hours are left. The extension is to 30 April. Without an event no deadline
    is known. In the end the 24 hours of the try are over."""

    def due(lines, *times):
        return [process(lines, f"2026-03-{it}")["ticket_due"] for it in times]

    from_one_on = "02T01:00:00", "02T01:00:00.000001", "02T01:29:59.999999"
    to_the_end = "02T01:30:00", "02T23:59:59.999999", "03T00:00:00"
    assert due(history, *from_one_on, *to_the_end) == [False, True, True, True, True, True]
    assert due(extended, *from_one_on, *to_the_end) == [False, True, True, False, False, True]
    assert due(no_event, *from_one_on, *to_the_end) == [False, False, False, False, False, True]
