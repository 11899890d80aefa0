"""Which head that is kept outside of an inbox is believed, and that none is passed over."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import kept_heads
from pipeline.continuity.kept_heads import Guard, KeptHead, kept, open_guarded, place
from pipeline.errors import InboxForked
from pipeline.inbox import SignedHead, open_inbox
from pipeline.log import tree
from pipeline.log.checkpoints import Signer
from pipeline.log.reconciling import reconciliation
from pipeline.settings import Settings
from tests.inbox.drafts import note
from tests.ledger.conftest import deliver
from tests.ledger.older import (
    LOST,
    ON_SQLITE,
    SHARED,
    Lost,
    Past,
    copies,
    followed,
    lose,
    lost,
    past,
    settings,
)

__all__ = ["copies", "lost", "past", "settings"]

pytestmark = ON_SQLITE
MORE = 15


def head_of(settings: Settings) -> KeptHead:
    head = kept(place(settings))
    assert head is not None
    return head


def test_a_head_of_this_log_that_another_key_signed_is_not_believed(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
) -> None:
    """Anyone who puts an older copy back could as well put a head of it beside it."""
    lose(settings, past, lost, 0)
    past.put_back("whole")
    head = head_of(settings)
    thief = Signer.made(head.log, tmp_path / "thief.key")
    forged = tree.tlog_proof(head.size - 1, head.proof, thief.checkpoint(head.size, head.root))
    place(settings).write_text(forged)
    with (
        closing(open_guarded(settings)) as inbox,
        pytest.raises(InboxForked, match="is not signed with a key that the inbox knows"),
    ):
        deliver(inbox, range(300, 301))
    place(settings).write_text("no head")
    with closing(open_guarded(settings)) as inbox, pytest.raises(InboxForked, match="cannot be re"):
        deliver(inbox, range(300, 301))


@pytest.mark.parametrize("is_here", [True, False])
def test_the_newer_of_the_keepers_head_and_the_one_that_is_here_counts(
    settings: Settings,
    past: Past,
    lost: Lost,
    is_here: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose(settings, past, lost, 0)
    newer = place(settings).read_text()
    past.put_back("shared")
    named = {"ledger": settings.ledger.with_name("2nd.duckdb"), "keeper_url": "http://127.0.0.1:9"}
    there = settings.model_copy(update={**named, "head_file": settings.ledger.with_name("2nd")})
    followed(there.model_copy(update={"keeper_url": None}))
    older = place(there).read_text()
    deliver_others(settings)
    here, asked = (newer, older) if is_here else (older, newer)
    place(there).write_text(here)
    assert [KeptHead.read(it).size for it in (older, newer)] == [SHARED, SHARED + LOST]
    for answer in (KeptHead.read(asked), None):  # the second time, it says that it has none
        monkeypatch.setattr(kept_heads, "ask", lambda _, answer=answer: answer)
        with (
            closing(open_guarded(there)) as inbox,
            pytest.raises(InboxForked, match="entry 30 of the inbox is not the one that was"),
        ):
            deliver(inbox, range(300, 301))


def deliver_others(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        deliver(inbox, range(200, 200 + MORE))


def test_a_checkpoint_over_more_than_the_inbox_has_is_of_a_past_that_ended_or_refused(
    settings: Settings, past: Past
) -> None:
    """Only where that past ended before the checkpoint."""

    def ended(fork: int) -> None:
        said = {"abandoned_size": 9, "reached": 9, "recorded_again": 0, "checkpoint": None}
        who = {"reason": "r", "actor": "ana", "recorded_by": "user:ana"}
        inbox.append([reconciliation(fork=fork, abandoned_root=bytes(32), **said, **who)])

    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([note()])
        inbox.put_checkpoint(SignedHead(8, "of what was lost"))
        for fork in (None, 9, 8):
            if fork is not None:
                ended(fork)
            with pytest.raises(InboxForked, match="a checkpoint over 8: the others are missing"):
                Guard(settings)(inbox)
        ended(7)
        Guard(settings)(inbox)
