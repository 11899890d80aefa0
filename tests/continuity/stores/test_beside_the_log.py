"""What the ledger's file says beside the log is verified as far as something follows from it."""

from contextlib import closing

import duckdb
import pytest

from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.log import reconciling
from pipeline.settings import Settings
from tests.audit.conftest import entries_alone


def in_ledger(settings: Settings, statement: str) -> list[str]:
    """The faults of the stores once somebody changed the ledger's file."""
    with duckdb.connect(str(settings.ledger)) as connection:
        connection.execute(statement)
    with closing(LedgerService(settings)) as service:
        return audit(service).faults


@entries_alone
def test_a_ledger_that_says_it_was_begun_after_erasures_to_come_is_named(
    settings: Settings,
) -> None:
    """It would not have been made again after them: the person stood in it, and in its pages."""
    [fault] = in_ledger(settings, "update meta set value = '999' where name = 'erased_to'")
    assert fault.startswith(
        "the ledger says that it was begun after entry 999 erased something, and none so new did"
    )
    with closing(LedgerService(settings)) as service:
        service.rebuild()
        assert audit(service).faults == []


def test_a_key_that_waits_for_an_entry_to_come_is_named(settings: Settings) -> None:
    """An inbox that is put back from the ledger would have taken it for that entry's."""
    [fault] = in_ledger(settings, "insert into ingest_keys values (17, 'x'::blob)")
    assert fault.startswith("the check ingest_keys_astray: 1 row: seq 17, keys 1, entries 0.")


@entries_alone
@pytest.mark.parametrize(
    "statement",
    [
        "insert into tree_heads select size + 9, root, peaks, recorded_at from tree_heads",
        "update meta set value = 'never' where name = 'erased_to'",
    ],
)
def test_a_ledger_that_says_of_itself_what_none_says_is_made_again(
    settings: Settings, statement: str
) -> None:
    """The dashboard did not start any more, with a traceback."""
    assert in_ledger(settings, statement) == []


@entries_alone
def test_no_entry_explains_a_kept_checkpoint_away(settings: Settings) -> None:
    """Whoever has the key rewrites the log, and adds an entry by which the past that somebody keeps
    a checkpoint of was lost: the stores were verified against that checkpoint, with a note that its
    entries followed again."""
    with closing(LedgerService(settings)) as service:
        assert service.signer is not None
        kept = service.signer.checkpoint(12, b"r" * 32)
        made_up = reconciling.reconciliation(
            fork=10,
            abandoned_size=12,
            abandoned_root=b"r" * 32,
            recorded_again=0,
            reached=12,
            checkpoint=None,
            reason="the standby lagged",
            actor="ana",
            recorded_by="user:ana",
        )
        service.inbox.append([made_up])
        service.catch_up()
        verdict = audit(service, against=kept)
    assert (verdict.faults, verdict.exit_code) == ([], 3)
    [question] = verdict.undecided
    assert "entry 17 says that the inbox lost what followed entry 10" in question
