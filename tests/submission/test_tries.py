"""When a retry is due, and when no more: rules.md section 3, worked out by hand."""

import pytest

from pipeline.tries import Attempt, GivenUp, Idle, Try, UnderWay, Waiting, pause, spread_by_id
from pipeline.tries import due_at as due_at_of
from pipeline.tries import standing as standing_of

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
NOON = 1_772_366_400 * SECOND  # 2026-03-01T12:00:00Z


def evenly(attempt: Attempt) -> float:
    return 0.0


def attempt(
    number: int,
    outcome: str = "platform_error",
    *,
    at: int = NOON,
    took: int = SECOND,
    via: str = "cli",
    payload: bytes = b"A",
    seller_id: str = "s1",
    retry_after_at: int | None = None,
) -> Attempt:
    return Attempt(
        attempt_id=f"a{number:02}",
        seller_id=seller_id,
        via=via,
        outcome=outcome,
        ordered_at=at,
        outcome_at=at + took,
        timeout_at=at + MINUTE,
        is_retryable=outcome
        in ("rate_limited", "platform_error", "timeout", "network_error", "unknown"),
        retry_after_at=retry_after_at,
        payload_sha256=payload,
        start_seq=number,
    )


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (9, 256), (10, 512), (11, 900), (12, 900), (29, 900)],
)
def test_the_pause_doubles_from_a_second_to_a_quarter_of_an_hour(retry: int, seconds: int) -> None:
    assert pause(retry, 0.0) == seconds * SECOND


def test_the_pause_is_at_most_a_fifth_longer_or_shorter() -> None:
    assert pause(1, -1.0) == 800_000
    assert pause(1, 1.0) == 1_200_000
    assert pause(20, 1.0) == 1080 * SECOND


def test_the_spread_is_drawn_from_the_attempts_id_and_covers_its_range() -> None:
    drawn = [spread_by_id(attempt(number)) for number in range(100)]
    assert all(-1 <= it <= 1 for it in drawn)
    assert min(drawn) < -0.8
    assert max(drawn) > 0.8
    assert drawn == [spread_by_id(attempt(number)) for number in range(100)]


def test_the_first_retry_is_due_a_second_after_the_answer() -> None:
    standing = standing_of([attempt(1, took=3 * SECOND)], NOON + 4 * SECOND, spread=evenly)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + 3 * SECOND + 1 * SECOND


def test_an_unknown_attempt_counts_from_the_end_of_its_timeout() -> None:
    """Its `outcome_at` in the view is the start and its timeout."""
    lost = attempt(1, "unknown", took=60 * SECOND)
    standing = standing_of([lost], NOON + 60 * SECOND, spread=evenly)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + 61 * SECOND


def test_a_retry_waits_for_retry_after_where_that_is_later() -> None:
    told = attempt(1, "rate_limited", retry_after_at=NOON + HOUR)
    assert due_at_of(Try((told,)), evenly) == NOON + HOUR


def test_a_retry_after_that_is_sooner_does_not_shorten_the_pause() -> None:
    told = attempt(1, "rate_limited", retry_after_at=NOON + SECOND)
    assert due_at_of(Try((told,)), evenly) == NOON + 2 * SECOND


@pytest.mark.parametrize(
    "outcome", ["rate_limited", "platform_error", "timeout", "network_error", "unknown"]
)
def test_retryable_outcomes_wait(outcome: str) -> None:
    assert isinstance(standing_of([attempt(1, outcome)], NOON + SECOND), Waiting)


@pytest.mark.parametrize(
    "outcome",
    ["accepted", "invalid_payload", "unauthorized", "not_found", "conflict", "unexpected_status"],
)
def test_final_outcomes_wait_for_nothing(outcome: str) -> None:
    assert isinstance(standing_of([attempt(1, outcome)], NOON + SECOND), Idle)


def test_nothing_sent_is_idle() -> None:
    assert standing_of([], NOON) == Idle(None)
    assert standing_of([attempt(1, "refused")], NOON) == Idle(None)


def test_any_attempt_in_flight_is_under_way_whatever_came_after() -> None:
    attempts = [attempt(1, "in_flight"), attempt(2, "platform_error", at=NOON + SECOND)]
    assert standing_of(attempts, NOON + 2 * SECOND) == UnderWay(NOON + MINUTE)


def test_another_payload_begins_another_try() -> None:
    attempts = [
        attempt(1, at=NOON, payload=b"A"),
        attempt(2, at=NOON + MINUTE, payload=b"B"),
        attempt(3, at=NOON + 2 * MINUTE, payload=b"B"),
    ]
    standing = standing_of(attempts, NOON + 3 * MINUTE, spread=evenly)
    assert isinstance(standing, Waiting)
    assert [it.attempt_id for it in standing.tried.attempts] == ["a02", "a03"]
    assert standing.due_at == NOON + 2 * MINUTE + SECOND + 2 * SECOND


def test_a_try_is_given_up_after_thirty_attempts() -> None:
    attempts = [attempt(number, at=NOON + number * MINUTE) for number in range(30)]
    assert isinstance(standing_of(attempts[:29], NOON + HOUR), Waiting)
    assert isinstance(standing_of(attempts, NOON + HOUR), GivenUp)


def test_a_try_is_given_up_after_24_hours_to_the_microsecond() -> None:
    attempts = [attempt(1)]
    assert isinstance(standing_of(attempts, NOON + 24 * HOUR - 1), Waiting)
    assert isinstance(standing_of(attempts, NOON + 24 * HOUR), GivenUp)


def test_a_replacement_ends_the_wait_of_the_payload_before_it() -> None:
    attempts = [attempt(1)]
    assert isinstance(standing_of(attempts, NOON + HOUR, replaced_at=[NOON - 1]), Waiting)
    assert isinstance(standing_of(attempts, NOON + HOUR, replaced_at=[NOON + 1]), Idle)


def test_a_refusal_of_the_same_bytes_holds_the_retry_for_a_person() -> None:
    sent = attempt(1)
    same = attempt(2, "refused", at=NOON + MINUTE)
    held = standing_of([sent, same], NOON + HOUR)
    assert isinstance(held, Waiting)
    assert held.is_held


@pytest.mark.parametrize(
    "refusal",
    [
        attempt(2, "refused", at=NOON + MINUTE, payload=b"B"),
        attempt(2, "refused", at=NOON + MINUTE, seller_id="s9"),
        attempt(2, "refused", at=NOON - MINUTE),
    ],
    ids=["other bytes", "for another seller", "before it was sent"],
)
def test_no_other_refusal_holds_a_retry(refusal: Attempt) -> None:
    standing = standing_of([attempt(1), refusal], NOON + HOUR)
    assert isinstance(standing, Waiting)
    assert not standing.is_held


@pytest.mark.parametrize(
    ("via", "is_ours"), [("cli", True), ("api", True), ("gateway", False), ("ingested", False)]
)
def test_only_tries_of_the_command_line_and_the_api_are_sent_again_by_us(
    via: str, is_ours: bool
) -> None:
    assert Try((attempt(1, via=via),)).is_ours is is_ours
