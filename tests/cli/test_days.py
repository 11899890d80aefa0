"""A day without a time is an answer to "when?" wherever a person is asked: a period begins at its
start, and who looks at it looks at its end, in the zone of the settings."""

import asyncio
import json
import zipfile
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from pipeline.continuity.service import ledger_service
from pipeline.inbox import open_inbox
from pipeline.serve import api
from tests.support.commands import here
from tests.support.ledgers import draft
from tests.support.lines import seller
from tests.support.machine import wait_until
from tests.support.stores import environment_in, settings_in

EVENTS = {
    "before": "2026-09-01T02:59:59Z",  # still August in São Paulo
    "first": "2026-09-01T03:00:00Z",
    "last": "2026-10-01T02:59:59Z",
    "after": "2026-10-01T03:00:00Z",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        for name, at in EVENTS.items():
            line = seller("created", name, at, seller_id=name) | {"occurred_at": at}
            if (drafted := draft(line)) is not None:
                inbox.append([drafted])
    return tmp_path


def shown(folder: Path, *options: str, zone: str = "America/Sao_Paulo") -> set[str]:
    environment = environment_in(folder) | {"PRAZO_TIME_ZONE": zone}
    asked = ("show", "seller_state", "--format", "json", *options)
    done = here(*asked, environment=environment, folder=folder)
    assert done.returncode == 0, done.stderr
    return {it["seller_id"] for it in json.loads(done.stdout)}


def test_who_looks_at_a_day_sees_it_to_its_end_in_their_zone(folder: Path) -> None:
    """`--as-of 2026-08-31` was refused. An officer who means the last day of a month wants what
    that day still brought."""
    assert shown(folder, "--as-of", "2026-08-31") == {"before"}
    assert shown(folder, "--as-of", "2026-09-30") == {"before", "first", "last"}
    assert shown(folder, "--as-of", "2026-08-31", zone="UTC") == set()
    assert shown(folder, "--as-of", "2026-09-30", zone="UTC") == {"before", "first"}


async def asked(*days: str) -> list[httpx.Response]:
    """The API's answers about each day."""
    served = httpx.ASGITransport(app=Starlette(routes=api.routes()))
    async with httpx.AsyncClient(transport=served, base_url="http://127.0.0.1") as client:
        return [await client.get("/api/views/seller_state?as_of=" + it) for it in days]


def test_the_api_takes_a_day_as_the_command_does(folder: Path) -> None:
    with ledger_service(settings_in(folder)) as service:
        wait_until(lambda: service.status().last_seq == len(EVENTS))
        answer, wrong = asyncio.run(asked("2026-08-31", "2026-02-30"))
    assert answer.headers["Prazo-As-Of"] == "2026-09-01T02:59:59.999999Z"
    assert {it["seller_id"] for it in answer.json()} == {"before"}
    assert "a day like 2026-03-01" in wrong.json()["remedy"]


def test_a_period_of_an_export_goes_from_the_start_of_a_day_to_that_of_another(
    folder: Path,
) -> None:
    """`prazo export --from 2026-09-01` was refused as "not an instant". The end is not included, so
    September goes to the first of October."""
    done = here(
        *("export", "--from", "2026-09-01", "--to", "2026-10-01", "--out", "september.zip"),
        *("--reason", "audit", "--actor", "Ana"),
        environment=environment_in(folder),
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(folder / "september.zip") as package:
        [name] = [it for it in package.namelist() if it.endswith("data/parameters.json")]
        parameters = json.loads(package.read(name))
    assert parameters["scope"] == {"from": "2026-09-01T03:00:00Z", "to": "2026-10-01T03:00:00Z"}
