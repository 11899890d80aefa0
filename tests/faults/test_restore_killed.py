"""A restore that is killed, and what is started after it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.continuity import backup as backups
from pipeline.continuity import kept_heads
from pipeline.continuity import restore as restores
from pipeline.errors import InboxUnavailable, NotRestored
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests import depth, fork_server
from tests.audit import story
from tests.audit.conftest import (
    at_rest,
    command,
    entries_alone,
    environment,
    followed,
    settings,
    without_checks,
)
from tests.faults.steps import killed, tried
from tests.support.sqlite import opened
from tests.support.stores import settings_in

__all__ = ["at_rest", "followed", "settings", "without_checks"]

ROOT = Path(__file__).parents[2]


def restore_and_die(step: int, given: Sequence[str]) -> None:
    """`prazo restore`, killed as it changes so many names."""
    seen, names = [0], "inbox.db" if "--from-ledger" in given else "taxpayer.key"

    def count(event: str, given: tuple[object, ...]) -> None:
        if event in ("os.rename", "os.link") and names in str(given[0]):
            seen[0] += 1
            if seen[0] == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    main(["restore", *given])


STEPS = depth.few([4, 2, 3, 5], 2)
"""Each name that changes; the first makes the draft."""
READING = "reading"
EVERY = depth.rounds(8, 1)
"""Of the changes that a restore makes to its folder, the one at which it is killed."""


@pytest.mark.parametrize("steps", [[it] for it in STEPS] if depth.is_whole() else [STEPS])
def test_there_is_an_inbox_at_every_moment(settings: Settings, steps: list[int]) -> None:
    """Between two names there was none: the restore could not be run again, and said to start
    `prazo receive`, which would have begun another log."""
    for step in steps:
        program = [sys.executable, "-m", "tests.faults.test_restore_killed", str(step)]
        killed = fork_server.start(
            program, cwd=ROOT, env=environment(settings), stderr=subprocess.PIPE, text=True
        )
        _, said = killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL, said
        with closing(open_inbox(settings.inbox, create=False)) as inbox:
            assert inbox.last()[0] == 16
    done = command(settings, "restore", "--from-ledger")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "VERIFIED")


@pytest.mark.long
def test_a_restore_that_is_cut_off_on_a_new_machine_lets_nothing_begin_until_it_is_done(
    settings: Settings, tmp_path: Path, write_shim: Mapping[str, str]
) -> None:
    """It left keys and a lock. A service that starts at boot began another log and answered 200."""
    saved, machine = tmp_path / "saved", tmp_path / "new"
    backups.backup(settings, saved, with_keys=True)
    with closing(open_inbox(settings.inbox)) as inbox:
        whole = [inbox.log, 16]
    environment = {**write_shim, "SAVED": str(saved)}
    left = tried("restore", machine, str(machine / "inbox.db"), machine, None, environment, EVERY)
    assert len(killed(left)) > 60 / EVERY
    keys = ["signing.key", "taxpayer.key"]
    for step, _, code, (begins, had, after, has) in left:
        if begins == "refused":
            assert (after, code != 0) == (whole, True), step
        elif begins == whole:
            assert sorted(had) == keys, step
        else:  # nothing of the restore was there: a log of its own, which is then set aside
            assert (begins[1], had, after) == (0, [], whole), step
        assert sorted(has) == keys, step
    assert sum(it.found[0] == "refused" for it in left) > 40 / EVERY


@entries_alone
def test_a_restore_that_was_cut_off_is_named_by_whatever_starts_and_can_be_undone(
    settings: Settings, tmp_path: Path
) -> None:
    saved, new = tmp_path / "saved", settings_in(tmp_path / "new")
    backups.backup(settings, saved, with_keys=True)
    new.ledger.parent.mkdir()
    half_restore(new, saved)
    lock = tmp_path / "new" / "inbox.db.restoring.lock"
    assert lock.exists()
    why = "`prazo restore` was cut off while it put prazo/"
    for command_line in ("receive",), ("artifacts",), ("doctor",), ("verify",):
        refused = command(new, *command_line)
        assert refused.returncode == 1
        assert why in refused.stdout + refused.stderr
        assert "`prazo restore --undo`" in refused.stdout + refused.stderr
    assert command(new, "restore", str(tmp_path / "keys")).returncode == 1  # no inbox there
    assert lock.read_bytes() != b""
    undone = command(new, "restore", "--undo")
    assert undone.returncode == 0
    [kept] = (tmp_path / "new" / "keys").glob("signing.key*")
    assert undone.stdout.splitlines() == [
        f"  note     the key {kept.parent / 'signing.key'} was kept as {kept.name}",
        "Nothing of the restore that was cut off is in place any more.",
    ]
    assert kept.name.startswith("signing.key.set-aside-")
    assert [it.name for it in lock.parent.iterdir()] == ["keys"]
    assert command(new, "restore", "--undo").returncode == 1
    with closing(kept_heads.open_shared(new)) as inbox:
        assert inbox.last()[0] == 0


@entries_alone
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_restore_that_is_cut_off_while_it_reads_the_backup_lets_nothing_begin_either(
    settings: Settings, tmp_path: Path, request: pytest.FixtureRequest, engine: str
) -> None:
    """The mark came after the proof, which takes as long as the log is large: `prazo receive` began
    another log and answered 200; on PostgreSQL in the very database that was to be filled."""
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)
    more = {"inbox": request.getfixturevalue("database")} if engine == "postgres" else {}
    new = settings_in(tmp_path / "new", **more)
    program = [sys.executable, "-m", "tests.faults.test_restore_killed", READING, str(saved)]
    killed = fork_server.start(program, cwd=ROOT, env=environment(new))
    assert killed.wait(timeout=60) == -signal.SIGKILL
    with pytest.raises(InboxUnavailable) as refused:
        kept_heads.open_shared(new)
    assert "was cut off while it put prazo/" in refused.value.why
    assert restores.restore(new, saved).entries == 16
    with closing(kept_heads.open_shared(new)) as inbox:
        assert inbox.last()[0] == 16


@entries_alone
def test_a_restore_that_finds_no_room_on_a_new_machine_lets_nothing_begin(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with 1 and took all back, and the service that started at the next boot began
    another log and answered 200."""
    saved, new = tmp_path / "saved", settings_in(tmp_path / "new")
    backups.backup(settings, saved, with_keys=True)

    def full(*_: object, **__: object) -> int:
        raise InboxUnavailable("The inbox cannot be written", "database or disk is full")

    monkeypatch.setattr(restores, "copy_entries", full)
    with pytest.raises(InboxUnavailable, match="was not put back"):
        restores.restore(new, saved)
    assert [*new.signing_key_file.parent.iterdir()] == []
    with pytest.raises(InboxUnavailable, match="is not used"):
        kept_heads.open_shared(new)
    monkeypatch.setattr(restores, "copy_entries", backups.copy_entries)
    assert restores.restore(new, saved).entries == 16
    monkeypatch.setattr(restores, "copy_entries", full)
    with pytest.raises(InboxUnavailable):
        restores.restore(new, saved)
    with closing(kept_heads.open_shared(new)) as inbox:  # the one that was there
        assert inbox.last()[0] == 16


@entries_alone
def test_a_backup_that_is_refused_leaves_no_mark(settings: Settings, tmp_path: Path) -> None:
    saved, new = tmp_path / "saved", settings_in(tmp_path / "new")
    backups.backup(settings, saved, with_keys=True)
    with closing(opened(saved / "inbox.db")) as changed, changed:
        changed.execute("drop trigger entries_no_update")
        changed.execute("update entries set leaf = zeroblob(20) where seq = 3")
    with pytest.raises(NotRestored):
        restores.restore(new, saved)
    with closing(kept_heads.open_shared(new)) as inbox:
        assert inbox.last()[0] == 0


@entries_alone
def test_over_another_log_it_names_the_file_set_aside_and_the_deliveries_in_it(
    settings: Settings, tmp_path: Path
) -> None:
    """It named the file, and not that deliveries stand in it which were answered 200."""
    saved, new = tmp_path / "saved", settings_in(tmp_path / "new")
    backups.backup(settings, saved, with_keys=True)
    with closing(open_inbox(new.inbox)) as other:
        for event in ("only-here-1", "only-here-2"):
            story.deliver(other, event)
        story.deliver_bytes(other, b"not to be read")
        with closing(open_inbox(settings.inbox)) as inbox:
            [known] = inbox.find(event_id="e2")
        story.deliver_bytes(other, known.body or b"")
        log = other.log
    done = restores.restore(new, saved)
    [aside] = (tmp_path / "new").glob("inbox.db.set-aside-*")
    assert done.notes[1].startswith(
        f"{aside} holds 4 entries of another log, {log}, that were not put back; 3 of them are"
        " deliveries answered 200, and in no other file here. Keep it: "
    )


def half_restore(machine: Settings, saved: Path) -> None:
    """A restore in a process of its own that is killed before its inbox takes its place."""
    program = [sys.executable, "-m", "tests.faults.test_restore_killed", "1", str(saved)]
    killed = fork_server.start(program, cwd=ROOT, env=environment(machine))
    assert killed.wait(timeout=60) == -signal.SIGKILL


def restore_and_die_reading(saved: str) -> None:
    """`prazo restore`, killed before the first entry of the backup is read."""
    restores._proved = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
    main(["restore", saved])


if __name__ == "__main__":
    if sys.argv[1] == READING:
        restore_and_die_reading(sys.argv[2])
    restore_and_die(int(sys.argv[1]), sys.argv[2:] or ["--from-ledger"])
