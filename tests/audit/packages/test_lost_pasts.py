"""An auditor's checkpoint of a past that the log lost, held against a package of the log as it is:
the verifier says what the log says, and takes nothing for verified by that."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.audit import export as evidence
from pipeline.audit.export import Exported
from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.log.checkpoints import Signer
from pipeline.verify import GivenUp, read_given_up, verify
from tests.audit.conftest import EVERYTHING, empty_tables, no_rows, request
from tests.ledger.older import (
    SHARED,
    SqlitePast,
    followed,
    in_inbox,
    reconciled,
    rotated,
)
from tests.support.ledgers import said_in
from tests.support.stores import settings_in

OTHERS = 15
SIGNED = SHARED + 1  # with the entry of the rotation
EXPLAINED = (
    f"the checkpoint given, of {SIGNED} entries, is of a past that was given up: entry"
    f" {SHARED + OTHERS + 1} says that the log lost what followed entry {SHARED}, and why. "
)


class Kept:
    """Notes of a past that was lost, and a package of the log that has been reconciled."""

    def __init__(self, notes: list[bytes], package: Exported, service: LedgerService) -> None:
        self.notes, self.package, self.service = notes, package, service


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Twenty entries, a rotation, one checkpoint by the new key: lost. Fifteen others, reconciled:
    the key comes into force later than it had."""
    folder = tmp_path_factory.mktemp("kept")
    past = SqlitePast(folder / "inbox.db", tmp_path_factory.mktemp("past"))
    settings = settings_in(folder, inbox=past.location)
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    signed, _ = rotated(settings)
    assert signed.size == SIGNED
    past.put_back()
    in_inbox(settings, range(200, 200 + OTHERS))
    assert reconciled(settings).seq == SHARED + OTHERS + 1
    with closing(LedgerService(settings)) as service:
        with empty_tables():
            package = evidence.export(service, request(EVERYTHING), folder / "p.zip")
        yield Kept([signed.note.encode()], package, service)


def test_what_the_log_says_of_a_lost_past_is_shown_and_proves_nothing(kept: Kept) -> None:
    """It said "cannot be used: is not signed by the key", as of a forgery."""
    verdict = verify(kept.package.path, kept.package.key, against=kept.notes[0])
    assert verdict.faults == []
    [question] = verdict.undecided
    assert question.startswith(EXPLAINED)
    assert verdict.exit_code == 3
    assert not [it for it in verdict.checked if "continues the earlier" in it]
    assert verify(kept.package.path, kept.package.key).exit_code == 0


def test_what_no_entry_explains_stays_a_fault_whichever_key_of_the_log_signed(kept: Kept) -> None:
    """A retired key that signs again, a new one that signs the past: also over the very root that
    the log has at that size."""
    signer = kept.service.signer
    assert signer is not None
    roots = {
        SHARED - 1: kept.service.ledger.root_at(SHARED - 1),
        SIGNED: b"r" * 32,
        SIGNED + 2: kept.service.ledger.root_at(SIGNED + 2),
    }
    for size, root in roots.items():
        forged = signer.checkpoint(size, root).encode()
        verdict = verify(kept.package.path, kept.package.key, against=forged)
        [fault] = verdict.faults
        shown = "+".join(str(signer.key).split("+", 2)[:2])
        assert fault.startswith(f"the checkpoint given is signed by the log's key {shown}, and ")
        assert "or somebody used a key that was not in force" in fault
        told = f"; entry {SHARED + OTHERS + 1} says that a past was lost" in fault
        assert told is (size == SIGNED)
        assert verdict.undecided == []


def test_a_key_that_is_not_the_logs_is_named_as_before(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "stranger.key").write_text("07" * 32)
    stranger = Signer(kept.service.inbox.log, tmp_path / "stranger.key")
    note = stranger.checkpoint(SIGNED, b"r" * 32).encode()
    verdict = verify(kept.package.path, kept.package.key, against=note)
    [fault] = verdict.faults
    assert fault.startswith("the earlier checkpoint cannot be used: is not signed by the key ")


@no_rows
def test_a_checkpoint_of_the_log_as_it_is_verifies_beside_the_lost_past(
    kept: Kept, tmp_path: Path
) -> None:
    signed = kept.service.checkpoint()
    assert signed is not None
    later = evidence.export(kept.service, request(EVERYTHING), tmp_path / "later.zip")
    verdict = verify(later.path, later.key, against=signed.note.encode())
    assert (verdict.faults, verdict.undecided) == ([], [])
    assert f"the log continues the earlier checkpoint at {signed.size}" in verdict.checked


def test_the_entry_that_explains_says_who_and_why(kept: Kept) -> None:
    with closing(open_inbox(kept.service.settings.inbox)) as inbox:
        [entry] = inbox.find(kind="reconciliation")
    said = said_in(entry)
    assert (entry.seq, said["fork"], said["abandoned_size"]) == (
        SHARED + OTHERS + 1,
        SHARED,
        SIGNED,
    )
    assert (said["reason"], said["actor"]) == ("the standby lagged", "ana")


@pytest.mark.parametrize(("signed", "reached"), [(None, 30), (25, 30), (35, 35)])
def test_a_lost_past_went_as_far_as_the_later_of_its_roots(
    kept: Kept, signed: int | None, reached: int
) -> None:
    """The ledger that lost it may have been ahead of the last checkpoint, or behind it."""
    signer = kept.service.signer
    assert signer is not None
    note = None if signed is None else signer.checkpoint(signed, b"c" * 32)
    said = {"fork": 20, "abandoned_size": 30, "abandoned_root": "61" * 32, "checkpoint": note}
    [found] = read_given_up(50, json.dumps(said).encode(), kept.service.inbox.log)
    others = set() if signed is None else {(signed, b"c" * 32)}
    assert found == GivenUp(50, 20, reached, {(30, b"a" * 32)} | others)
