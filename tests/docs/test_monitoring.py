"""What docs/monitoring/ gives to Prometheus and Grafana is read by their own tools, and names only
metrics that are exposed."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from pipeline.continuity.service import LedgerService
from pipeline.serve import figures, metrics
from tests.docs.pages import ROOT
from tests.support.events import event
from tests.support.receiver import receiver
from tests.support.stores import settings_in

RULES = ROOT / "docs/monitoring/prazo.rules.yml"
RULES_TEST = ROOT / "tests/docs/monitoring/prazo.rules.test.yml"
GRAFANA = ROOT / "docs/monitoring/grafana.json"


def promtool(*arguments: str, given: str = "") -> str:
    """Runs Prometheus's own tool; what it says where it has nothing to object to."""
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool: apt-get install prometheus")
    done = subprocess.run(
        ["promtool", *arguments], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expressions() -> list[str]:
    """Every query of the Grafana dashboard, with a span in place of Grafana's own variable."""
    panels = json.loads(GRAFANA.read_text())["panels"]
    found = [it["expr"] for panel in panels for it in panel["targets"]]
    return [it.replace("$__rate_interval", "5m") for it in found]


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the ledger and the receiver tell Prometheus."""
    folder = tmp_path_factory.mktemp("exposed")
    with receiver(folder) as running, pytest.MonkeyPatch.context() as patch:
        assert running.deliver(event()).status == 200
        patch.setattr(figures, "FIRST_SECONDS", 60.0)
        with closing(LedgerService(settings_in(folder))) as service:
            service.catch_up()
            ledger = metrics.exposition(service).decode()
        yield {"ledger": ledger, "receiver": running.ask("GET", "/metrics").body.decode()}


def names(exposition: str) -> set[str]:
    """The names under which a query finds what is exposed."""
    found = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", exposition, re.MULTILINE):
        suffixes = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        found |= {f"{name}{suffix}" for suffix in suffixes}
    return found


def test_prometheus_finds_no_fault_in_the_rules() -> None:
    assert f"{RULES.read_text().count('- alert:')} rules found" in promtool(
        "check", "rules", "--lint=all", "--lint-fatal", str(RULES)
    )


def test_every_rule_fires_when_it_should_and_not_before() -> None:
    promtool("test", "rules", str(RULES_TEST))
    tested = re.findall(r"alertname: (\w+)", RULES_TEST.read_text())
    assert set(tested) == set(re.findall(r"- alert: (\w+)", RULES.read_text()))


def test_prometheus_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"query:{n}", "expr": it} for n, it in enumerate(expressions())]
    file = tmp_path / "queries.yml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "grafana", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", str(file))


def test_every_metric_that_is_asked_for_is_exposed(exposed: dict[str, str]) -> None:
    known = {name for shown in exposed.values() for name in names(shown)}
    asked = re.findall(r"\bprazo_\w+", " ".join((RULES.read_text(), *expressions())))
    assert len(set(asked)) > 15
    assert set(asked) <= known, set(asked) - known


def test_what_each_machine_counts_of_the_whole_log_is_not_added_up(exposed: dict[str, str]) -> None:
    asked = (RULES.read_text(), *expressions())
    for name in names(exposed["ledger"]):
        added = re.compile(rf"sum(?: by \([^)]*\))? ?\((?:increase\()?{name}\b")
        assert not any(added.search(it) for it in asked), name


@pytest.mark.parametrize("part", ["ledger", "receiver"])
def test_prometheus_finds_no_fault_in_what_is_exposed(exposed: dict[str, str], part: str) -> None:
    promtool("check", "metrics", given=exposed[part])


def test_grafana_reads_every_panel_and_keeps_all_that_it_says() -> None:
    """Grafana's own types, generated from its schema; they leave out what they do not know."""
    register_default_plugins()
    written = json.loads(GRAFANA.read_text())
    read = Dashboard.from_json(json.loads(GRAFANA.read_text()))
    kept = json.loads(JSONEncoder().encode(read))
    assert list(lost(written, kept)) == []
    assert [it.title for it in read.panels or []] == [it["title"] for it in written["panels"]]


def lost(written: object, kept: object, path: str = "") -> Iterator[str]:
    """Where what was kept lacks or changes something that was written; more may be added to it."""
    match written, kept:
        case dict(), dict():
            for name, value in written.items():
                yield from lost(value, kept.get(name), f"{path}/{name}")
        case list(), list() if len(written) == len(kept):
            for number, (one, other) in enumerate(zip(written, kept, strict=True)):
                yield from lost(one, other, f"{path}/{number}")
        case _ if written != kept:
            yield path


def test_what_grafana_would_leave_out_is_found() -> None:
    assert list(lost({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]})) == []
    assert list(lost({"a": [{"b": 1}]}, {"a": [{}]})) == ["/a/0/b"]
    assert list(lost({"a": [1, 2]}, {"a": [1]})) == ["/a"]


def test_panels_lie_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(GRAFANA.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
