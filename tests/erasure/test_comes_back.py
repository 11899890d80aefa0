"""What is sent once more of a person who was forgotten stores nothing of them again."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.artifacts.taking import Taking
from pipeline.log.artifacts import FolderArtifacts
from pipeline.receive.collections import collect_file
from pipeline.receive.ingest import ingest
from pipeline.settings import Settings
from tests import depth
from tests.erasure import person

SAID = {"reason": "she asked", "actor": "ana", "recorded_by": "user:ana"}
SCREEN = hashlib.sha256(person.SCREEN).hexdigest()


def ingested_again(settings: Settings, inbox: Inbox, folder: Path) -> None:
    lines = folder / "again.ndjson"
    collections = [it for it in person.history() if it["kind"] == "collection"]
    lines.write_text("".join(json.dumps(it) + "\n" for it in collections))
    taking = Taking.of(settings, inbox)
    outcomes = ingest(lines, inbox, lambda _: None, taking)
    assert (outcomes.recorded, outcomes.bad) == (0, [])
    assert outcomes.already_there == len(collections) > 0


def reported_again(settings: Settings, inbox: Inbox, folder: Path) -> None:
    [first, *_] = [it for it in person.history() if it["kind"] == "collection"]
    report = folder / "again.json"
    report.write_text(json.dumps(first))
    _, recorded = collect_file(report, settings, recorded_by="ana")
    assert recorded == "again"


@pytest.mark.parametrize("again", [ingested_again, reported_again])
def test_a_collection_that_is_sent_once_more_brings_no_artifact_back(
    again: Callable[[Settings, Inbox, Path], None],
    settings: Settings,
    inbox: Inbox,
    tmp_path: Path,
) -> None:
    forget(settings, inbox, person.SELLER, **SAID)
    again(settings, inbox, tmp_path)
    assert SCREEN not in set(artifact_store(settings, inbox).names())


def test_what_is_new_is_taken_after_somebody_was_forgotten(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    forget(settings, inbox, person.SELLER, **SAID)
    (tmp_path / "new.png").write_bytes(b"another one's")
    digest = hashlib.sha256(b"another one's").hexdigest()
    report = tmp_path / "new.json"
    report.write_text(
        json.dumps(
            {
                **{"occurred_at": "2026-03-08T10:00:00Z", "process_id": "prc_10"},
                **{"seller_id": person.OTHER, "journey_id": "j11", "step": "answered"},
                **{"channel": "web_form", "source": "seller"},
                "artifacts": [
                    {"name": "a.png", "media_type": "image/png", "path": "new.png"},
                    {"name": "b.png", "sha256": digest, "size_bytes": 13},
                ],
            }
        )
    )
    _, recorded = collect_file(report, settings, recorded_by="ana")
    assert recorded == "new"
    assert artifact_store(settings, inbox).read(digest) == b"another one's"


def test_bytes_that_a_repeat_under_way_brings_back_go_again(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had looked for the erasure before there was one."""
    store = artifact_store(settings, inbox)
    waits = iter([lambda: store.keep(person.SCREEN)])
    monkeypatch.setattr(forgetting.time, "sleep", lambda _: next(waits, lambda: None)())
    forget(settings, inbox, person.SELLER, **SAID)
    assert SCREEN not in set(store.names())


@pytest.mark.parametrize("look", depth.few([1, 2], 2))
def test_bytes_of_another_seller_that_came_beside_such_a_repeat_are_put_back(
    look: int, settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a look for entries that name them and their removal, one was recorded."""
    store, named = artifact_store(settings, inbox), forgetting.digests_named
    waits = iter([lambda: store.keep(person.SCREEN)])
    monkeypatch.setattr(forgetting.time, "sleep", lambda _: next(waits, lambda: None)())
    looks = []

    def then_recorded(*given: Any, **more: Any) -> set[bytes]:
        found = named(*given, **more)
        looks.append(found)
        if len(looks) == look:
            inbox.append([person.named_by_other(SCREEN)])
        return found

    monkeypatch.setattr(forgetting, "digests_named", then_recorded)
    forget(settings, inbox, person.SELLER, **SAID)
    assert store.read(SCREEN) == person.SCREEN


def test_who_has_stored_removed_bytes_again_has_time_to_name_them(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = artifact_store(settings, inbox)
    waits = iter(
        [
            lambda: store.keep(person.SCREEN),
            lambda: inbox.append([person.named_by_other(SCREEN)]),
        ]
    )
    monkeypatch.setattr(forgetting.time, "sleep", lambda _: next(waits)())
    forget(settings, inbox, person.SELLER, **SAID)
    assert store.read(SCREEN) == person.SCREEN


def test_what_a_run_that_was_cut_off_put_aside_is_waited_for_as_well(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been cut off a moment ago, and a request under way name these bytes."""
    store = artifact_store(settings, inbox)
    FolderArtifacts(forgetting.put_aside(settings)).keep(person.SCREEN)
    store.remove(SCREEN)
    monkeypatch.setattr(
        forgetting.time, "sleep", lambda _: inbox.append([person.named_by_other(SCREEN)])
    )
    forget(settings, inbox, person.SELLER, **SAID)
    assert store.read(SCREEN) == person.SCREEN


def test_a_run_for_somebody_without_artifacts_clears_up_what_another_put_aside(
    settings: Settings, inbox: Inbox
) -> None:
    aside = forgetting.put_aside(settings)
    FolderArtifacts(aside).keep(b"of somebody else")
    line = person.event("2026-03-10T09:00:00Z", "n1", "seller.created", {"id": "sel_7"})
    person.add_lines(inbox, line)
    assert forget(settings, inbox, "sel_7", **SAID).artifacts == 1
    assert not aside.exists()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_an_artifact_goes_from_the_folder_that_was_before_the_database_as_well(
    settings: Settings, inbox: Inbox
) -> None:
    older = FolderArtifacts(settings.artifacts)
    older.keep(person.SCREEN)
    assert forget(settings, inbox, person.SELLER, **SAID).artifacts == 1
    assert [*older.names()] == []


def test_a_damaged_artifact_goes_as_well(settings: Settings, inbox: Inbox) -> None:
    store = artifact_store(settings, inbox)
    if isinstance(store, FolderArtifacts):
        store.path(SCREEN).write_bytes(b"Mariana, damaged")
    else:
        sql = "update artifact_chunks set bytes = $1 where sha256 = $2"
        inbox.execute(sql, b"Mariana, damaged", SCREEN)
    assert forget(settings, inbox, person.SELLER, **SAID).artifacts == 1
    assert SCREEN not in set(store.names())
