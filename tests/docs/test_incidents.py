"""Each incident of docs/reliability.md happens to real processes, under a real Prometheus, and the
rule that the page names for it fires.

Time is compressed: what a rule waits for (`for: 5m`) is a second, and the spans that it looks at
are 20 s. That it waits as long as it says is tried by `promtool` (tests/docs/test_monitoring.py).
"""

import contextlib
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Item, Subject, Try
from pipeline.audit import export
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import LedgerStalled, OperatorError
from pipeline.inbox import Inbox, artifacts, open_inbox
from pipeline.inbox.heartbeats import Part
from pipeline.journey.entrance import door
from pipeline.log.artifacts import FolderArtifacts, keep_file
from pipeline.log.checkpoints import Cosigner
from pipeline.log.ndjson import read_line
from pipeline.serve import api, figures
from tests.alert.test_watch import certificate
from tests.docs.pages import ROOT
from tests.docs.test_monitoring import RULES
from tests.faults.shim import SMALL_DISK_BYTES, ClockShim, disk, library
from tests.receive.test_ways import collect, fill
from tests.support.events import event
from tests.support.ledgers import draft
from tests.support.lines import acp, answered, finished, forwarding, live, seller, started
from tests.support.machine import free_port, wait_until
from tests.support.receiver import receiver
from tests.support.stores import environment_in, settings_in

PAGE = ROOT / "docs/reliability.md"
NOW = datetime.now(UTC)
PATIENCE_SECONDS = 40.0


def named_rules() -> set[str]:
    return set(re.findall(r"- alert: (\w+)", RULES.read_text()))


def test_the_table_of_incidents_names_every_rule() -> None:
    table = PAGE.read_text().partition("## Which rule says so")[2].partition("\n## ")[0]
    assert set(re.findall(r"\| `(Prazo\w+)` \|", table)) == named_rules()


def ago(**how_long: float) -> str:
    return (NOW - timedelta(**how_long)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Prometheus:
    """The real one, with the product's rules."""

    def __init__(self, folder: Path, targets: dict[str, list[str]]) -> None:
        self.port = free_port()
        rules = re.sub(r"\bfor: \w+", "for: 1s", RULES.read_text())
        (folder / "rules.yml").write_text(re.sub(r"\[\d+\w\]", "[20s]", rules))
        jobs = [
            {
                "job_name": job,
                "metrics_path": "/metrics" if job == "prazo-receiver" else "/api/metrics",
                "static_configs": [{"targets": addresses}],
            }
            for job, addresses in targets.items()
        ]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "500ms"}
        config = {"global": every, "rule_files": ["rules.yml"], "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        with (folder / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'tsdb'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stderr=log,
            )

    def ask(self, expression: str) -> list[dict[str, str]]:
        """The labels of each series that an expression finds."""
        asked = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{asked}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return [it["metric"] for it in json.load(answer)["data"]["result"]]

    def fired(self, instance: str = "") -> set[str]:
        """The rules that ever fired; those that fired of one instance."""
        of = f', instance="{instance}"' if instance else ""
        asked = f'last_over_time(ALERTS{{alertstate="firing"{of}}}[1h])'
        return {it["alertname"] for it in self.ask(asked)}

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def past(folder: Path) -> None:
    """A log in which much has gone wrong: a deadline missed, retries that nobody sends, endpoints
    that take nothing, an alert that nobody was told of, an artifact that is lost."""
    settings = settings_in(folder)
    (folder / "a.png").write_bytes(b"a screen")
    line = json.dumps(answered(artifacts=[{"name": "a.png", "path": "a.png"}])).encode()
    keep = keep_file(FolderArtifacts(settings.artifacts), folder, needs_bytes=True)
    at = instants.now()
    hour = at - instants.HOUR
    due = Due("1" * 32, "before_3d", "risk", "officer", hour, process_id="p1", seller_id="s1")
    about, address = Subject("p1", "s1"), Try(Item(due, 0, 1), "ana", "email", "m1")
    with contextlib.closing(open_inbox(settings.inbox)) as inbox:
        lines = [
            acp("e1", ago(days=90), process_id="p1", deadline_at=ago(days=2)),
            acp("e2", ago(days=9), process_id="p2", deadline_at=ago(days=-20)),
            live(started("a2", ago(hours=3), process_id="p2")),
            {
                **live(finished("a2", 503, ago(hours=3), process_id="p2")),
                "retry_after_at": ago(hours=2),
            },
            live(seller("updated", "v1", ago(days=29))),
            forwarding("progress", ago(hours=1), position=0, failing_since_us=hour),
            forwarding("dead", ago(hours=1), seq=5, tries=9),
        ]
        inbox.append([it for it in map(draft, lines) if it is not None])
        inbox.append([read_line(line, recorded_by="test", keep=keep)])
        inbox.append([entries.raised(due, about, hour), entries.tried(address, about, hour)])
        inbox.append([entries.answered(address, about, hour, fault="refused")])
        inbox.execute("insert into heartbeats values ($1, $2)", Part.RESUMER.value, hour)
        inbox.execute("insert into journey_refusals values ($1, 'limited', 1)", hour)
    next(it for it in settings.artifacts.rglob("*") if it.is_file()).unlink()


@contextlib.contextmanager
def held(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[tuple[LedgerService, int]]:
    """The ledger of a folder, held by this process, and the port of its API."""
    patch.setattr(figures, "LOOK_SECONDS", 0.5)
    patch.setattr(artifacts, "SECONDS_BETWEEN_LOOKS", 0.5)
    (folder / "alerts.toml").write_text("")
    (folder / "policy").write_text("quorum none\n")
    settings = settings_in(
        folder,
        alerts_file=folder / "alerts.toml",
        witnesses_file=folder / "policy",
        timestamp_url="http://127.0.0.1:1/",
    )
    with ledger_service(settings) as service:
        service.reach(service.inbox.last()[0])
        port = free_port()
        app = Starlette(routes=api.routes())
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None))
        running = threading.Thread(target=server.run, daemon=True)
        running.start()
        try:
            yield service, port
        finally:
            server.should_exit = True
            running.join(30)


def exported(service: LedgerService) -> None:
    """Asks for a package that others are to vouch for, and do not."""
    asked = Request(Scope("p1"), reason="audit", actor="Ana", recorded_by="test", profile="masked")
    with pytest.raises(OperatorError):
        export.export(service, asked, service.settings.ledger.parent / "package.zip")


def counted_refusals(inbox: Inbox, reason: str, count: int) -> None:
    noted = door.Door(settings_in(Path("/nowhere")))
    for _ in range(count):
        noted.note(reason)
    noted.record(inbox, inbox.now())


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[str]]:
    """Every rule that fired, after each incident was made to happen."""
    if shutil.which("prometheus") is None:
        pytest.skip("needs Prometheus: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("incidents")
    well = tmp_path_factory.mktemp("well")
    past(folder)
    with contextlib.ExitStack() as stack:
        small = stack.enter_context(disk(folder / "small", SMALL_DISK_BYTES))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        shim = stack.enter_context(library("clock_shim"))
        clock = ClockShim(shim, folder / "order")
        (folder / "client.pem").write_bytes(certificate(ago(days=-3)))
        (folder / "authority.pem").write_text("not a certificate")
        service, ledger_port = stack.enter_context(held(folder, patch))
        stores = environment_in(folder).items()
        own = {
            name.removeprefix("PRAZO_"): value
            for name, value in stores
            if name != "PRAZO_ARTIFACTS"
        }
        ill = stack.enter_context(
            receiver(
                folder,
                **own,
                ARTIFACTS=str(small / "artifacts"),
                JOURNEY_URL="http://127.0.0.1:8600",
                CLIENT_CERT_FILE=str(folder / "client.pem"),
                CLIENT_KEY_FILE=str(folder / "client.pem"),
                PLATFORM_CA_FILE=str(folder / "authority.pem"),
            )
        )
        fine = stack.enter_context(receiver(well, environment=clock.env))
        of_well = f"127.0.0.1:{fine.port}"
        targets = {
            "prazo-receiver": [f"127.0.0.1:{ill.port}", of_well],
            "prazo-ledger": [f"127.0.0.1:{ledger_port}", "127.0.0.1:1"],
        }
        watching = Prometheus(folder, targets)
        stack.callback(watching.stop)
        wait_until(lambda: _is_up(watching, of_well), PATIENCE_SECONDS, pause=0.2)
        time.sleep(2.5)  # the counters were seen before they grow
        assert watching.fired(of_well) == set()

        fill(small)
        # More than what a look at the store, which was under way, leaves free again.
        assert collect(ill, b"x" * 300_000).status == 503
        assert ill.deliver(b"not JSON").status == 200
        for _ in range(25):
            assert ill.deliver(event(), {"Origin": "https://elsewhere.example"}).status == 403
        with contextlib.ExitStack() as many:  # 300 are served at once, and more are asked to wait
            for _ in range(300):
                wire = many.enter_context(ill.wire())
                wire.send(
                    b"POST /v1/collections HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
                )
            time.sleep(0.5)
            turned_away = [ill.ask("POST", "/v1/collections", b"{}").status for _ in range(25)]
            assert turned_away == [503] * 25
        (folder / "alerts.toml").write_text("who = 1")
        lines = [
            live(started("a3", ago(minutes=1), process_id="p2")),
            live(finished("a3", 401, ago(minutes=1), process_id="p2")),
        ]
        service.inbox.append([it for it in map(draft, lines) if it is not None])
        counted_refusals(service.inbox, "limited", 300)
        counted_refusals(service.inbox, "unavailable", 5)
        witness = Cosigner("audit.example/w1", folder / "witness.key").key
        for policy in (f"witness w1 {witness} http://127.0.0.1:1/\nquorum w1\n", "quorum none\n"):
            (folder / "policy").write_text(policy)
            exported(service)
        clock.jump(86_400)
        _wait(watching, named_rules() - OF_THE_END)

        # What silences others comes last.
        _stand_still(service, patch)
        _age_figures(service)
        _wait(watching, named_rules() - {"PrazoReceiverDown"})
        (folder / "inbox.db").rename(folder / "away.db")
        assert ill.deliver(event()).status == 503
        fine.kill()
        _wait(watching, named_rules())
        yield watching.fired()
        (folder / "away.db").rename(folder / "inbox.db")


OF_THE_END = {"PrazoReceiverDown", "PrazoFiguresStale", "PrazoLedgerNotReady", "PrazoLedgerBehind"}


@pytest.mark.long
@pytest.mark.parametrize("rule", sorted(named_rules()))
def test_each_incident_makes_the_rule_fire_that_the_page_names(fired: set[str], rule: str) -> None:
    assert rule in fired


def _is_up(watching: Prometheus, instance: str) -> bool:
    try:
        return bool(watching.ask(f'up{{instance="{instance}"}} == 1'))
    except OSError:  # it starts
        return False


def _wait(watching: Prometheus, rules: set[str]) -> None:
    """Until these have fired; those that never do fail their own tests."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: watching.fired() >= rules, PATIENCE_SECONDS, pause=0.2)


def _stand_still(service: LedgerService, patch: pytest.MonkeyPatch) -> None:
    """The ledger takes nothing more; as if it had not for five minutes."""

    def full(*_: object, **__: object) -> None:
        raise LedgerStalled("The ledger cannot be written", "its disk is full")

    patch.setattr(service.ledger, "append", full)
    service.inbox.append([it for it in [draft(live(seller("updated", "v2", ago(days=28))))] if it])
    following = service._follower
    wait_until(lambda: following._behind_since is not None)
    behind = following._behind_since
    assert behind is not None
    following._behind_since = behind._replace(at=behind.at - 300)


def _age_figures(service: LedgerService) -> None:
    """No look at the figures succeeds any more; as if none had for ten minutes."""
    looks = figures.watch(service)
    looks.every_seconds = 3600.0
    wait_until(lambda: looks.last() is not None and looks._looking is None)
    looked = looks.last()
    assert looked is not None
    looks._last = looked._replace(ended=looked.ended - 600)
