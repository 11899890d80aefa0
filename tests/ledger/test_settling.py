"""A few entries are recorded at once, and their materialized rows are made when somebody asks."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import duckdb
import pytest

from pipeline.ledger import checks, refresh, store
from pipeline.ledger.following import follower
from pipeline.ledger.service import LedgerService
from tests.ledger.conftest import deliver
from tests.support.machine import wait_until

ROWS = "select count(*) from materialized.processes"


def written(service: LedgerService) -> int:
    [(count,)] = service.ledger.cursor().execute(ROWS).fetchall()
    return int(count)


def fail(*_: object, **__: object) -> None:
    raise duckdb.ConversionException("not a number")


def test_whoever_reads_sees_the_newest_entries_though_no_row_was_made_with_them(settings, inbox):
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        assert written(service) == 300
        for number in range(300, 303):
            deliver(inbox, range(number, number + 1))
            service.catch_up()
        assert (service.ledger.size, written(service)) == (303, 300)
        assert service.reader.count("process_state") == 303
        assert written(service) == 303


def test_rows_that_wait_are_made_after_a_crash(settings, inbox):
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        deliver(inbox, range(300, 302))
        service.catch_up()
    with closing(LedgerService(settings)) as service:
        assert (service.ledger.size, written(service)) == (302, 300)
        assert service.catch_up() == 0
        assert service.reader.count("timeline") == 302
        assert written(service) == 302
        assert not list(checks.broken(service.ledger))


def test_more_than_a_few_do_not_wait_and_take_with_them_what_waits(settings, inbox):
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        for size, expected in ((200, 300), (57, 557)):
            first = service.ledger.size
            deliver(inbox, range(first, first + size))
            service.catch_up()
            assert written(service) == expected


def test_rows_that_cannot_be_made_are_worked_out_from_the_log_until_they_can(
    settings, inbox, monkeypatch
):
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        deliver(inbox, range(300, 302))
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


@pytest.mark.parametrize("is_asked", [True, False])
def test_the_follower_makes_rows_at_once_while_people_read_and_later_where_nobody_does(
    settings, inbox, monkeypatch, is_asked
):
    monkeypatch.setattr(store, "UNWATCHED_SECONDS", 1e9 if is_asked else 0.0)
    monkeypatch.setattr(follower, "SETTLE_SECONDS", 1e9 if is_asked else 0.01)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        if is_asked:
            assert service.reader.count("process_state") == 300
        service.start()
        deliver(inbox, range(300, 301))
        wait_until(lambda: written(service) == 301)


def test_rows_that_wait_for_later_batches_are_made_for_a_reader_and_then_with_each_batch(
    settings, inbox
):
    with closing(LedgerService(settings)) as service:
        ledger = service.ledger

        def append(size: int) -> None:
            batch = ledger.batch(inbox.read(ledger.size, size))
            ledger.append(batch, more_follow=True)

        append(100)
        assert (ledger.size, written(service), ledger.watermark.is_behind) == (100, 0, True)
        assert service.reader.count("process_state") == 100
        assert (written(service), ledger.watermark.is_behind) == (100, False)
        append(100)
        assert (written(service), ledger.watermark.is_behind) == (200, False)
        ledger.asked_at = -math.inf
        append(100)
        assert (ledger.size, written(service), ledger.watermark.is_behind) == (300, 200, True)


def test_readers_make_rows_while_batches_follow_each_other(settings, inbox, monkeypatch):
    """A reader who works out rows between two steps of a batch would take back what it wrote."""
    monkeypatch.setattr(store, "UNWATCHED_SECONDS", 0.0)
    with closing(LedgerService(settings)) as service, ThreadPoolExecutor(2) as readers:
        ledger, is_over = service.ledger, threading.Event()

        def read() -> int:
            times = 0
            while not is_over.is_set():
                assert service.reader.count("timeline") <= ledger.size
                times += 1
            return times

        reading = [readers.submit(read) for _ in range(2)]
        try:
            for number in range(60):
                batch = ledger.batch(inbox.read(ledger.size, 5))
                ledger.append(batch, more_follow=True, may_wait=number % 3 == 0)
        finally:
            is_over.set()
        assert all(it.result() for it in reading)
        ledger.settle()
        assert (ledger.size, written(service), ledger.covered) == (300, 300, 300)
        assert not list(checks.broken(ledger))
