"""With nobody who holds the ledger, what it said goes on from the inbox alone: real processes, of
which the one that holds the ledger is gone."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery
from tests.alert.away.hurried import PROGRAM
from tests.alert.away.prompt import FOLLOWER
from tests.alert.away.test_processes import ACI, DAY, Office
from tests.alert.sinks import WebhookServer
from tests.support.events import review
from tests.support.machine import wait_until

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """One that works on the day after tomorrow alone."""
    with WebhookServer().running() as server:
        made = Office(tmp_path, server, str(tmp_path / "inbox.db"), lambda: None, lambda: None)
        in_two_days = instants.of(instants.now() + 2 * DAY).weekday()
        works(tmp_path, every=DAYS, on=(DAYS[in_two_days],))
        yield made


def works(folder: Path, *, every: tuple[str, ...], on: tuple[str, ...]) -> None:
    """Changes the days on which the office works."""
    rules = folder / "alerts.toml"
    old, new = (f"days = {json.dumps(it)}" for it in (every, on))
    assert old in rules.read_text()
    rules.write_text(rules.read_text().replace(old, new))


def report(office: Office, process_id: str, deadline_at: int, **more: str) -> None:
    """Delivers a report of a process."""
    event = review(process_id=process_id, deadline_at=instants.canonical(deadline_at), **more)
    with closing(open_inbox(office.settings.inbox)) as inbox:
        draft = delivery(event, occurred_at=instants.now(), recorded_by="webhook")
        inbox.append([draft])


@pytest.mark.long
def test_what_failed_and_what_waits_goes_on_without_what_is_finished_by_the_inbox(
    office: Office,
) -> None:
    """Before: of a deadline that had passed, and of which a message had failed, nobody heard until
    somebody held the ledger again; nor of what waited for Monday."""
    now = instants.now()
    past, later = now - instants.MINUTE, now + 50 * DAY
    for process_id in ("p1", "p2"):
        report(office, process_id, later)
    for process_id in ("p3", "p4"):
        report(office, process_id, past, type=ACI, status="OVERDUE")
    office.desk.status = 500
    with ExitStack() as running:
        with office.running(FOLLOWER):
            running.enter_context(office.running(PROGRAM, "100000"))
            for process_id, kind in zip(
                ("p1", "p2", "p3", "p4"), ("opened", "opened", "expired", "expired"), strict=True
            ):
                raised = ("raised", kind, None, process_id)
                wait_until(lambda step=raised: step in office.said(), pause=0.1)
            for process_id in ("p3", "p4"):
                failed = ("failed", "expired", "ana", process_id)
                wait_until(lambda step=failed: step in office.said(), pause=0.1)
        wait_until(lambda: ("failed", "ledger_down", "ops", None) in office.said(), pause=0.1)
        report(office, "p2", later, status="FINISHED")
        report(office, "p4", past, type=ACI, status="FINISHED")
        # What was on its way by then is over once two more have failed.
        again = office.said().count(("failed", "expired", "ana", "p3")) + 2
        wait_until(
            lambda: office.said().count(("failed", "expired", "ana", "p3")) >= again, pause=0.1
        )
        asked = len(office.desk.taken)
        office.desk.status = 204
        wait_until(lambda: ("sent", "expired", "ana", "p3") in office.said(), pause=0.1)
        works(office.folder, every=(DAYS[instants.of(now + 2 * DAY).weekday()],), on=DAYS)
        wait_until(lambda: ("sent", "opened", "ana", "p1") in office.said(), pause=0.1)
    sent = [it for it in office.said() if it[0] == "sent" and it[3] is not None]
    assert sorted(sent) == [("sent", "expired", "ana", "p3"), ("sent", "opened", "ana", "p1")]
    messages = [json.loads(it.body) for it in office.desk.taken[asked:]]
    told = [it for each in messages if each["to"] == "ana" for it in each["alerts"]]
    assert all(it["ledger_at"] is not None for it in told if it["process_id"] in ("p1", "p3"))


def test_people_hear_of_a_deadline_that_passes_while_the_ledger_is_gone(office: Office) -> None:
    """Before: once somebody held it again."""
    now = instants.now()
    with ExitStack() as running:
        with office.running(FOLLOWER):
            running.enter_context(office.running(PROGRAM, "100000", "0.1"))
            report(office, "p1", now + 50 * DAY)
            wait_until(lambda: ("raised", "opened", None, "p1") in office.said(), pause=0.1)
            deadline = instants.now() + 5 * instants.SECOND
            report(office, "p2", deadline, type=ACI, status="OVERDUE")
            report(office, "p3", now + 50 * DAY)
            wait_until(lambda: ("raised", "opened", None, "p3") in office.said(), pause=0.1)
            # Between two turns it asks what is to come: by the next one it knows of `p2`.
            report(office, "p4", now + 50 * DAY)
            wait_until(lambda: ("raised", "opened", None, "p4") in office.said(), pause=0.1)
        wait_until(lambda: ("sent", "expired", "ana", "p2") in office.said(), pause=0.1)
