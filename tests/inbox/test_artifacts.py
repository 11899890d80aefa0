"""Both stores of artifacts: bytes under their digest, durable, once, and never wrong unnoticed."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pipeline.errors import SettingsError
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.log.artifacts import (
    CHUNK_BYTES,
    MAX_ARTIFACT_BYTES,
    ArtifactDamaged,
    ArtifactStore,
    FolderArtifacts,
    Stored,
)
from pipeline.settings import Settings
from tests import fork_server
from tests.support.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
SCREEN = b"\0" + os.urandom(CHUNK_BYTES)  # its first byte is changed to another one
NAME = hashlib.sha256(SCREEN).hexdigest()


def settings(location: str, folder: Path, **more: object) -> Settings:
    return Settings(inbox=location, artifacts=folder, **more)


@pytest.fixture
def inbox(location: str) -> Iterator[Inbox]:
    inbox = open_inbox(location)
    yield inbox
    inbox.close()


@pytest.fixture
def store(inbox: Inbox, location: str, tmp_path: Path) -> ArtifactStore:
    """The one that follows the inbox's engine."""
    return artifact_store(settings(location, tmp_path / "artifacts"), inbox)


@pytest.fixture
def change(store: ArtifactStore, location: str) -> Callable[[str, str], None]:
    """Changes what the store has under a digest as somebody behind our back would."""

    def changed(name: str, how: str) -> None:
        if isinstance(store, FolderArtifacts):
            content = store.path(name).read_bytes()
            store.path(name).write_bytes(
                {"cut": content[: len(content) // 2], "flipped": b"\xff" + content[1:]}[how]
            )
            return
        statement = {
            "cut": "delete from prazo.artifact_chunks where position = 1 and sha256 = '{}'",
            "flipped": "update prazo.artifact_chunks set bytes = set_byte(bytes, 0,"
            " 255 - get_byte(bytes, 0)) where position = 0 and sha256 = '{}'",
        }[how]
        PostgresServer.execute(location, statement.format(name))

    return changed


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", os.urandom(CHUNK_BYTES), SCREEN],
    ids=["none", "few", "a chunk", "a chunk and a byte"],
)
def test_bytes_come_back_as_they_were_kept(store: ArtifactStore, content: bytes) -> None:
    name = hashlib.sha256(content).hexdigest()
    assert store.read(name) is None
    assert store.sizes([name]) == {}
    assert store.keep(content) == Stored(name, len(content))
    assert store.read(name) == content
    assert store.sizes([name, NAME[::-1]]) == {name: len(content)}
    assert store.fault(name) is None
    assert store.vouch(name)


def test_an_artifact_of_the_largest_size_is_read_a_chunk_at_a_time(store: ArtifactStore) -> None:
    content = os.urandom(MAX_ARTIFACT_BYTES)
    name = store.keep(content).sha256
    assert {len(chunk) for chunk in store.chunks(name)} == {CHUNK_BYTES}
    assert store.read(name) == content


def test_the_same_bytes_are_stored_once(store: ArtifactStore) -> None:
    """By four writers at once, who all hear that they are kept."""
    kept: list[Stored] = []
    writers = [threading.Thread(target=lambda: kept.append(store.keep(SCREEN))) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert kept == [Stored(NAME, len(SCREEN))] * 4
    assert list(store.names()) == [NAME]
    assert store.read(NAME) == SCREEN


@pytest.mark.parametrize("how", ["cut", "flipped"])
def test_changed_bytes_are_never_handed_out_and_are_replaced_when_they_come_again(
    store: ArtifactStore, change: Callable[[str, str], None], how: str
) -> None:
    """An answer of 200 to evidence that is sent again means, too, that it is kept."""
    store.keep(SCREEN)
    change(NAME, how)
    with pytest.raises(ArtifactDamaged):
        store.read(NAME)
    assert store.fault(NAME) == f"The artifact {NAME} is damaged: its bytes have another digest"
    assert not store.vouch(NAME)
    store.keep(SCREEN)
    assert store.read(NAME) == SCREEN


def test_what_is_missing_is_named_with_its_place(store: ArtifactStore) -> None:
    assert store.fault(NAME) == f"The artifact {NAME} is missing from {store.place}"


def write(location: str, folder: str) -> None:
    """Stores the bytes in `folder / "content"`, and says before when it is about to."""
    inbox = open_inbox(location)
    store = artifact_store(settings(location, Path(folder) / "artifacts"), inbox)
    store.keep(b"the first")
    content = (Path(folder) / "content").read_bytes()
    os.write(1, b"now\n")
    os.write(1, store.keep(content).sha256.encode())


def writing(location: str, folder: Path) -> subprocess.Popen[str]:
    """A process that is about to store the bytes in `folder / "content"`."""
    writer = fork_server.start(
        [sys.executable, "-m", "tests.inbox.test_artifacts", location, folder],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "now\n"
    return writer


def test_a_kill_in_the_middle_leaves_all_chunks_or_none(
    store: ArtifactStore, location: str, tmp_path: Path
) -> None:
    """A writer is killed a little later each time. What it did not acknowledge may be missing;
    nothing is ever half there, and the next one completes it."""
    content = os.urandom(8 * CHUNK_BYTES)
    (tmp_path / "content").write_bytes(content)
    name = hashlib.sha256(content).hexdigest()
    for wait in (0.0, 0.02):
        writer = writing(location, tmp_path)
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        is_acknowledged = writer.communicate()[0] != ""
        assert store.fault(name) in (None, f"The artifact {name} is missing from {store.place}")
        assert store.fault(name) is None or not is_acknowledged
    store.keep(content)
    assert store.read(name) == content
    assert sorted(store.names()) == sorted([name, hashlib.sha256(b"the first").hexdigest()])


# --- PostgreSQL alone ---

WAITING = """
    select pid from pg_stat_activity
    where wait_event_type = 'Lock' and query like '%artifact_chunks%'"""


def test_chunks_of_a_writer_that_was_killed_between_two_of_them_are_not_there(
    database: str, tmp_path: Path
) -> None:
    """It has written four chunks and waits for a row that we hold, when it is killed."""
    (tmp_path / "content").write_bytes(os.urandom(6 * CHUNK_BYTES))
    name = hashlib.sha256((tmp_path / "content").read_bytes()).hexdigest()
    inbox = open_inbox(database)
    store = artifact_store(settings(database, tmp_path / "artifacts"), inbox)
    try:
        with psycopg.connect(database) as ours:
            ours.execute("insert into prazo.artifact_chunks values (%s, 4, '')", (name,))
            writer = writing(database, tmp_path)
            while not PostgresServer.execute(database, WAITING):
                assert writer.poll() is None
                time.sleep(0.01)
            writer.kill()
            writer.communicate()
            ours.rollback()
        assert store.fault(name) == f"The artifact {name} is missing from the inbox's database"
        store.keep((tmp_path / "content").read_bytes())
        assert store.fault(name) is None
    finally:
        inbox.close()


def test_a_folder_from_before_is_read_where_the_database_has_none(
    database: str, tmp_path: Path
) -> None:
    """Artifacts were once in a folder of each machine. What an entry is about to name goes into the
    database, where the other machines look for it."""
    here, there = (settings(database, tmp_path / name) for name in ("here", "there"))
    FolderArtifacts(here.artifacts).keep(SCREEN)
    inbox = open_inbox(database)
    try:
        ours, theirs = artifact_store(here, inbox), artifact_store(there, inbox)
        assert ours.read(NAME) == SCREEN
        assert ours.sizes([NAME]) == {NAME: len(SCREEN)}
        assert ours.stored([NAME]) == {}
        assert theirs.read(NAME) is None
        assert ours.vouch(NAME)
        assert theirs.read(NAME) == SCREEN
        assert not there.artifacts.exists()
    finally:
        inbox.close()


def test_the_setting_keeps_artifacts_in_a_folder_that_machines_share(
    database: str, tmp_path: Path
) -> None:
    inbox = open_inbox(database)
    try:
        shared = settings(database, tmp_path / "shared", artifacts_in="folder")
        assert isinstance(artifact_store(shared, inbox), FolderArtifacts)
    finally:
        inbox.close()


def test_artifacts_cannot_be_in_the_database_of_an_inbox_without_one() -> None:
    with pytest.raises(SettingsError, match="PRAZO_INBOX must be a postgresql:// URL"):
        Settings.load(inbox="data/inbox.db", artifacts_in="database")


if __name__ == "__main__":
    write(*sys.argv[1:])
