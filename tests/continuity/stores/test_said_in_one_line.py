"""What `prazo verify` and anyone who writes say of stores that are not served."""

from contextlib import closing

import pytest

from pipeline.continuity.kept_heads import open_guarded
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxForked
from pipeline.serve import ledger_access
from pipeline.settings import Settings
from tests.audit.conftest import entries_alone
from tests.continuity.stores.test_stores import in_inbox


def why_not_written(settings: Settings) -> str:
    with closing(open_guarded(settings)) as inbox, pytest.raises(InboxForked) as refused:
        inbox.probe()
    return refused.value.why


@entries_alone
def test_a_fault_that_comes_with_a_remedy_is_one_readable_line(settings: Settings) -> None:
    """The end of its first line stood in the verdict as `\\u000a`."""
    in_inbox(settings, "update heads set size = 99")
    assert ledger_access.audit(settings, None, lambda *_: None).faults == [
        "The ledger is not served: rebuilt from the inbox, its first 99 entries lead to another"
        " root than the one kept. To fix it: the inbox was changed: restore it from a backup"
    ]


@entries_alone
def test_an_inbox_whose_newest_entry_got_the_next_number_is_said_to_lack_its_own(
    settings: Settings,
) -> None:
    """16 entries were signed, and the inbox held "only 17"."""
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        service.signed_checkpoint()
    in_inbox(settings, "update entries set seq = 17 where seq = 16")
    said = "16 entries were signed, and the inbox lacks number 16: entries that were acknowledged"
    assert why_not_written(settings).startswith(said)
    in_inbox(settings, "delete from entries where seq = 17", "delete from checkpoints")
    said = "16 entries were signed, and the inbox holds only 15: entries that were acknowledged"
    assert why_not_written(settings).startswith(said)
