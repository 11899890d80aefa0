"""Packages, stores and backups of a log whose signing key was rotated."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from pipeline.audit import export as evidence
from pipeline.audit.request import Scope
from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.contract.body import canonical_json
from pipeline.errors import OperatorError
from pipeline.inbox.signing_keys import registered
from pipeline.log.checkpoints import Signer
from pipeline.log.entries import Entry
from pipeline.log.signing import rotating
from pipeline.settings import Settings
from pipeline.verify import verify
from tests.audit import forgery, story
from tests.audit.conftest import (
    EVERYTHING,
    command,
    copied,
    empty_tables,
    entries_alone,
    no_rows,
    request,
)
from tests.continuity.stores.test_stores import in_inbox
from tests.support.stores import settings_in

WHO = {"actor": "Ana", "reason": "yearly", "recorded_by": "user:ana"}


class Rotated(NamedTuple):
    """A package after two rotations, the three keys, and a checkpoint that each of them signed."""

    path: Path
    keys: list[str]
    notes: list[bytes]
    signer: Signer
    entries: list[Entry]  # of the whole log


@pytest.fixture(scope="module")
def rotated(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Rotated:
    folder = tmp_path_factory.mktemp("rotated")
    with copied(followed, folder) as service:
        notes = [checkpoint(service)]
        for _ in range(2):
            service.signing.rotate(**WHO)
            service.catch_up()
            notes.append(checkpoint(service))
        with empty_tables():
            made = evidence.export(service, request(Scope(process_id="p1")), folder / "p1.zip")
        keys = service.signing.known()
        assert keys is not None
        assert service.signer is not None
        entries = service.ledger.select("true", [])
        return Rotated(made.path, [str(it.key) for it in keys], notes, service.signer, entries)


def checkpoint(service: LedgerService) -> bytes:
    signed = service.checkpoint()
    assert signed is not None
    return signed.note.encode()


def faults(files: forgery.Files, rotated: Rotated, tmp_path: Path) -> list[str]:
    """What the verifier finds with the first key, after an insider with the newest sealed it."""
    sealed = forgery.seal(files, rotated.signer)
    return verify(forgery.write(tmp_path / "f.zip", sealed), rotated.keys[0]).faults


class Rogue:
    """A ledger's service whose exporter signs with a key that was replaced."""

    def __init__(self, service: LedgerService, old: Signer, keys: Any, checkpoint: Any) -> None:
        self._service, self.signer, self.checkpoint = service, old, checkpoint
        self.signing = SimpleNamespace(known=lambda: keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)


@no_rows
@pytest.mark.parametrize("is_period", [True, False])
def test_a_key_that_was_replaced_signs_no_period_and_for_a_process_the_verdict_names_it(
    service: LedgerService, tmp_path: Path, is_period: bool
) -> None:
    """Its holder leaves the rotation out of rotations.json, and signs as if nothing had been."""
    checkpoint(service)
    old, keys = service.signer, service.signing.known()
    assert old is not None
    assert keys is not None
    service.signing.rotate(**WHO)
    service.catch_up()
    honest_checkpoint = service.checkpoint

    def signed_by_the_old() -> object:
        note = honest_checkpoint()
        assert note is not None
        text = note.note.partition("\n\n")[0]
        return note._replace(note=old.sign(f"{text}\n"))

    rogue: Any = Rogue(service, old, keys, signed_by_the_old)
    scope = EVERYTHING if is_period else Scope(process_id="p1")
    made = evidence.export(rogue, request(scope), tmp_path / "p.zip")
    found = verify(made.path, str(old.key))
    if is_period:
        assert found.faults == [
            "entry 17: it replaces the log's key, and rotations.json does not name it"
        ]
    else:
        assert found.faults == []
        said = f"whether the key {old.key.name}+"
        assert any(it.startswith(said) for it in found.unchecked)


# --- packages --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_package_is_verified_with_any_key_of_its_log(rotated: Rotated, number: int) -> None:
    """And against a checkpoint that any of them signed."""
    for note in rotated.notes:
        verdict = verify(rotated.path, rotated.keys[number], note)
        assert verdict.faults == []
        assert any("the log continues the earlier checkpoint" in it for it in verdict.checked)
    said = any("leads to that one by 2 rotations" in it for it in verdict.checked)
    assert said == (number < 2)


def test_a_policy_may_name_later_keys_of_the_log_beside_those_that_lead_to_the_one_that_signed(
    rotated: Rotated, tmp_path: Path
) -> None:
    """The first with the log's name was taken, whether it is of a later time than the package."""
    later = Signer.made(rotated.keys[0].partition("+")[0], tmp_path / "key").key
    for earlier, is_led in ((rotated.keys[0], True), (rotated.keys[2], False)):
        policy = f"log {later}\nlog {earlier}\nquorum none"
        found = verify(rotated.path, policy=policy.encode())
        assert found.faults == []
        assert any("leads to that one by 2 rotations" in it for it in found.checked) == is_led
    [fault] = verify(rotated.path, policy=f"log {later}\nquorum none".encode()).faults
    assert "no rotation in it leads there" in fault


def test_a_key_that_no_rotation_leads_from_is_named_with_the_one_that_signed(
    rotated: Rotated, tmp_path: Path
) -> None:
    name = rotated.keys[0].partition("+")[0]
    stranger = str(Signer.made(name, tmp_path / "key").key)
    [fault] = verify(rotated.path, stranger).faults
    signer, given = ("+".join(it.split("+")[:2]) for it in (rotated.keys[2], stranger))
    assert f"signed by the key {signer}, and no rotation in it leads there" in fault
    assert given in fault


def test_without_its_rotations_a_package_is_not_verified_with_an_earlier_key(
    rotated: Rotated, tmp_path: Path
) -> None:
    files = forgery.read(rotated.path)
    first, last = json.loads(files["data/rotations.json"])
    for kept in ([], [first], [last], [last, first]):
        changed = {**files, "data/rotations.json": canonical_json(kept)}
        [fault] = faults(changed, rotated, tmp_path)
        assert "no rotation in it leads there" in fault or "does not follow the one" in fault
    more = {
        **files,
        "data/rotations.json": canonical_json([first, {**last, "note": "all is well"}]),
    }
    [fault] = faults(more, rotated, tmp_path)
    assert fault == "data/rotations.json says more than which rotations there are"


def test_an_insider_without_the_key_in_force_makes_no_package_that_an_earlier_key_verifies(
    rotated: Rotated, tmp_path: Path
) -> None:
    """They write a rotation to a key of their own, as well as can be done, and sign with that."""
    files = forgery.read(rotated.path)
    name = rotated.keys[0].partition("+")[0]
    thief, new = (Signer.made(name, tmp_path / it) for it in ("thief", "new"))
    draft = rotating(thief, new, **WHO)
    body = (draft.body or b"").replace(str(thief.key).encode(), rotated.keys[1].encode())
    for forged in (body, draft.body or b""):
        changed = {
            path: content.replace(rotated.keys[2].encode(), str(new.key).encode())
            for path, content in files.items()
        }
        said = json.loads(changed["data/rotations.json"])
        said[1]["statement"] = json.loads(forged)["statement"]
        changed["data/rotations.json"] = canonical_json(said)
        sealed = forgery.seal(changed, new)
        assert verify(forgery.write(tmp_path / "f.zip", sealed), rotated.keys[0]).faults


def test_a_rotation_that_is_not_in_the_log_is_not_a_rotation(
    rotated: Rotated, tmp_path: Path
) -> None:
    """Both keys signed another statement, or one of an entry that is not in the log."""
    files = forgery.read(rotated.path)
    parts = forgery.parts(files)
    kept = [it for it in parts if it.seq != 18]
    # Where the proof goes around entry 18, the leaf's hash stands in it.
    whole = [it.leaf for it in rotated.entries]
    assert (
        "rotation 18 is missing"
        in faults(forgery.with_parts(files, kept, whole), rotated, tmp_path)[0]
    )
    said = json.loads(files["data/rotations.json"])
    changed = {**files, "data/rotations.json": canonical_json([said[0], {**said[1], "seq": 19}])}
    assert (
        "entry 19: rotations.json names it, and it does not replace the key"
        in faults(changed, rotated, tmp_path)[0]
    )


@no_rows
def test_a_package_whose_key_is_replaced_while_it_is_made_is_made_again(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint was the new key's, below which the rotation follows the export."""
    honest, replaced = service.checkpoint, list[Entry]()

    def checkpoint() -> Any:
        if not replaced:
            replaced.append(service.signing.rotate(**WHO))
            service.catch_up()
        return honest()

    monkeypatch.setattr(service, "checkpoint", checkpoint)
    made = evidence.export(service, request(Scope(process_id="p1")), tmp_path / "p1.zip")
    assert verify(made.path, made.key).faults == []


def test_a_package_of_a_version_that_is_not_known_is_refused_by_its_name(
    rotated: Rotated, tmp_path: Path
) -> None:
    sealed = forgery.seal(forgery.read(rotated.path), rotated.signer, form="prazo package v9")
    [fault] = verify(forgery.write(tmp_path / "f.zip", sealed), rotated.keys[0]).faults
    assert 'the package is a "prazo package v9", and this verifier knows' in fault


# --- stores and backups ----------------------------------------------------------------------


@pytest.fixture
def service(settings: Settings) -> Iterator[LedgerService]:
    opened = LedgerService(settings)
    yield opened
    opened.close()


@entries_alone
def test_the_stores_of_a_rotated_log_are_without_fault(service: LedgerService) -> None:
    service.signing.rotate(**WHO)
    story.deliver(service.inbox, "later")
    service.catch_up()
    assert checkpoint(service)
    assert audit(service).faults == []


@entries_alone
def test_a_key_that_somebody_wrote_into_the_inbox_is_named(
    settings: Settings, tmp_path: Path
) -> None:
    """It brings nothing into force: the log's own key goes on signing."""
    other = Signer.made("prazo/x", tmp_path / "other")
    in_inbox(settings, f"insert into signing_keys values (2, '{other.key}', 5)")
    opened = LedgerService(settings)
    try:
        assert audit(opened).faults == [
            f"the inbox names {other.key} as key 2 of the log, and no entry does"
        ]
        story.deliver(opened.inbox, "later")
        opened.catch_up()
        assert checkpoint(opened)
    finally:
        opened.close()


@entries_alone
def test_a_key_of_the_log_that_somebody_renumbered_leaves_no_signature_unchecked_in_silence(
    settings: Settings,
) -> None:
    """No key was known then, not even here, where it is: VERIFIED, whatever the checkpoints say."""
    renumbered = "update signing_keys set number = 2"
    in_inbox(settings, "drop trigger signing_keys_no_update", renumbered)
    with closing(LedgerService(settings)) as opened:
        assert opened.signing.known() is None
        [key] = [it.key for it in registered(opened.inbox)]
        named = f"the inbox names {key} as key 2 of the log, and no entry does"
        assert named in audit(opened).faults


@entries_alone
def test_a_backup_follows_a_rotation_and_is_put_back_with_all_keys(
    settings: Settings, tmp_path: Path
) -> None:
    saved, elsewhere = tmp_path / "saved", settings_in(tmp_path / "elsewhere")
    backups.backup(settings, saved, with_keys=True)
    before = LedgerService(settings)
    before.signing.rotate(**WHO)
    before.catch_up()
    note = checkpoint(before)
    keys = before.signing.known()
    before.close()
    backups.backup(settings, saved, with_keys=True)
    assert sorted(it.name for it in (saved / "keys").iterdir()) == [
        *("signing.key", "signing.key.1", "taxpayer.key")
    ]
    done = restores.restore(elsewhere, saved)
    assert done.verdict.faults == []
    after = LedgerService(elsewhere)
    try:
        known = after.signing.known()
        assert keys is not None
        assert known is not None
        assert [str(it.key) for it in known] == [str(it.key) for it in keys]
        assert after.signer is not None
        assert audit(after, against=note.decode()).faults == []
    finally:
        after.close()


@entries_alone
def test_a_backup_with_keys_says_that_the_one_that_signs_is_not_in_it(
    settings: Settings, tmp_path: Path
) -> None:
    """Made on a machine that only follows, or that has a former key, it said "keys: 1": when the
    machine that signed was lost, nobody had the key."""
    first = command(settings, "backup", str(tmp_path / "saved"), "--with-keys")
    assert (first.returncode, "signing key is not in it" in first.stderr) == (0, False)
    with closing(LedgerService(settings)) as service:
        service.signing.rotate(**WHO)
        service.catch_up()
    new = settings.signing_key_file.rename(tmp_path / "new.key")
    for folder in ("saved", "empty"):
        done = command(settings, "backup", str(tmp_path / folder), "--with-keys")
        assert (done.returncode, "signing key is not in it" in done.stderr) == (0, True)
    new.rename(settings.signing_key_file)
    for _ in range(2):
        done = command(settings, "backup", str(tmp_path / "saved"), "--with-keys")
        assert (done.returncode, "signing key is not in it" in done.stderr) == (0, False)


@entries_alone
def test_a_backup_from_before_a_rotation_is_put_back_where_the_new_key_is(
    settings: Settings, tmp_path: Path
) -> None:
    """The ledger gives the rotation back, and the new key stays in its place."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    before = LedgerService(settings)
    before.signing.rotate(**WHO)
    before.catch_up()
    key = before.signer and before.signer.key
    before.close()
    done = restores.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (17, [])
    after = LedgerService(settings)
    try:
        assert after.signer is not None
        assert after.signer.key == key
    finally:
        after.close()


@entries_alone
@pytest.mark.parametrize("lost", ["signing.key.1", "signing.key"])
def test_a_backup_from_before_a_rotation_is_put_back_without_the_former_key_and_without_the_new_one(
    settings: Settings, tmp_path: Path, lost: str
) -> None:
    """Anyone who had destroyed the former key, as the docs ask for, was refused: this machine's key
    was none of the backup's, though the ledger had the rotation to it. Moved away, as the refusal
    said, nobody's signature covered what came since."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    with closing(LedgerService(settings)) as before:
        before.signing.rotate(**WHO)
        before.catch_up()
        kept = before.signed_checkpoint().note
    settings.signing_key_file.with_name(lost).unlink()
    done = restores.restore(settings, tmp_path / "saved", against=kept)
    assert (done.entries, done.verdict.faults) == (17, [])


def test_a_backup_of_another_key_is_not_put_back_over_this_machines(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    elsewhere = settings_in(tmp_path / "elsewhere")
    Signer.made("prazo/x", elsewhere.signing_key_file)
    with pytest.raises(OperatorError, match="Nothing was restored"):
        restores.restore(elsewhere, tmp_path / "saved")


def test_the_commands_rotate_the_key_and_name_the_earlier_ones(settings: Settings) -> None:
    asked = ("rotate-key", "--actor", "Ana", "--reason", "yearly")
    before = command(settings, "checkpoint", "--key").stdout.strip()
    rehearsed = command(settings, *asked, "--dry-run")
    assert rehearsed.stdout.startswith(f"would retire {before}\n")
    assert command(settings, "checkpoint", "--key").stdout.strip() == before
    done = command(settings, *asked)
    assert "is key 2 of the log: publish it" in done.stdout, done.stderr
    after = command(settings, "checkpoint", "--key")
    assert after.stdout.strip() == done.stdout.splitlines()[0] != before
    assert f"key 1 of the log was {before}" in after.stderr
