"""While a batch is written the next one is read, and the log is that of one batch at a time."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline.errors import InboxUnavailable, LedgerRefused, LedgerStalled
from pipeline.inbox import Inbox
from pipeline.ledger.following import appending
from pipeline.ledger.following.appending import Appending
from pipeline.ledger.service import LedgerService
from pipeline.ledger.store import Ledger
from pipeline.settings import Settings

BATCH = 40  # of the 300 entries in the inbox


@pytest.fixture
def service(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LedgerService]:
    monkeypatch.setattr(appending, "MAX_ENTRIES_PER_BATCH", BATCH)
    with closing(LedgerService(settings)) as opened:
        yield opened


class Reads:
    """The inbox's `read`, remembering where each began and on which thread."""

    def __init__(self, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
        self._read = inbox.read
        self.of: list[tuple[int, str]] = []
        self.failing_at: int | None = None
        monkeypatch.setattr(inbox, "read", self.read)

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
        *((after, "appending") for after in range(40, 241, 40)),
        (280, main),  # fewer than a batch
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
    assert [after for after, _ in reads.of][:4] == [0, 40, 80, 40]
    assert seqs(service.ledger) == list(range(1, 301))


def test_a_read_that_fails_ahead_is_tried_again_by_whoever_needs_it(service, monkeypatch):
    reads = Reads(service.inbox, monkeypatch)
    reads.failing_at = 80
    assert service.catch_up() == 300
    assert [after for after, _ in reads.of][:4] == [0, 40, 80, 80]
    assert seqs(service.ledger) == list(range(1, 301))


def test_nothing_is_appended_past_the_size_that_was_asked_for(service):
    with closing(Appending(service.ledger, service.inbox)) as alone:
        assert [alone.append(90), alone.append(90), alone.append(90), alone.append(90)] == [
            *(40, 40, 10, 0)
        ]
        assert seqs(service.ledger) == list(range(1, 91))
        assert alone.append() == 40
    assert seqs(service.ledger) == list(range(1, 131))


def test_what_was_read_ahead_is_read_again_once_the_inbox_has_another_entry_there(
    service, monkeypatch
):
    leaf = service.inbox.leaf
    others = [80]

    def changed(seq):
        return b"of another past" if seq in others and not others.clear() else leaf(seq)

    reads = Reads(service.inbox, monkeypatch)
    monkeypatch.setattr(service.inbox, "leaf", changed)
    service.catch_up()
    assert [after for after, _ in reads.of][:4] == [0, 40, 40, 80]
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
