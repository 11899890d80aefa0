"""A few entries are recorded at once, and their materialized rows are made when somebody asks."""

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import duckdb
import pytest

from pipeline.continuity import follower
from pipeline.continuity.service import LedgerService
from pipeline.errors import LedgerDamaged, LedgerStalled
from pipeline.ledger import checks, file, refresh, store
from tests import depth
from tests.ledger.conftest import OPENED, deliver
from tests.support.machine import wait_until

NOON = OPENED + 12 * 3_600_000_000
ROWS = "select count(*) from kept_processes"


def written(service: LedgerService) -> int:
    [(count,)] = service.ledger.cursor().execute(ROWS).fetchall()
    return int(count)


def fail(*_: object, **__: object) -> None:
    raise duckdb.ConversionException("not a number")


def test_whoever_reads_sees_the_newest_entries_though_no_row_was_made_with_them(
    settings, followed_inbox
):
    with closing(LedgerService(settings)) as service:
        assert written(service) == 300
        for number in range(300, 303):
            deliver(followed_inbox, range(number, number + 1))
            service.catch_up()
        assert (service.ledger.size, written(service)) == (303, 300)
        assert service.reader.count("process_state") == 303
        assert written(service) == 303


def test_rows_that_wait_are_made_after_a_crash(settings, followed_inbox):
    with closing(LedgerService(settings)) as service:
        deliver(followed_inbox, range(300, 302))
        service.catch_up()
    with closing(LedgerService(settings)) as service:
        assert (service.ledger.size, written(service)) == (302, 300)
        assert service.catch_up() == 0
        assert service.reader.count("timeline") == 302
        assert written(service) == 302
        assert not list(checks.broken(service.ledger))


def test_more_than_a_few_do_not_wait_and_take_with_them_what_waits(settings, followed_inbox):
    with closing(LedgerService(settings)) as service:
        for size, expected in ((200, 300), (57, 557)):
            first = service.ledger.size
            deliver(followed_inbox, range(first, first + size))
            service.catch_up()
            assert written(service) == expected


def test_rows_that_cannot_be_made_are_worked_out_from_the_log_until_they_can(
    settings, followed_inbox, monkeypatch
):
    with closing(LedgerService(settings)) as service:
        deliver(followed_inbox, range(300, 302))
        service.catch_up()
        with monkeypatch.context() as broken:
            broken.setattr(refresh, "refresh", fail)
            for view in ("process_state", "timeline"):
                assert service.reader.count(view) == 302
            of_one = service.reader.read("timeline", where={"process_id": "p301"})
            assert of_one.num_rows == 1
            with pytest.raises(Exception, match="could not work out its rows"):
                checks.run("materialized_processes_disagree", service.ledger)
        assert written(service) == 300
        service.ledger.settle(is_asked=False)
        assert written(service) == 302


def test_the_follower_makes_rows_in_time_though_no_one_reads(settings, followed_inbox, monkeypatch):
    monkeypatch.setattr(follower, "SETTLE_SECONDS", 0.01)
    with closing(LedgerService(settings)) as service:
        service.start()
        deliver(followed_inbox, range(300, 301))
        wait_until(lambda: written(service) == 301)


def test_few_entries_are_taken_together_while_people_read_unless_somebody_waits_for_them(
    settings, followed_inbox, monkeypatch
):
    monkeypatch.setattr(follower, "LINGER_SECONDS", 0.01)
    monkeypatch.setattr(follower, "GATHER_SECONDS", 3600)  # however slow the machine is
    with closing(LedgerService(settings)) as service:
        ledger, following = service.ledger, service._follower
        service.start()
        deliver(followed_inbox, range(300, 301))
        wait_until(lambda: ledger.size == 301)  # nobody reads: at once
        looked = Counted(following.check_continuity)
        monkeypatch.setattr(following, "check_continuity", looked)
        assert service.reader.count("process_state") == 301
        deliver(followed_inbox, range(301, 303))
        once_more(looked, 5)
        assert ledger.size == 301
        service.reach(302)
        assert ledger.size == 303
        wait_until(lambda: not following._is_awaited.is_set())  # one who waits may ask twice
        once_more(looked, 5)
        few = store.MOST_UNSETTLED
        deliver(followed_inbox, range(303, 303 + few))
        once_more(looked, 5)
        assert ledger.size == 303
        deliver(followed_inbox, range(303 + few, 304 + few))
        wait_until(lambda: ledger.size == 304 + few)  # many are not few
        deliver(followed_inbox, range(304 + few, 305 + few))
        service.hurry()
        wait_until(lambda: ledger.size == 305 + few)


def once_more(looked: "Counted", times: int) -> None:
    """Waits until the function was called so often again."""
    already = looked.times
    wait_until(lambda: looked.times >= already + times)


class Counted:
    """A function, and how often it was called."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.times = 0
        self._function = function

    def __call__(self) -> None:
        self.times += 1
        self._function()


@pytest.fixture
def behind(unfollowed) -> Iterator[LedgerService]:
    """A ledger of a hundred entries whose rows of processes wait for a later batch."""
    with closing(LedgerService(unfollowed)) as service:
        append(service, 100)
        yield service


def append(service: LedgerService, size: int, *, more_follow: bool = True) -> None:
    ledger = service.ledger
    ledger.append(ledger.batch(service.inbox.read(ledger.size, size)), more_follow=more_follow)


def no_memory_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(run: object) -> None:
        raise duckdb.OutOfMemoryException("could not allocate block")

    monkeypatch.setattr(refresh, "_refresh_processes", too_large)


def test_rows_that_wait_for_later_batches_are_made_for_a_reader_and_then_with_each_batch(behind):
    ledger = behind.ledger
    assert (ledger.size, written(behind), ledger.watermark.is_behind) == (100, 0, True)
    assert behind.reader.count("process_state") == 100
    assert (written(behind), ledger.watermark.is_behind) == (100, False)
    append(behind, 100)
    assert (written(behind), ledger.watermark.is_behind) == (200, False)
    ledger.asked_at = -math.inf
    append(behind, 100)
    assert (ledger.size, written(behind), ledger.watermark.is_behind) == (300, 200, True)


def test_batches_go_on_without_rows_that_cannot_be_made_however_many_read(behind, monkeypatch):
    with monkeypatch.context() as broken:
        no_memory_for_rows(broken)
        for size in (120, 140, 160):
            assert behind.reader.count("process_state") == size - 20
            append(behind, 20)
            assert (behind.ledger.size, written(behind)) == (size, 0)
        assert behind.ledger.times_reopened == 1


def test_a_batch_whose_rows_cannot_be_made_is_written_without_them_at_the_next_try(
    behind, monkeypatch
):
    """A reader had all rows made before it, and none can say that these cannot."""
    assert behind.reader.count("process_state") == 100
    with monkeypatch.context() as broken:
        no_memory_for_rows(broken)
        with pytest.raises(LedgerStalled, match="did not take entries 101 to 120"):
            append(behind, 20)
        append(behind, 20)
    assert (behind.ledger.size, written(behind)) == (120, 100)
    assert behind.reader.count("process_state") == 120


def test_readers_try_again_after_a_while_to_have_rows_made(behind, monkeypatch):
    with monkeypatch.context() as broken:
        no_memory_for_rows(broken)
        assert behind.reader.count("process_state") == 100
    assert behind.reader.count("process_state") == 100
    assert written(behind) == 0
    behind.ledger._cannot_settle_until -= store.SETTLE_AGAIN_SECONDS
    assert behind.reader.count("process_state") == 100
    assert written(behind) == 100


def test_rows_that_became_durable_though_that_failed_are_not_missed_for_long(behind, monkeypatch):
    transaction = file.transaction

    @contextmanager
    def fails_after_it(connection):
        with transaction(connection):
            yield
        raise duckdb.IOException("fsync")

    with monkeypatch.context() as broken:
        broken.setattr(file, "transaction", fails_after_it)
        with pytest.raises(LedgerDamaged):
            behind.ledger.settle(is_asked=False)
    assert (written(behind), behind.ledger.covered) == (100, 100)
    append(behind, 20, more_follow=False)
    assert (written(behind), behind.ledger.watermark.has_all_rows) == (120, True)


def test_no_answer_is_worked_out_from_the_log_because_a_batch_came_in_between(behind, monkeypatch):
    """The reader had rows made; then, before its question, a batch was written that was begun
    before anybody read."""
    cursor, left, seen = behind.ledger.cursor, [1], []

    def after_a_batch():
        if left and left.pop():
            behind.ledger.asked_at = -math.inf
            append(behind, 100)
        return cursor()

    monkeypatch.setattr(behind.ledger, "cursor", after_a_batch)

    def question(snapshot):
        seen.append((snapshot.entries, snapshot.is_behind))
        return snapshot.cursor.execute(ROWS).fetchall()

    assert behind.reader._of_one_state(None, False, question) == [(200,)]
    assert seen == [(200, False)]


def test_rows_that_took_longer_to_make_than_people_watch_are_still_watched(behind, monkeypatch):
    made = refresh.refresh

    def slowly(*given, **more):
        made(*given, **more)
        behind.ledger.asked_at -= 1.1 * store.WATCHED_SECONDS  # as if so much time had passed

    monkeypatch.setattr(refresh, "refresh", slowly)
    assert behind.reader.count("process_state") == 100
    assert behind.ledger.is_watched


def test_settling_when_nothing_waits_writes_nothing(behind):
    assert behind.reader.count("process_state") == 100
    before = behind.ledger.watermark
    behind.ledger.settle()
    behind.ledger.settle(is_asked=False)
    assert behind.ledger.watermark is before


BATCHES = depth.rounds(7, 60)


def test_readers_make_rows_while_batches_follow_each_other(unfollowed, monkeypatch):
    """A reader who works out rows between two steps of a batch would take back what it wrote."""
    monkeypatch.setattr(store, "WATCHED_SECONDS", 0.0)
    with closing(LedgerService(unfollowed)) as service, ThreadPoolExecutor(2) as readers:
        ledger, is_over = service.ledger, threading.Event()

        def read() -> int:
            times = 0
            while not is_over.is_set():
                before = ledger.size
                shown = service.reader.count("process_state", as_of=NOON)
                assert before <= shown <= ledger.size
                times += 1
            return times

        reading = [readers.submit(read) for _ in range(2)]
        try:
            for number in range(BATCHES):
                batch = ledger.batch(service.inbox.read(ledger.size, 5))
                ledger.append(batch, more_follow=True, may_wait=number % 3 == 0)
        finally:
            is_over.set()
        assert all(it.result() for it in reading)
        ledger.settle()
        followed = 5 * BATCHES
        assert (ledger.size, written(service), ledger.covered) == (followed,) * 3
        assert not list(checks.broken(ledger))
