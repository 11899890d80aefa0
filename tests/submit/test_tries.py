"""When a retry is due, and when no more: docs/rules.md#tries-and-retries, worked out by hand.

The rules are SQL: each test gives attempts to the views `attempt_facts` and `clocked_attempts`, and
reads their rows as a submission does.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import duckdb
import pytest

from pipeline.ledger.views.catalogue import catalogue, macros
from pipeline.submit.resumer import REMEMBERED
from pipeline.submit.retries import ATTEMPTS, Attempt, GivenUp, Idle, Standing, UnderWay, Waiting
from pipeline.submit.retries import standing as standing_in

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
NOON = 1_772_366_400 * SECOND  # 2026-03-01T12:00:00Z

EARLIEST, EVEN, LATEST = -(2**31), 0, 2**31
"""Where in its spread a pause can end."""


class Row(NamedTuple):
    """What these tests vary in a row of the view `attempts`."""

    attempt_id: str
    seller_id: str
    via: str
    outcome: str
    ordered_at: int
    outcome_at: int
    timeout_at: int
    is_retryable: bool
    retry_after_at: int | None
    payload_sha256: bytes
    start_seq: int


def attempt(
    number: int,
    outcome: str = "platform_error",
    *,
    at: int = NOON,
    took: int = SECOND,
    via: str = "cli",
    payload: bytes = b"A",
    retry_after_at: int | None = None,
) -> Row:
    return Row(
        attempt_id=f"a{number:02}",
        seller_id="s1",
        via=via,
        outcome=outcome,
        ordered_at=at,
        outcome_at=at + took,
        timeout_at=at + MINUTE,
        is_retryable=outcome
        in ("rate_limited", "platform_error", "timeout", "tls_refused", "network_error", "unknown"),
        retry_after_at=retry_after_at,
        payload_sha256=payload,
        start_seq=number,
    )


@cache
def database(*, is_even: bool) -> duckdb.DuckDBPyConnection:
    """The two views, over tables in place of the views that they read. `is_even`: no spread."""
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    connection.execute(macros())
    if is_even:
        connection.execute("create or replace macro retry_spread(attempt_id) as 0::bigint")
    connection.execute("""
        create table interventions (process_id varchar, kind varchar, occurred_at timestamp);
        create table finished_processes (process_id varchar, finished_at timestamp);
        create table attempts (
            attempt_id varchar, process_id varchar, seller_id varchar, via varchar,
            started_at timestamp, finished_at timestamp, ordered_at timestamp,
            timeout_at timestamp, status integer, error varchar, outcome varchar,
            outcome_at timestamp, is_retryable boolean, retry_after_at timestamp,
            payload_type varchar, has_payload boolean, payload_sha256 blob, start_seq bigint,
            finish_seq bigint
        )""")
    for name in ("attempt_facts", "clocked_attempts"):
        connection.execute(f"create view {name} as {catalogue()[name].sql}")
    return connection


def read(attempts: Sequence[Row], now: int, *, is_even: bool = False) -> list[Attempt]:
    """The attempts of one process, as the views judge them."""
    connection = database(is_even=is_even)
    connection.execute("begin")
    try:
        connection.execute("set variable as_of = make_timestamp(?::bigint)", [now])
        for row in attempts:
            values = ", ".join(
                f"make_timestamp(?::bigint) as {name}" if name.endswith("_at") else f"? as {name}"
                for name in Row._fields
            )
            connection.execute(
                f"insert into attempts by name select 'p1' as process_id, {values}", list(row)
            )
        return [Attempt._make(it[1:]) for it in connection.execute(ATTEMPTS).fetchall()]
    finally:
        connection.execute("rollback")


def standing_of(attempts: Sequence[Row], now: int, *, is_even: bool = False) -> Standing:
    return standing_in(read(attempts, now, is_even=is_even))


def pause(retry: int, spread: int) -> int:
    sql = "select retry_pause(?::bigint, ?::bigint)"
    [(microseconds,)] = database(is_even=True).execute(sql, [retry, spread]).fetchall()
    assert isinstance(microseconds, int)
    return microseconds


def spread_by_id(attempt_id: str) -> float:
    """From -1 to 1."""
    sql = "select retry_spread(?)"
    [(spread,)] = database(is_even=False).execute(sql, [attempt_id]).fetchall()
    return float(spread / LATEST)


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [
        (1, 1),
        (2, 2),
        (3, 4),
        (4, 8),
        (5, 16),
        (9, 256),
        (10, 512),
        (11, 900),
        (12, 900),
        (29, 900),
        (5000, 900),
    ],
)
def test_the_pause_doubles_from_a_second_to_a_quarter_of_an_hour(retry: int, seconds: int) -> None:
    assert pause(retry, EVEN) == seconds * SECOND


def test_the_pause_is_at_most_a_fifth_longer_or_shorter() -> None:
    assert pause(1, EARLIEST) == 800_000
    assert pause(1, LATEST) == 1_200_000
    assert pause(20, LATEST) == 1080 * SECOND


def test_the_spread_is_drawn_from_the_attempts_id_and_covers_its_range() -> None:
    drawn = [spread_by_id(f"a{number:02}") for number in range(100)]
    assert all(-1 <= it <= 1 for it in drawn)
    assert min(drawn) < -0.8
    assert max(drawn) > 0.8
    assert drawn == [spread_by_id(f"a{number:02}") for number in range(100)]


def test_the_spread_is_the_ids_digest_as_a_whole_number() -> None:
    """sha256("a01") begins with f1a8d12f: the due time is the same for every reader, for ever."""
    assert spread_by_id("a01") == (0xF1A8D12F - 2**31) / 2**31


def test_the_due_time_holds_the_spread_to_the_microsecond() -> None:
    """A pause of 1 s, for `a01` by 0xf1a8d12f / 2^31 - 1 of its fifth."""
    standing = standing_of([attempt(1)], NOON + MINUTE)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + SECOND + 1_177_592


def test_a_try_is_remembered_until_it_is_given_up() -> None:
    """The sender looks no further back: its own figure must not be shorter than the view's."""
    attempts = [attempt(1)]
    assert isinstance(standing_of(attempts, NOON + REMEMBERED - 10 * MINUTE - 1), Waiting)
    assert isinstance(standing_of(attempts, NOON + REMEMBERED - 10 * MINUTE), GivenUp)


def test_an_unknown_attempt_counts_from_the_end_of_its_timeout() -> None:
    """Its `outcome_at` in the view is the start and its timeout."""
    lost = attempt(1, "unknown", took=60 * SECOND)
    standing = standing_of([lost], NOON + 60 * SECOND, is_even=True)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + 61 * SECOND


def test_a_retry_waits_for_retry_after_where_that_is_later() -> None:
    limited = attempt(1, "rate_limited", retry_after_at=NOON + HOUR)
    standing = standing_of([limited], NOON + MINUTE, is_even=True)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + HOUR


def test_a_retry_after_that_is_sooner_does_not_shorten_the_pause() -> None:
    limited = attempt(1, "rate_limited", retry_after_at=NOON + SECOND)
    standing = standing_of([limited], NOON + MINUTE, is_even=True)
    assert isinstance(standing, Waiting)
    assert standing.due_at == NOON + 2 * SECOND


def test_nothing_sent_is_idle() -> None:
    assert standing_of([], NOON) == Idle(None)
    assert standing_of([attempt(1, "refused")], NOON) == Idle(None)


def test_any_attempt_in_flight_is_under_way_whatever_came_after() -> None:
    attempts = [attempt(1, "in_flight"), attempt(2, "platform_error", at=NOON + SECOND)]
    assert standing_of(attempts, NOON + 2 * SECOND) == UnderWay(NOON + MINUTE)


def test_of_two_attempts_in_flight_the_one_that_may_be_answered_last_counts() -> None:
    attempts = [attempt(1, "in_flight"), attempt(2, "in_flight", at=NOON + SECOND)]
    until = NOON + SECOND + MINUTE
    assert standing_of(attempts, NOON + 2 * SECOND) == UnderWay(until)


def test_another_payload_begins_another_try() -> None:
    attempts = [
        attempt(1, at=NOON, payload=b"A"),
        attempt(2, at=NOON + MINUTE, payload=b"B"),
        attempt(3, at=NOON + 2 * MINUTE, payload=b"B"),
    ]
    standing = standing_of(attempts, NOON + 3 * MINUTE, is_even=True)
    assert isinstance(standing, Waiting)
    assert [it.attempt_id for it in standing.tried.attempts] == ["a02", "a03"]
    assert standing.due_at == NOON + 2 * MINUTE + SECOND + 2 * SECOND


def test_an_attempt_without_an_answer_in_time_is_over_then_whenever_one_comes() -> None:
    attempts = [attempt(number, at=NOON + number * SECOND) for number in range(30)]
    attempts[0] = attempt(0, took=2 * HOUR)
    assert isinstance(standing_of(attempts, NOON + MINUTE - 1), Waiting)
    assert isinstance(standing_of(attempts, NOON + MINUTE), GivenUp)


@pytest.mark.parametrize(
    ("via", "is_ours"), [("cli", True), ("api", True), ("gateway", False), ("ingested", False)]
)
def test_only_tries_of_the_command_line_and_the_api_are_sent_again_by_us(
    via: str, is_ours: bool
) -> None:
    standing = standing_of([attempt(1, via=via)], NOON + MINUTE)
    assert isinstance(standing, Waiting)
    assert standing.tried.is_ours is is_ours
