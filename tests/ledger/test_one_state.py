"""A read sees one state of the ledger, though batches are committed while it runs."""

import threading
from contextlib import closing

from pipeline.continuity.service import LedgerService
from tests.ledger.conftest import deliver


def test_a_batch_that_is_committed_meanwhile_is_seen_whole_or_not_at_all(followed, monkeypatch):
    """The question was made for the state before, and the answer is of the one after: it is asked
    again, of one state."""
    with closing(LedgerService(followed)) as service:
        asked = []
        before = service.ledger.watermark

        def commit_first(snapshot):
            if not asked:
                deliver(service.inbox, range(300, 400))
                service.catch_up()
            asked.append(snapshot)
            rows = snapshot.cursor.execute(
                "select entries, materialized_entries from kept_watermark"
            ).fetchall()
            return rows[0]

        assert service.reader._of_one_state(None, False, commit_first) == (400, 400)
        assert len(asked) == 2
        assert service.ledger.watermark is not before
        assert service.reader._of_one_state(None, False, commit_first) == (400, 400)
        assert len(asked) == 3


def test_while_a_batch_is_being_committed_reads_tell_of_the_state_before(followed, monkeypatch):
    with closing(LedgerService(followed)) as service:
        deliver(service.inbox, range(300, 400))
        is_writing, may_commit = threading.Event(), threading.Event()
        transaction = service.ledger._insert

        def slow(rows):
            transaction(rows)
            is_writing.set()
            assert may_commit.wait(20)

        monkeypatch.setattr(service.ledger, "_insert", slow)
        follower = threading.Thread(target=service.catch_up)
        follower.start()
        assert is_writing.wait(20)
        assert service.ledger.watermark is None
        assert service.reader.count("process_state") == 300
        may_commit.set()
        follower.join()
        assert service.reader.count("process_state") == 400
