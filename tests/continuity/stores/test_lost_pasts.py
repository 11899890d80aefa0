"""A checkpoint of a past that the log lost, held against the stores: what the log says of it, and
what nobody can tell. Only what contradicts the log is called a forgery."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import earlier
from pipeline.continuity.reconcile import Missed
from pipeline.continuity.service import LedgerService
from pipeline.inbox import SignedHead, open_inbox
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from pipeline.verify import Verdict
from tests.ledger.older import SHARED, SqlitePast, followed, in_inbox, reconciled
from tests.support.lines import finished
from tests.support.stores import settings_in

OTHERS = 15


def signed(settings: Settings) -> SignedHead:
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        service.sign()
        newest = service.checkpoint()
        assert newest is not None
        return newest


def lost(
    folder: Path, *, others: int, has_ledger: bool, ended: Sequence[str] = ()
) -> tuple[Settings, list[SignedHead]]:
    """Twenty entries; ten more, with a checkpoint after five and after ten of them, which are lost,
    and of which the ledger may be lost, too; so many others, reconciled. Both checkpoints. `ended`:
    the first of what is lost are ends of attempts, for which another system said these words."""
    stores, copies = folder / "stores", folder / "copies"
    for made in (stores, copies):
        made.mkdir(parents=True)
    past = SqlitePast(stores / "inbox.db", copies)
    settings = settings_in(stores, inbox=past.location)
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    notes = []
    lines = [finished(f"a{at}", None, error=said) for at, said in enumerate(ended)]
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([read_line(json.dumps(it).encode(), recorded_by="file") for it in lines])
    for first in (100 + len(ended), 105):
        in_inbox(settings, range(first, 105 if first < 105 else 110))
        notes.append(signed(settings))
    past.put_back()
    if not has_ledger:
        settings.ledger.unlink()
    in_inbox(settings, range(200, 200 + others))
    assert reconciled(settings, accepts_loss=not has_ledger).seq == SHARED + others + 1
    return settings, notes


def held_against(settings: Settings, note: str, *, without_bodies: bool) -> Verdict:
    verdict = Verdict()
    with closing(
        LedgerService(settings, is_keeper=not without_bodies, without_bodies=without_bodies)
    ) as service:
        service.catch_up()
        earlier.judge(service, note, verdict)
    return verdict


@pytest.mark.parametrize("without_bodies", [False, True])
def test_each_checkpoint_of_what_was_recorded_again_is_explained(
    tmp_path: Path, without_bodies: bool
) -> None:
    """With a ledger without bodies the verdict was NOT VERIFIED: not JSON."""
    settings, notes = lost(tmp_path, others=OTHERS, has_ledger=True)
    if without_bodies:
        settings = settings.model_copy(update={"ledger": tmp_path / "analyst.duckdb"})
    for each in notes:
        verdict = held_against(settings, each.note, without_bodies=without_bodies)
        assert (verdict.faults, verdict.exit_code) == ([], 3)
        [said] = verdict.undecided
        assert said.startswith("The earlier checkpoint is of a past that was given up: entry 36")


def test_an_end_in_words_that_was_recorded_again_is_known_to_a_ledger_without_its_record(
    tmp_path: Path,
) -> None:
    """It has none where its mask hides a part. The verdict said of entries that are all there that
    not all of them had been recorded again, and could not tell."""
    ended = ("connection refused for Olinda", "timeout")
    settings, [within, _] = lost(tmp_path, others=OTHERS, has_ledger=True, ended=ended)
    settings = settings.model_copy(update={"ledger": tmp_path / "analyst.duckdb"})
    verdict = held_against(settings, within.note, without_bodies=True)
    assert (verdict.faults, verdict.exit_code) == ([], 3)
    [said] = verdict.undecided
    assert said.startswith("The earlier checkpoint is of a past that was given up: entry 36")


def test_one_before_the_root_that_was_given_up_may_be_of_what_is_lost_for_good(
    tmp_path: Path,
) -> None:
    """It was THE LOG WAS REWRITTEN, though the log says that nobody has those entries any more."""
    settings, [within, newest] = lost(tmp_path, others=OTHERS, has_ledger=False)
    for each, how in ((within, "may be"), (newest, "is")):
        verdict = held_against(settings, each.note, without_bodies=False)
        assert (verdict.faults, verdict.exit_code) == ([], 3)
        assert verdict.undecided[0].startswith(f"The earlier checkpoint {how} of a past that was")
    assert (
        "up to 30, and not all of that was recorded again"
        in held_against(settings, within.note, without_bodies=False).undecided[0]
    )


def test_one_that_contradicts_what_the_log_says_stays_a_fault(tmp_path: Path) -> None:
    """The root that was given up, and each before it, is known: no other is of that past. Nor is
    one of any other size."""
    settings, _ = lost(tmp_path, others=OTHERS, has_ledger=True)
    with closing(LedgerService(settings)) as service:
        assert service.signer is not None
        for size in (SHARED - 1, SHARED + 5, SHARED + 10, SHARED + 12):
            note = service.signer.checkpoint(size, b"r" * 32)
            verdict = Verdict()
            earlier.judge(service, note, verdict)
            assert verdict.faults == [
                f"THE LOG WAS REWRITTEN: the log had another root when it had {size} entries"
            ]


def test_a_log_that_is_shorter_than_the_past_it_gave_up_explains_that_ones_root_alone(
    tmp_path: Path,
) -> None:
    """It was called another log, though its newest entry names that very root. Any other may be of
    a log that was cut off since."""
    settings, [within, newest] = lost(tmp_path, others=0, has_ledger=False)
    verdict = held_against(settings, newest.note, without_bodies=False)
    assert (verdict.faults, verdict.exit_code) == ([], 3)
    [fault] = held_against(settings, within.note, without_bodies=False).faults
    assert fault.startswith("The earlier checkpoint is not one of this log's past: it has 25 ent")
    assert fault.endswith("or it is of a past that was given up, as entry 21 says of one")


def test_one_beyond_the_root_that_was_given_up_may_be_of_what_only_a_receiver_missed(
    tmp_path: Path,
) -> None:
    """As far as that receiver says that its past went, and no further."""
    settings = settings_in(tmp_path)
    in_inbox(settings, range(SHARED))
    followed(settings)
    assert reconciled(settings, missed=Missed(21, 25), accepts_loss=True).seq == 21
    in_inbox(settings, range(200, 210))
    followed(settings)
    with closing(LedgerService(settings)) as service:
        assert service.signer is not None
        notes = {it: service.signer.checkpoint(it, b"r" * 32) for it in (21, 25, 26)}
    verdicts = [held_against(settings, it, without_bodies=False) for it in notes.values()]
    assert [it.exit_code for it in verdicts] == [3, 3, 1]


def test_each_of_several_losses_is_explained_by_its_own_reconciliation(tmp_path: Path) -> None:
    """The first is lost with what it recorded again, when the copy from before it is put back once
    more: what it had shown then, nobody can show any longer."""
    settings, [within, newest] = lost(tmp_path, others=OTHERS, has_ledger=True)
    past = SqlitePast(Path(settings.inbox), tmp_path / "copies")
    past.keep("later")
    in_inbox(settings, range(300, 303))
    followed(settings)
    past.put_back("later")
    in_inbox(settings, range(400, 401))
    assert reconciled(settings).seq == 48
    past.put_back()
    in_inbox(settings, range(500, 503))
    assert reconciled(settings).seq == 24
    for each, how in ((within, "may be"), (newest, "is")):
        verdict = held_against(settings, each.note, without_bodies=False)
        assert (verdict.faults, verdict.exit_code) == ([], 3)
        assert verdict.undecided[0].startswith(f"The earlier checkpoint {how} of a past that was")
