"""Artifacts on disk, and collections from files: `prazo collect`, `prazo ingest`."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Outcome, Receipt
from pipeline.inbox.artifacts.taking import Taking
from pipeline.log.artifacts import ArtifactDamaged, FolderArtifacts, Stored
from pipeline.log.entries import Draft
from pipeline.log.kinds.collection import COLLECTION
from pipeline.receive import ingest
from pipeline.receive.collections import collect_file
from sandbox.server import Handle
from tests.support.commands import run
from tests.support.marketplace import Marketplace

HELLO = hashlib.sha256(b"hello").hexdigest()


@pytest.fixture
def marketplace(platform: Handle, tmp_path: Path) -> Iterator[Marketplace]:
    """One of its own: these tests share a process id."""
    (tmp_path / "ours").mkdir()
    marketplace = Marketplace(platform, tmp_path / "ours")
    yield marketplace
    marketplace.close()


def test_bytes_are_kept_once_under_their_digest(tmp_path: Path) -> None:
    store = FolderArtifacts(tmp_path / "a" / "b")
    assert store.keep(b"hello") == store.keep(b"hello") == Stored(HELLO, 5)
    assert store.read(HELLO) == b"hello"
    assert [it.name for it in (tmp_path / "a" / "b").rglob("*") if it.is_file()] == [HELLO]


def test_what_is_not_kept_is_none(tmp_path: Path) -> None:
    assert FolderArtifacts(tmp_path).read(HELLO) is None


def test_changed_bytes_are_never_handed_out(tmp_path: Path) -> None:
    store = FolderArtifacts(tmp_path)
    store.keep(b"hello")
    store.path(HELLO).write_bytes(b"hullo")
    with pytest.raises(ArtifactDamaged):
        store.read(HELLO)


def test_half_an_artifact_of_a_crash_is_written_again(tmp_path: Path) -> None:
    store = FolderArtifacts(tmp_path)
    store.path(HELLO).parent.mkdir(parents=True)
    store.path(HELLO).write_bytes(b"he")
    store.keep(b"hello")
    assert store.read(HELLO) == b"hello"


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "A" * 64, "0" * 63])
def test_only_digests_name_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        FolderArtifacts(tmp_path).path(name)


def test_a_folder_that_cannot_be_made_is_the_operators_to_correct(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OperatorError, match="artifact cannot be written"):
        FolderArtifacts(tmp_path / "file").keep(b"hello")


# Collections in files


def line(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "collection",
        "occurred_at": instants.canonical(instants.now()),
        "process_id": "prc_file",
        "seller_id": "sel_file",
        "journey_id": "j1",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "fields": {"revenue": "1000_to_5000"},
        "artifacts": [{"name": "screen.png", "media_type": "image/png", "path": "screen.png"}],
        **changes,
    }


def write(folder: Path, *lines: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "screen.png").write_bytes(b"hello")
    path = folder / "lines.ndjson"
    path.write_text("".join(json.dumps(it) + "\n" for it in lines))
    return path


def test_ingested_artifacts_go_into_the_store_and_the_entry_names_their_digest(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    path, store = write(tmp_path / "in", line()), FolderArtifacts(tmp_path / "kept")
    taking = Taking(marketplace.inbox, store)
    outcomes = ingest.ingest(path, marketplace.inbox, lambda _: None, taking)
    assert (outcomes.recorded, outcomes.bad) == (1, [])
    [entry] = marketplace.inbox.find(process_id="prc_file", kind=COLLECTION)
    assert json.loads(entry.body or b"")["artifacts"] == [
        {"name": "screen.png", "media_type": "image/png", "sha256": HELLO, "size_bytes": 5}
    ]
    assert store.read(HELLO) == b"hello"


def test_bytes_that_one_collection_names_again_and_again_are_read_once(
    marketplace: Marketplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a megabyte one file of 32 was named ten thousand times, which kept the machine digesting
    for an hour: from `prazo ingest`, `prazo collect` and the receiver alike."""
    read: list[str] = []
    chunks = FolderArtifacts.chunks

    def counted(store: FolderArtifacts, sha256: str) -> Iterator[bytes]:
        read.append(sha256)
        return chunks(store, sha256)

    monkeypatch.setattr(FolderArtifacts, "chunks", counted)
    named: list[dict[str, object]] = [
        {"name": f"{number}", **told}
        for number in range(3)
        for told in ({"path": "screen.png"}, {"path": "./screen.png"}, {"sha256": HELLO})
    ]
    path, store = write(tmp_path / "in", line(artifacts=named)), FolderArtifacts(tmp_path / "kept")
    taking = Taking(marketplace.inbox, store)
    assert ingest.ingest(path, marketplace.inbox, lambda _: None, taking).bad == []
    assert read == [HELLO, HELLO]  # before it was written, and as what the store has
    [entry] = marketplace.inbox.find(process_id="prc_file", kind=COLLECTION)
    recorded = json.loads(entry.body or b"")["artifacts"]
    assert [it["sha256"] for it in recorded] == [HELLO] * 9
    assert [it.get("size_bytes") for it in recorded] == [5, 5, None] * 3
    other_size = line(artifacts=[*named, {"name": "x", "path": "screen.png", "size_bytes": 6}])
    path = write(
        tmp_path / "in", other_size, line(artifacts=[*named, {**named[2], "size_bytes": 6}])
    )
    bad = ingest.ingest(path, marketplace.inbox, lambda _: None, taking).bad
    assert [why for _, why in bad] == ["artifacts.9: size_bytes: the bytes have another"] * 2


def test_taking_a_file_with_artifacts_twice_adds_nothing(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    path, store = write(tmp_path / "in", line()), FolderArtifacts(tmp_path / "kept")
    taking = Taking(marketplace.inbox, store)
    ingest.ingest(path, marketplace.inbox, lambda _: None, taking)
    outcomes = ingest.ingest(path, marketplace.inbox, lambda _: None, taking)
    assert (outcomes.recorded, outcomes.already_there) == (0, 1)


@pytest.mark.parametrize(
    "named", ["missing.png", "../outside.png", "/etc/passwd", "link.png", "pipe", "", ".", 7]
)
def test_a_file_that_is_missing_or_lies_elsewhere_makes_a_bad_line(
    marketplace: Marketplace, tmp_path: Path, named: object
) -> None:
    """What a file of occurrences names would end up in packages for auditors. To open a
    pipe would wait for anyone who writes to it."""
    (tmp_path / "outside.png").write_bytes(b"not yours")
    bad = line(artifacts=[{"name": "x", "path": named}])
    path = write(tmp_path / "in", bad, line(journey_id="j2"))
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "outside.png")
    os.mkfifo(tmp_path / "in" / "pipe")
    outcomes = ingest.ingest(
        *(path, marketplace.inbox, lambda _: None),
        Taking(marketplace.inbox, FolderArtifacts(tmp_path / "kept")),
    )
    assert outcomes.recorded == 1
    [(number, reason)] = outcomes.bad
    assert number == 1
    assert reason.startswith("artifacts.0: path: ")


def test_an_artifact_that_is_a_mere_name_makes_a_bad_line(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """Nobody could ever say what it was."""
    path = write(tmp_path / "in", line(artifacts=[{"name": "screen.png"}]))
    outcomes = ingest.ingest(
        *(path, marketplace.inbox, lambda _: None),
        Taking(marketplace.inbox, FolderArtifacts(tmp_path / "kept")),
    )
    assert outcomes.bad == [(1, "artifacts.0: no bytes: name the artifact's file by path")]


def test_a_back_filled_digest_is_taken_as_the_other_systems_word(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """The entry says that the bytes are not here, so that nobody misses them."""
    artifacts = [{"name": "screen.png", "media_type": "image/png", "sha256": "0" * 64}]
    path = write(tmp_path / "in", line(artifacts=artifacts))
    outcomes = ingest.ingest(
        *(path, marketplace.inbox, lambda _: None),
        Taking(marketplace.inbox, FolderArtifacts(tmp_path / "kept")),
    )
    assert (outcomes.recorded, outcomes.bad) == (1, [])
    [entry] = marketplace.inbox.find(process_id="prc_file", kind=COLLECTION)
    assert json.loads(entry.body or b"")["artifacts"] == [{**artifacts[0], "kept": "elsewhere"}]


def test_a_digest_that_is_not_the_files_makes_a_bad_line(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    artifacts = [{"name": "screen.png", "path": "screen.png", "sha256": "0" * 64}]
    path = write(tmp_path / "in", line(artifacts=artifacts))
    outcomes = ingest.ingest(
        *(path, marketplace.inbox, lambda _: None),
        Taking(marketplace.inbox, FolderArtifacts(tmp_path / "kept")),
    )
    assert outcomes.bad == [(1, "artifacts.0: sha256: the bytes have another")]


def test_prazo_collect_records_one_collection_with_its_artifacts(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    path = write(tmp_path / "in", line())
    done = run(marketplace, "collect", str(path))
    [entry] = marketplace.inbox.find(process_id="prc_file", kind=COLLECTION)
    assert (done.code, done.out) == (0, f"new, entry {entry.seq}\n")
    assert entry.origin == "live"
    assert FolderArtifacts(marketplace.folder / "artifacts").read(HELLO) == b"hello"
    again = run(marketplace, "collect", str(path))
    assert (again.code, again.out) == (0, f"again, entry {entry.seq}\n")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"step": "guessed"}, "step"),
        ({"occurred_at": "2999-01-01T00:00:00Z"}, "more than 5 minutes in the future"),
        ({"artifacts": [{"name": "x", "path": "missing"}]}, "artifacts.0: path"),
        ({"artifacts": [{"name": "x", "sha256": "0" * 64}]}, "artifacts.0: no bytes"),
        ({"artifacts": [{"name": "x"}]}, "artifacts.0: no bytes"),
    ],
)
def test_what_is_not_a_collection_is_refused_and_not_recorded(
    marketplace: Marketplace, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    path = write(tmp_path / "in", line(**change))
    with pytest.raises(CallerError, match=named) as refused:
        collect_file(path, marketplace.settings(), recorded_by="test")
    assert refused.value.remedy  # it told nobody what to do
    assert marketplace.inbox.find(process_id="prc_file") == []


def test_a_digest_of_bytes_that_are_kept_may_be_collected_alone(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    settings = marketplace.settings()
    FolderArtifacts(settings.artifacts).keep(b"hello")
    path = write(tmp_path / "in", line(artifacts=[{"name": "x", "sha256": HELLO}]))
    assert collect_file(path, settings, recorded_by="test")[1] == "new"


def test_what_happens_in_the_future_leaves_no_artifact_behind(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    settings = marketplace.settings()
    path = write(tmp_path / "in", line(occurred_at="2999-01-01T00:00:00Z"))
    with pytest.raises(CallerError, match="future"):
        collect_file(path, settings, recorded_by="test")
    assert FolderArtifacts(settings.artifacts).read(HELLO) is None


def test_a_file_is_read_no_further_than_a_collection_may_be_long(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """A film in its place, or a device, was read until no memory was left."""
    film = tmp_path / "film"
    film.touch()
    os.truncate(film, 2**40)
    with pytest.raises(CallerError, match="film is not a collection: it is over 1048576 bytes"):
        collect_file(film, marketplace.settings(), recorded_by="test")
    with pytest.raises(OSError, match="it is not a plain file: '/dev/zero'"):
        collect_file(Path("/dev/zero"), marketplace.settings(), recorded_by="test")


def test_large_lines_are_recorded_few_at_a_time(tmp_path: Path) -> None:
    """A hundred of four megabytes took 0.9 GB, and nobody else wrote for ten seconds."""
    file = tmp_path / "history.ndjson"
    note = {"kind": "note", "occurred_at": "2026-03-01T12:00:00Z", "process_id": "p1"}
    lines = [{**note, "text": "x" * size} for size in [1] * 1500 + [3_000_000] * 4 + [1]]
    file.write_text("".join(f"{json.dumps(it)}\n" for it in lines), encoding="utf-8")
    commits: list[int] = []

    class Counting:
        def append(self, drafts: Sequence[Draft]) -> list[Receipt]:
            commits.append(len(drafts))
            return [Receipt(Outcome.RECORDED, None) for _ in drafts]

    assert ingest.ingest(file, Counting(), lambda _: None).recorded == 1505
    assert commits == [1000, 502, 2, 1]
