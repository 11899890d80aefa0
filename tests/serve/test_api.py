"""What others are given over HTTP: checkpoints for witnesses, packages and verdicts by token."""

import asyncio
import csv
import hashlib
import io
import json
import re
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from pipeline.continuity import service as services
from pipeline.continuity import stores
from pipeline.continuity.kept_heads import KeptHead, place
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.ledger.views.catalogue import public
from pipeline.log.checkpoints import Checkpoint, VerificationKey
from pipeline.serve import api
from pipeline.settings import Settings
from pipeline.verify import Verdict, verify
from tests.audit.conftest import entries_alone, no_rows
from tests.serve.json_schemas import fits
from tests.support.receiver import receiver
from tests.support.stores import settings_in

pytestmark = no_rows
TOKENS = {
    "reader": "read",
    "partner": "read,export",
    "officer": "read,export,read_personal",
}


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer secret of {name}"}


@contextmanager
def holding(folder: Path) -> Iterator[LedgerService]:
    """The story's ledger, held by this process, behind tokens."""
    lines = (
        f"{name}:{scopes}:{hashlib.sha256(f'secret of {name}'.encode()).hexdigest()}\n"
        for name, scopes in TOKENS.items()
    )
    (folder / "tokens").write_text("".join(lines), encoding="ascii")
    with ledger_service(settings_in(folder, api_tokens_file=folder / "tokens")) as service:
        yield service


@pytest.fixture(scope="module")
def unchanged(at_rest: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    """For tests that ask alone, and for what is refused and so leaves no entry."""
    folder = tmp_path_factory.mktemp("unchanged")
    shutil.copytree(at_rest, folder, dirs_exist_ok=True)
    with holding(folder) as service:
        yield service


@pytest.fixture
def read(unchanged: LedgerService, monkeypatch: pytest.MonkeyPatch) -> LedgerService:
    """That is the ledger of this process, also after a test that held its own."""
    monkeypatch.setattr(services._anchor(), "service", unchanged)
    return unchanged


@pytest.fixture
def held(settings: Settings, tmp_path: Path) -> Iterator[LedgerService]:
    """A ledger of this test's own, to be changed."""
    with holding(tmp_path) as service:
        yield service


class Client:
    """Asks the API of this process, one request at a time."""

    def __init__(self) -> None:
        self._transport = httpx.ASGITransport(app=Starlette(routes=api.routes()))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self._ask("POST", path, **options)

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            url = "http://127.0.0.1"
            async with httpx.AsyncClient(transport=self._transport, base_url=url) as client:
                return await client.request(method, path, timeout=120, **options)

        return asyncio.run(ask())


@pytest.fixture
def client(read: LedgerService) -> Client:
    """Of the ledger that nobody changes."""
    return Client()


@pytest.fixture
def own(held: LedgerService) -> Client:
    """Of the ledger of this test's own."""
    return Client()


LACKING = "this token lacks the scope read_personal"
ASKED = {"process_id": "p1", "reason": "yearly audit", "actor": "somebody else"}


def test_a_package_is_made_under_the_name_of_the_token(
    own: Client, held: LedgerService, tmp_path: Path
) -> None:
    answer = own.post("/api/exports", json=ASKED, headers=bearer("officer"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    (tmp_path / "p1.zip").write_bytes(answer.content)
    summary = json.loads(answer.headers["Prazo-Export"])
    assert summary["sha256"] == hashlib.sha256(answer.content).hexdigest()
    assert verify(tmp_path / "p1.zip", summary["key"]).faults == []
    [entry] = held.ledger.select("kind = 'export'", [])
    assert entry.name == "officer"
    assert entry.recorded_by == "officer"


def test_whoever_asks_how_far_the_ledger_is_has_the_next_entries_taken_at_once(
    own: Client, held: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command waits for what was recorded before it; while people read, few entries wait."""
    hurried: list[str] = []
    monkeypatch.setattr(held, "hurry", lambda: hurried.append("by a reader"))
    assert own.get("/api/status").status_code == 401
    assert hurried == []
    assert own.get("/api/status", headers=bearer("reader")).status_code == 200
    assert hurried == ["by a reader"]


def test_who_may_not_see_personal_data_gets_a_masked_package_alone(
    own: Client, held: LedgerService, tmp_path: Path
) -> None:
    stated = {**ASKED, "profile": "full"}
    full = own.post("/api/exports", json=stated, headers=bearer("partner"))
    assert (full.status_code, full.json()["error"]) == (403, LACKING)
    assert held.ledger.select("kind = 'export'", []) == []
    answer = own.post("/api/exports", json=ASKED, headers=bearer("partner"))
    assert answer.status_code == 200
    (tmp_path / "p1.zip").write_bytes(answer.content)
    verdict = verify(tmp_path / "p1.zip")
    assert verdict.faults == []
    assert any("withheld (the masked profile)" in it for it in verdict.unchecked)


def test_who_may_not_see_personal_data_is_shown_none_whatever_the_reason(
    client: Client, read: LedgerService
) -> None:
    asked = {"unmask": "yearly audit", "actor": "somebody else"}
    answer = client.post("/api/views/seller_state", json=asked, headers=bearer("reader"))
    assert (answer.status_code, answer.json()["error"]) == (403, LACKING)
    assert read.ledger.select("kind = 'unmask'", []) == []


def test_no_link_and_no_page_of_another_site_unmasks(own: Client, held: LedgerService) -> None:
    """An image on any page was enough: `GET ...?unmask=` wrote an entry in the reader's name."""
    path, asked = "/api/views/seller_state", {"unmask": "yearly audit"}
    linked = own.get(path, params=asked, headers=bearer("officer"))
    assert (linked.status_code, "'unmask'" in linked.json()["error"]) == (400, True)
    foreign = {**bearer("officer"), "Origin": "https://a.example", "Sec-Fetch-Site": "cross-site"}
    assert own.post(path, json=asked, headers=foreign).status_code == 403
    for body in ({}, {"unmask": 1}, {"unmask": "x", "who": "y"}, []):
        assert own.post(path, json=body, headers=bearer("officer")).status_code == 400
    assert held.ledger.select("kind = 'unmask'", []) == []
    shown = own.post(path, json=asked, headers=bearer("officer"))
    assert shown.status_code == 200
    [entry] = held.inbox.find(kind="unmask")
    assert entry.name == "officer"


@pytest.mark.parametrize(
    ("asked", "name", "status"),
    [
        (ASKED, "reader", 403),
        (ASKED, "nobody", 401),
        ({**ASKED, "reason": ""}, "officer", 400),
        ({**ASKED, "process_id": "p9"}, "officer", 400),
        ({**ASKED, "seller_id": "s1"}, "officer", 400),
        ({**ASKED, "profile": "naked"}, "officer", 400),
        ({**ASKED, "withhold": ["1"]}, "officer", 400),
        ({**ASKED, "against": "no checkpoint"}, "officer", 400),
        ({"from": "2026-03-01", "to": "x", "reason": "r"}, "officer", 400),
        ([], "officer", 400),
        ({**ASKED, "Profile": "masked"}, "officer", 400),
        ({**ASKED, "withheld": [7]}, "officer", 400),
    ],
)
def test_what_cannot_be_exported_is_refused_and_not_recorded(
    client: Client, read: LedgerService, asked: object, name: str, status: int
) -> None:
    answer = client.post("/api/exports", json=asked, headers=bearer(name))
    assert (answer.status_code, read.inbox.last()[0]) == (status, 16)
    assert answer.json()["error"]
    assert "--" not in answer.text  # a caller of the API has no options of a command


@pytest.mark.parametrize("start", ["2026-04-01T00:00:00Z", "2026-03-01T00:00:00Z"])
def test_a_period_that_does_not_end_after_its_start_is_said_to(client: Client, start: str) -> None:
    """To exchange its ends, as the answer said, helps with one of these alone."""
    asked = {"from": start, "to": "2026-03-01T00:00:00Z", "reason": "r"}
    answer = client.post("/api/exports", json=asked, headers=bearer("officer"))
    said = answer.json()
    assert (answer.status_code, said["error"]) == (400, "The period is empty")
    assert said["remedy"] == "name an end after its start"


def test_the_head_that_is_kept_outside_of_the_inbox_is_given_to_anybody(
    own: Client, settings: Settings
) -> None:
    """A receiver on another machine asks for it; it is a size, hashes and a signature."""
    kept = place(settings)
    text = kept.read_text()
    answer = own.get("/api/head")
    assert (answer.status_code, answer.text) == (200, text)
    head = KeptHead.read(answer.text)
    key = VerificationKey.parse(own.get("/api/checkpoint", headers=bearer("reader")).json()["key"])
    assert Checkpoint.read(key.opened(head.note)) == (head.log, 16, head.root)

    def without_a_file() -> int:
        kept.unlink(missing_ok=True)
        return own.get("/api/head").status_code

    assert 404 in (without_a_file(), without_a_file())  # the follower leaves it once, at its start


def test_stores_are_verified_and_checkpoints_signed_on_request(
    own: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that found a row named it by its id, a CPF as well, to anyone who reads masked."""
    signed = own.get("/api/checkpoint", headers=bearer("reader")).json()
    text = VerificationKey.parse(signed["key"]).opened(signed["checkpoint"])
    assert Checkpoint.read(text).size == 16
    asked = {"against": signed["checkpoint"]}
    verdict = own.post("/api/audits", json=asked, headers=bearer("reader")).json()
    assert (verdict["faults"], verdict["undecided"]) == ([], [])
    assert "the log continues the earlier checkpoint at 16" in verdict["checked"]
    for empty in ({"against": ""}, {"against": 5}, {"earlier": signed["checkpoint"]}):
        answer = own.post("/api/audits", json=empty, headers=bearer("reader"))
        assert answer.status_code == 400
    assert own.get("/api/checkpoint").status_code == 401
    found = Verdict()
    found.fault("materialized_sellers_disagree: 1 row: seller_id 529.982.247-25, side log.")
    monkeypatch.setattr(stores, "audit", lambda *_, **__: found)
    [fault] = own.post("/api/audits", json={}, headers=bearer("reader")).json()["faults"]
    assert fault.startswith("materialized_sellers_disagree: 1 row: seller_id ***25~")


@entries_alone
def test_one_audit_runs_at_a_time_and_keeps_nobody_else_waiting(
    own: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads the whole log: forty-five of them took every thread that answers."""
    begun, may_end, audit = threading.Event(), threading.Event(), stores.audit

    def slow(*arguments: Any, **options: Any) -> Verdict:
        begun.set()
        assert may_end.wait(60)
        return audit(*arguments, **options)

    monkeypatch.setattr(stores, "audit", slow)

    def ask() -> httpx.Response:
        return own.post("/api/audits", json={}, headers=bearer("reader"))

    with ThreadPoolExecutor(1) as other:
        first = other.submit(ask)
        assert begun.wait(60)
        refused = [ask() for _ in range(45)]
        assert {it.status_code for it in refused} == {503}
        assert refused[0].headers["retry-after"] == "10"
        assert "is under way" in refused[0].json()["error"]
        assert own.get("/api/status", headers=bearer("reader")).status_code == 200
        may_end.set()
        assert first.result(60).json()["faults"] == []
    assert ask().status_code == 200


def test_a_witness_gets_the_newest_checkpoint_from_the_receiver(
    settings: Settings, tmp_path: Path
) -> None:
    """It needs no ledger for that, and no credentials: a checkpoint is there to be handed on."""
    service = LedgerService(settings)
    assert service.signer is not None
    key = service.signer.key
    service.close()
    with receiver(tmp_path) as running:
        answer = running.ask("GET", "/checkpoint")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert Checkpoint.read(key.opened(answer.body.decode())).size == 16


def test_before_anything_was_signed_there_is_no_checkpoint(tmp_path: Path) -> None:
    with receiver(tmp_path) as running:
        answer = running.ask("GET", "/checkpoint")
    assert answer.status == 404
    assert json.loads(answer.body) == {"error": "no checkpoint has been signed yet"}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("state=EXPIRED", "'state'"),
        ("limit=1&limit=5", "limit"),
        ("sort=deadline_at", "'sort'"),
        ("Unmask=x", "'Unmask'"),
    ],
)
def test_an_unknown_parameter_is_not_taken_for_a_missing_one(
    client: Client, query: str, named: str
) -> None:
    answer = client.get(f"/api/views/process_state?{query}", headers=bearer("reader"))
    assert answer.status_code == 400
    assert named in answer.json()["error"]
    counted = client.get(f"/api/views/process_state/count?{query}", headers=bearer("reader"))
    assert counted.status_code == 400


def test_views_are_described_a_row_per_column(client: Client) -> None:
    text = client.get("/api/views?format=csv", headers=bearer("officer")).text
    rows = [*csv.DictReader(io.StringIO(text))]
    assert [it["column"] for it in rows if it["view"] == "open_counts"][:2] == [
        "state",
        "review_type",
    ]
    assert {it["type"] for it in rows if it["column"] == "deadline_at"} == {"timestamp[us]"}
    assert client.get("/api/views?format=pdf", headers=bearer("officer")).status_code == 400


def test_the_forecasts_score_is_given_for_an_instant(client: Client) -> None:
    path, officer = "/api/forecast-score", bearer("officer")
    scores = client.get(f"{path}?as_of=2026-05-31T00:00:00Z", headers=officer).json()
    made = [(it["days"], it["made_at"]) for it in scores]
    assert made == [(30, "2026-05-01T00:00:00Z"), (60, "2026-04-01T00:00:00Z")]
    assert client.get(f"{path}?where=state=EXPIRED", headers=officer).status_code == 400


def test_any_limit_that_the_command_takes_is_taken_here_too(client: Client) -> None:
    path, most = "/api/views/process_state?limit=", 2**63 - 1
    assert client.get(f"{path}{most}&offset={most}", headers=bearer("reader")).json() == []
    beyond = client.get(f"{path}{most + 1}", headers=bearer("reader"))
    assert (beyond.status_code, str(most) in beyond.json()["error"]) == (400, True)


def test_an_unknown_address_of_the_api_is_not_answered_with_a_page(client: Client) -> None:
    for path in ("/api/view/watchlist", "/api/views/watchlist/all", "/api/"):
        assert client.get(path).status_code == 404
    refused = client.get("/api/exports")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert refused.json() == {"error": "only POST is taken"}
    assert client.post("/api/checkpoint").status_code == 405


def test_the_ledgers_figures_and_its_readiness_are_there_for_who_watches_it(
    client: Client, read: LedgerService
) -> None:
    read.reach(read.inbox.last()[0])
    metrics = client.get("/api/metrics", headers=bearer("reader")).text.splitlines()
    assert f"prazo_ledger_last_seq {read.ledger.size:.1f}" in metrics
    assert "prazo_ledger_verified 1.0" in metrics
    assert 'prazo_retries{state="overdue"} 0.0' in metrics
    assert any(line.startswith('prazo_attempts{outcome="accepted"} ') for line in metrics)
    ready = client.get("/api/ready", headers=bearer("reader"))
    assert (ready.status_code, ready.json()) == (200, {"status": "up to date"})
    assert client.get("/api/metrics").status_code == 401
    assert client.get("/api/ready").status_code == 401


def test_rows_are_asked_for_by_range_search_and_order(client: Client) -> None:
    """Of rows that are equal in it, the order is that of their key."""

    def ids(**asked: Any) -> list[str]:
        answer = client.get("/api/views/process_state", params=asked, headers=bearer("officer"))
        assert answer.status_code == 200, answer.text
        return [row["process_id"] for row in answer.json()]

    rows = client.get("/api/views/process_state", headers=bearer("officer")).json()
    due = {row["process_id"]: row["deadline_at"] for row in rows}
    by_deadline = sorted(sorted(due), key=due.__getitem__)
    last = max(due.values())
    latest = sorted(name for name, deadline in due.items() if deadline == last)
    assert 0 < len(latest) < len(due)
    assert ids(order="deadline_at") == by_deadline
    assert ids(order="-deadline_at") == sorted(sorted(due), key=due.__getitem__, reverse=True)
    assert sorted(ids(**{"from": f"deadline_at={last}"})) == latest
    assert sorted(ids(before=f"deadline_at={last}")) == sorted(set(due) - set(latest))
    assert ids(contains="process_id=P2") == ["p2"]
    asked = {"contains": "process_id=P2"}
    counted = client.get("/api/views/process_state/count", params=asked, headers=bearer("officer"))
    assert counted.json() == {"count": 1}


@pytest.mark.parametrize(
    ("view", "asked"),
    [
        ("process_state", "contains=seller_id=3"),
        ("process_state", "from=seller_id=3"),
        ("seller_state", "before=status=3"),
        ("changes", "contains=subject=3"),
        ("process_state", "contains=requested_fields=3"),
        ("seller_state", "contains=decision_reasons=3"),
        ("denials", "contains=codes=3"),
    ],
)
def test_no_masked_id_is_spelt_out_by_asking_often(client: Client, view: str, asked: str) -> None:
    """Nor is one that stands in the place of a code, such as a denial's detail."""
    for path in (f"/api/views/{view}", f"/api/views/{view}/count"):
        answer = client.get(f"{path}?{asked}", headers=bearer("reader"))
        assert answer.status_code == 403
        assert "read_personal" in answer.json()["error"]


@pytest.mark.parametrize(
    "value", ["true", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z&where=seller_id=true"]
)
def test_an_error_quotes_no_row(client: Client, value: str) -> None:
    """DuckDB's words for an id that is no such value quoted the id, unmasked, to any reader.
    Values of two types were answered 500."""
    for path in ("/api/views/process_state", "/api/views/process_state/count"):
        answer = client.get(f"{path}?where=seller_id={value}", headers=bearer("reader"))
        assert (answer.status_code, answer.json()["remedy"] != "") == (400, True)
        assert "'s1'" not in answer.json()["why"]
        assert '"' not in answer.json()["why"]
        assert "'" not in answer.json()["why"]


@pytest.mark.parametrize("asked", ["order=at", "order=-at", "where=at=08:00", "contains=at=08"])
def test_a_column_may_have_a_name_that_is_a_word_of_sql(client: Client, asked: str) -> None:
    """It was answered 500."""
    answer = client.get(f"/api/views/report_subscriptions?{asked}", headers=bearer("officer"))
    assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize("asked", ["contains=seller_id", "order=nothing", "from=deadline_at=soon"])
def test_a_wrong_range_search_or_order_is_refused(client: Client, asked: str) -> None:
    answer = client.get(f"/api/views/process_state?{asked}", headers=bearer("officer"))
    assert answer.status_code in (400, 404)
    assert answer.json()["remedy"]


def test_the_description_has_every_path_method_and_parameter(client: Client) -> None:
    described = client.get("/api/openapi.json", headers=bearer("reader")).json()
    paths = {
        path: {method.upper() for method in calls if method != "parameters"}
        for path, calls in described["paths"].items()
    }
    views = {f"/api/views/{name}": methods for name in public() for methods in [{"GET", "POST"}]}
    counts = {f"/api/views/{name}/count": {"GET"} for name in public()}
    assert {path: methods for path, methods in paths.items() if "/views/" in path} == views | counts
    some = {path: methods for path, methods in paths.items() if "/views/" not in path}
    of_views = {"/api/views/{name}": {"GET", "POST"}, "/api/views/{name}/count": {"GET"}}
    assert some | of_views == {
        route.path: set(route.methods or ()) - {"HEAD"}
        for route in api.routes()
        if isinstance(route, Route)
        and route.path.startswith(("/api/", "/v1/"))
        and route.path != "/api/{rest:path}"
    }
    for path in ("/api/views/process_state", "/api/views/process_state/count"):
        said = client.get(f"{path}?nothing=1", headers=bearer("officer")).json()["remedy"]
        call = described["paths"][path]["get"]
        known = described["components"]["parameters"]
        named = {known[it["$ref"].rpartition("/")[2]]["name"] for it in call["parameters"]}
        assert named == set(re.findall(r"\b(\w+)(?:=COLUMN=VALUE)?(?:,|$)", said))


def test_what_is_not_declared_open_takes_no_stranger(client: Client) -> None:
    """Each handler asks for a token itself, and the description says of each call what it does."""
    for call in api.calls():
        named = dict.fromkeys(("request_id", "token", "seller_id", "process_id"), "none")
        path = call.path.format(name="process_state", **named)
        answer = client.post(path, json={}) if call.method == "POST" else client.get(path)
        assert (answer.status_code == 401) is not call.is_open, (call.method, path)


def test_each_row_of_each_list_is_what_the_description_says(
    client: Client, read: LedgerService
) -> None:
    described = client.get("/api/openapi.json", headers=bearer("reader")).json()
    seen = 0
    for name in public():
        call = described["paths"][f"/api/views/{name}"]["get"]
        schema = call["responses"]["200"]["content"]["application/json"]["schema"]
        of = described["components"]["schemas"][schema["items"]["$ref"].rpartition("/")[2]]
        rows = client.get(f"/api/views/{name}?limit=20", headers=bearer("officer")).json()
        assert [it for it in rows if not fits(it, of)] == [], name
        seen += bool(rows)
    assert seen > 40
