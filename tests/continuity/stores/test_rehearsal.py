"""A backup is put back elsewhere, verified and timed, and nothing in use is touched."""

import re
import signal
import sys
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import rehearsal
from pipeline.continuity import restore as restores
from pipeline.errors import NotRestored
from pipeline.inbox import copies, open_inbox
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.settings import Settings
from tests import fork_server
from tests.audit import story
from tests.audit.conftest import command, entries_alone, environment
from tests.continuity.stores.test_stores import in_inbox
from tests.support.machine import wait_until
from tests.support.stores import settings_in


def last(settings: Settings) -> int | None:
    with closing(open_inbox(settings.inbox, create=False)) as inbox:
        return heartbeats(inbox).get(Part.REHEARSAL)


def files(settings: Settings) -> dict[Path, bytes]:
    """What lies in the folder of the stores, but for the inbox and its WAL."""
    found = settings.ledger.parent.rglob("*")
    kept = {it: it.read_bytes() for it in found if it.is_file() and "saved" not in it.parts}
    return {it: content for it, content in kept.items() if not it.name.startswith("inbox.db")}


def test_a_rehearsal_says_how_long_it_took_and_leaves_nothing_but_its_time(
    settings: Settings, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)
    before = files(settings)
    assert last(settings) is None
    done = command(settings, "restore", str(saved), "--rehearse")
    assert done.returncode == 0, done.stdout
    said = r"16 entries of prazo/[0-9a-f]{16}, 2 artifacts put back elsewhere and verified in"
    assert re.match(rf"{said} [0-9.]+ s; nothing here was changed\n", done.stdout)
    assert done.stdout.endswith("VERIFIED\n")
    assert files(settings) == before
    assert last(settings) is not None
    assert "rehearsal" in command(settings, "doctor").stdout


@entries_alone
def test_what_is_rehearsed_may_send_nothing_and_reaches_nobody(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    seen: list[Settings] = []
    real = rehearsal.restore

    def restored(scratch: Settings, *arguments: object, **more: object) -> object:
        done = real(scratch, *arguments, **more)  # type: ignore[arg-type]
        with closing(open_inbox(scratch.inbox, create=False)) as inbox:
            assert copies.why_held(inbox)
        seen.append(scratch)
        return done

    monkeypatch.setattr(rehearsal, "restore", restored)
    live = settings.model_copy(
        update={"platform_url": "https://platform.example", "keeper_url": "http://127.0.0.1:9"}
    )
    rehearsal.rehearse(live, tmp_path / "saved")
    [scratch] = seen
    assert {getattr(scratch, name) for name in rehearsal._NOWHERE} == {None}
    stores = (scratch.inbox, scratch.ledger, scratch.artifacts, scratch.signing_key_file)
    assert not {settings.inbox, settings.ledger, settings.artifacts} & {*stores}
    assert not any(Path(it).exists() for it in stores)


@entries_alone
def test_a_database_in_use_is_rehearsed_in_a_file(
    settings: Settings, tmp_path: Path, database: str
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)
    elsewhere = settings_in(tmp_path / "elsewhere", inbox=database)
    restores.restore(elsewhere, saved)
    assert rehearsal.rehearse(elsewhere, saved).restored.verdict.exit_code == 0
    assert last(elsewhere) is not None


@entries_alone
@pytest.mark.parametrize("of", ["a changed backup", "another log", "entries that are not here"])
def test_a_rehearsal_of_what_would_not_help_does_not_count(
    settings: Settings, tmp_path: Path, of: str
) -> None:
    saved = tmp_path / "saved"
    if of == "another log":
        other = settings_in(tmp_path / "other")
        with closing(open_inbox(other.inbox)) as inbox:
            story.deliver(inbox, "x")
        backups.backup(other, saved)
    else:
        backups.backup(settings, saved, with_keys=True)
    if of == "a changed backup":
        in_inbox(
            settings.model_copy(update={"inbox": str(saved / "inbox.db")}),
            "update entries set body = x'7b7d' where seq = 9",
        )
    if of == "entries that are not here":
        in_inbox(settings, "update entries set leaf = x'7b7d' where seq = 16")
    with pytest.raises(NotRestored):
        rehearsal.rehearse(settings, saved)
    assert last(settings) is None
    assert not list(settings.ledger.parent.glob(f"{rehearsal.SCRATCH}*"))


def test_what_a_killed_rehearsal_left_is_removed_by_the_next(
    settings: Settings, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)

    def left() -> list[Path]:
        return [*settings.ledger.parent.glob(f"{rehearsal.SCRATCH}*/inbox.db*")]

    process = fork_server.start(
        [sys.executable, "-m", "pipeline.cli", "restore", str(saved), "--rehearse"],
        env=environment(settings),
        cwd=settings.ledger.parent,
        stdout=PIPE,
        stderr=PIPE,
    )
    wait_until(left, pause=0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert left()
    assert last(settings) is None
    assert command(settings, "restore", str(saved), "--rehearse").returncode == 0
    assert not left()
