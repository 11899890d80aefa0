"""What the ledger's holder says of itself to those who watch it."""

import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.inbox import artifacts, open_inbox
from pipeline.inbox.artifacts import Held
from pipeline.ledger.follower import Status
from pipeline.ledger.service import LedgerService
from pipeline.log.artifacts import FolderArtifacts, keep_file
from pipeline.log.ndjson import read_line
from pipeline.serve.metrics import Readiness, exposition, readiness
from pipeline.settings import Settings
from tests.support.lines import answered
from tests.support.machine import wait_until
from tests.support.stores import settings_in

WELL = Status(
    last_seq=10,
    inbox_seq=10,
    recorded_at=1,
    lag_seconds=0.0,
    is_verified=True,
    problem=None,
    recovered=None,
)


def test_a_ledger_that_is_well_is_ready():
    assert readiness(WELL) == Readiness(True, None)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"problem": "the disk is full"}, "the disk is full"),
        ({"is_verified": False}, "its root has not been compared with the one in the inbox yet"),
        ({"last_seq": 4, "lag_seconds": 60.5}, "it is 6 entries and 60 s behind"),
    ],
)
def test_a_ledger_that_must_not_be_believed_says_why(change: dict, fault: str):
    changed = Status(**{name: change.get(name, getattr(WELL, name)) for name in Status.__slots__})
    assert readiness(changed) == Readiness(False, fault)


def test_a_ledger_a_minute_behind_is_ready_still():
    fields = {name: getattr(WELL, name) for name in Status.__slots__}
    assert readiness(Status(**{**fields, "last_seq": 4, "lag_seconds": 60.0})).is_ready


def test_an_empty_log_has_no_root_to_compare():
    fields = {name: getattr(WELL, name) for name in Status.__slots__}
    empty = {**fields, "last_seq": 0, "inbox_seq": 0, "is_verified": False}
    assert readiness(Status(**empty)).is_ready


# --- artifacts ---


def _collected(settings: Settings, *names: str) -> None:
    """A collection with an artifact of each name, whose bytes are the name."""
    folder = settings.ledger.parent
    for name in names:
        (folder / name).write_text(name)
    named = [{"name": it, "media_type": "image/png", "path": it} for it in names]
    line = json.dumps(answered(artifacts=named)).encode()
    keep = keep_file(FolderArtifacts(settings.artifacts), folder, needs_bytes=True)
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([read_line(line, recorded_by="test", keep=keep)])


def _artifacts(service: LedgerService) -> dict[str, float]:
    shown = exposition(service).decode().splitlines()
    found = [it.split() for it in shown if it.startswith("prazo_artifacts")]
    return {name: float(value) for name, value in found}


def test_artifacts_that_are_lost_are_counted(tmp_path: Path) -> None:
    """Nothing that watches said that 840 of 840 were gone."""
    settings = settings_in(tmp_path)
    _collected(settings, "one.png", "two.png")
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        before = instants.now() / instants.SECOND
        shown = _artifacts(service)
        assert shown.pop("prazo_artifacts_timestamp_seconds") >= before
        assert shown == {
            'prazo_artifacts{state="named"}': 2,
            'prazo_artifacts{state="lacking"}': 0,
            'prazo_artifacts{state="not_stored"}': 0,
        }
        next(it for it in settings.artifacts.rglob("*") if it.is_file()).unlink()
        assert _artifacts(service)['prazo_artifacts{state="lacking"}'] == 0  # of the same look
        service.artifacts.every_seconds = 0.0
        wait_until(lambda: _artifacts(service)['prazo_artifacts{state="lacking"}'] == 1)


def test_a_look_that_takes_long_holds_no_figure_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr(artifacts, "FIRST_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(artifacts, "look", lambda *_: may_end.wait(60) and Held(3, [], 0))
    with closing(LedgerService(settings_in(tmp_path))) as service:
        assert _artifacts(service) == {}
        may_end.set()
        wait_until(lambda: _artifacts(service).get('prazo_artifacts{state="named"}') == 3)
