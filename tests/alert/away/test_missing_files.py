"""A file that one channel needs keeps nobody else untold: the real process, over real files that
are missing, empty or garbled, or that never come to their end."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery
from tests.alert.away.hurried import PROGRAM
from tests.alert.away.test_processes import ACI, DAY, Office
from tests.alert.sinks import WebhookServer
from tests.support.events import review
from tests.support.machine import wait_until

MISSING = "recipients.desk.webhook_secret_file"
DESK = """
[recipients.desk]
webhook = "{url}/desk"
webhook_secret_file = "desk-secret"
[[routes]]
to = ["role"]
roles = ["admin"]
[[routes]]
to = ["desk"]
roles = ["officer"]
escalate = [{{ after = "4h", to = ["ana"] }}]
"""


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """A marketplace whose desk is told first; the file of its secret is not there."""
    with WebhookServer().running() as server:
        made = Office(tmp_path, server, str(tmp_path / "inbox.db"), lambda: None, lambda: None)
        rules = tmp_path / "alerts.toml"
        rules.write_text(rules.read_text() + DESK.format(url=server.url))
        yield made


def opens(office: Office, process_id: str) -> None:
    """Delivers a review that begins now."""
    now = instants.now()
    at = instants.canonical(now + 50 * DAY)
    event = review(process_id=process_id, deadline_at=at)
    with closing(open_inbox(office.settings.inbox)) as inbox:
        inbox.append([delivery(event, occurred_at=now, recorded_by="webhook")])


def expires(office: Office, process_id: str) -> None:
    """Delivers a review of which nobody heard before its deadline, which passed a minute ago."""
    now = instants.now()
    at = instants.canonical(now - instants.MINUTE)
    event = review(process_id=process_id, type=ACI, status="OVERDUE", deadline_at=at)
    with closing(open_inbox(office.settings.inbox)) as inbox:
        inbox.append([delivery(event, occurred_at=now, recorded_by="webhook")])


@contextmanager
def sending(office: Office) -> Iterator[Any]:
    """Somebody holds the ledger and the process that is given sends, until the block ends."""
    with office.running("-m", "pipeline.cli", "follow"), office.running(PROGRAM, "1") as sends:
        yield sends


@pytest.mark.long
def test_whose_secret_is_missing_at_a_start_is_left_out_alone_and_hears_once_it_is_there(
    office: Office,
) -> None:
    """Before: whoever sends did not start, and nobody heard of any deadline until somebody put the
    file there."""
    expires(office, "p1")
    with sending(office) as sends:
        wait_until(lambda: ("sent", "expired", "ana", "p1") in office.said(), pause=0.1)
        wait_until(lambda: ("sent", "channel_files", "ops", None) in office.said(), pause=0.1)
        assert ("desk", "expired") not in office.told()
        failed = [it for it in office.said() if it[0] == "failed"]
        assert failed == [("failed", "expired", "desk", "p1")] * 2
        assert ("undelivered", None, "desk", "p1") in office.said()
        messages = [json.loads(it.body) for it in office.desk.taken]
        for_ops = [it for each in messages if each["to"] == "ops" for it in each["alerts"]]
        named = [(it["severity"], it["files"]) for it in for_ops if it["kind"] == "channel_files"]
        assert named == [("risk", [MISSING])]
        logged = office.log.read_text()
        assert (
            logged.count(f"nobody is told by {MISSING}: The file desk-secret cannot be read") == 1
        )

        (office.folder / "desk-secret").write_text("whsec_" + "QUFB" * 8)
        wait_until(lambda: ("cleared", None, None, None) in office.said(), pause=0.1)
        opens(office, "p2")
        wait_until(lambda: ("sent", "opened", "desk", "p2") in office.said(), pause=0.1)
        # What is wrong in the rules themselves changes nothing in a process that runs.
        rules = office.folder / "alerts.toml"
        rules.write_text(rules.read_text().replace('"desk"', '"dsek"') + "[recipients.ana")
        wait_until(lambda: "what was read before stays in force" in office.log.read_text())
        opens(office, "p3")
        wait_until(lambda: ("sent", "opened", "desk", "p3") in office.said(), pause=0.1)
        assert sends.poll() is None


@pytest.mark.long
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(office: Office) -> None:
    """Before: whoever sends waited for its writer, and told nobody of anything for as long."""
    rules = office.folder / "alerts.toml"
    rules.write_text(rules.read_text().replace('to = ["desk"]', 'to = ["ana"]'))
    os.mkfifo(office.folder / "desk-secret")
    expires(office, "p1")
    with sending(office):
        wait_until(lambda: ("sent", "expired", "ana", "p1") in office.said(), pause=0.1)
        wait_until(lambda: ("sent", "channel_files", "ops", None) in office.said(), pause=0.1)
        messages = [json.loads(it.body) for it in office.desk.taken]
        told = [it for each in messages for it in each["alerts"]]
        assert [it["files"] for it in told if it["kind"] == "channel_files"] == [[MISSING]]
        said = f"nobody is told by {MISSING}: The file desk-secret cannot be read"
        assert office.log.read_text().count(said) == 1
        assert "it is not a plain file" in office.log.read_text()


@pytest.mark.long
def test_files_for_the_platform_on_a_disk_that_hangs_keep_nobody_waiting(office: Office) -> None:
    """Before: whoever sends looked at them itself, and told nobody of anything for as long."""
    credentials = office.folder / "credentials"
    os.mkfifo(credentials)
    for name in ("certificate", "key"):
        (office.folder / name).symlink_to(credentials)
    office.environment |= {
        "PRAZO_PLATFORM_URL": "https://platform.example",
        "PRAZO_CLIENT_CERT_FILE": "certificate",
        "PRAZO_CLIENT_KEY_FILE": "key",
    }
    expires(office, "p1")
    with sending(office):
        wait_until(lambda: ("sent", "expired", "ana", "p1") in office.said(), pause=0.1)
        wait_until(lambda: ("sent", "platform_files", "ops", None) in office.said(), pause=0.1)
        said = "the files for the platform cannot be used: they were not read within 10 s"
        assert office.log.read_text().count(said) == 1


@pytest.mark.long
def test_rules_stay_in_force_where_a_pipe_takes_their_place(office: Office) -> None:
    """Before: whoever sends waited for its writer, and told nobody of anything for as long."""
    rules = office.folder / "alerts.toml"
    (office.folder / "desk-secret").write_text("whsec_" + "QUFB" * 8)
    with sending(office):
        opens(office, "p1")
        wait_until(lambda: ("sent", "opened", "desk", "p1") in office.said(), pause=0.1)
        pipe = office.folder / "pipe"
        os.mkfifo(pipe)
        pipe.replace(rules)
        wait_until(lambda: f"The file {rules.name} cannot be read" in office.log.read_text())
        opens(office, "p2")
        wait_until(lambda: ("sent", "opened", "desk", "p2") in office.said(), pause=0.1)
