"""Answers are shared by everybody who asks the same, and are never older than they may be."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from app_pages.parts import answers
from app_pages.parts.answers import Answers


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""

    class Clock:
        seconds = 100.0

        def monotonic(self):
            return self.seconds

        def taking(self, seconds):
            """Works out "first", and takes so long."""

            def work_out():
                self.seconds += seconds
                return "first"

            return work_out

    clock = Clock()
    monkeypatch.setattr(answers, "time", clock)
    return clock


def test_an_answer_stands_while_its_basis_does(clock):
    kept = Answers()
    assert kept.answer("q", 1, lambda: "first").answer == "first"
    clock.seconds += 3600
    assert kept.answer("q", 1, lambda: "second").answer == "first"
    assert kept.answer("q", 2, lambda: "second").answer == "second"


@pytest.mark.parametrize(("cost", "age"), [(0.001, 0.4), (0.01, 4.0), (0.12, 48.0)])
def test_on_another_basis_it_stays_four_hundred_times_as_long_as_it_took(clock, cost, age):
    kept, renewed = Answers(), Event()

    def again():
        renewed.set()
        return "second"

    kept.answer("q", 1, clock.taking(cost))
    clock.seconds += age - 0.0005
    assert kept.answer("q", 2, lambda: "too early").answer == "first"
    clock.seconds += 0.001
    if cost < answers.PATIENCE_SECONDS:
        assert kept.answer("q", 2, again).answer == "second"
    else:
        assert kept.answer("q", 2, again).answer == "first"
        assert renewed.wait(10)


def test_an_answer_says_what_it_rests_on_and_how_old_it_is(clock):
    kept = Answers()

    kept.answer("q", 1, clock.taking(1))
    clock.seconds += 2
    given = kept.answer("q", 2, lambda: "second")
    assert (given.answer, given.basis, given.age()) == ("first", 1, 3)


@pytest.mark.parametrize(("cost", "age"), [(0.01, 12.02), (0.07, 84.14), (0.3, 89.7), (3, 87.0)])
def test_one_that_is_three_times_as_old_or_ninety_seconds_is_given_to_nobody(clock, cost, age):
    kept = Answers()

    kept.answer("q", 1, clock.taking(cost))
    clock.seconds += age + 0.001
    assert kept.answer("q", 2, lambda: "second").answer == "second"


def test_what_was_recorded_is_seen_at_once(clock):
    kept = Answers()

    kept.answer("q", 1, clock.taking(1))
    kept.forget()
    assert kept.answer("q", 2, lambda: "second").answer == "second"


def test_one_works_an_answer_out_and_the_others_wait_for_it():
    kept, at_once, worked_out = Answers(), Barrier(8), []

    def ask(_):
        at_once.wait(10)
        return kept.answer("q", 1, lambda: worked_out.append(1) or "answer").answer

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == ["answer"] * 8
    assert worked_out == [1]


@pytest.mark.parametrize("cost", [0.3, 3])
def test_for_what_takes_long_nobody_waits_twice(clock, cost):
    kept, go_on, renewed = Answers(), Event(), Event()

    def slower():
        go_on.wait(10)
        renewed.set()
        return "second"

    kept.answer("q", 1, clock.taking(cost))
    clock.seconds += 60.001 - cost
    assert kept.answer("q", 2, slower).answer == "first"
    assert kept.answer("q", 2, slower).answer == "first"
    go_on.set()
    assert renewed.wait(10)
    clock.seconds += 32  # had it not been rebuilt, this one would be too old now
    assert kept.answer("q", 2, lambda: "third").answer == "second"


def test_what_fails_aside_fails_for_whoever_waits_for_it(clock, caplog):
    kept, failed = Answers(), Event()

    def broken():
        failed.set()
        raise OSError("disk")

    kept.answer("q", 1, clock.taking(0.3))
    clock.seconds += 60
    assert kept.answer("q", 2, broken).answer == "first"
    assert failed.wait(10)
    clock.seconds += 30
    with pytest.raises(OSError, match="disk"):
        kept.answer("q", 2, broken)
    assert "could not be renewed" in caplog.text


def test_another_question_does_not_wait():
    kept, go_on = Answers(), Event()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(kept.answer, "slow", 1, lambda: go_on.wait(10))
        assert kept.answer("other", 1, lambda: "answer").answer == "answer"
        go_on.set()
        assert slow.result(10).answer


def test_what_failed_is_asked_again():
    kept = Answers()
    with pytest.raises(ZeroDivisionError):
        kept.answer("q", 1, lambda: 1 / 0)
    assert kept.answer("q", 1, lambda: "answer").answer == "answer"


@pytest.fixture
def of_rows(monkeypatch):
    """Answers of up to thirty rows in all, each of at least ten."""
    monkeypatch.setattr(answers, "MOST_ROWS", 30)
    return Answers(len)


def test_those_asked_longest_ago_make_room(of_rows):
    for question in ("a", "b", "c", "a", "d"):
        of_rows.answer(question, 1, lambda: "first")
    assert of_rows.answer("a", 1, lambda: "second").answer == "first"
    assert of_rows.answer("b", 1, lambda: "second").answer == "second"


def test_an_answer_takes_as_much_room_as_it_has_rows(of_rows):
    for question, rows in (("a", 1), ("many", 20), ("b", 1)):
        of_rows.answer(question, 1, lambda rows=rows: [rows] * rows)
    assert of_rows.answer("many", 1, list).answer == [20] * 20
    assert of_rows.answer("a", 1, lambda: ["worked out again"]).answer == ["worked out again"]


def test_an_answer_for_which_there_is_no_room_is_not_kept_and_puts_no_other_out(of_rows):
    """It stayed alone: the next question put all others out."""
    of_rows.answer("a", 1, lambda: ["first"])
    assert of_rows.answer("huge", 1, lambda: [1] * 31).answer == [1] * 31
    of_rows.answer("b", 1, lambda: ["first"])
    assert of_rows.answer("a", 1, lambda: ["second"]).answer == ["first"]
    assert of_rows.answer("huge", 1, lambda: [2]).answer == [2]


def test_one_that_is_renewed_takes_the_room_of_its_last_answer(clock, of_rows):
    of_rows.answer("a", 1, lambda: ["first"])
    of_rows.answer("shrinks", 1, lambda: [1] * 20)
    of_rows.answer("shrinks", 2, lambda: [1])
    of_rows.answer("b", 1, lambda: ["first"])
    assert of_rows.answer("a", 1, lambda: ["second"]).answer == ["first"]


def test_what_is_forgotten_leaves_its_room(of_rows):
    of_rows.answer("many", 1, lambda: [1] * 30)
    of_rows.forget()
    of_rows.answer("a", 1, lambda: ["first"])
    of_rows.answer("b", 1, lambda: ["first"])
    assert of_rows.answer("a", 1, lambda: ["second"]).answer == ["first"]
