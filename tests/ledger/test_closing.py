"""A ledger that was closed stays closed, no matter who was reading.

A reader makes materialized rows itself. Where the file was closed under it, it opened it again: the
next process found it in use, and after a rebuild the service followed into the file set aside.
"""

import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import duckdb
import pytest

from pipeline.continuity.service import LedgerService
from pipeline.errors import LedgerClosed
from pipeline.ledger import refresh, store
from tests.ledger.conftest import deliver

HELD_SECONDS = 0.3
ENTRIES = "import duckdb, sys; print(duckdb.connect(sys.argv[1]).sql('from log').shape[0])"


@pytest.fixture
def service(followed):
    """Rows of two entries wait."""
    opened = LedgerService(followed)
    deliver(opened.inbox, range(300, 302))
    opened.catch_up()
    with closing(opened):
        yield opened


@pytest.fixture
def makes_rows(service, monkeypatch) -> tuple[threading.Event, Future[int]]:
    """Set once a reader is making rows, which takes a while; and how many processes it counts."""
    begun, made = threading.Event(), refresh._made

    def slowly(run, table, rows):
        if threading.current_thread().name.startswith("reader"):
            begun.set()
            time.sleep(HELD_SECONDS)
        return made(run, table, rows)

    monkeypatch.setattr(refresh, "_made", slowly)
    threads = ThreadPoolExecutor(1, thread_name_prefix="reader")
    counted = threads.submit(service.reader.count, "process_state")
    threads.shutdown(wait=False)
    return begun, counted


def entries_for_another_process(path) -> str:
    return subprocess.check_output([sys.executable, "-c", ENTRIES, path], text=True).strip()


def test_it_is_closed_once_a_reader_has_made_its_rows_and_nobody_opens_it_again(
    service, settings, makes_rows
):
    begun, counted = makes_rows
    ledger = service.ledger
    assert begun.wait(10)
    service.close()
    assert isinstance(counted.exception(10), LedgerClosed | duckdb.Error)
    assert entries_for_another_process(settings.ledger) == "302"
    for ask in (
        ledger.cursor,
        ledger.reopen,
        lambda: service.reader.count("process_state"),
        lambda: service.reader.records("process_state", where={"process_id": "p1"}),
    ):
        with pytest.raises(LedgerClosed, match="try again in a moment"):
            ask()


def test_it_is_closed_under_a_reader_who_takes_too_long(service, settings, makes_rows, monkeypatch):
    monkeypatch.setattr(store, "CLOSING_SECONDS", 0.0)
    begun, counted = makes_rows
    assert begun.wait(10)
    service.close()
    assert isinstance(counted.exception(10), LedgerClosed | duckdb.Error)
    assert service.ledger.times_reopened == 0
    assert entries_for_another_process(settings.ledger) == "302"


def test_a_rebuild_beside_a_reader_is_followed_and_not_what_it_set_aside(
    service, settings, makes_rows
):
    begun, counted = makes_rows
    assert begun.wait(10)
    service.rebuild()
    assert isinstance(counted.exception(10), LedgerClosed | duckdb.Error)
    deliver(service.inbox, range(302, 340))
    service.catch_up()
    assert service.reader.count("process_state") == 340
    service.close()
    assert entries_for_another_process(settings.ledger) == "340"


def test_a_connection_that_waits_for_the_next_question_does_not_keep_the_file_open(
    service, settings
):
    asked = {"view": "process_state", "where": {"process_id": "p1"}, "as_of": service.now()}
    found = service.reader.records(**asked)
    assert len(found) == 1
    service.ledger.reopen()
    assert service.reader.records(**asked) == found
    service.close()
    assert entries_for_another_process(settings.ledger) == "302"
