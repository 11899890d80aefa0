"""The file is opened again after an error of the writer, and nobody else notices.

In an hour's soak with little memory, rows that a reader needed could not be made, and the file was
opened again. Meanwhile a page failed with "Connection already closed", and so did a batch, which
then asked for a rebuild.
"""

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import duckdb
import pytest

from pipeline.continuity.service import LedgerService
from pipeline.errors import LedgerDamaged, LedgerStalled
from pipeline.ledger import file, refresh
from pipeline.ledger.store import Ledger
from tests.ledger.conftest import deliver
from tests.support.machine import wait_until

CLOSED_SECONDS = 0.3


@pytest.fixture
def service(followed, monkeypatch) -> Iterator[LedgerService]:
    """Rows of two entries wait, and to make them takes more memory than there is, once."""
    with closing(LedgerService(followed)) as opened:
        deliver(opened.inbox, range(300, 302))
        opened.catch_up()
        make, left = refresh.refresh, [1]

        def too_large(*given, **more):
            if left and left.pop():
                raise duckdb.OutOfMemoryException("could not allocate block")
            return make(*given, **more)

        monkeypatch.setattr(refresh, "refresh", too_large)
        yield opened


@pytest.fixture
def closed(monkeypatch) -> threading.Event:
    """Set once the file is closed, which it then is for a while."""
    begun, open_ = threading.Event(), Ledger._open

    def slowly(ledger):
        begun.set()
        time.sleep(CLOSED_SECONDS)
        open_(ledger)

    monkeypatch.setattr(Ledger, "_open", slowly)
    return begun


def test_a_batch_waits_until_the_file_is_open_again(service, closed):
    deliver(service.inbox, range(302, 310))
    batch = service.ledger.batch(service.inbox.read(302, 8))
    with ThreadPoolExecutor(1) as threads:
        settling = threads.submit(service.ledger.settle)
        assert closed.wait(10)
        service.ledger.append(batch)
        with pytest.raises(LedgerStalled, match="could not work out its rows"):
            settling.result(10)
    assert service.ledger.times_reopened == 1
    assert service.ledger.seqs("true", ()) == list(range(1, 311))
    assert service.reader.count("process_state") == 310


def test_a_question_that_the_file_was_closed_under_is_asked_once_more(service, closed):
    asked: list[int] = []

    def question(snapshot):
        asked.append(len(asked))
        if len(asked) == 1:
            with pytest.raises(LedgerStalled):
                service.ledger.settle(is_asked=False)
        return snapshot.cursor.execute("select count(*) from log").fetchall()

    # Nobody has needed the rows so far: what asks first finds them waiting, and goes on without.
    service.ledger._cannot_settle_until = math.inf
    assert service.reader._of_one_state(None, False, question) == [(302,)]
    assert asked == [0, 1]


def test_a_question_that_comes_while_the_file_is_closed_waits(service, closed):
    with ThreadPoolExecutor(1) as threads:
        settling = threads.submit(service.ledger.settle)
        assert closed.wait(10)
        assert service.reader.count("timeline") == 302
        with pytest.raises(LedgerStalled):
            settling.result(10)


def test_the_file_is_opened_again_once_what_is_being_read_is_read(service, monkeypatch):
    """DuckDB refuses to close the file under a reader, and has closed it for all others by then:
    after a commit that found the disk full, everybody read "Connection already closed!"."""
    ledger, begun, may_end = service.ledger, threading.Event(), threading.Event()

    def slowly(seq: int) -> int:
        begun.set()
        assert may_end.wait(20)
        return seq

    cursor = ledger.cursor()
    cursor.create_function("slowly", slowly, ["BIGINT"], "BIGINT")
    monkeypatch.setattr(file, "READING_SECONDS", 0.0)
    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(cursor.execute, "select slowly(min(seq)) from log")
        assert begun.wait(10)
        with pytest.raises(LedgerStalled, match="could not be closed"):
            ledger.reopen()
        with pytest.raises(LedgerStalled, match="could not be closed"):
            ledger.cursor()  # and nobody reads of a connection that is closed
        monkeypatch.setattr(file, "READING_SECONDS", 20.0)
        opening = threads.submit(ledger.open_again)
        may_end.set()
        opening.result(20)
        reading.result(20)
    assert ledger.cursor().execute("select count(*) from log").fetchall() == [(302,)]


def test_a_question_that_is_wrong_itself_is_asked_once(service):
    with pytest.raises(LedgerStalled):
        service.ledger.settle()
    asked: list[int] = []

    def question(snapshot):
        asked.append(1)
        return snapshot.cursor.execute("select 1 / 'a'").fetchall()

    with pytest.raises(duckdb.ConversionException):
        service.reader._of_one_state(None, False, question)
    assert asked == [1]


def test_what_became_durable_though_its_watermark_could_not_be_read_is_known(service, monkeypatch):
    """Else anyone who reads would wait without an end for rows that nobody knows to be missing."""
    ledger, mark, left = service.ledger, Ledger._mark, [1]

    def fails_once(ledger):
        if left and left.pop():
            raise duckdb.OutOfMemoryException("could not allocate block")
        mark(ledger)

    with pytest.raises(LedgerStalled):
        ledger.settle(is_asked=False)  # makes room: the fixture's failure is over
    deliver(service.inbox, range(302, 700))
    monkeypatch.setattr(Ledger, "_mark", fails_once)
    with pytest.raises(LedgerStalled, match="did not take entries 303 to 700"):
        ledger.append(ledger.batch(service.inbox.read(302, 398)), more_follow=True)
    assert (ledger.size, ledger.covered, ledger.watermark.is_behind) == (700, 300, True)
    assert service.reader.count("process_state") == 700


def test_a_snapshot_whose_rows_cannot_be_made_says_that_it_was_closed_under(service):
    cursor = service.ledger.cursor()
    with pytest.raises(duckdb.ConnectionException), service.ledger.snapshot(cursor):
        pass
    assert service.ledger.times_reopened == 1
    with service.ledger.snapshot(service.ledger.cursor()) as watermark:
        assert watermark.waits


def test_a_file_that_was_damaged_under_its_holder_is_made_again_at_once(followed):
    """It was by the next start alone, and nobody restarts what seems to run. A start removes the
    rows that a killed process had put beside the file: names and tax ids stayed there in clear."""
    with closing(LedgerService(followed)) as opened:
        root = opened.ledger.frontier.root()
        whole = followed.ledger.read_bytes()
        followed.ledger.write_bytes(whole[:12_288] + bytes(len(whole) - 12_288))
        for ask in (opened.ledger.reopen, opened.ledger.cursor):
            with pytest.raises(LedgerDamaged) as raised:
                ask()
            assert "makes it again from the inbox" in raised.value.remedy
        assert not opened.status().recovered
        opened.start()
        deliver(opened.inbox, range(700, 702))
        rebuilt = "the ledger was rebuilt from the inbox: "
        wait_until(lambda: rebuilt in str(opened.status().recovered))  # which is said last
        wait_until(lambda: opened.ledger.size == 302 and opened.status().is_verified)
        assert opened.ledger.root_at(300) == root
        assert opened.reader.count("timeline") == 302
        # A part that nobody has read before, and a disk that fails must not be filled.
        corrupt = duckdb.IOException("Corrupt database file: computed checksum 1 is not 2")
        root, again = opened.ledger.frontier.root(), f"rebuilt from the inbox: {corrupt}"

        def question(snapshot):
            raise corrupt

        with pytest.raises(duckdb.IOException):
            opened.reader._of_one_state(None, False, question)
        time.sleep(CLOSED_SECONDS)
        assert again not in str(opened.status().recovered)
        opened._follower._make_again_at = 0
        wait_until(lambda: again in str(opened.status().recovered))
        wait_until(lambda: opened.status().is_verified)
        assert opened.ledger.frontier.root() == root
    assert len([*followed.ledger.parent.glob("*.set-aside-*")]) == 2
    spilled = followed.ledger.with_name("ledger.duckdb.tmp") / "duckdb_temp_7_0_storage_S32K-0.tmp"
    spilled.parent.mkdir()
    spilled.write_bytes(b"rows of one that was killed")
    with closing(LedgerService(followed)) as restarted:
        assert (restarted.status().recovered, restarted.ledger.size) == (None, 302)
        asked = restarted.ledger.cursor().execute("select current_setting('temp_directory')")
        assert asked.fetchall() == [(str(spilled.parent),)]
        assert not spilled.parent.exists()


def test_who_reads_while_the_file_is_made_again_hears_why_and_opens_no_file(followed, monkeypatch):
    """A reader whose rows waited opened the damaged file again, in the midst of it, and was shown
    what is in there; one under way failed with "Connection already closed"."""
    with closing(LedgerService(followed)) as opened:
        make, begun, may_end = opened.recovery.open, threading.Event(), threading.Event()

        def slowly(*given):
            begun.set()
            assert may_end.wait(10)
            return make(*given)

        def question(snapshot):
            deliver(opened.inbox, range(300, 302))
            opened.catch_up()
            opened.ledger.saw(duckdb.IOException("Corrupt database file: checksum"))
            opened.start()
            assert begun.wait(10)
            snapshot.cursor.execute("select 1")

        monkeypatch.setattr(opened._follower, "_recover", slowly)
        with pytest.raises(LedgerDamaged) as raised:
            opened.reader._of_one_state(None, False, question)
        assert raised.value.remedy == "try again in a moment"  # no rebuild beside this one
        may_end.set()
        wait_until(lambda: opened.status().is_verified)
        assert opened.reader.count("timeline") == 302


def test_a_start_with_a_file_that_lacks_a_table_makes_it_again(followed):
    """Commands showed its rows, and ended with an error of DuckDB's once there was a new entry."""
    with duckdb.connect(followed.ledger) as connection:
        connection.execute("drop table fact_bank_account_events")
    with closing(LedgerService(followed)) as opened:
        assert "bank_account_events does not exist" in str(opened.status().recovered)
        deliver(opened.inbox, range(300, 302))
        opened.catch_up()
        assert opened.reader.count("timeline") == 302


def test_a_start_that_comes_upon_a_damaged_part_makes_the_file_again(followed, monkeypatch):
    """It ended with an error of DuckDB's, and so did each further one."""
    root_at, left = Ledger.root_at, [1]

    def corrupt_once(ledger, size):
        if left and left.pop():
            raise duckdb.IOException("Corrupt database file: computed checksum 1 is not 2")
        return root_at(ledger, size)

    monkeypatch.setattr(Ledger, "root_at", corrupt_once)
    with closing(LedgerService(followed)) as opened:
        assert "rebuilt from the inbox: Corrupt" in str(opened.status().recovered)
        assert opened.status().is_verified
