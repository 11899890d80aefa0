"""Rows of many in clear and full packages over HTTP, where they wait for a second person."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.settings import Settings
from tests.audit.conftest import command
from tests.serve.test_api import Client, bearer
from tests.support.stores import settings_in

TOKENS = {"ana": "read,read_personal,export", "bia": "read,read_personal,export", "rui": "read"}
REASON = {"unmask": "the yearly letter"}
PACKAGE = {"process_id": "p1", "reason": "yearly audit"}


@pytest.fixture
def held(settings: Settings, tmp_path: Path) -> Iterator[LedgerService]:
    """The story's ledger, behind tokens, where two of the acts wait."""
    lines = (
        f"{name}:{scopes}:{hashlib.sha256(f'secret of {name}'.encode()).hexdigest()}\n"
        for name, scopes in TOKENS.items()
    )
    (tmp_path / "tokens").write_text("".join(lines), encoding="ascii")
    more = {"api_tokens_file": tmp_path / "tokens", "four_eyes": "unmask, export"}
    with ledger_service(settings_in(tmp_path, **more)) as service:
        yield service


@pytest.fixture
def client(held: LedgerService) -> Client:
    return Client()


def decide(client: Client, request: str, who: str, decision: str = "approved") -> int:
    said = {"decision": decision, "reason": "I read it", "actor": "somebody else"}
    return client.post(f"/api/clearances/{request}", json=said, headers=bearer(who)).status_code


def kinds(held: LedgerService) -> list[str]:
    return [it.kind for it in held.inbox.read(0, 1000) if it.kind in ("clearance", "unmask")]


def test_rows_of_many_are_shown_once_and_as_they_stood_when_they_were_asked_for(
    client: Client, held: LedgerService
) -> None:
    path = "/api/views/seller_state?order=seller_id&limit=3"
    asked = client.post(path, json=REASON, headers=bearer("ana"))
    assert asked.status_code == 409
    request = asked.json()["request"]
    assert client.post(path, json=REASON, headers=bearer("ana")).json()["request"] == request
    # The requester's token, whatever name it gives, is the requester's; and so is its scope.
    assert decide(client, request, "ana") == 400
    assert decide(client, request, "rui") == 403
    assert decide(client, request, "bia", "perhaps") == 400
    assert decide(client, request, "bia") == 200
    assert decide(client, request, "bia", "refused") == 400
    # Not for somebody else, other rows, or another instant.
    assert client.post(path, json=REASON, headers=bearer("bia")).status_code == 409
    for other in ("/api/views/seller_state", f"{path}&offset=1", f"{path}&as_of=2026-03-01T00:00Z"):
        assert client.post(other, json=REASON, headers=bearer("ana")).status_code == 409
    shown = client.post(path, json=REASON, headers=bearer("ana"))
    assert shown.status_code == 200
    held.reach(held.inbox.last()[0])
    [row] = held.reader.read("clearances", where={"request_id": request}).to_pylist()
    assert (row["state"], row["requested_by"], row["decided_by"]) == ("used", "ana", "bia")
    requested = row["requested_at"].isoformat(timespec="seconds")
    assert shown.headers["Prazo-As-Of"].startswith(requested)
    assert kinds(held).count("unmask") == 1
    assert client.post(path, json=REASON, headers=bearer("ana")).status_code == 409


def test_a_look_at_one_seller_waits_for_nobody(client: Client, held: LedgerService) -> None:
    path = "/api/views/seller_state?where=seller_id=s1"
    assert client.post(path, json=REASON, headers=bearer("ana")).status_code == 200
    assert kinds(held) == ["unmask"]


def test_a_full_package_waits_which_the_log_shows_with_both_people_and_a_masked_one_does_not(
    client: Client, held: LedgerService
) -> None:
    asked = {**PACKAGE, "profile": "masked"}
    masked = client.post("/api/exports", json=asked, headers=bearer("ana"))
    assert masked.status_code == 200
    asked = client.post("/api/exports", json=PACKAGE, headers=bearer("ana"))
    assert asked.status_code == 409
    request = asked.json()["request"]
    assert decide(client, request, "bia") == 200
    held.reach(held.inbox.last()[0])
    trail = held.reader.read("log_entries", where={"process_id": "p1", "kind": "clearance"})
    found = [(it["step"], it["actor"]) for it in trail.to_pylist()]
    assert found == [("requested", "ana"), ("approved", "bia")]
    for other in ({"process_id": "p2"}, {"withhold": [1]}):
        answer = client.post("/api/exports", json={**PACKAGE, **other}, headers=bearer("ana"))
        assert answer.status_code == 409
    full = client.post("/api/exports", json={**PACKAGE, "reason": "another"}, headers=bearer("ana"))
    assert full.status_code == 200
    [_, entry] = held.inbox.find(kind="export", process_id="p1")
    said = json.loads(entry.body or b"")
    # What the second person read is what stands in the log.
    assert (said["clearance"], said["reason"]) == (request, "yearly audit")
    assert client.post("/api/exports", json=PACKAGE, headers=bearer("ana")).status_code == 409


def test_what_cannot_be_made_is_not_asked_for(client: Client, held: LedgerService) -> None:
    asked = {**PACKAGE, "process_id": "p404"}
    assert client.post("/api/exports", json=asked, headers=bearer("ana")).status_code == 400
    wrong = "/api/views/seller_state?where=nothing=1"
    assert client.post(wrong, json=REASON, headers=bearer("ana")).status_code == 404
    assert kinds(held) == []


def test_a_command_shows_rows_of_many_as_they_stood_when_they_were_asked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRAZO_FOUR_EYES", "unmask")
    ask = ("show", "seller_state", "--unmask", "the letter", "--actor", "Ana", "--format", "json")
    asked = command(settings, *ask)
    assert asked.returncode == 1
    listed = command(settings, "clearances")
    request = next(it for it in listed.stdout.split() if it.startswith("clr_"))
    approve = ("clearances", "approve", request, "--reason", "fine", "--actor")
    assert command(settings, *approve, "Ana").returncode == 1
    assert command(settings, *approve, "Bia").returncode == 0
    assert command(settings, *ask).returncode == 0
    assert command(settings, *ask).returncode == 1
