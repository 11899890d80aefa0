"""A copy of an inbox records and sends nothing, whichever part would send, until a person says that
it is the one in use: the real processes, over what a restore put back and over a file that was
copied."""

import contextlib
import json
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.inbox import copies, open_inbox
from tests import fork_server
from tests.alert.sinks import WebhookServer
from tests.forward.conftest import endpoints_file, of_seller
from tests.forward.sink import Sink, sink
from tests.inbox.conftest import location
from tests.submit.attempts import a_waiting_retry
from tests.support.commands import here
from tests.support.machine import free_port, wait_until
from tests.support.marketplace import Marketplace, Review
from tests.support.stores import environment_in

__all__ = ["location"]

SENDERS = (("resume", "--follow"), ("forward", "run"), ("alerts", "run"))
ALERTS = """
[hours]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
start = "00:00"
end = "23:59"
holidays = ""
[recipients.ana]
webhook = "{url}"
webhook_secret_file = "{folder}/secret"
"""


class Copy(NamedTuple):
    """A machine with a copy of a marketplace's inbox, in which a retry is due."""

    folder: Path
    environment: dict[str, str]
    market: Sink
    desk: WebhookServer
    platform: Marketplace
    review: Review

    def prazo(self, *arguments: str) -> Any:
        return here(*arguments, environment=self.environment, folder=self.folder)

    def sent(self) -> tuple[int, int, int]:
        """How many PUTs, deliveries and messages there were."""
        puts = self.platform.puts(self.review.process_id)
        return len(puts), len(self.market.taken), len(self.desk.taken)

    def deliver(self, body: bytes) -> int:
        """The status with which the receiver answers a delivery."""
        port = self.environment["PRAZO_RECEIVER_PORT"]
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/webhooks", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)

    @contextlib.contextmanager
    def running(self, *senders: tuple[str, ...]) -> Iterator[None]:
        with ExitStack() as ended:
            for sender in senders:
                with self.log(sender).open("ab") as log:
                    process = fork_server.start(
                        [sys.executable, "-m", "pipeline.cli", *sender],
                        env=self.environment,
                        cwd=self.folder,
                        stdout=log,
                        stderr=log,
                    )
                ended.callback(process.wait, 60)
                ended.callback(process.terminate)
            yield

    def log(self, sender: tuple[str, ...]) -> Path:
        return self.folder / f"{sender[0]}.log"

    def said(self, sender: tuple[str, ...]) -> str:
        return self.log(sender).read_text()

    def is_ready(self) -> bool:
        port = self.environment["PRAZO_RECEIVER_PORT"]
        with contextlib.suppress(OSError):
            return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5))
        return False


@pytest.fixture
def copied(marketplace: Marketplace, location: str, tmp_path: Path) -> Iterator[Copy]:
    marketplace.review(is_answered=False, days_ago=40)  # its deadline is an alert
    review = a_waiting_retry(marketplace, seconds=1)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret").write_text("whsec_" + "QUFB" * 8)
    with sink() as market, WebhookServer().running() as desk:
        (folder / "alerts.toml").write_text(ALERTS.format(url=desk.url, folder=folder))
        environment = marketplace.process_environment() | environment_in(folder)
        environment |= {
            "PRAZO_RECEIVER_PORT": str(free_port()),
            "PRAZO_DASHBOARD_PORT": str(free_port()),
            "PRAZO_FORWARD_FILE": str(endpoints_file(folder, {"url": market.url})),
            "PRAZO_ALERTS_FILE": str(folder / "alerts.toml"),
            "PRAZO_INBOX": location if location.startswith("postgresql") else "inbox.db",
        }
        yield Copy(folder, environment, market, desk, marketplace, review)


def put_back(copied: Copy) -> None:
    saved = str(copied.folder / "saved")
    owners = copied.platform.process_environment()
    done = here("backup", saved, "--with-keys", environment=owners, folder=copied.folder)
    assert done.returncode == 0, done.stderr
    done = copied.prazo("restore", saved)
    assert done.returncode == 0, done.stdout
    assert "nothing is sent from here yet" in done.stdout


def test_what_was_put_back_sends_nothing_before_a_person_says_that_it_is_the_one(
    copied: Copy,
) -> None:
    put_back(copied)
    with copied.running(("receive",), *SENDERS):
        wait_until(copied.is_ready)
        assert copied.deliver(of_seller("sel_1")) == 200
        wait_until(lambda: all("nobody has said yet" in copied.said(it) for it in SENDERS))
    for words in (("send",), ("test", "ana")):
        sent = copied.prazo("alerts", *words)
        assert (sent.returncode, "Nothing is sent from this inbox" in sent.stderr) == (1, True)
    resumed = copied.prazo("resume", "--process", copied.review.process_id)
    assert (resumed.returncode, "Nothing is sent" in resumed.stderr) == (1, True)
    assert copied.sent() == (1, 0, 0)
    assert "nothing is sent: it was put back from a copy" in copied.prazo("doctor").stdout

    assert copied.prazo("restore", "--confirm", "the old machine is gone").returncode == 2
    by = ("--confirm", "the old machine is gone", "--actor", "Ana")
    assert copied.prazo("restore", *by).returncode == 0
    again = copied.prazo("restore", *by)
    assert (again.returncode, "the one in use already" in again.stderr) == (1, True)
    assert copied.prazo("alerts", "send").returncode == 0
    with copied.running(("receive",), *SENDERS[:2]):
        wait_until(copied.is_ready)
        wait_until(lambda: "deliveries go to" in copied.said(SENDERS[1]))
        wait_until(lambda: copied.deliver(of_seller("sel_1")) and copied.market.taken, pause=1)
        wait_until(lambda: copied.sent()[0] == 2)
    assert copied.desk.taken
    assert "this inbox is the one in use" in copied.prazo("doctor").stdout
    with closing(open_inbox(_place(copied))) as inbox:
        [entry] = inbox.find(kind="restoration")
    said = json.loads(entry.body or b"")
    assert (said["step"], said["reason"]) == ("confirmed", "the old machine is gone")
    assert entry.name == "Ana"


def test_a_file_that_was_copied_sends_nothing_and_the_one_in_use_goes_on(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    review = a_waiting_retry(marketplace)
    assert copies.why_held(marketplace.inbox) == ""
    marketplace.inbox.close()
    elsewhere = tmp_path / "elsewhere.db"
    shutil.copy2(tmp_path / "inbox.db", elsewhere)
    there = marketplace.process_environment(PRAZO_INBOX=str(elsewhere))
    asked = ("resume", "--process", review.process_id)
    done = here(*asked, environment=there, folder=tmp_path)
    assert (done.returncode, "a copy of one that stands elsewhere" in done.stderr) == (1, True)
    assert len(marketplace.puts(review.process_id)) == 1
    # A name that was given away, and the number of the file that had it, make no copy the one.
    (tmp_path / "inbox.db").unlink()
    shutil.copy2(elsewhere, tmp_path / "inbox.db")
    done = here(*asked, environment=marketplace.process_environment(), folder=tmp_path)
    assert done.returncode == 1


def test_a_file_under_another_name_is_the_same_one(tmp_path: Path) -> None:
    open_inbox(tmp_path / "inbox.db").close()
    (tmp_path / "inbox.db").rename(tmp_path / "renamed.db")
    (tmp_path / "link.db").symlink_to("renamed.db")
    for name in ("renamed.db", "link.db"):
        with closing(open_inbox(tmp_path / name)) as inbox:
            assert copies.why_held(inbox) == ""


def _place(copied: Copy) -> str:
    named = copied.environment["PRAZO_INBOX"]
    return named if named.startswith("postgresql") else str(copied.folder / named)
