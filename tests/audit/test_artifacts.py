"""Evidence is as durable as entries: what is missing or damaged is named, and nothing that lacks
artifacts calls itself whole."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.audit.package import disclosure, preparing
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.cli.doctor import Diagnosis, examine
from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import CallerError
from pipeline.inbox import open_inbox
from pipeline.inbox.artifacts import Held, artifact_store, look, take_in
from pipeline.log.artifacts import FolderArtifacts, keep_file
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from pipeline.verify import Verdict, verify
from tests.audit import forgery, story
from tests.audit.conftest import command, entries_alone, export, no_rows
from tests.support.postgres import PostgresServer
from tests.support.receiver import receiver
from tests.support.stores import environment_in, settings_in

SCREEN = hashlib.sha256(story.SCREEN).hexdigest()
JOURNEY_LOG = hashlib.sha256(story.JOURNEY_LOG).hexdigest()
OTHERS = "0" * 64


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """The story, on either engine, with its artifacts where they are by default."""
    if request.param == "sqlite":
        return settings
    moved = settings_in(settings.ledger.parent, inbox=request.getfixturevalue("database"))
    with (
        backups.opened_inbox(settings.inbox) as source,
        backups.opened_inbox(moved.inbox, source.identity) as copy,
    ):
        backups.copy_entries(source, copy, lambda *_: None)
        for content in (story.SCREEN, story.JOURNEY_LOG):
            artifact_store(moved, copy).keep(content)
    shutil.rmtree(settings.artifacts)
    return moved


def lose(settings: Settings, *names: str) -> None:
    for name in names:
        if "://" in settings.inbox:
            delete = f"delete from prazo.artifact_chunks where sha256 = '{name}'"
            PostgresServer.execute(settings.inbox, delete)
        else:
            (settings.artifacts / name[:2] / name).unlink()


def damage(settings: Settings, name: str) -> None:
    if "://" in settings.inbox:
        update = f"update prazo.artifact_chunks set bytes = 'another' where sha256 = '{name}'"
        PostgresServer.execute(settings.inbox, update)
    else:
        (settings.artifacts / name[:2] / name).write_bytes(b"another")


def verdict(settings: Settings) -> Verdict:
    with closing(LedgerService(settings)) as service:
        return audit(service)


def diagnosis(settings: Settings) -> Diagnosis:
    return next(it for it in examine(settings) if it.check == "artifacts")


def names(settings: Settings) -> list[str]:
    with closing(open_inbox(settings.inbox)) as inbox:
        return sorted(artifact_store(settings, inbox).names())


# --- missing and damaged ---


@entries_alone
def test_lost_artifacts_are_faults_and_a_backup_without_them_is_not_whole(
    stores: Settings, tmp_path: Path
) -> None:
    """All of them were gone, and the verdict had no fault; the backup said nothing."""
    assert diagnosis(stores).verdict == "ok"
    lose(stores, SCREEN, JOURNEY_LOG)
    found = verdict(stores)
    missing = [f"entry 5: The artifact {name} is missing from " for name in (SCREEN, JOURNEY_LOG)]
    assert [fault[: len(missing[0])] for fault in found.faults] == missing
    assert "missing or damaged: 2 of 2 artifacts" in found.notes
    done = backups.backup(stores, tmp_path / "saved")
    assert (done.entries, done.new_artifacts) == (16, 0)
    assert [str(lacking)[: len(missing[0])] for lacking in done.lacking] == missing
    diagnosed = diagnosis(stores)
    assert diagnosed.verdict == "fault"
    assert diagnosed.found.startswith(f"2 of 2 are missing or damaged; {missing[0]}")


@entries_alone
def test_the_commands_say_no_where_artifacts_are_lost(settings: Settings, tmp_path: Path) -> None:
    lose(settings, SCREEN, JOURNEY_LOG)
    done = command(settings, "verify")
    assert done.returncode == 1
    assert f"  FAULT    entry 5: The artifact {SCREEN} is missing from " in done.stdout
    assert done.stdout.endswith("NOT VERIFIED: 2 faults\n")
    done = command(settings, "backup", str(tmp_path / "saved"))
    assert done.returncode == 1
    assert ", 16 of them new; 0 new artifacts; " in done.stdout
    assert f"  entry 5: The artifact {SCREEN} is missing from " in done.stderr
    assert done.stderr.endswith("NOT WHOLE: 2 artifacts could not be copied\n")


@entries_alone
def test_a_damaged_artifact_is_a_fault_and_is_not_copied(stores: Settings, tmp_path: Path) -> None:
    damage(stores, SCREEN)
    [fault] = verdict(stores).faults
    assert fault.startswith(f"entry 5: The artifact {SCREEN} is damaged: its bytes have another")
    done = backups.backup(stores, tmp_path / "saved")
    assert (done.entries, done.new_artifacts) == (16, 1)
    [lacking] = done.lacking
    assert (lacking.seq, lacking.sha256) == (5, SCREEN)
    assert diagnosis(stores).verdict == "fault"


def test_what_was_lost_is_taken_in_from_wherever_it_still_is(
    stores: Settings, tmp_path: Path
) -> None:
    """Another program gave the file its name; its bytes say what it is."""
    lose(stores, SCREEN)
    damage(stores, JOURNEY_LOG)
    found = tmp_path / "found"
    (found / "deep").mkdir(parents=True)
    (found / "deep" / "seller 1.png").write_bytes(story.SCREEN)
    (found / "journey").write_bytes(story.JOURNEY_LOG)
    (found / "something else").write_bytes(b"named by no entry")
    with closing(open_inbox(stores.inbox)) as inbox:
        store = artifact_store(stores, inbox)
        assert [it.sha256 for it in look(inbox, store).lacking] == [SCREEN, JOURNEY_LOG]
        assert take_in(inbox, store, found) == 2
        assert take_in(inbox, store, found) == 0
        assert look(inbox, store) == Held(named=2, lacking=[], not_stored=0)
        assert store.read(SCREEN) == story.SCREEN
        assert sorted(store.names()) == sorted([SCREEN, JOURNEY_LOG])


@entries_alone
def test_bytes_that_no_entry_names_are_counted_and_kept(stores: Settings) -> None:
    """A crash between artifact and entry leaves them."""
    with closing(open_inbox(stores.inbox)) as inbox:
        artifact_store(stores, inbox).keep(b"its entry was never recorded")
    found = verdict(stores)
    assert found.faults == []
    assert "1 artifact is in the store that no entry names: that does no harm" in found.notes
    assert "2 artifacts are as they were collected" in found.checked


# --- kept elsewhere ---


def collected(journey: str, **artifact: Any) -> bytes:
    line = {
        "kind": "collection",
        "occurred_at": instants.canonical(instants.now()),
        "process_id": "p1",
        "seller_id": "s1",
        "journey_id": journey,
        "step": "invited",
        "channel": "email",
        "source": "seller",
        "artifacts": [{"name": "screen.png", **artifact}],
    }
    return json.dumps(line).encode()


def take(settings: Settings, line: bytes) -> None:
    """As `prazo ingest` does."""
    with closing(open_inbox(settings.inbox)) as inbox:
        store = artifact_store(settings, inbox)
        keep = keep_file(store, settings.ledger.parent)
        inbox.append([read_line(line, recorded_by="file:x", keep=keep)])


@entries_alone
def test_an_artifact_that_another_system_keeps_is_not_missed(settings: Settings) -> None:
    """Its entry says so."""
    take(settings, collected("j8", sha256=OTHERS))
    assert diagnosis(settings).found.startswith("2, all in ")
    found = verdict(settings)
    assert found.notes[1:] == [
        "1 artifact was not checked: their entries say that another system keeps them",
    ]
    assert found.faults == []


def test_a_line_cannot_say_itself_who_keeps_the_bytes(settings: Settings) -> None:
    """It comes from another log, where "here" was another store."""
    take(settings, collected("j8", sha256=OTHERS, kept="here"))
    take(settings, collected("j9", sha256=SCREEN, kept="elsewhere"))
    with closing(open_inbox(settings.inbox)) as inbox:
        said = [json.loads(it.body or b"")["artifacts"][0]["kept"] for it in inbox.read(16, 2)]
    assert said == ["elsewhere", "here"]
    lose(settings, SCREEN)
    assert diagnosis(settings).found.startswith("1 of 2 are missing or damaged")


def test_a_line_counts_once_wherever_its_artifact_was_when_it_came(settings: Settings) -> None:
    line = collected("j8", sha256=hashlib.sha256(b"late").hexdigest())
    take(settings, line)
    FolderArtifacts(settings.artifacts).keep(b"late")
    take(settings, line)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last()[0] == 17


# --- packages ---


@no_rows
def test_a_package_with_more_artifacts_than_a_verifier_reads_is_not_made(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made, and no verifier could read it."""
    lose(settings, SCREEN)
    with closing(LedgerService(settings)) as service:
        export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
        size = service.inbox.last()[0]
        monkeypatch.setattr(disclosure, "MOST_ARTIFACTS", 1)
        with pytest.raises(CallerError, match="more than 1 artifacts"):
            export(service, Scope(process_id="p1"), tmp_path / "p1_again.zip")
        assert service.inbox.last()[0] == size, "nothing says that it was exported"
    assert [it.name for it in tmp_path.glob("*.zip")] == ["p1.zip"]


@no_rows
def test_a_package_without_artifacts_of_ours_is_not_verified_and_names_each(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged artifact once stopped the export."""
    take(settings, collected("j8", sha256=OTHERS))
    lose(settings, SCREEN)
    damage(settings, JOURNEY_LOG)
    with closing(LedgerService(settings)) as service:
        exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
    assert (exported.artifacts_left_out, exported.artifacts_lost) == (3, 2)
    found = verify_package(exported.path, key=exported.key)
    assert found.faults == [
        f'the artifact "{JOURNEY_LOG}" of entry 5 is lost: "damaged in the artifact store"',
        f'the artifact "{SCREEN}" of entry 5 is lost: "not in the artifact store"',
    ]
    assert (
        "1 artifact, which is not here: another system keeps them, as their entries say; "
        + f'"{OTHERS}"'
    ) in found.unchecked
    files = forgery.read(exported.path)
    assert json.loads(files["data/contents.json"])["withheld_artifacts"] == {
        JOURNEY_LOG: "damaged in the artifact store",
        SCREEN: "not in the artifact store",
        OTHERS: "kept by another system",
    }
    assert b"1 \xc3\x97 artifact (not in the artifact store)" in files["data/report.html"]
    assert "1 × artefato (mantido por outro sistema)".encode() in files["data/report.pt.html"]
    assert b"every body and every artifact of these entries" not in files["data/report.html"]
    # The report counts those that are listed: one that is not is left out, and it said of nothing.
    with closing(LedgerService(settings)) as service:
        honest_json = preparing.canonical_json

        def altered(value: Any) -> bytes:
            return honest_json(value | {"withheld_artifacts": {}} if "withheld" in value else value)

        monkeypatch.setattr(preparing, "canonical_json", altered)
        exported = export(service, Scope(process_id="p1"), tmp_path / "p1_again.zip")
    unlisted = verify(exported.path, exported.key).faults
    assert f'the artifact "{OTHERS}" is left out, and nobody knows why' in unlisted


# --- backups between engines ---


@entries_alone
def test_a_backup_that_is_not_whole_is_put_back_and_says_so(
    settings: Settings, tmp_path: Path
) -> None:
    lose(settings, SCREEN)
    backups.backup(settings, tmp_path / "saved")
    elsewhere = settings_in(tmp_path / "elsewhere")
    done = restores.restore(elsewhere, tmp_path / "saved")
    assert (done.entries, done.artifacts) == (16, 1)
    assert "1 artifact is neither in the backup nor here" in done.notes
    [fault] = done.verdict.faults
    assert fault.startswith(f"entry 5: The artifact {SCREEN} is missing")


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """A second database, with nothing in it."""
    yield postgres.new_database("another")
    postgres.execute(postgres.url(), "drop database another with (force)")


@entries_alone
def test_a_backup_of_one_engine_is_put_back_into_the_other(
    settings: Settings, database: str, tmp_path: Path
) -> None:
    """From SQLite to PostgreSQL and back, with every artifact."""
    first = backups.backup(settings, tmp_path / "saved", with_keys=True)
    assert (first.new_artifacts, first.lacking) == (2, ())
    machine = settings_in(tmp_path / "machine", inbox=database)
    done = restores.restore(machine, tmp_path / "saved")
    assert (done.artifacts, done.verdict.faults) == (2, [])
    assert names(machine) == sorted([SCREEN, JOURNEY_LOG])
    assert not machine.artifacts.exists()

    second = backups.backup(machine, tmp_path / "again", with_keys=True)
    assert (second.entries, second.new_artifacts, second.lacking) == (16, 2, ())
    back = settings_in(tmp_path / "back")
    done = restores.restore(back, tmp_path / "again")
    assert (done.artifacts, done.verdict.faults) == (2, [])
    assert FolderArtifacts(back.artifacts).read(SCREEN) == story.SCREEN


# --- two machines, one database ---


@entries_alone
@no_rows
def test_evidence_that_one_machine_took_is_exported_and_backed_up_by_another(
    database: str, tmp_path: Path
) -> None:
    """Each machine had a folder of its own: the other's packages and backups lacked the bytes."""
    first = settings_in(tmp_path / "first", inbox=database)
    second = settings_in(
        tmp_path / "second", inbox=database, signing_key_file=first.signing_key_file
    )
    for machine in (first, second):
        machine.ledger.parent.mkdir(parents=True)
    occurrence = json.loads(collected("j1"))
    occurrence["artifacts"] = []
    form = form_of(occurrence, story.SCREEN)
    names_of_first = environment_in(first.ledger.parent)
    given = {name.removeprefix("PRAZO_"): it for name, it in names_of_first.items()}
    with receiver(first.ledger.parent, **{**given, "INBOX": database}) as running:
        answer = running.ask("POST", "/v1/collections", *form)
        assert answer.status == 200
    with closing(LedgerService(second)) as service:
        service.catch_up()
        exported = export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
        assert audit(service).faults == []
    assert forgery.read(exported.path)[f"data/artifacts/{SCREEN}.png"] == story.SCREEN
    saved = backups.backup(second, tmp_path / "saved")
    assert (saved.new_artifacts, saved.lacking) == (1, ())
    assert not first.artifacts.exists()


def form_of(occurrence: dict[str, Any], screen: bytes) -> tuple[bytes, dict[str, str]]:
    """(body, headers) of a collection with one file."""
    head = "--edge\r\nContent-Disposition: form-data; name="
    body = (
        f'{head}"collection"\r\n\r\n{json.dumps(occurrence)}\r\n'
        f'{head}"file"; filename="screen.png"\r\nContent-Type: image/png\r\n\r\n'
    ).encode()
    return body + screen + b"\r\n--edge--\r\n", {
        "Content-Type": "multipart/form-data; boundary=edge"
    }


def test_older_artifacts_in_a_machines_folder_are_put_into_the_database(
    database: str, tmp_path: Path
) -> None:
    """Entries from before named what was in the folder of the machine that took them: the other
    machine's backup says what it lacks, until this one has put them where both reach them."""
    first = settings_in(tmp_path / "first", inbox=database)
    with closing(open_inbox(database)) as inbox:
        story.record(inbox, first.artifacts)
    second = settings_in(tmp_path / "second", inbox=database)
    assert len(backups.backup(second, tmp_path / "lacking").lacking) == 2
    found = diagnosis(first)
    assert (found.verdict, found.found) == ("warning", "2 of 2 are in this machine's folder alone")
    assert backups.backup(first, tmp_path / "whole").lacking == ()
    done = command(first, "artifacts")
    assert (done.returncode, done.stdout) == (
        0,
        f"2 artifacts taken in from {first.artifacts}\n"
        "2 artifacts should be in the inbox's database: 0 are lacking\n",
    )
    assert diagnosis(second).verdict == "ok"
    assert backups.backup(second, tmp_path / "lacking").lacking == ()
