"""What a marketplace's seller area is given: open reviews, and a link at a click."""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from playwright.sync_api import Route
from starlette.applications import Starlette

from pipeline import instants
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import CallerError
from pipeline.http.pace import Pace
from pipeline.journey import links
from pipeline.serve import api, seller_area
from tests import depth
from tests.audit.conftest import no_rows
from tests.notices.office import BASE, Office, office_in
from tests.support.dashboard import AXE, ROOT, WCAG_22_AA, chromium

pytestmark = no_rows
AREA = {"Authorization": "Bearer area"}
HTML = "text/html"
PATH = "/v1/sellers/sel_1/open-reviews"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with office_in(tmp_path_factory.mktemp("area")) as opened:
        opened.seller("sel_1", email="maria@seller.example", name="Maria Souza")
        opened.review("prc_late", "sel_1", days=-3, status="EXPIRED", asks=["revenue"])
        opened.review("prc_1", "sel_1", days=20)
        opened.review("prc_done", "sel_1", status="FINISHED")
        opened.review("prc_other", "sel_2")
        opened.answer("prc_1", "sel_1", revenue="1000_to_5000")
        yield opened


@pytest.fixture(scope="module")
def service(office: Office) -> Iterator[LedgerService]:
    scopes = {"area": "seller_area", "shop": "collect,notify,submit,read,export"}
    lines = (f"{it}:{of}:{hashlib.sha256(it.encode()).hexdigest()}\n" for it, of in scopes.items())
    tokens = office.folder / "tokens"
    tokens.write_text("".join(lines), encoding="ascii")
    with ledger_service(office.settings(api_tokens_file=tokens)) as held:
        held.reach(office.inbox.last()[0])
        yield held


def ask(method: str, path: str, **options: Any) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=Starlette(routes=api.routes()))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **{"headers": AREA, **options})

    return asyncio.run(asked())


def test_open_reviews_are_named_without_a_person_and_nothing_is_recorded(
    office: Office, service: LedgerService
) -> None:
    before = office.inbox.last()
    answer = ask("GET", PATH)
    said = answer.json()
    assert list(said) == ["seller_id", "as_of", "reviews"]
    assert said["seller_id"] == "sel_1"
    first, late = said["reviews"]
    assert list(first) == [
        *("process_id", "review_type", "state", "deadline_at", "seconds_to_deadline"),
        *("fields_required", "fields_answered"),
    ]
    assert (late["process_id"], late["state"]) == ("prc_late", "EXPIRED")
    assert late["seconds_to_deadline"] < 0
    assert [*first.values()][:3] == ["prc_1", "ACI", "OVERDUE"]
    assert (first["fields_required"], first["fields_answered"]) == (2, 1)
    left = instants.parse(first["deadline_at"]) - instants.parse(said["as_of"])
    assert left // instants.SECOND == first["seconds_to_deadline"]
    assert not re.search("maria|souza", answer.text, re.IGNORECASE)
    assert answer.headers["cache-control"] == "private, max-age=5"
    assert ask("GET", PATH).json() == said, "for some seconds the answer is the same"
    assert ask("GET", "/v1/sellers/sel_0/open-reviews").json()["reviews"] == []
    assert office.inbox.last() == before


def test_a_link_is_of_the_sellers_own_review_and_ends_no_other(
    office: Office, service: LedgerService
) -> None:
    sent = links.mint(service.settings, office.inbox, "prc_1", recorded_by="test")
    made = ask("POST", f"{PATH}/prc_1/link", json={}).json()
    assert made["url"].startswith(f"{BASE}/j/")
    fresh = links.by_token(office.inbox, made["url"].rpartition("/")[2])
    assert fresh is not None
    assert (fresh.process_id, fresh.channel) == ("prc_1", "in_app")
    assert fresh.expires_at - fresh.minted_at == 2 * instants.HOUR
    assert links.still_works(office.inbox, sent.url)
    before = office.inbox.last()
    for other, status in (("prc_other", 404), ("prc_none", 404), ("prc_done", 422)):
        assert ask("POST", f"{PATH}/{other}/link").status_code == status, other
    assert ask("POST", f"{PATH}/prc_1/link", json={"email": "a@b.example"}).status_code == 422
    for headers, status in (({}, 401), ({"Authorization": "Bearer shop"}, 403)):
        assert ask("GET", PATH, headers=headers).status_code == status
        assert ask("POST", f"{PATH}/prc_1/link", headers=headers).status_code == status
    assert office.inbox.last() == before


def test_who_asks_too_often_is_asked_to_wait_and_nobody_else(
    service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, seconds = seller_area.area(service), [0.0]
    for name in ("asks", "links"):
        monkeypatch.setattr(here, name, Pace(1, 30, lambda: seconds[0]))
    for method, path in (("GET", PATH), ("POST", f"{PATH}/prc_late/link")):
        seconds[0] += 60
        assert ask(method, path).status_code == 200
        refused = ask(method, path)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
        assert ask("GET", "/api/views", headers={"Authorization": "Bearer shop"}).is_success
        seconds[0] += 30
        assert ask(method, path).status_code == 200


def test_clicks_take_no_place_of_a_link_that_is_sent(
    office: Office, service: LedgerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten clicks in two hours kept every message back, and the banner answered 422."""
    monkeypatch.setattr(seller_area.area(service), "links", Pace(100, 1))
    sent = links.mint(service.settings, office.inbox, "prc_1", recorded_by="test", channel="in_app")
    office.inbox.execute("update journeys set opened_at = minted_at where channel = 'in_app'")
    for _ in range(links.MAX_LIVE + 1):
        made = ask("POST", f"{PATH}/prc_1/link")
        assert made.status_code == 200
        assert links.still_works(office.inbox, made.json()["url"])
    assert links.still_works(office.inbox, sent.url)
    now, all_of_it = office.inbox.now(), links.of_process(office.inbox, "prc_1")
    live = [it for it in all_of_it if it.is_live(now)]
    clicked = [it for it in live if it.is_clicked]
    assert len(clicked) == links.MAX_CLICKED
    for _ in range(links.MAX_LIVE - (len(live) - len(clicked))):
        links.mint(service.settings, office.inbox, "prc_1", recorded_by="test")
    with pytest.raises(CallerError, match="10 links"):
        links.mint(service.settings, office.inbox, "prc_1", recorded_by="test")
    assert ask("POST", f"{PATH}/prc_1/link").status_code == 200
    links.revoke(office.inbox, process_id="prc_1")


@pytest.mark.parametrize("language", depth.few(["pt-BR", "en"], 2))
def test_the_banner_shows_what_is_open_and_leads_to_the_sellers_page(
    service: LedgerService, language: str
) -> None:
    """In a browser, with the marketplace's backend in between."""
    snippet = (ROOT / "deploy" / "seller-area.html").read_text(encoding="utf-8")
    house = "<style>.open-reviews{--open-reviews-accent:rgb(0, 100, 0)}</style>"
    head = f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>Loja</title>'
    html = f"{head}<main><h1>Loja</h1>{snippet}{house}</main></html>"
    fails = [True]

    def backend(route: Route) -> None:
        asked = route.request
        if asked.method == "POST" and fails.pop():
            fails.append(False)
            route.fulfill(status=503)
            return
        path = asked.url.partition("/prazo")[2].replace("/open-reviews", PATH, 1)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, asked.method, path).result()
        route.fulfill(status=answer.status_code, json=answer.json())

    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 844}, locale=language)
        tab.route("https://shop.example/prazo/**", backend)
        tab.route(
            "https://shop.example/", lambda route: route.fulfill(body=html, content_type=HTML)
        )
        tab.route(f"{BASE}/**", lambda route: route.fulfill(body="the page"))
        tab.goto("https://shop.example/")
        banner = tab.get_by_role("region")
        buttons = banner.get_by_role("button")
        buttons.nth(1).wait_for()
        shown = banner.inner_text()
        said = {
            "pt-BR": ("Seu cadastro precisa", "O prazo era", "Responda até", "1 de 2 respostas"),
            "en": ("Your registration needs", "The deadline was", "Answer by", "1 of 2 answers"),
        }
        assert [it for it in said[language] if it not in shown] == []
        colour = "getComputedStyle(document.querySelector('.open-reviews button')).backgroundColor"
        assert tab.evaluate(colour) == "rgb(0, 100, 0)"
        tab.evaluate(AXE)
        options = {"runOnly": {"type": "tag", "values": WCAG_22_AA}}
        found = tab.evaluate("it => axe.run(document, it)", options)
        assert [it["id"] for it in found["violations"]] == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        buttons.first.focus()
        tab.keyboard.press("Enter")
        alert = banner.get_by_role("alert")
        tab.wait_for_function("document.querySelector('[role=alert]').textContent")
        assert alert.inner_text()
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"{BASE}/j/*")
