"""A ledger that stands still holds no deadline back, and what is finished by the inbox alarms
nobody: real processes, and a disk that is full."""

import json
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.ledger.service import LedgerService
from pipeline.log.deliveries import delivery
from pipeline.serve.remote import holder
from tests.alert.away.hurried import PROGRAM
from tests.alert.away.test_processes import ACI, Office, desk  # noqa: F401
from tests.alert.sinks import WebhookServer
from tests.support.events import review
from tests.support.machine import wait_until

SECOND = instants.SECOND


class Standing(Office):
    """Three processes whose deadline passes within seconds, and a ledger whose disk is full. One id
    looks like a tax id: the ledger shows its mask."""

    def __init__(self, folder: Path, server: WebhookServer, disk: Path) -> None:
        super().__init__(folder, server, str(folder / "inbox.db"), disk.touch, disk.touch)
        self.environment["PRAZO_LEDGER"] = str(disk / "ledger.duckdb")
        self.settings = self.settings.model_copy(update={"ledger": disk / "ledger.duckdb"})
        self.disk = disk
        self.deadline = instants.now() + 8 * SECOND
        with closing(LedgerService(self.settings)) as service:
            for process_id in ("p1", "52998224725", "p3"):
                self.newest_at = self.deliver(service.inbox, process_id, "OVERDUE")
            service.catch_up()

    def deliver(self, inbox: Any, process_id: str, status: str) -> int:
        """Delivers a report; when it was recorded."""
        due = instants.canonical(self.deadline)
        event = review(process_id=process_id, type=ACI, status=status, deadline_at=due)
        now = instants.now()
        [receipt] = inbox.append([delivery(event, occurred_at=now, recorded_by="webhook")])
        recorded_at: int = receipt.entry.recorded_at
        return recorded_at

    def is_held(self) -> bool:
        """Whether a process holds the ledger and answers."""
        with holder(self.settings) as asked:
            return asked is not None

    def fill(self) -> None:
        (self.disk / "ballast").write_bytes(bytes(shutil.disk_usage(self.disk).free))

    def alerts(self) -> list[dict[str, Any]]:
        """What ana was told of, as it came."""
        messages = [json.loads(it.body) for it in self.desk.taken]
        return [alert for it in messages if it["to"] == "ana" for alert in it["alerts"]]


@pytest.fixture
def standing(tmp_path: Path, desk: WebhookServer, small_disk: Path) -> Standing:  # noqa: F811
    return Standing(tmp_path, desk, small_disk)


def test_what_is_finished_by_the_inbox_alarms_nobody_and_the_rest_says_where_the_ledger_stands(
    standing: Standing,
) -> None:
    """Before: whoever had sent the answers in time was told at night that the deadline had
    passed."""
    with ExitStack() as running:
        running.enter_context(standing.running("-m", "pipeline.cli", "follow"))
        wait_until(standing.is_held)  # or it could not be opened on a full disk
        running.enter_context(standing.running(PROGRAM))
        standing.fill()
        with closing(open_inbox(standing.settings.inbox)) as inbox:
            for process_id in ("p1", "52998224725"):
                standing.deliver(inbox, process_id, "FINISHED")
            standing.deliver(inbox, "p3", "OVERDUE")
        wait_until(lambda: standing.alerts() != [])
    assert instants.now() > standing.deadline
    [alert] = standing.alerts()
    assert (alert["kind"], alert["process_id"]) == ("expired", "p3")
    assert alert["ledger_at"] == instants.canonical(standing.newest_at)
    told = [it for it in standing.said() if it[3] is not None]
    assert told == [(it, "expired", to, "p3") for it, to in STEPS]


STEPS = (("raised", None), ("tried", "ana"), ("sent", "ana"))
