"""What others are given over HTTP: checkpoints for witnesses, packages and verdicts by token."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from pipeline import api
from pipeline.checkpoints import Checkpoint, VerificationKey
from pipeline.service import LedgerService, ledger_service
from pipeline.settings import Settings
from pipeline.verify import verify
from tests.evidence import story
from tests.receiver.running import receiver

TOKENS = {
    "reader": "read",
    "partner": "read,export",
    "officer": "read,export,read_personal",
}


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer secret of {name}"}


@pytest.fixture
def held(settings: Settings, tmp_path: Path) -> Iterator[LedgerService]:
    """The story's ledger, held by this process, behind tokens."""
    lines = (
        f"{name}:{scopes}:{hashlib.sha256(f'secret of {name}'.encode()).hexdigest()}\n"
        for name, scopes in TOKENS.items()
    )
    (tmp_path / "tokens").write_text("".join(lines), encoding="ascii")
    with ledger_service(story.settings(tmp_path, api_tokens_file=tmp_path / "tokens")) as service:
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
def client(held: LedgerService) -> Client:
    return Client()


ASKED = {"process_id": "p1", "reason": "yearly audit", "actor": "somebody else"}


def test_a_package_is_made_under_the_name_of_the_token(
    client: Client, held: LedgerService, tmp_path: Path
) -> None:
    answer = client.post("/api/exports", json=ASKED, headers=bearer("officer"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    (tmp_path / "p1.zip").write_bytes(answer.content)
    told = json.loads(answer.headers["Prazo-Export"])
    assert told["sha256"] == hashlib.sha256(answer.content).hexdigest()
    assert verify(tmp_path / "p1.zip", told["key"]).faults == []
    [entry] = held.ledger.select("kind = 'export'", [])
    assert json.loads(entry.body or b"")["actor"] == "officer"
    assert entry.recorded_by == "officer"


def test_who_may_not_see_personal_data_gets_a_masked_package_alone(
    client: Client, held: LedgerService, tmp_path: Path
) -> None:
    full = client.post("/api/exports", json=ASKED, headers=bearer("partner"))
    lacking = "this token lacks the scope read_personal"
    assert (full.status_code, full.json()["error"]) == (403, lacking)
    assert held.ledger.select("kind = 'export'", []) == []
    masked = {**ASKED, "profile": "masked"}
    answer = client.post("/api/exports", json=masked, headers=bearer("partner"))
    assert answer.status_code == 200
    (tmp_path / "p1.zip").write_bytes(answer.content)
    verdict = verify(tmp_path / "p1.zip")
    assert verdict.faults == []
    assert any("withheld (the masked profile)" in it for it in verdict.notes)


def test_who_may_not_see_personal_data_is_shown_none_whatever_the_reason(
    client: Client, held: LedgerService
) -> None:
    asked = {"unmask": "yearly audit", "actor": "somebody else"}
    answer = client.get("/api/views/seller_state", params=asked, headers=bearer("reader"))
    lacking = "this token lacks the scope read_personal"
    assert (answer.status_code, answer.json()["error"]) == (403, lacking)
    assert held.ledger.select("kind = 'unmask'", []) == []


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
    client: Client, held: LedgerService, asked: object, name: str, status: int
) -> None:
    answer = client.post("/api/exports", json=asked, headers=bearer(name))
    assert (answer.status_code, held.inbox.last()[0]) == (status, 16)
    assert answer.json()["error"]


def test_stores_are_verified_and_checkpoints_signed_on_request(client: Client) -> None:
    told = client.get("/api/checkpoint", headers=bearer("reader")).json()
    text = VerificationKey.parse(told["key"]).opened(told["checkpoint"])
    assert Checkpoint.read(text).size == 16
    asked = {"against": told["checkpoint"]}
    verdict = client.post("/api/audits", json=asked, headers=bearer("reader")).json()
    assert verdict["faults"] == []
    assert "the log continues the earlier checkpoint at 16" in verdict["checked"]
    for empty in ({"against": ""}, {"against": 5}, {"earlier": told["checkpoint"]}):
        answer = client.post("/api/audits", json=empty, headers=bearer("reader"))
        assert answer.status_code == 400
    assert client.get("/api/checkpoint").status_code == 401


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
        ("order=deadline_at", "'order'"),
        ("Unmask=x", "'Unmask'"),
    ],
)
def test_a_parameter_that_is_not_known_is_no_parameter_that_is_not_there(
    client: Client, query: str, named: str
) -> None:
    answer = client.get(f"/api/views/process_state?{query}", headers=bearer("reader"))
    assert answer.status_code == 400
    assert named in answer.json()["error"]
    counted = client.get(f"/api/views/process_state/count?{query}", headers=bearer("reader"))
    assert counted.status_code == 400
