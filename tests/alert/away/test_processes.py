"""While nothing can be recorded people are told all the same, and the log says so afterwards: the
real processes over a real inbox that goes away, and servers of the tests' own."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.log.deliveries import delivery
from tests import fork_server
from tests.alert.away.hurried import PROGRAM
from tests.alert.sinks import WebhookServer
from tests.faults.network import between
from tests.support.events import review
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in, settings_in

ALERTS = """
dashboard_url = "https://prazo.market.example"
[hours]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
start = "00:00"
end = "23:59"
holidays = ""
[ladder]
opened = ["ACP"]
overdue = false
before = []
[watch]
receivers = []
[recipients.ana]
webhook = "{url}/ana"
webhook_secret_file = "secret"
[recipients.ops]
role = "admin"
webhook = "{url}/ops"
webhook_secret_file = "secret"
"""
ACI = "INCONSISTENT_DATA_UPDATE_REQUIRED"
DAY = 24 * instants.HOUR
ALERTS_OF = "select body, occurred_at, process_id from entries where kind = 'alert' order by seq"


class Office:
    """A marketplace with two people who are told, and an inbox that tests take away."""

    def __init__(
        self,
        folder: Path,
        desk: WebhookServer,
        location: str,
        take_away: Callable[[], object],
        bring_back: Callable[[], object],
    ) -> None:
        self.folder, self.desk = folder, desk
        self.holders = location  # the inbox as the ledger's holder reaches it
        self.take_away, self.bring_back = take_away, bring_back
        self.environment = os.environ | environment_in(folder)
        self.environment |= {
            "PRAZO_INBOX": location,
            "PRAZO_ALERTS_FILE": "alerts.toml",
            "PRAZO_DASHBOARD_PORT": str(free_port()),
        }
        (folder / "secret").write_text("whsec_" + "QUFB" * 8)
        (folder / "alerts.toml").write_text(ALERTS.format(url=desk.url))
        self.log = folder / "alerts.log"
        self.settings = settings_in(folder, inbox=location)

    @contextmanager
    def running(self, *program: str, **environment: str) -> Iterator[Any]:
        """A process of ours, until the block ends; `environment`: its own."""
        with self.log.open("a") as log:
            process = fork_server.start(
                [sys.executable, *program],
                env=self.environment | environment,
                cwd=self.folder,
                stderr=log,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def told(self) -> list[tuple[str, str]]:
        """(recipient, kind) of each alert in each message, as they came."""
        messages = [json.loads(it.body) for it in self.desk.taken]
        return [(it["to"], alert["kind"]) for it in messages for alert in it["alerts"]]

    def said(self) -> list[tuple[str, str | None, str | None, str | None]]:
        """(step, kind, recipient, process) of each entry about an alert, as they stand."""
        with closing(open_inbox(self.settings.inbox)) as inbox:
            found = inbox.query(ALERTS_OF)
        rows = [(json.loads(body), process_id) for body, _, process_id in found]
        return [(it["step"], it.get("about"), it.get("to"), process) for it, process in rows]


@pytest.fixture
def desk() -> Iterator[WebhookServer]:
    with WebhookServer().running() as server:
        yield server


@pytest.fixture(
    params=[
        "a file whose disk is gone",
        pytest.param("a server that nobody reaches", marks=pytest.mark.long),
    ]
)
def office(request: pytest.FixtureRequest, tmp_path: Path, desk: WebhookServer) -> Iterator[Office]:
    if request.param == "a file whose disk is gone":
        disk, gone = tmp_path / "disk", tmp_path / "gone"
        disk.mkdir()

        def unmount() -> None:
            disk.rename(gone)
            disk.touch()  # or another inbox would be made there

        def mount() -> None:
            disk.unlink()
            gone.rename(disk)

        yield Office(tmp_path, desk, str(disk / "inbox.db"), unmount, mount)
        return
    there = urlsplit(request.getfixturevalue("database"))
    with between("127.0.0.1", there.port or 0) as network:
        location = there._replace(netloc=f"postgres@127.0.0.1:{network.port}").geturl()
        yield Office(tmp_path, desk, location, network.cut, network.heal)


def test_people_hear_of_a_deadline_while_nothing_can_be_recorded_and_it_is_recorded_later(
    office: Office,
) -> None:
    """Before: nobody was told of anything, not even of the inbox, until it was back."""
    soon, later = (
        instants.canonical(instants.now() + span) for span in (6 * instants.SECOND, 50 * DAY)
    )
    events = [
        # The id looks like a tax id: the ledger shows its mask, and the entries have it.
        review(process_id="52998224725", type=ACI, status="OVERDUE", deadline_at=soon),
        review(process_id="p1", deadline_at=later),
    ]
    with closing(LedgerService(office.settings)) as service:
        now = instants.now()
        service.inbox.append(
            [delivery(it, occurred_at=now, recorded_by="webhook") for it in events]
        )
        service.catch_up()
    with ExitStack() as running:
        running.enter_context(office.running("-m", "pipeline.cli", "follow"))
        sends = running.enter_context(office.running(PROGRAM))
        wait_until(lambda: ("sent", "opened", "ana", "p1") in office.said(), pause=0.1)
        office.take_away()
        wait_until(lambda: len(office.told()) >= 3)
        assert b"52998224725" not in b"".join(it.body for it in office.desk.taken)
        back = instants.now()
        office.bring_back()
        wait_until(lambda: ("cleared", None, None, None) in office.said(), pause=0.1)
        assert sends.poll() is None
    told = [("ana", "expired"), ("ana", "opened"), ("ops", "inbox_down")]
    assert sorted(office.told()) == told  # nobody twice
    assert sorted(office.said(), key=str) == [
        ("cleared", None, None, None),
        ("raised", "expired", None, "52998224725"),
        ("raised", "inbox_down", None, None),
        ("raised", "opened", None, "p1"),
        ("sent", "expired", "ana", "52998224725"),
        ("sent", "inbox_down", "ops", None),
        ("sent", "opened", "ana", "p1"),
        ("tried", "expired", "ana", "52998224725"),
        ("tried", "inbox_down", "ops", None),
        ("tried", "opened", "ana", "p1"),
    ]
    with closing(open_inbox(office.settings.inbox)) as inbox:
        found = inbox.query(ALERTS_OF)
    tried = [at for body, at, _ in found if json.loads(body)["step"] == "tried"]
    assert all(at < back for at in tried)  # when it was, not when it could be written down


def test_people_hear_of_an_inbox_that_cannot_be_opened_and_the_process_goes_on_once_it_can(
    office: Office,
) -> None:
    """Before: it ended and was started again, over and over, and nobody was told."""
    with closing(open_inbox(office.settings.inbox)):
        pass
    office.take_away()
    with office.running(PROGRAM) as sends:
        wait_until(lambda: office.told() == [("ops", "inbox_down")])
        wait_until(
            lambda: "1 of 1 alert sent" in office.log.read_text()
        )  # it has had the answer, too
        office.bring_back()
        wait_until(lambda: ("cleared", None, None, None) in office.said())
        assert sends.poll() is None
    assert [it[:3] for it in office.said()] == [
        ("raised", "inbox_down", None),
        ("tried", "inbox_down", "ops"),
        ("sent", "inbox_down", "ops"),
        ("cleared", None, None),
    ]
    assert office.told() == [("ops", "inbox_down")]


def test_a_process_that_ends_before_the_inbox_is_back_says_what_is_not_recorded(
    office: Office,
) -> None:
    with closing(open_inbox(office.settings.inbox)) as inbox, office.running(PROGRAM):
        wait_until(lambda: Part.ALERTS in heartbeats(inbox))
        inbox.close()
        office.desk.status = 500
        office.take_away()
        wait_until(lambda: office.told() == [("ops", "inbox_down")])
        wait_until(lambda: "it answered 500" in office.log.read_text())
    assert "3 steps about alerts could not be recorded" in office.log.read_text()
    office.bring_back()
    assert office.said() == []
