"""Killed at any step, the page goes on where the seller was, on either engine."""

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pipeline import instants
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.journey.entrance import door
from tests import depth
from tests.journey.seller import ANSWERS
from tests.journey.served import ACP, Page, served
from tests.support.machine import wait_until


@pytest.fixture(params=["sqlite", "postgres"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Page]:
    more = {}
    if request.param == "postgres":
        more["PRAZO_INBOX"] = request.getfixturevalue("database")
    with served(tmp_path, **more) as running:
        yield running


def test_killed_after_an_answer_nothing_is_lost_and_nothing_is_asked_again(page: Page) -> None:
    """Every 303 is a promise: what the seller sent is on disk. After each third, and in a long run
    after each."""
    process = page.review(ACP, kind="ACP")
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    asked = []
    while screen.slug != "review":
        asked.append(screen.slug)
        answered = seller.ask("POST", screen.path, {**screen.inputs, **ANSWERS[screen.slug]})
        assert answered.status == 303
        if depth.is_whole() or len(asked) % 3 == 0:
            page.stop(signal.SIGKILL)
            page.start()
        screen = seller.get(answered.headers["location"])
    assert asked == ["revenue", "postal-code", "line1", "line3", "city", "country-code"]
    confirmed = seller.ask("POST", screen.path, {**screen.inputs, "declared": "yes"})
    assert confirmed.status == 303
    page.stop(signal.SIGKILL)
    page.start()
    assert seller.get(confirmed.headers["location"]).heading == "Recebemos as suas respostas"
    steps = page.steps(process)
    assert steps == ["invited", "opened", *["answered"] * 7, "confirmed"]
    store = artifact_store(page.settings(), page.inbox)
    found = [said.get("artifacts", ()) for _, said in page.collections(process)]
    artifacts = [it for each in found for it in each]
    assert len(artifacts) == 2 * 8 + 3
    assert [store.fault(it["sha256"]) for it in artifacts] == [None] * len(artifacts)


def test_while_nothing_can_be_recorded_no_next_screen_is_shown(page: Page) -> None:
    """The seller hears that it was not saved, sends it again, and it counts once."""
    process = page.review(["address.city"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    page.inbox.execute("alter table journey_flow rename to journey_flow_away")
    refused = seller.ask("POST", screen.path, {**screen.inputs, "f0": "Recife"})
    assert refused.status == 503
    assert "Não conseguimos salvar agora" in refused.html
    assert page.steps(process) == ["invited", "opened"]
    page.inbox.execute("alter table journey_flow_away rename to journey_flow")
    assert seller.answer(screen, f0="Recife").slug == "review"
    assert page.steps(process) == ["invited", "opened", "answered"]


def test_a_seller_who_has_confirmed_hears_that_it_is_saved(page: Page) -> None:
    """Where the receipt could not be recorded, and so was not shown, its place said "Não
    conseguimos salvar agora" of a confirmation that was in the log."""
    process = page.review(["address.city"])
    seller = page.seller()
    screen = seller.answer(seller.open(page.mint(process).url), f0="Recife")
    confirmed = seller.ask("POST", screen.path, {**screen.inputs, "declared": "yes"})
    assert confirmed.status == 303
    page.inbox.execute("alter table journey_flow rename to journey_flow_away")
    waiting = seller.get(confirmed.headers["location"])
    assert (waiting.status, waiting.heading) == (503, "A sua confirmação está salva")
    assert f'href="{confirmed.headers["location"]}"' in waiting.html
    assert page.steps(process) == ["invited", "opened", "answered", "answered", "confirmed"]
    page.inbox.execute("alter table journey_flow_away rename to journey_flow")
    assert seller.get(confirmed.headers["location"]).heading == "Recebemos as suas respostas"
    assert len(page.receipts(process)) == 1


@pytest.mark.long
def test_a_page_that_can_keep_no_answer_is_not_ready(tmp_path: Path, small_disk: Path) -> None:
    """Nothing said so but the screens of sellers. Whoever asks from elsewhere hears of no place."""
    with served(tmp_path, PRAZO_ARTIFACTS=str(small_disk / "artifacts")) as page:
        seller = page.seller()
        assert seller.get("/readyz").status == 200
        screen = seller.open(page.mint(page.review(["address.city"])).url)
        (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        time.sleep(1.1)  # readiness is looked at once a second
        unready = seller.get("/readyz")
        assert (unready.status, json.loads(unready.html)["stores"]) == (503, ["artifacts"])
        assert f"there is no room left in {small_disk}" in unready.html
        elsewhere = httpx.get(f"{page.base}/readyz", headers={"X-Forwarded-For": "192.0.2.1"})
        assert elsewhere.json()["error"] == "not ready: artifacts"
        answer = {**screen.inputs, "f0": "Recife"}
        assert seller.ask("POST", screen.path, answer).status == 503
        wait_until(lambda: door.totals(page.inbox)["unavailable"] == 1)
        assert abs(heartbeats(page.inbox)[Part.JOURNEY] - instants.now()) < instants.MINUTE
