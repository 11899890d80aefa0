"""The drill: back up while everything runs, lose the machine, put it back, prove it."""

import os
import re
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from pipeline.audit import export
from pipeline.audit.request import Scope
from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxMissing, NotRestored, OperatorError
from pipeline.inbox import open_inbox
from pipeline.log.actions import By
from pipeline.log.deliveries import Delivery
from pipeline.settings import Settings
from pipeline.verify import verify
from tests import fork_server
from tests.audit import story
from tests.audit.conftest import command, entries_alone, environment, no_rows, request
from tests.continuity.stores.test_stores import in_inbox
from tests.support.commands import here
from tests.support.ledgers import said_in
from tests.support.stores import environment_in, settings_in


@entries_alone
@no_rows
def test_a_backup_of_a_running_log_is_put_back_with_the_same_root(
    settings: Settings, tmp_path: Path
) -> None:
    """Entries arrive and are followed all the while, and a second backup adds what is new."""
    service = LedgerService(settings)
    service.start()
    stop = threading.Event()

    def sign() -> None:
        service.reach(service.inbox.last()[0])
        service.checkpoint()

    def receive() -> None:
        number = 0
        while not stop.wait(0.05):
            story.deliver(service.inbox, f"live-{number}")
            number += 1

    receiving = threading.Thread(target=receive)
    receiving.start()
    try:
        first = backups.backup(settings, tmp_path / "saved", with_keys=True, sign=sign)
        second = backups.backup(settings, tmp_path / "saved", with_keys=True, sign=sign)
    finally:
        stop.set()
        receiving.join()
    service.reach(second.entries)
    root = service.ledger.root_at(second.entries)
    service.close()
    assert first.entries >= 16
    assert second.entries - first.entries == second.new_entries >= 0
    assert (first.unsigned, second.unsigned) == (0, 0)
    assert (first.new_artifacts, second.new_artifacts) == (2, 0)
    elsewhere = settings_in(tmp_path / "elsewhere")
    done = restores.restore(elsewhere, tmp_path / "saved")
    assert done.verdict.faults == []
    assert (done.entries, done.artifacts) == (second.entries, 2)
    with closing(LedgerService(elsewhere)) as restored:
        assert restored.ledger.root_at(second.entries) == root
        assert restored.signer is not None
        package = export.export(restored, request(Scope(process_id="p1")), tmp_path / "p.zip")
        story.deliver(restored.inbox, "it goes on")
        restored.catch_up()
        assert restored.ledger.size == second.entries + 2
    assert verify(package.path, package.key).faults == []


def test_keys_are_copied_by_choice_and_for_their_owner_alone(
    settings: Settings, tmp_path: Path
) -> None:
    assert backups.backup(settings, tmp_path / "without").keys == ()
    assert not (tmp_path / "without" / "keys").exists()
    kept = backups.backup(settings, tmp_path / "with", with_keys=True).keys
    assert [it.name for it in kept] == ["signing.key", "taxpayer.key"]
    assert {stat.S_IMODE(it.stat().st_mode) for it in kept} == {0o600}
    assert stat.S_IMODE((tmp_path / "with").stat().st_mode) == 0o700


@entries_alone
def test_a_backup_without_keys_is_put_back_and_says_whose_word_its_first_key_is(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    elsewhere = settings_in(tmp_path / "elsewhere")
    done = restores.restore(elsewhere, tmp_path / "saved")
    assert done.verdict.faults == []
    assert any("that the log's first key is prazo/" in it for it in done.verdict.notes)
    assert not elsewhere.signing_key_file.exists()


def test_another_key_is_never_replaced(settings: Settings, tmp_path: Path) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    settings.signing_key_file.write_text("00" * 32 + "\n", encoding="ascii")
    with pytest.raises(OperatorError, match="was not replaced"):
        backups.backup(settings, tmp_path / "saved", with_keys=True)


CHANGES = {
    "a leaf": "update entries set leaf = cast(leaf || ' ' as blob) where seq = 3",
    "a body": "update entries set body = x'7b7d' where seq = 9",
    "an answer": "update entries set status = 200 where seq = 7",
    "an entry removed": "delete from entries where seq = 16",
    "a key of another line": "update entries set ingest_key = randomblob(32) where seq = 1",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_that_was_changed_is_refused_before_anything_is_put_anywhere(
    settings: Settings, tmp_path: Path, change: str
) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    in_inbox(settings_in(tmp_path / "saved"), CHANGES[change])
    elsewhere = settings_in(tmp_path / "elsewhere")
    with pytest.raises(OperatorError, match="Nothing was restored"):
        restores.restore(elsewhere, tmp_path / "saved")
    assert not (tmp_path / "elsewhere" / "inbox.db").exists()


@entries_alone
def test_a_backup_that_changes_while_it_is_put_back_is_not_verified(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entries are read twice, to be proved and to be copied: what nobody had proved was
    VERIFIED."""
    backups.backup(settings, tmp_path / "saved")

    def later(*_: object) -> None:
        changes = ("delete from entries where seq > 9", "delete from heads")
        in_inbox(settings_in(tmp_path / "saved"), *changes, "delete from checkpoints")

    monkeypatch.setattr(restores, "_require_the_same", later)
    restored = restores.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "saved")
    assert restored.entries == 9
    assert restored.verdict.faults == [
        "the backup changed while it was put back: this is not what was proved"
    ]


def turned(content: bytes) -> bytes:
    """The bytes with every bit of some turned, none of them in the first pages."""
    damaged = bytearray(content)
    for at in range(21_000, len(damaged), 3000):
        damaged[at] ^= 255
    return bytes(damaged)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda content: content[: len(content) // 2],
    "zeroed": lambda content: bytes(len(content)),
    "empty": lambda content: b"",
    "bits turned": turned,
    "no file": lambda content: b"gone",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_refused_as_that_with_what_to_do(
    settings: Settings, tmp_path: Path, damage: str
) -> None:
    """It said that the inbox could not be migrated, and to stop every process that uses it."""
    backups.backup(settings, tmp_path / "saved")
    saved = tmp_path / "saved" / "inbox.db"
    content = DAMAGES[damage](saved.read_bytes())
    if content == b"gone":
        saved.unlink()
    else:
        saved.write_bytes(content)
    elsewhere = settings_in(tmp_path / "elsewhere")
    with pytest.raises(NotRestored) as refused:
        restores.restore(elsewhere, tmp_path / "saved")
    said = refused.value
    assert said.what == "Nothing was restored"
    whys = [f"the backup in {tmp_path / 'saved'} cannot be read: "]
    if damage == "bits turned":  # where they lie decides whether SQLite notices
        whys.append("what was to be put back has been changed")
    assert said.why.startswith(tuple(whys))
    assert (said.remedy, said.exit_code) == ("try another backup", 1)
    assert not (tmp_path / "elsewhere" / "inbox.db").exists()


def test_a_restore_that_refuses_a_changed_or_unsigned_backup_ends_with_1(
    settings: Settings, tmp_path: Path
) -> None:
    for changes in (CHANGES["a body"],), UNSIGNED["heads and checkpoints deleted"]:
        folder = tmp_path / f"saved-{len(changes)}"
        backups.backup(settings, folder)
        in_inbox(settings_in(folder), *changes)
        elsewhere = settings_in(tmp_path / f"elsewhere-{len(changes)}")
        elsewhere.ledger.parent.mkdir()
        refused = command(elsewhere, "restore", str(folder))
        assert (refused.returncode, "Error: Nothing was restored" in refused.stderr) == (1, True)


UNSIGNED = {
    "heads and checkpoints deleted": ("delete from heads", "delete from checkpoints"),
    "the newest entries, and what was signed over them": (
        "delete from heads",
        "delete from checkpoints",
        "delete from entries where seq > 9",
    ),
    "keys as well": (
        "delete from heads",
        "delete from checkpoints",
        "drop trigger signing_keys_no_delete",
        "delete from signing_keys",
    ),
}


@entries_alone
@pytest.mark.parametrize("change", UNSIGNED)
def test_what_no_signature_covers_is_refused_until_a_person_insists_by_name(
    settings: Settings, tmp_path: Path, change: str
) -> None:
    """A thief of the backup changed it, and deleted what would have told: it was VERIFIED."""
    backups.backup(settings, tmp_path / "saved")
    in_inbox(settings_in(tmp_path / "saved"), *UNSIGNED[change])
    elsewhere = settings_in(tmp_path / "elsewhere")
    with pytest.raises(OperatorError, match="no signature covers its entries"):
        restores.restore(elsewhere, tmp_path / "saved")
    assert not Path(elsewhere.inbox).exists()
    insisted = By("it lay in our safe", "ana", "user:root")
    done = restores.restore(elsewhere, tmp_path / "saved", insisted=insisted)
    with closing(open_inbox(elsewhere.inbox)) as inbox:
        [entry] = inbox.find(kind="restoration")
        assert said_in(entry) == {
            "actor": "ana",
            "reason": "it lay in our safe",
            "signed": 0,
            "put_back": entry.seq - 1,
        }
        assert entry.seq == inbox.last()[0] == done.entries
    assert any(f"entries 1 to {entry.seq - 1}: ana insisted" in it for it in done.notes)


@entries_alone
def test_entries_after_the_last_signature_are_left_out_until_the_command_has_them_signed(
    settings: Settings, tmp_path: Path
) -> None:
    """They were refused with all that was signed before them."""
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "not signed yet")
    assert backups.backup(settings, tmp_path / "saved").unsigned == 1
    without = restores.restore(settings_in(tmp_path / "without"), tmp_path / "saved")
    assert (without.entries, without.verdict.faults) == (16, [])
    assert without.notes[0].startswith("the newest entry of the backup, 17, was left out: ")
    done = command(settings, "backup", str(tmp_path / "saved"))
    assert (done.returncode, "No signature" in done.stderr) == (0, False)
    restored = restores.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "saved")
    assert (restored.entries, restored.verdict.faults) == (17, [])


@entries_alone
def test_a_checkpoint_kept_elsewhere_tells_a_backup_that_was_signed_by_another_key(
    settings: Settings, tmp_path: Path
) -> None:
    """A thief without the key rewrote the log, and signed it under a key of his own."""
    with closing(LedgerService(settings)) as service:
        kept = service.signed_checkpoint().note
    backups.backup(settings, tmp_path / "saved")
    honest = settings_in(tmp_path / "honest")
    verdict = restores.restore(honest, tmp_path / "saved", against=kept).verdict
    assert (verdict.faults, "checkpoint was given" in str(verdict.notes)) == ([], False)
    assert "  checked  the log continues the earlier checkpoint at 16" in verdict.lines()

    forged = settings_in(tmp_path / "saved")
    in_inbox(
        forged,
        *UNSIGNED["the newest entries, and what was signed over them"],
        "drop trigger signing_keys_no_delete",
        "delete from signing_keys",
    )
    with closing(LedgerService(forged)) as thief:
        thief.catch_up()
        newer = thief.signed_checkpoint().note
    for path in (tmp_path / "saved").glob("ledger*"):
        path.unlink()
    for note in (kept, "no note"):
        with pytest.raises(OperatorError, match="the checkpoint given is not this log's"):
            restores.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "saved", against=note)
    with pytest.raises(OperatorError, match="the checkpoint given is not this log's"):
        restores.restore(settings_in(tmp_path / "again"), tmp_path / "honest", against=newer)


def test_a_backup_older_than_the_checkpoint_kept_elsewhere_is_refused(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    with closing(LedgerService(settings)) as service:
        story.deliver(service.inbox, "since the backup")
        service.catch_up()
        kept = service.signed_checkpoint().note
    with pytest.raises(OperatorError, match="is of 17 entries, and here are 16") as refused:
        restores.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "saved", against=kept)
    assert refused.value.remedy == (
        "try another backup; where they are lost for good, restore this one against a checkpoint of"
        " 16 entries or fewer"
    )


@entries_alone
def test_an_older_backup_takes_the_newer_entries_from_the_ledger(
    settings: Settings, tmp_path: Path
) -> None:
    """A row of the inbox was changed after the backup, and three entries came since."""
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    for number in range(3):
        story.deliver(service.inbox, f"newer-{number}")
    service.catch_up()
    root = service.ledger.frontier.root()
    service.close()
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    done = restores.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (19, [])
    assert done.notes[0].startswith("3 entries that are newer than the backup came back")
    assert done.notes[1].startswith("the former inbox.db was kept as inbox.db.set-aside-")
    with closing(LedgerService(settings)) as service:
        assert service.ledger.frontier.root() == root


@entries_alone
def test_a_restore_says_how_many_entries_only_the_former_inbox_has(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    with closing(open_inbox(settings.inbox)) as inbox:
        for number in range(3):
            story.deliver(inbox, f"not followed {number}")
    settings.ledger.unlink()
    done = restores.restore(settings, tmp_path / "saved")
    assert done.entries == 16
    [aside] = tmp_path.glob("inbox.db.set-aside-*")
    assert done.notes[1].startswith(
        f"{aside} holds 3 entries that were not put back; 3 of them are deliveries answered 200"
    )
    with closing(open_inbox(str(aside))) as inbox:
        assert inbox.last()[0] == 19


@entries_alone
def test_a_deleted_inbox_comes_back_with_what_was_recorded_since_the_backup(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    story.deliver(service.inbox, "since the backup")
    service.catch_up()
    root = service.ledger.frontier.root()
    service.close()
    for file in tmp_path.glob("inbox.db*"):
        file.unlink()
    with pytest.raises(InboxMissing, match="`prazo restore DIR` puts it back"):
        LedgerService(settings)
    done = restores.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (17, [])
    with closing(LedgerService(settings)) as service:
        assert service.ledger.frontier.root() == root


def test_a_backup_of_another_log_is_not_added_to(settings: Settings, tmp_path: Path) -> None:
    other = settings_in(tmp_path / "other")
    with closing(open_inbox(other.inbox)) as inbox:
        story.deliver(inbox, "of another log")
    backups.backup(other, tmp_path / "saved")
    with pytest.raises(OperatorError, match="choose an empty folder"):
        backups.backup(settings, tmp_path / "saved")


def test_an_empty_inbox_is_not_copied_and_an_empty_copy_is_not_put_back(
    settings: Settings, tmp_path: Path
) -> None:
    """A first backup onto a full disk left an inbox without entries. `prazo restore` said "0
    entries ... VERIFIED", and what was started then began another log under the same name."""
    empty, elsewhere = settings_in(tmp_path / "empty"), settings_in(tmp_path / "elsewhere")
    elsewhere.ledger.parent.mkdir()
    with closing(open_inbox(settings.inbox)) as inbox:
        identity = inbox.identity
    open_inbox(empty.inbox, identity=identity).close()
    refused = command(empty, "backup", str(tmp_path / "saved"))
    assert (refused.returncode, (tmp_path / "saved").exists()) == (1, False)
    assert "holds no entry yet" in refused.stderr
    for insisting in (), ("--accept-unsigned", "it is all there is", "--actor", "ana"):
        refused = command(elsewhere, "restore", str(tmp_path / "empty"), *insisting)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "Nothing was restored: the backup is empty" in refused.stderr
        assert "take another backup" in refused.stderr
        assert list(elsewhere.ledger.parent.iterdir()) == []


def test_of_two_backups_into_one_folder_the_second_waits_and_adds_what_is_new(
    tmp_path: Path,
) -> None:
    """Both added the same entries: one ended with an error of its database, and no backup."""
    settings, folder, ended = settings_in(tmp_path), tmp_path / "saved", threading.Event()
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([Delivery(b"{}", 0, "webhook").draft()])
    made: list[backups.BackedUp] = []

    def second() -> None:
        made.append(backups.backup(settings, folder))
        ended.set()

    thread = threading.Thread(target=second)

    def while_the_first_copies(*_: object) -> None:
        thread.start()
        assert not ended.wait(0.5)

    first = backups.backup(settings, folder, on_progress=while_the_first_copies)
    thread.join(20)
    assert [first.new_entries, *(it.new_entries for it in made)] == [1, 0]


def test_a_backup_that_waited_for_one_with_more_entries_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, folder = settings_in(tmp_path), tmp_path / "saved"
    present = backups._changed
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "the first")

        def another(*given: Any, **options: Any) -> str:
            monkeypatch.setattr(backups, "_changed", present)
            inbox.append([Delivery(b"{}", 0, "webhook").draft()])
            assert backups.backup(settings, folder).new_entries == 2
            return present(*given, **options)

        monkeypatch.setattr(backups, "_changed", another)
        done = backups.backup(settings, folder)
    assert (done.entries, done.new_entries) == (2, 0)


def test_nothing_is_restored_under_a_process_that_holds_the_ledger(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    try:
        other = fork_server.start(
            [sys.executable, "-m", "pipeline.cli", "restore", str(tmp_path / "saved")],
            env=environment(settings),
            cwd=tmp_path,
            stderr=PIPE,
            text=True,
        )
        _, said = other.communicate(timeout=60)
    finally:
        service.close()
    assert other.returncode == 1
    assert f"The ledger {settings.ledger} is in use" in said
    assert not list(tmp_path.glob("*.set-aside-*"))


def test_the_commands_tell_what_was_copied_and_what_was_put_back(
    settings: Settings, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    done = command(settings, "backup", str(saved))
    assert done.returncode == 0
    assert re.fullmatch(
        rf"{saved}: 16 entries of prazo/[0-9a-f]{{16}}, 16 of them new; 2 new artifacts; keys: 0\n",
        done.stdout,
    )
    assert "The keys were not copied" in done.stderr
    done = command(settings, "restore", str(saved))
    assert done.returncode == 0
    assert done.stdout.startswith("16 entries of prazo/")
    assert "  note     the former inbox.db was kept as inbox.db.set-aside-" in done.stdout
    assert done.stdout.endswith("VERIFIED\n")


def test_settings_and_keys_that_a_backup_lacks_are_named_with_where_they_were(
    settings: Settings, tmp_path: Path
) -> None:
    """Found missing on the day on which they are needed, nobody knows any more where they were."""
    tokens, rules, secret = (tmp_path / it for it in ("tokens", "alerts.toml", "desk-secret"))
    tokens.write_text("", encoding="ascii")
    secret.write_text("whsec_c2VjcmV0LW9mLW5vYm9keQ==", encoding="ascii")
    desk = f'webhook = "https://desk.example/x"\nwebhook_secret_file = "{secret}"'
    rules.write_text(f"[recipients.desk]\n{desk}\n", encoding="ascii")
    files = {"PRAZO_API_TOKENS_FILE": str(tokens), "PRAZO_ALERTS_FILE": str(rules)}
    ours, saved = environment(settings) | files, tmp_path / "saved"
    (tmp_path / ".env").write_text("PRAZO_AUDIT_CONTACT=Ana\n", encoding="ascii")
    done = here("backup", str(saved), environment=ours, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = "Not in it, and named in not-copied.json: 9 settings and 5 files that settings name."
    assert said in done.stderr
    restored = here("restore", str(saved), environment=ours, folder=tmp_path)
    assert restored.returncode == 0, restored.stderr
    assert "not here" not in restored.stdout, "nothing was lost"

    keys = [settings.signing_key_file, settings.taxpayer_key_file]
    for path in (tokens, rules, secret, *keys):
        path.unlink()
    there, elsewhere = os.environ | environment_in(tmp_path / "new"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    restored = here("restore", str(saved), environment=there, folder=elsewhere)
    assert restored.returncode == 0, restored.stderr
    on = socket.gethostname()
    for line in (
        f"not set here: PRAZO_AUDIT_CONTACT; set on {on} in {tmp_path / '.env'}",
        f"not set here: PRAZO_ALERTS_FILE, PRAZO_API_TOKENS_FILE; set on {on} in the environment",
        f"not here: the file {tokens} of {on} (PRAZO_API_TOKENS_FILE)",
        f"not here: the file {rules} of {on} (PRAZO_ALERTS_FILE)",
        f"not here: the file {secret} of {on} (named in {rules})",
        f"not here: the file {keys[0]} of {on} (PRAZO_SIGNING_KEY_FILE)",
        f"not here: the file {keys[1]} of {on} (PRAZO_TAXPAYER_KEY_FILE)",
    ):
        assert f"  note     {line}\n" in restored.stdout


@entries_alone
@pytest.mark.parametrize("is_from_ledger", [False, True])
def test_a_restore_leaves_sellers_their_links(
    settings: Settings, tmp_path: Path, is_from_ledger: bool
) -> None:
    """They stand beside the log, and in no backup: each opened nothing any more."""
    backups.backup(settings, tmp_path / "saved")
    tables = ("journeys", "journey_sessions", "journey_flow")
    journey = (
        "insert into journeys (ref, token_sha256, process_id, seller_id, channel, email,"
        " return_url, only_paths, review, minted_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 2)"
    )
    with closing(open_inbox(settings.inbox)) as inbox:
        for number in range(3):
            row = (f"r{number}", f"t{number}", "p1", "s1", "email", "a@b.example", None, None, "{}")
            inbox.execute(journey, *row)
            inbox.execute("insert into journey_sessions values ($1, $2, 3, 4)", *row[1::-1])
            inbox.execute("insert into journey_flow values ($1, 5, 'opened', null, null)", row[0])
        before = [inbox.query(f"select * from {it} order by 1") for it in tables]
    if is_from_ledger:
        restores.restore_from_ledger(settings)
    else:
        restores.restore(settings, tmp_path / "saved")
    with closing(open_inbox(settings.inbox)) as inbox:
        assert [inbox.query(f"select * from {it} order by 1") for it in tables] == before
    assert [len(it) for it in before] == [3, 3, 3]
