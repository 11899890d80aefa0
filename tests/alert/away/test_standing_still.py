"""A ledger that stands still holds no deadline back, and what is finished by the inbox alarms
nobody: real processes, of which the one that holds the ledger does not reach the inbox."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery
from pipeline.serve.remote import holder
from tests.alert.away.hurried import PROGRAM
from tests.alert.away.test_processes import ACI, Office
from tests.alert.sinks import WebhookServer
from tests.faults.network import between
from tests.support.events import review
from tests.support.machine import wait_until

PROCESSES = ("p1", "52998224725", "p3")
"""The second looks like a tax id: the ledger shows its mask."""
STEPS = (("raised", None), ("tried", "ana"), ("sent", "ana"))


@pytest.fixture
def office(tmp_path: Path, database: str) -> Iterator[Office]:
    """An inbox that whoever sends reaches, and the ledger's holder only until it is taken away."""
    there = urlsplit(database)
    with between("127.0.0.1", there.port or 0) as network, WebhookServer().running() as server:
        made = Office(tmp_path, server, database, network.cut, network.heal)
        made.holders = there._replace(netloc=f"postgres@127.0.0.1:{network.port}").geturl()
        yield made


def report(inbox: Any, process_id: str, status: str) -> int:
    """Delivers a report of a process whose deadline passed yesterday; when it was recorded."""
    now = instants.now()
    deadline = instants.canonical(now - now % instants.DAY - instants.MINUTE)
    event = review(process_id=process_id, type=ACI, status=status, deadline_at=deadline)
    [receipt] = inbox.append([delivery(event, occurred_at=now, recorded_by="webhook")])
    recorded_at: int = receipt.entry.recorded_at
    return recorded_at


def problem(office: Office) -> object:
    """Why the ledger does not follow its inbox, by the process that holds it; "" without one."""
    with holder(office.settings) as asked:
        return "" if asked is None else asked.problem()


@pytest.mark.long
def test_what_is_finished_by_the_inbox_alarms_nobody_and_the_rest_says_where_the_ledger_stands(
    office: Office,
) -> None:
    """Before: anyone who had sent the answers in time was told at night that the deadline had
    passed."""
    with closing(LedgerService(office.settings)) as service:
        newest_at = [report(service.inbox, it, "OVERDUE") for it in PROCESSES][-1]
        service.catch_up()
    with ExitStack() as running:
        running.enter_context(
            office.running("-m", "pipeline.cli", "follow", PRAZO_INBOX=office.holders)
        )
        wait_until(lambda: problem(office) is None, pause=0.1)
        office.take_away()
        wait_until(lambda: problem(office), pause=0.1)
        with closing(open_inbox(office.settings.inbox)) as inbox:
            for process_id, status in zip(
                PROCESSES, ("FINISHED", "FINISHED", "OVERDUE"), strict=True
            ):
                report(inbox, process_id, status)
        running.enter_context(office.running(PROGRAM))
        wait_until(lambda: ("sent", "expired", "ana", "p3") in office.said(), pause=0.1)
    messages = [json.loads(it.body) for it in office.desk.taken]
    [alert] = [alert for it in messages if it["to"] == "ana" for alert in it["alerts"]]
    assert (alert["kind"], alert["process_id"]) == ("expired", "p3")
    assert alert["ledger_at"] == instants.canonical(newest_at)
    of_processes = [it for it in office.said() if it[3] is not None]
    assert of_processes == [(it, "expired", to, "p3") for it, to in STEPS]
