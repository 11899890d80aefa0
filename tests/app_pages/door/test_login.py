"""Who gets in, as whom, to which pages, and for how long; over real servers and a real browser."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from playwright.sync_api import Browser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from app_pages.door import access
from app_pages.door.requests import Door
from pipeline.errors import SettingsError
from pipeline.inbox import open_inbox
from pipeline.log.kinds.calendar import calendar_made
from pipeline.serve import calendar
from pipeline.settings import Settings
from tests import depth
from tests.app_pages.conftest import fill
from tests.app_pages.door.proxy import Proxy
from tests.app_pages.support.occurrences import before, review
from tests.support.dashboard import BACKGROUNDS, Reader, dashboard
from tests.support.machine import free_port, wait_until

HISTORY = [review("prc_1", before(days=10))]
SECRET = "s3cret-of-the-proxy"
SOCKET = "/_stcore/stream"
SPOKEN = "document.documentElement.lang"
LINK = "/process?process=prc_1&as_of=2026-06-01T12:00:00Z"


# --- proxy ---------------------------------------------------------------------------------------


@contextmanager
def behind_a_proxy(folder: Path, **settings: str) -> Iterator[str]:
    """The dashboard's own address, which only the proxy should be able to use."""
    fill(folder, HISTORY)
    (folder / "roles").write_text("officer:groups:compliance\nanalyst:groups:data\n")
    (folder / "secrets").write_text(f"an-older-one\n{SECRET}\n")
    (folder / "tokens").write_text(f"notebook:read:{'0' * 64}\n")
    chosen = {
        "PRAZO_LOGIN": "proxy",
        "FORWARDED_ALLOW_IPS": "",
        "PRAZO_ROLES_FILE": str(folder / "roles"),
        "PRAZO_PROXY_SECRET_FILE": str(folder / "secrets"),
        "PRAZO_API_TOKENS_FILE": str(folder / "tokens"),
        **settings,
    }
    with dashboard(folder, **chosen) as url:
        yield url


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxied")


@pytest.fixture(scope="module")
def inner(proxied: Path) -> Iterator[str]:
    with behind_a_proxy(proxied) as url:
        yield url


def forwarded(
    user: str = "ana", groups: str = "compliance", secret: str = SECRET
) -> dict[str, str]:
    return {"X-Proxy-Secret": secret, "X-Forwarded-User": user, "X-Forwarded-Groups": groups}


def test_a_server_that_believes_forwarded_addresses_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "secrets").write_text(SECRET)
    settings = Settings(
        login="proxy",
        api_tokens_file=tmp_path / "tokens",
        roles_file=tmp_path / "roles",
        proxy_secret_file=tmp_path / "secrets",
    )
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    with pytest.raises(SettingsError, match="X-Forwarded-For"):
        Door(None, load=lambda: settings)
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    Door(None, load=lambda: settings)


def socket_status(url: str, headers: dict[str, str]) -> int:
    """What the dashboard's web socket answers; 101 is an open door."""
    address = url.replace("http", "ws") + SOCKET
    try:
        with connect(address, additional_headers=headers, proxy=None, open_timeout=10):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_only_the_proxy_with_its_secret_gets_in(inner: str):
    for headers, why in (
        ({}, "X-Proxy-Secret is missing or wrong"),
        ({"X-Forwarded-User": "ana"}, "X-Proxy-Secret is missing or wrong"),
        (forwarded(secret="guessed"), "X-Proxy-Secret is missing or wrong"),
        (forwarded(user=""), "must name the person once"),
    ):
        answer = httpx.get(f"{inner}/", headers=headers)
        assert answer.status_code == 403
        assert why in answer.json()["error"]
        assert socket_status(inner, headers) == 403
    assert httpx.get(f"{inner}/", headers=forwarded()).status_code == 200
    assert httpx.get(f"{inner}/", headers=forwarded(secret="an-older-one")).status_code == 200
    assert socket_status(inner, forwarded()) == 101


def test_a_calendar_needs_its_secret_address_alone_and_no_login(inner: str, proxied: Path):
    """Programs for calendars know no other proof. Nothing beside it is open."""
    secret = calendar.new_secret()
    made = calendar_made(
        secret.feed_id,
        token_sha256=secret.token_sha256,
        assignee=None,
        actor="ana",
        recorded_by="test",
    )
    with closing(open_inbox(proxied / "inbox.db", create=False)) as inbox:
        inbox.append([made])
    right = f"{inner}{calendar.PATH}{secret.token}.ics"
    wait_until(lambda: httpx.get(right).status_code == 200, pause=0.2)
    answer = httpx.get(right)
    assert "SUMMARY:ACI prc_1: " in answer.text
    assert answer.headers["cache-control"] == "no-store"
    wrong = httpx.get(f"{inner}/calendar/{'x' * 43}.ics")
    assert (wrong.status_code, wrong.json()) == (404, {"error": "there is no such calendar"})
    assert wrong.headers["cache-control"] == "no-store"
    assert wrong.headers["content-security-policy"].startswith("default-src 'none'")
    assert httpx.get(f"{inner}/calendar").status_code == 403


def test_a_name_that_a_browser_adds_beside_the_proxys_is_refused(inner: str):
    twice = [*forwarded().items(), ("X-Forwarded-User", "root")]
    assert httpx.get(f"{inner}/", headers=twice).status_code == 403


def test_groups_that_a_browser_adds_beside_the_proxys_are_refused(inner: str):
    """Of two headers Streamlit takes the first, and a proxy may add its own behind a browser's."""
    twice = [("X-Forwarded-Groups", "compliance"), *forwarded(groups="sales").items()]
    answer = httpx.get(f"{inner}/", headers=twice)
    assert answer.status_code == 403
    assert "must send X-Forwarded-Groups once" in answer.json()["error"]


def test_an_address_that_is_not_a_proxy_does_not_get_in(tmp_path: Path):
    with behind_a_proxy(tmp_path, PRAZO_PROXY_ADDRESSES="10.1.0.0/16") as url:
        answer = httpx.get(f"{url}/", headers=forwarded())
        assert answer.status_code == 403
        assert "127.0.0.1 is not a proxy" in answer.json()["error"]


def test_whoever_the_proxy_names_sees_the_pages_of_their_role_in_the_language_of_their_browser(
    inner: str, browser: Browser
):
    """Who has the page read aloud must hear Portuguese as Portuguese (WCAG 3.1.1)."""
    proxy = Proxy(port_of(inner), forwarded())
    with proxy.running() as url:
        tab = Reader(browser.new_page(locale="pt-BR"), url).open("/")  # an officer's
        assert tab.title() == "Visão geral"
        assert tab.page.evaluate(SPOKEN) == "pt-BR"
        assert tab.menu("ana").is_visible()
        assert tab.page.get_by_role("link", name="Em risco").count() > 0

        proxy.headers = forwarded(user="bia", groups="data")  # an analyst
        tab.page.goto(f"{url}/process?process=prc_1")
        tab.page.get_by_text("Esta página não está aberta ao seu perfil de acesso").wait_for()
        assert tab.settled().title() == "Sem acesso"
        assert "prc_1" not in tab.text()
        assert tab.page.get_by_role("dialog").count() == 0
        assert tab.page.get_by_role("link", name="Em risco").count() == 0
        tab.page.get_by_role("link", name="Apontamentos").first.click()
        tab.page.get_by_role("heading", name="Apontamentos", exact=True).wait_for()
        assert "Esta página não está aberta ao seu perfil de acesso" not in tab.settled().text()
        tab.speak("en")
        tab.page.get_by_role("heading", name="Findings", exact=True).wait_for()
        assert tab.page.evaluate(SPOKEN) == "en-GB"

        proxy.headers = forwarded(user="eve", groups="sales")
        tab.open("/")
        assert "eve não tem perfil de acesso aqui" in tab.text()
        assert "prc_1" not in tab.text()
        assert tab.page.evaluate(SPOKEN) == "pt-BR"
        assert list(tab.found_by_axe(depth.few(list(BACKGROUNDS), 2))) == []
        tab.page.close()


NEVER_ALONE = """(() => {
    const begin = setInterval, end = clearInterval, waiting = new Map()
    let last = 0
    setInterval = (run, pause, ...more) => {
        if (pause < 5000 || pause > 10_000) return begin(run, pause, ...more)
        waiting.set(--last, run)
        return last
    }
    clearInterval = id => waiting.delete(id) || end(id)
    begin(() => {
        const [first, ...others] = waiting.values()
        first?.()
        for (let ms = 5; ms < 300; ms += 5) others.forEach(run => setTimeout(run, ms))
    }, 6500)
})()"""
"""The first of what a page asks for again and again has the others on its heels, as now and then on
a busy machine."""


@pytest.mark.long
def test_a_session_ends_though_the_page_stays_open(tmp_path: Path, browser: Browser):
    """The last run ended by `st.stop()`, after which Streamlit keeps the fragments of the run
    before: the freshness line took the place of the words, and the page never changed again. Later
    the words took the instant out of the address: reloaded, the page showed the present."""
    with (
        behind_a_proxy(tmp_path, PRAZO_SESSION_SECONDS="15") as inner,
        Proxy(port_of(inner), forwarded()).running() as url,
    ):
        tab = browser.new_page(locale="en-GB")
        tab.add_init_script(NEVER_ALONE)
        reader = Reader(tab, url).open("/findings?as_of=2026-06-01T12:00:00Z&severity=breach")
        assert reader.title() == "Findings"
        reader.page.get_by_text("The session is over").wait_for(timeout=60_000)
        tab.wait_for_timeout(1000)
        assert reader.text() == "Prazo\n\nThe session is over\n\nReload the page to continue."
        reader.page.reload()
        assert reader.settled().title() == "Findings"
        assert "You are looking at 1 Jun 2026" in reader.text()
        assert parse_qs(reader.query()) == {
            "as_of": ["2026-06-01T12:00:00Z"],
            "severity": ["breach"],
        }
        reader.page.close()


def test_a_role_that_is_taken_away_ends_what_is_on_the_screen(
    proxied: Path, inner: str, browser: Browser
):
    """Nobody clicks. A page stayed as it was drawn for the role before, unless none was left."""
    roles = proxied / "roles"
    usual = roles.read_text()
    with Proxy(port_of(inner), forwarded()).running() as url:
        reader = Reader(browser.new_page(locale="en-GB"), url).open("/process?process=prc_1")
        assert "prc_1" in reader.text()
        try:
            roles.write_text("officer:groups:others\nanalyst:groups:compliance\n")
            reader.page.get_by_text("This page is not open to your role").wait_for(timeout=60_000)
            assert "prc_1" not in reader.settled().text()
            roles.write_text("officer:groups:others\n")
            reader.page.get_by_text("ana has no role here").wait_for(timeout=60_000)
        finally:
            roles.write_text(usual)
        reader.page.close()


# --- OpenID Connect ------------------------------------------------------------------------------


@contextmanager
def provider(*people: dict[str, object], seconds: int = 3600) -> Iterator[str]:
    """A local OpenID Connect provider that knows these people; its address."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--token-max-age", str(seconds)]
    for person in people:
        command += ["--user-claims", json.dumps(person)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{url}/.well-known/openid-configuration", timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, "the provider did not start"
                time.sleep(0.1)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


@contextmanager
def with_login(folder: Path, issuer: str, roles: str) -> Iterator[str]:
    fill(folder, HISTORY)
    port = free_port()
    (folder / "roles").write_text(roles)
    (folder / "tokens").write_text(f"notebook:read:{'0' * 64}\n")
    (folder / "auth.toml").write_text(
        "[auth]\n"
        f'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
        f'cookie_secret = "{os.urandom(24).hex()}"\n'
        'client_id = "prazo"\nclient_secret = "any"\n'
        f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n'
    )
    chosen = {
        "PRAZO_LOGIN": "oidc",
        "PRAZO_ROLES_FILE": str(folder / "roles"),
        "PRAZO_OIDC_FILE": str(folder / "auth.toml"),
        "PRAZO_API_TOKENS_FILE": str(folder / "tokens"),
    }
    with dashboard(folder, port=port, **chosen) as url:
        yield url


def log_in(reader: Reader, subject: str) -> None:
    reader.page.get_by_role("button", name="Log in").click()
    field = reader.page.locator("input[name=sub]:visible")
    field.fill(subject)
    field.press("Enter")
    reader.page.wait_for_url(f"{reader.url}/**")
    reader.settled()


def test_people_log_in_at_their_provider_and_out_again(tmp_path: Path, browser: Browser):
    """Whoever followed a link, as an alert has one, or whose session had ended, found themselves on
    the Overview once they had logged in: the page, its filters and its instant were lost."""
    ana = {"sub": "u-1", "email": "ana@example.com", "email_verified": True}
    with (
        provider(ana, {"sub": "u-2"}) as issuer,
        with_login(tmp_path, issuer, "officer:email:ana@example.com\n") as url,
    ):
        reader = Reader(browser.new_page(locale="en-GB"), url).open(LINK)
        assert "prc_1" not in reader.text()
        assert list(reader.found_by_axe(depth.few(list(BACKGROUNDS), 2))) == []
        log_in(reader, "u-1")
        reader.page.wait_for_url(f"{url}{LINK}")
        assert reader.settled().title() == "Process"
        assert reader.menu("ana@example.com").is_visible()
        assert reader.page.get_by_role("link", name="Watchlist").count() > 0
        assert reader.open("/").title() == "Overview"  # it was led there once
        reader.menu("ana@example.com").click()
        reader.page.get_by_role("button", name="Log out").click()
        reader.page.wait_for_url(f"{issuer}/**")  # it ends the session there as well
        reader.page.goto(f"{url}/watchlist")
        reader.page.get_by_role("button", name="Log in").wait_for(timeout=20_000)
        assert "prc_1" not in reader.text()

        log_in(reader, "u-2")
        assert "u-2 has no role here" in reader.text()
        assert reader.page.get_by_role("link", name="Watchlist").count() == 0


@pytest.mark.parametrize(
    ("claims", "ends_at"),
    [
        ({"is_logged_in": True, "iat": 1_000, "exp": 2_000}, 2_000),
        ({"is_logged_in": True, "iat": 1_000, "exp": 90_000}, 4_600),
        ({"is_logged_in": True, "iat": 1_000}, 0),
        ({"is_logged_in": True, "exp": 2_000}, 0),
        ({"is_logged_in": True, "iat": 1_000, "exp": "2000"}, 0),
        ({"is_logged_in": False, "iat": 1_000, "exp": 2_000}, 0),
    ],
)
def test_a_session_ends_with_its_token_and_an_hour_after_it_began_at_the_latest(
    monkeypatch: pytest.MonkeyPatch, claims: dict[str, object], ends_at: float
):
    monkeypatch.setattr(access.st, "user", claims)
    settings: Any = SimpleNamespace(login="oidc", session_seconds=3_600)
    assert access._ends_at(settings) == ends_at


@pytest.mark.long
def test_a_login_ends_with_the_providers_token(tmp_path: Path, browser: Browser):
    with (
        provider({"sub": "u-1"}, seconds=8) as issuer,
        with_login(tmp_path, issuer, "officer:sub:u-1\n") as url,
    ):
        reader = Reader(browser.new_context(locale="en-GB").new_page(), url).open("/")
        log_in(reader, "u-1")
        assert reader.title() == "Overview"
        reader.page.get_by_role("button", name="Log in").wait_for(timeout=40_000)
        assert "The session is over" in reader.text()


# --- without a login -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_to_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard without a login."""
    folder = tmp_path_factory.mktemp("without_a_login")
    fill(folder, HISTORY)
    with dashboard(folder) as url:
        yield url


def test_without_a_login_only_this_machine_is_served(open_to_this_machine: str):
    url = open_to_this_machine
    assert httpx.get(f"{url}/").status_code == 200
    for headers in ({"Host": "prazo.example.com"}, {"X-Forwarded-For": "203.0.113.9"}):
        answer = httpx.get(f"{url}/", headers=headers)
        assert answer.status_code == 403
        assert "set PRAZO_LOGIN" in answer.json()["error"]
        assert socket_status(url, headers) == 403


def test_no_web_socket_begins_with_http_1_0(open_to_this_machine: str):
    """nginx speaks it, unless told otherwise, to what it stands in front of, and can still be told
    to hand offers to upgrade on. Then each page was refused, and the web socket, which shows what
    they show, was opened for anybody."""
    offer = (
        f"GET {SOCKET} HTTP/{{}}\r\nHost: localhost\r\n"
        "Connection: upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    for version, status in (("1.1", b"101"), ("1.0", b"400")):
        address = ("127.0.0.1", port_of(open_to_this_machine))
        with socket.create_connection(address, timeout=20) as wire:
            wire.sendall(offer.format(version).encode())
            assert wire.recv(12) == b"HTTP/1.1 " + status


def test_a_page_of_another_site_opens_no_web_socket_and_causes_nothing(inner: str):
    """Streamlit compared Origin itself: it asked an address outside for this machine's own, and
    everybody waited for that, two seconds for each try."""
    own, foreign = {"Origin": inner}, {"Origin": "https://a.example"}
    assert socket_status(inner, {**forwarded(), **own}) == 101
    for origin in ({"Origin": "null"}, {"Origin": inner + "0"}, foreign):
        assert socket_status(inner, {**forwarded(), **origin}) == 403
        answer = httpx.get(f"{inner}/", headers={**forwarded(), **origin})
        assert (answer.status_code, "Origin" in answer.json()["error"]) == (403, True)
        assert httpx.get(f"{inner}/api/head", headers=origin).status_code == 403
        assert httpx.get(f"{inner}/_stcore/health", headers=origin).status_code == 403
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert httpx.get(f"{inner}/", headers={**forwarded(), **framed}).status_code == 403


def test_a_dashboard_beyond_this_machine_needs_a_login(tmp_path: Path):
    with pytest.raises(SettingsError, match="PRAZO_LOGIN is none"):
        Settings.load(dashboard_host="0.0.0.0", allow_remote=True)


def test_a_login_without_what_it_needs_is_refused_before_anything_starts():
    with pytest.raises(SettingsError, match=r"PRAZO_ROLES_FILE is missing.*PRAZO_OIDC_FILE"):
        Settings.load(login="oidc")
    with pytest.raises(SettingsError, match="PRAZO_PROXY_SECRET_FILE is missing"):
        Settings.load(login="proxy")
    with pytest.raises(SettingsError, match="PRAZO_API_TOKENS_FILE is missing"):
        Settings.load(login="proxy")


def test_the_api_is_closed_to_those_whom_the_login_keeps_out(inner: str):
    """A proxy on this machine passes calls on from this machine, as nginx does by default."""
    views = f"{inner}/api/views/seller_state"
    assert httpx.get(views).status_code == 401
    assert httpx.post(views, json={"unmask": "x", "actor": "y"}).status_code == 401


@pytest.mark.long
def test_a_thousand_connections_that_send_nothing_do_not_stop_the_dashboard(inner: str):
    """They stayed for good, and nobody else got in."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    try:
        with ExitStack() as held:
            for _ in range(1100):
                held.enter_context(socket.create_connection(("127.0.0.1", port_of(inner))))
            for _ in range(5):
                assert httpx.get(f"{inner}/", headers=forwarded(), timeout=20).status_code == 200
            assert socket_status(inner, forwarded()) == 101
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
