"""What a ledger gives back to an inbox that lost its newest entries: only what is vouched for."""

from contextlib import closing

import duckdb
import pytest

from pipeline.continuity.kept_heads import place
from pipeline.continuity.recovery import give_back
from pipeline.continuity.service import LedgerService
from pipeline.errors import LedgerRefused
from pipeline.inbox import Head
from pipeline.settings import Settings
from tests.continuity.following.test_following import without_its_last_ten
from tests.support.sqlite import opened


@pytest.mark.parametrize("voucher", ["heads", "checkpoints", "outside"])
def test_each_head_vouches_by_itself(followed: Settings, voucher: str) -> None:
    with closing(LedgerService(followed)) as service:
        service.sign()
    without_its_last_ten(followed)
    with closing(opened(followed.inbox)) as raw, raw:
        for table in {"heads", "checkpoints"} - {voucher}:
            raw.execute(f"delete from {table}")
    if voucher != "outside":
        place(followed).unlink()
    with closing(LedgerService(followed)) as service:
        assert "the inbox had lost its last 10 entries" in (service.status().recovered or "")
        assert service.inbox.last()[0] == 300


def test_only_what_leads_to_every_root_that_was_kept_is_given_back(followed: Settings) -> None:
    with closing(LedgerService(followed)) as service:
        ledger, inbox = service.ledger, service.inbox
        right, wrong = Head(300, ledger.frontier.root()), Head(300, ledger.root_at(299))
        without_its_last_ten(followed)
        for vouchers, why in (
            ([], "no head or signature"),
            ([Head(299, ledger.root_at(299)), Head(301, right.root)], "no head or signature"),
            ([wrong], "lead to another root"),
            ([right, wrong], "lead to another root"),
        ):
            with pytest.raises(LedgerRefused, match=why):
                give_back(ledger, inbox, vouchers)
            assert inbox.last()[0] == 290
        with closing(opened(followed.inbox)) as raw, raw:
            raw.execute("drop trigger entries_no_update")
            [(leaf,)] = raw.execute("select leaf from entries where seq = 290").fetchall()
            raw.execute("update entries set leaf = x'7b7d' where seq = 290")
        with pytest.raises(LedgerRefused, match="they differ at entry 290 already"):
            give_back(ledger, inbox, [right])
        with closing(opened(followed.inbox)) as raw, raw:
            raw.execute("update entries set leaf = ? where seq = 290", (leaf,))
        inbox.guard(lambda _: None)  # that of the head outside, which knows of the loss
        assert give_back(ledger, inbox, [right]) == 10
        assert inbox.last()[0] == 300


def test_bytes_that_were_changed_in_the_ledger_are_not_given_back(followed: Settings) -> None:
    """Its leaf, and so the root, is what it was: anyone who has the file writes what they like."""
    with closing(duckdb.connect(str(followed.ledger))) as raw:
        raw.execute("drop trigger log_no_update on log").fetchall()
        raw.execute("update log set body = '{}'::blob where seq = 295").fetchall()
    without_its_last_ten(followed)
    with pytest.raises(LedgerRefused, match="entries of the ledger are not as they were recorded"):
        LedgerService(followed)
    with closing(opened(followed.inbox)) as raw:
        assert raw.execute("select max(seq) from entries").fetchone() == (290,)
