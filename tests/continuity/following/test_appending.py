"""While a batch is written the next ones are read, and several may be written at once; the log is
that of one batch at a time."""

import threading
from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest

from pipeline.continuity import appending
from pipeline.continuity.appending import Appending
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxForked, InboxUnavailable, LedgerRefused, LedgerStalled
from pipeline.inbox import Inbox
from pipeline.ledger.store import Ledger
from pipeline.settings import Settings
from tests.support.machine import wait_until

BATCH = 40  # of the 300 entries in the inbox


@pytest.fixture
def service(unfollowed: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LedgerService]:
    monkeypatch.setattr(appending, "MAX_ENTRIES_PER_BATCH", BATCH)
    with closing(LedgerService(unfollowed)) as opened:
        yield opened


class Reads:
    """The inbox's `read`, remembering where each began and on which thread."""

    def __init__(self, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
        self._read = inbox.read
        self.of: list[tuple[int, str]] = []
        self.failing_at: int | None = None
        monkeypatch.setattr(inbox, "read", self.read)

    @property
    def here(self) -> list[int]:
        """Where those began that were not made ahead."""
        main = threading.current_thread().name
        return [after for after, thread in self.of if thread == main]

    def read(self, after, limit, **more):
        self.of.append((after, threading.current_thread().name.partition("_")[0]))
        if after == self.failing_at:
            self.failing_at = None
            raise InboxUnavailable("The inbox cannot be read")
        return self._read(after, limit, **more)


def seqs(ledger: Ledger) -> list[int]:
    return ledger.seqs("true", ())


def test_each_entry_is_read_once_and_while_whole_batches_wait_ahead(service, monkeypatch):
    reads = Reads(service.inbox, monkeypatch)
    assert service.catch_up() == 300
    main = threading.current_thread().name
    assert reads.of == [
        (0, main),
        *((after, "reading-ahead") for after in range(40, 281, 40)),
        (300, "reading-ahead"),  # nothing follows
        (300, main),
    ]
    assert seqs(service.ledger) == list(range(1, 301))
    assert service.ledger.frontier.root() == service.inbox.head().root


def test_what_was_read_ahead_of_a_batch_that_failed_is_read_again(service, monkeypatch):
    write = Ledger._append
    left = [2]

    def full(ledger, *given, **more):
        left[0] -= 1
        if left[0] == 0:
            raise LedgerStalled("The ledger has no room")
        return write(ledger, *given, **more)

    monkeypatch.setattr(Ledger, "_append", full)
    reads = Reads(service.inbox, monkeypatch)
    with pytest.raises(LedgerStalled):
        service.catch_up()
    assert service.ledger.size == 40
    service.catch_up()
    assert reads.here == [0, 40, 300]
    assert seqs(service.ledger) == list(range(1, 301))


def test_a_read_that_fails_ahead_is_tried_again(service, monkeypatch):
    reads = Reads(service.inbox, monkeypatch)
    reads.failing_at = 80
    assert service.catch_up() == 300
    assert [after for after, _ in reads.of].count(80) == 2
    assert seqs(service.ledger) == list(range(1, 301))


def test_nothing_is_appended_past_the_size_that_was_asked_for(service):
    with closing(Appending(service.ledger, service.inbox)) as alone:
        assert [alone.append(90), alone.append(90), alone.append(90), alone.append(90)] == [
            *(40, 40, 10, 0)
        ]
        assert seqs(service.ledger) == list(range(1, 91))
        assert alone.append() == 40
    assert seqs(service.ledger) == list(range(1, 131))


@pytest.mark.parametrize(("asking", "read_twice"), [("MainThread", 40), ("reading-ahead", 80)])
def test_what_was_read_ahead_is_read_again_once_the_inbox_has_another_entry_there(
    service, monkeypatch, asking, read_twice
):
    """Before a batch is written, its last entry is looked up once more; once one is read, the entry
    that it follows."""
    leaf = service.inbox.leaf
    others = [80]

    def changed(seq):
        is_asking = threading.current_thread().name.startswith(asking)
        return b"another" if is_asking and seq in others and not others.clear() else leaf(seq)

    reads = Reads(service.inbox, monkeypatch)
    monkeypatch.setattr(service.inbox, "leaf", changed)
    service.catch_up()
    assert [after for after, _ in reads.of].count(read_twice) == 2
    assert seqs(service.ledger) == list(range(1, 301))


def test_an_entry_of_a_later_release_read_ahead_stops_all_before_its_batch(service, monkeypatch):
    read = service.inbox.read

    def newer(after, limit, **more):
        entries = read(after, limit, **more)
        return [it._replace(leaf=it.leaf[:-2] + b"99}") if it.seq == 90 else it for it in entries]

    monkeypatch.setattr(service.inbox, "read", newer)
    with pytest.raises(LedgerRefused, match="entry 90 has a leaf of version"):
        service.catch_up()
    assert seqs(service.ledger) == list(range(1, 81))


# --- many at once ----------------------------------------------------------------------------


@pytest.fixture
def at_once(service: LedgerService, monkeypatch: pytest.MonkeyPatch) -> LedgerService:
    """Three batches may go into one transaction, where so many wait behind the first one."""
    monkeypatch.setattr(appending, "ENTRIES_AT_ONCE", 3 * BATCH)
    return service


def commits(ledger: Ledger) -> list[int]:
    """The size of the log after each transaction."""
    return [size for size, _, _ in ledger.tree_table("tree_heads")]


def test_where_very_many_wait_and_nobody_reads_several_batches_are_one_transaction(at_once):
    seen = []
    assert at_once.catch_up(seen.append) == 300
    # Behind the first batch of the second transaction 140 wait, and of the third 20: too few.
    assert commits(at_once.ledger) == seen == [120, 240, 280, 300]
    assert seqs(at_once.ledger) == list(range(1, 301))
    assert at_once.ledger.frontier.root() == at_once.inbox.head().root
    assert at_once.reader.count("process_state") == 300


def test_nothing_joins_a_transaction_past_the_size_that_was_asked_for(at_once):
    with closing(Appending(at_once.ledger, at_once.inbox)) as alone:
        assert [alone.append(170), alone.append(170), alone.append(170)] == [120, 40, 10]
    assert commits(at_once.ledger) == [120, 160, 170]


def test_a_transaction_ends_where_somebody_reads_or_its_time_is_over(at_once, monkeypatch):
    ledger, written, insert = at_once.ledger, [], Ledger._insert

    def noted(ledger, rows):
        written.extend(rows)
        insert(ledger, rows)

    monkeypatch.setattr(Ledger, "_insert", noted)
    with closing(Appending(ledger, at_once.inbox)) as alone:
        assert alone.append(may_go_on=lambda: written.count("log") < 2) == 80
        ledger.settle()  # a reader needed rows: two batches would have followed
        assert alone.append() == 40
    assert commits(ledger) == [80, 120]
    assert at_once.reader.count("process_state") == 120


def test_a_transaction_of_several_batches_that_fails_leaves_nothing_and_the_next_is_small(
    at_once, monkeypatch
):
    insert, left = Ledger._insert, [5]  # two calls for the first batch, and some for the second

    def full(ledger, rows):
        left[0] -= 1
        if left[0] == 0:
            raise duckdb.IOException("No space left on device")
        insert(ledger, rows)

    monkeypatch.setattr(Ledger, "_insert", full)
    with pytest.raises(LedgerStalled, match="did not take entries 1 to 80"):
        at_once.catch_up()
    assert (at_once.ledger.size, seqs(at_once.ledger)) == (0, [])
    assert at_once.catch_up() == 300
    assert commits(at_once.ledger) == [40, 160, 200, 240, 280, 300]
    assert seqs(at_once.ledger) == list(range(1, 301))
    assert at_once.ledger.frontier.root() == at_once.inbox.head().root


def test_after_an_error_that_is_not_duckdbs_the_state_is_known_to_be_the_former(
    at_once, monkeypatch
):
    insert, left = Ledger._insert, [5]

    def unavailable(ledger, rows):
        left[0] -= 1
        if left[0] == 0:
            raise InboxUnavailable("The inbox cannot be read")
        insert(ledger, rows)

    monkeypatch.setattr(Ledger, "_insert", unavailable)
    before = at_once.ledger.watermark
    with pytest.raises(InboxUnavailable):
        at_once.catch_up()
    assert at_once.ledger.watermark is before
    assert before is not None
    assert at_once.catch_up() == 300


def test_entries_of_many_bytes_are_not_put_into_one_transaction(at_once, monkeypatch):
    monkeypatch.setattr(appending, "BYTES_AT_ONCE", 1)
    at_once.catch_up()
    assert commits(at_once.ledger) == [40, 80, 120, 160, 200, 240, 280, 300]


def test_a_few_entries_that_more_join_have_their_rows(at_once, monkeypatch):
    """Else more entries would wait for them than a reader may have to wait for."""
    monkeypatch.setattr(appending, "LEAST_BEHIND", 1)
    with closing(Appending(at_once.ledger, at_once.inbox)) as alone:
        assert alone.append() == 120
    assert at_once.ledger._settled == 120


def test_what_no_longer_follows_in_the_inbox_joins_no_transaction(at_once, monkeypatch):
    """When the third batch was read, entry 80 had been another one for a moment."""
    leaf, moments = at_once.inbox.leaf, iter([True])

    def changed(seq):
        return b"of another past" if seq == 80 and next(moments, False) else leaf(seq)

    monkeypatch.setattr(at_once.inbox, "leaf", changed)
    at_once.catch_up()
    assert commits(at_once.ledger) == [80, 200, 240, 280, 300]
    assert seqs(at_once.ledger) == list(range(1, 301))


def test_nothing_is_left_in_an_inbox_that_took_anothers_place_during_a_transaction(
    at_once, monkeypatch
):
    leaf = at_once.inbox.leaf
    monkeypatch.setattr(at_once.inbox, "leaf", lambda seq: b"" if seq == 120 else leaf(seq))
    with pytest.raises(InboxForked):
        at_once.catch_up()
    assert commits(at_once.ledger) == [120]
    assert at_once.inbox.head() is None


def test_a_reader_does_not_wait_for_an_inbox_that_does_not_answer(at_once, monkeypatch):
    read, stalls, goes_on = at_once.inbox.read, threading.Event(), threading.Event()

    def slow(after, limit, **more):
        if after == 80:
            stalls.set()
            goes_on.wait(30)
        return read(after, limit, **more)

    monkeypatch.setattr(at_once.inbox, "read", slow)
    following = threading.Thread(target=at_once.catch_up)
    following.start()
    try:
        assert stalls.wait(10)
        assert at_once.reader.count("process_state") == 0  # nothing is committed yet
        wait_until(lambda: at_once.ledger.size == 80)  # it ends, since somebody reads
        assert at_once.reader.count("process_state") == 80
    finally:
        goes_on.set()
        following.join()
    assert seqs(at_once.ledger) == list(range(1, 301))


def test_closing_waits_for_the_read_that_was_begun_ahead(service, monkeypatch):
    read, is_read, may_read = service.inbox.read, threading.Event(), threading.Event()

    def slow(after, limit, **more):
        if after:
            may_read.wait(10)
        entries = read(after, limit, **more)
        if after:
            is_read.set()
        return entries

    monkeypatch.setattr(service.inbox, "read", slow)
    alone = Appending(service.ledger, service.inbox)
    assert alone.append() == 40
    threading.Timer(0.2, may_read.set).start()
    alone.close()
    assert is_read.is_set()
