"""Bytes of a person are found though no entry ever named them: a row says whose they are, from
before they were stored.

Artifacts were stored before their entry. Where the entry could not be recorded (the inbox failed,
the process was killed in between, the occurrence was refused after its upload), the identity card
lay in the store, and no `prazo forget` found it.
"""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.erasures import unnamed_bytes
from pipeline.continuity.backup import backup
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import Forgotten, forget
from pipeline.errors import CallerError, InboxUnavailable, Unreadable
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.artifacts import artifact_store, owners
from pipeline.inbox.artifacts.taking import Taking
from pipeline.log.artifacts import ArtifactStore, FolderArtifacts, keep_file, stored_as
from pipeline.log.entries import Draft
from pipeline.log.ndjson import read_collection
from pipeline.settings import Settings
from tests.erasure import person
from tests.erasure.test_forgetting import SAID
from tests.support.machine import killed

CARD = b"\x89PNG the identity card of Teresa Aguiar"
NEW = "sel_new"
"""A seller whom no entry names yet."""


def draft(
    settings: Settings,
    inbox: Inbox,
    folder: Path,
    seller_id: str = NEW,
    *,
    content: bytes = CARD,
    artifacts: Any = None,
) -> Draft:
    """A collection that is read and stored, and not recorded yet."""
    (folder / "card.png").write_bytes(content)
    said = {
        **{"occurred_at": "2026-03-05T12:00:00Z", "process_id": f"prc of {seller_id}"},
        **{"seller_id": seller_id, "journey_id": "j7", "step": "answered"},
        **{"channel": "web_form", "source": "seller", "fields": {"revenue": "1_to_2"}},
        "artifacts": artifacts or [{"name": "card.png", "path": "card.png"}],
    }

    def read(store: Any) -> Draft:
        keep = keep_file(store, folder, needs_bytes=True)
        return read_collection(said, recorded_by="token", keep=keep)

    return Taking.of(settings, inbox).read(read)


def kept(settings: Settings, inbox: Inbox) -> list[bytes | None]:
    """What the store holds, but for what the history of `person` put there."""
    store = artifact_store(settings, inbox)
    found = [store.read(it) for it in sorted(store.names())]
    return [it for it in found if it not in (person.SCREEN, person.SHARED)]


def forgotten(settings: Settings, inbox: Inbox, seller_id: str = NEW, **more: bool) -> Forgotten:
    return forget(settings, inbox, seller_id, **SAID, **more)


def examined(settings: Settings) -> list[Diagnosis]:
    with AtHand(settings) as at_hand:
        return [*unnamed_bytes(settings, at_hand)]


def holding(settings: Settings, content: bytes) -> list[Path]:
    """Files of the stores with these bytes in them."""
    files = settings.ledger.parent.rglob("*")
    return [it for it in files if it.is_file() and content in it.read_bytes()]


def test_a_card_whose_entry_was_never_recorded_goes_with_its_seller(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    """Nothing else in the log names the seller."""
    draft(settings, inbox, tmp_path)
    assert kept(settings, inbox) == [CARD]
    [said] = examined(settings)
    assert said.found == ("1 artifact that no entry names came for the seller sel_new")
    assert "`prazo forget`" in said.remedy
    done = forgotten(settings, inbox)
    assert (done.artifacts, done.entries, done.unnamed.is_none) == (1, 0, True)
    assert kept(settings, inbox) == []
    assert holding(settings, CARD) == []
    assert examined(settings) == []


def _dies(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _half(settings: Settings) -> Callable[[pytest.MonkeyPatch], None]:
    """Kills anyone who has written an artifact and not given it its name, or its commit, yet."""

    def patched(patch: pytest.MonkeyPatch) -> None:
        if settings.has_inbox_file:
            patch.setattr(Path, "replace", _dies)
        else:
            from pipeline.inbox.artifacts import database

            patch.setattr(database, "range", lambda *_: _dies(), raising=False)

    return patched


STEPS: dict[str, Callable[[Settings], Callable[[pytest.MonkeyPatch], None]]] = {
    "row": lambda _: lambda patch: patch.setattr(ArtifactStore, "keep", _dies),
    "half the bytes": _half,
    "bytes": lambda _: lambda patch: patch.setattr(Inbox, "append", _dies),
}


@pytest.mark.parametrize("after", STEPS)
def test_killed_at_any_step_nothing_of_the_card_is_left_once_its_seller_is_forgotten(
    settings: Settings, tmp_path: Path, after: str
) -> None:
    def recorded() -> None:
        with pytest.MonkeyPatch.context() as patch, closing(open_inbox(settings.inbox)) as inbox:
            STEPS[after](settings)(patch)
            inbox.append([draft(settings, inbox, tmp_path)])

    killed(recorded)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert owners.of_seller(inbox, NEW) == {stored_as(CARD).sha256}
        forgotten(settings, inbox)
        assert kept(settings, inbox) == []
    assert holding(settings, CARD) == []
    assert examined(settings) == []


def test_without_the_row_nothing_is_stored(
    settings: Settings, inbox: Inbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inbox that cannot be written: the sender hears it, and no byte of the card is kept."""

    def fails(*_: object) -> None:
        raise InboxUnavailable("The inbox cannot be written", "no room")

    monkeypatch.setattr(type(inbox), "_commit", fails)
    with pytest.raises(InboxUnavailable):
        draft(settings, inbox, tmp_path)
    assert kept(settings, inbox) == []


def test_a_collection_that_is_refused_leaves_no_bytes(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    """Its first artifact was stored before the second one was found to be wrong."""
    wrong = [
        {"name": "card.png", "path": "card.png"},
        {"name": "again.png", "path": "card.png", "sha256": "0" * 64},
    ]
    with pytest.raises(Unreadable):
        draft(settings, inbox, tmp_path, artifacts=wrong)
    assert kept(settings, inbox) == []
    with pytest.raises(CallerError, match="no entry names the seller"):
        forgotten(settings, inbox)


def test_the_same_bytes_of_two_sellers_go_with_the_last_of_them(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    """One was recorded, the other never was; then neither is needed any more."""
    inbox.append([draft(settings, inbox, tmp_path, "sel_a")])
    draft(settings, inbox, tmp_path, "sel_b")
    done = forgotten(settings, inbox, "sel_b")
    assert (done.artifacts, done.shared_artifacts) == (0, 1)
    assert kept(settings, inbox) == [CARD]
    done = forgotten(settings, inbox, "sel_a")
    assert (done.artifacts, done.shared_artifacts) == (1, 0)
    assert kept(settings, inbox) == []


@pytest.mark.parametrize("whose", [NEW, "sel_other"])
def test_a_collection_that_is_recorded_meanwhile_keeps_its_bytes(
    settings: Settings,
    inbox: Inbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whose: str,
) -> None:
    """Its bytes were in the store and its entry was not when the seller was forgotten, or another
    one of whom the same bytes had come."""
    draft(settings, inbox, tmp_path)
    under_way = draft(settings, inbox, tmp_path, whose)

    def meanwhile(_: float) -> None:
        inbox.append([under_way])

    monkeypatch.setattr(forgetting.time, "sleep", meanwhile)
    done = forgotten(settings, inbox)
    assert (done.artifacts, done.shared_artifacts) == (0, 1)
    assert kept(settings, inbox) == [CARD]
    assert examined(settings) == []


def test_what_is_nobodys_is_named_and_goes_when_somebody_says_so(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    """Left by an earlier release, which had no rows. It may be of anyone who is forgotten."""
    store = artifact_store(settings, inbox)
    digest = store.keep(CARD).sha256
    [said] = examined(settings)
    assert said.found == (
        f"1 artifact that no entry names, and of which nobody knows whose they are ({digest[:12]})"
    )
    done = forgotten(settings, inbox, person.SELLER)
    assert done.unnamed.of_nobody == [digest]
    assert kept(settings, inbox) == [CARD]
    done = forgotten(settings, inbox, person.SELLER, is_sweeping=True)
    assert done.unnamed.is_none
    assert kept(settings, inbox) == []


def test_a_backup_takes_along_nothing_that_no_entry_names(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    draft(settings, inbox, tmp_path)
    artifact_store(settings, inbox).keep(b"\x89PNG of nobody")
    backup(settings, tmp_path / "saved")
    copied = [it.read_bytes() for it in (tmp_path / "saved/artifacts").rglob("*") if it.is_file()]
    assert sorted(copied) == sorted([person.SCREEN, person.SHARED])


def test_a_file_that_somebody_writes_now_is_not_taken_for_a_killed_ones(tmp_path: Path) -> None:
    """Only what nobody has open and locked is."""
    from pipeline.files.disk import written_whole

    store = FolderArtifacts(tmp_path)
    path = store.path(stored_as(CARD).sha256)
    path.parent.mkdir()
    with written_whole(path) as file:
        file.write(CARD)
        assert store.partial(is_removed=True) == 0
    assert path.read_bytes() == CARD
    left = path.with_name(f".{path.name}.0badcafe.partial")
    left.write_bytes(CARD[:9])
    assert store.partial() == 1
    assert store.partial(is_removed=True) == 1
    assert not left.exists()
