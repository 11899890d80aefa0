"""What the ledger's holder says of itself to those who watch it."""

import json
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.continuity.follower import Status
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.inbox import artifacts, open_inbox
from pipeline.inbox.artifacts import Held
from pipeline.log.artifacts import FolderArtifacts, keep_file
from pipeline.log.ndjson import read_line
from pipeline.serve import figures
from pipeline.serve.metrics import Readiness, exposition, readiness
from pipeline.settings import Settings
from tests.support.ledgers import draft
from tests.support.lines import aci, acp, answered, live, seller
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


# --- deadlines and alerts ---

NOW = datetime.now(UTC)


def _recorded(settings: Settings, *lines: dict) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([it for it in map(draft, lines) if it is not None])


def _shown(service: LedgerService) -> dict[str, float]:
    shown = exposition(service).decode().splitlines()
    return {it.rpartition(" ")[0]: float(it.rpartition(" ")[2]) for it in shown if it[0] != "#"}


def _in(**how_long: float) -> str:
    return (NOW + timedelta(**how_long)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_deadlines_and_alerts_are_gauges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FIRST_SECONDS", 60.0)
    settings = settings_in(tmp_path)
    _recorded(
        settings,
        aci("e1", _in(days=-9), process_id="p1", deadline_at=_in(hours=-1)),
        acp("e2", _in(days=-8), process_id="p2", deadline_at=_in(days=2)),
        live(seller("updated", "v1", _in(days=-29))),
    )
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        shown = _shown(service)

        def away(*_: object) -> None:
            raise InboxUnavailable("The inbox cannot be read", "its server is away")

        monkeypatch.setattr(service.inbox, "query", away)
        figures.watch.cache_clear()
        missing = shown.keys() - _shown(service).keys()
    assert {it.partition("{")[0] for it in missing} == {"prazo_journey_refusals_total"}
    open_ones = {name: it for name, it in shown.items() if it and "prazo_open_processes" in name}
    assert open_ones == {
        'prazo_open_processes{state="EXPIRED",type="ACI"}': 1,
        'prazo_open_processes{state="OVERDUE",type="ACP"}': 1,
    }
    assert len([it for it in shown if it.startswith("prazo_open_processes")]) == 12
    assert shown['prazo_due_soon_processes{type="ACP"}'] == 1
    assert shown['prazo_late_processes{type="ACI"}'] == 1
    assert shown['prazo_late_processes{type="ACP"}'] == 0
    alerts = {it: shown[f'prazo_alerts{{severity="{it}"}}'] for it in ("breach", "risk", "notice")}
    assert alerts == {"breach": 1, "risk": 1, "notice": 0}
    day = 86_400  # p2 has stood on its rung of 3 days before the deadline since yesterday
    latest = day + (datetime.now(UTC) - NOW).total_seconds() + 1
    assert day <= shown["prazo_oldest_unacknowledged_alert_seconds"] < latest
    assert day <= shown["prazo_silence_seconds"] < latest
    last = (NOW - timedelta(days=29)).replace(microsecond=0).timestamp()
    assert shown["prazo_last_delivery_timestamp_seconds"] == last
    assert shown["prazo_figures_timestamp_seconds"] >= NOW.timestamp()
    assert shown["prazo_calendar_refusals_total"] == 0
    steps = {it: shown[f'prazo_journeys{{step="{it}"}}'] for it in ("invited", "confirmed")}
    assert steps == {"invited": 0, "confirmed": 0}
    assert shown['prazo_journey_refusals_total{reason="wrong_code"}'] == 0


def test_of_an_empty_log_every_figure_is_none_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FIRST_SECONDS", 60.0)
    with closing(LedgerService(settings_in(tmp_path))) as service:
        shown = _shown(service)
    names = ("open_processes", "due_soon", "late", "alerts", "oldest", "silence")
    of_deadlines = [it for it in shown if it.startswith(tuple(f"prazo_{each}" for each in names))]
    assert len(of_deadlines) == 24
    assert {shown[it] for it in of_deadlines} == {0}
    assert "prazo_last_delivery_timestamp_seconds" not in shown


def test_a_scrape_does_not_wait_for_figures_and_they_are_worked_out_once_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FIRST_SECONDS", 0.0)
    with closing(LedgerService(settings_in(tmp_path))) as service:
        read, asked, may_end = service.reader.read, [], threading.Event()

        def slow(view: str, **options: Any) -> Any:
            if view == "alert_figures":
                asked.append(view)
                assert may_end.wait(60)
            return read(view, **options)

        monkeypatch.setattr(service.reader, "read", slow)
        for _ in range(3):
            shown = _shown(service)
            assert shown["prazo_ledger_last_seq"] == 0
            assert "prazo_silence_seconds" not in shown
        may_end.set()
        wait_until(lambda: "prazo_silence_seconds" in _shown(service))
        _shown(service)
        assert asked == ["alert_figures"]
        monkeypatch.setattr(figures, "STALE_SECONDS", 0.0)
        stale = _shown(service)
        assert "prazo_silence_seconds" not in stale
        assert "prazo_figures_timestamp_seconds" in stale  # by which `PrazoFiguresStale` fires
