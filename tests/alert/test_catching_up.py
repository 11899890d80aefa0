"""A ledger that is catching up shows a past: nobody is told of it. One that stands still is
believed, but for what is finished by the inbox."""

import functools
import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.alert import watch
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due
from pipeline.alert.watch import Watch
from pipeline.alert_rules import AlertRules
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable, LedgerBehind, OperatorError
from pipeline.http.holder import announced
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery
from pipeline.serve import due_alerts
from pipeline.serve.due_alerts import DueByHolder, DueByLedger
from pipeline.serve.ledger_access import OwnLedger
from tests.alert.asked import Bare
from tests.alert.test_decision import EVA, MAIL, at
from tests.support.answering import Answering, give
from tests.support.events import review
from tests.support.stores import settings_in

NOW = at("2026-03-02T12:00:00Z")


class Lacking:
    """A ledger that lacks entries; `stands`: what it says of itself."""

    def __init__(self, **stands: Any) -> None:
        self.stands = {"problem": None, "lag_seconds": 90.0, **stands}

    def catch_up(self, seconds: float) -> int:
        return 7

    def problem(self) -> str | None:
        return self.stands["problem"]

    def status(self) -> dict[str, Any]:
        return self.stands

    def read(self, view: str, **_: Any) -> Any:
        raise AssertionError(f"{view} was asked for")


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    with closing(open_inbox(tmp_path / "inbox.db")) as opened:
        yield opened


def held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox, ledger: Lacking | None
) -> DueByHolder:
    @contextmanager
    def holder(_: object) -> Iterator[Lacking | None]:
        yield ledger

    monkeypatch.setattr(due_alerts, "holder", holder)
    return DueByHolder(settings_in(tmp_path), inbox, lambda: 600.0)


def test_what_a_ledger_lacks_is_waited_for_by_all_that_is_made_from_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox
) -> None:
    """While one was built again, what had been finished in time was told as expired, at night."""
    for source in (
        held(monkeypatch, tmp_path, inbox, Lacking()),
        DueByLedger(Lacking(), inbox),
    ):  # type: ignore[arg-type]
        saved = functools.partial(source.saved_views, ["mine"])
        for ask in (source.due, source.new, source.open_processes, saved, source.subscriptions):
            with pytest.raises(LedgerBehind, match="lacks 7 entries"):
                ask()


@pytest.mark.parametrize("stands", [{"problem": "a full disk"}, {"lag_seconds": 600.0}])
def test_one_that_stands_still_holds_no_deadline_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox, stands: dict[str, Any]
) -> None:
    source = held(monkeypatch, tmp_path, inbox, Lacking(**stands))
    with pytest.raises(AssertionError, match="open_processes was asked for"):
        source.open_processes()


def test_one_that_never_catches_up_holds_no_deadline_back_whatever_lag_it_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox
) -> None:
    """A holder that dies over an entry and is started again, or that is always some seconds behind,
    counts from the start again: it lagged for less than ten minutes, and nobody was told."""
    clock, lacks = [1000.0], [7]
    monkeypatch.setattr(due_alerts.time, "monotonic", lambda: clock[0])

    class Restarted(Lacking):
        def catch_up(self, seconds: float) -> int:
            return lacks[0]

        def read(self, view: str, **_: Any) -> Any:
            return rows

    rows = object()
    source = held(monkeypatch, tmp_path, inbox, Restarted(lag_seconds=6.0))

    def is_believed() -> bool:
        try:
            return source._read("alerts") is rows
        except LedgerBehind:
            return False

    found = []
    for at_second, lacking in (
        (0, 7),
        (599, 7),
        (600, 7),
        (601, 0),
        (602, 7),
        (1201, 7),
        (1202, 7),
    ):
        clock[0], lacks[0] = 1000.0 + at_second, lacking
        stands = source.status()
        assert stands is not None
        found.append((is_believed(), stands["lag_seconds"]))
    assert found == [
        (False, 6.0),
        (False, 599.0),
        (True, 600.0),
        (True, 601.0),
        (False, 6.0),
        (False, 599.0),
        (True, 600.0),
    ]


def test_where_the_inbox_cannot_be_read_a_ledger_that_stands_still_is_believed_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_disk: Path, inbox: Inbox
) -> None:
    """A disk that is full, and a process that is finished by the inbox. In doubt it is told of."""
    soon = instants.canonical(instants.now() + instants.DAY // 2)

    def report(status: str) -> int:
        event = review(process_id="p1", status=status, deadline_at=soon)
        draft = delivery(event, occurred_at=instants.now(), recorded_by="webhook")
        [receipt] = inbox.append([draft])
        assert receipt.entry is not None
        return receipt.entry.recorded_at

    newest_at = report("OVERDUE")
    settings = settings_in(tmp_path, ledger=small_disk / "ledger.duckdb")
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        source = DueByLedger(OwnLedger(service), inbox)
        report("PENDING")
        for ask in (source.due, source.new):
            assert [(it.kind, it.ledger_at) for it in ask()] == [("before_1d", newest_at)]
        report("FINISHED")
        assert source.due() == source.due() == source.new() == []
        with monkeypatch.context() as hurried:
            hurried.setattr(due_alerts, "INBOX_SECONDS", 0.0)
            assert [it.kind for it in source.due()] == ["before_1d"]

        def away(*_: object) -> Any:
            raise InboxUnavailable("The inbox cannot be read", "its server is gone")

        monkeypatch.setattr(inbox, "_reading", away)
        for ask in (source.due, source.new):
            assert [(it.kind, it.ledger_at) for it in ask()] == [("before_1d", newest_at)]


def test_what_is_due_by_a_ledger_that_does_not_say_where_it_stands_lasts(
    tmp_path: Path, inbox: Inbox
) -> None:
    """Before: once nobody held it, nobody was told of any of that."""

    class Silent(OwnLedger):
        def read(self, view: str, **more: Any) -> Any:
            if view == due_alerts.HEALTH:
                raise OperatorError("The ledger cannot be read")
            return super().read(view, **more)

    soon = instants.canonical(instants.now() + instants.DAY // 2)
    event = review(process_id="p1", status="OVERDUE", deadline_at=soon)
    inbox.append([delivery(event, occurred_at=instants.now(), recorded_by="webhook")])
    with closing(LedgerService(settings_in(tmp_path))) as service:
        source = DueByLedger(Silent(service), inbox)
        dues = source.due()
        assert [it.kind for it in dues] == ["before_1d"]
        assert source.lasting(dues) == dues


def test_where_nobody_holds_it_nothing_is_known_rather_than_nothing_due(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox
) -> None:
    with pytest.raises(OperatorError, match="Nobody holds the ledger"):
        held(monkeypatch, tmp_path, inbox, None).due()


def refuse_rows(request: BaseHTTPRequestHandler) -> None:
    """As a holder that is alive, and whose ledger cannot be read, as on a full disk."""
    numbers = {"inbox_seq": 1, "last_seq": 1, "lag_seconds": 0.0}
    stands = {"problem": None, "is_verified": True, **numbers}
    is_status = request.path == "/api/status"
    fault = {"error": "The ledger is closed", "why": "", "remedy": "", "exit_code": 2}
    said = json.dumps(stands if is_status else fault).encode()
    give(request, 200 if is_status else 503, said)


def test_a_holder_that_refuses_ends_nobody_who_sends(tmp_path: Path, inbox: Inbox) -> None:
    """Before: the error went through, and `prazo alerts run` ended with what it knew."""
    settings = settings_in(tmp_path)
    with (
        Answering(refuse_rows) as server,
        announced(settings.ledger, "127.0.0.1", server.server_port),
    ):
        source = DueByHolder(settings, inbox, lambda: 600.0)
        assert source.status() is not None
        for ask in (source.due, source.new, source.open_processes, source.subscriptions):
            with pytest.raises(OperatorError, match="The ledger is closed"):
                ask()


def test_one_that_is_catching_up_is_not_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inbox: Inbox
) -> None:
    class Behind(Bare):
        def due(self) -> list[Due]:
            raise LedgerBehind("The ledger is catching up")

        new = open_processes = saved_views = subscriptions = due

        def status(self) -> dict[str, Any]:
            return {
                "problem": None,
                "is_verified": False,
                "inbox_seq": 9,
                "last_seq": 2,
                "lag_seconds": 200.0,
            }

    clock = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: clock[0])
    rules = AlertRules.model_validate(
        {"mail": MAIL, "recipients": {"eva": EVA}, "watch": {"receivers": []}}
    )
    mine = Watch(settings_in(tmp_path), inbox)
    dispatcher = Dispatcher(inbox, Behind(), lambda: rules, mine, now=lambda: NOW)  # type: ignore[arg-type]
    for _ in range(2):
        dispatcher.run_once()
        clock[0] += 120
    assert inbox.last()[0] == 0
