"""The dashboard as a server of its own, and a browser to look at it with."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests import fork_server
from tests.support.machine import free_port
from tests.support.stores import environment_in

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
RUN_SECONDS = 30
DEMO_PAGES: Mapping[str, tuple[()] | tuple[str, str]] = {
    "/": ("Tabela e consulta", "Table and query"),
    "/watchlist": ("Baixar", "Download"),
    "/process?process={process}": ("Mostrar dados pessoais", "Show personal data"),
    "/seller?seller_id={seller}": (),
    "/findings": (),
    "/submissions": ("Tabela e consulta", "Table and query"),
    "/denials": ("Baixar", "Download"),
    "/evidence?subject={process}": (),
    "/ledger": (),
}
"""At which the demo's test (tests/release) looks, and what it opens there, in Portuguese and in
English."""


@contextmanager
def dashboard(
    folder: Path, *options: str, port: int | None = None, below: str = "", **settings: str
) -> Iterator[str]:
    """`streamlit run app.py` over the inbox in the folder; its base URL.

    `options` are Streamlit's, `settings` further variables of the environment. `below`: the address
    under which a proxy would serve it, such as `/prazo`.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}{below}"
    environment = os.environ | {
        **environment_in(folder),
        "PRAZO_DASHBOARD_PORT": str(port),
        **settings,
    }
    command = [
        *(sys.executable, "-m", "streamlit", "run", "app.py"),
        *("--server.address", "127.0.0.1", "--server.port", str(port)),
        *(("--server.baseUrlPath", below) if below else ()),
        *options,
    ]
    log = folder / "dashboard.log"
    with log.open("wb") as out:
        server = fork_server.start(
            command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_healthy(server, url, log)
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def _wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the dashboard did not start:\n{log.read_text()[-2000:]}")


AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WCAG_22_AA = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
Scheme: TypeAlias = Literal["light", "dark"]
BACKGROUNDS: Mapping[Scheme, str] = {
    "light": "rgb(255, 255, 255)",
    "dark": "rgb(13, 18, 27)",
}
IS_STILL = """() => document.getAnimations().every(it =>
        it.playState !== "running" || it.effect.getComputedTiming().endTime === Infinity)
    && !document.querySelector('[data-stale="true"]')
    && document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]') !== null
"""
"""What is still fading in, or out because it is drawn again, is paler than it will be."""
GO = """path => {
    document.title = ""
    history.pushState({}, "", path)
    dispatchEvent(new PopStateEvent("popstate"))
}"""
HAS_TITLE = "() => document.title.endsWith('· Prazo')"
FITS = """() => {
    const main = document.querySelector('[data-testid="stMain"]')
    return main.scrollWidth <= main.clientWidth
}"""
IS_BACKGROUND = """it => getComputedStyle(
    document.querySelector('[data-testid="stApp"]')
).backgroundColor === it"""


class Reader:
    """A tab of a browser that remembers what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.elsewhere: list[str] = []  # requests to another host
        self.complaints: list[str] = []  # errors on the console
        page.on("request", self._note_request)
        page.on("console", self._note_complaint)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.elsewhere.append(request.url)

    def _note_complaint(self, message: Any) -> None:
        # Streamlit asks for these beside a deep link before it finds its root; they are its own.
        probes = ("/_stcore/health", "/_stcore/host-config")
        where = (message.location or {}).get("url", "")
        if message.type == "error" and not where.endswith(probes):
            self.complaints.append(f"{message.text} ({where})")

    def open(self, path: str) -> "Reader":
        self.page.goto(self.url + path)
        return self.settled()

    def go(self, path: str) -> "Reader":
        """As the Back button does: the session stays, and the browser does not load and
        compile the frontend again, which takes longer than most pages."""
        self.page.evaluate(GO, path)
        # Until a run says its page's title, the page before stands.
        self._wait_for(HAS_TITLE)
        return self.settled()

    def settled(self) -> "Reader":
        """Waits until the script has run and the page shows a title."""
        self.page.wait_for_selector(
            '[data-testid="stApp"][data-test-script-state="notRunning"]',
            timeout=RUN_SECONDS * 1000,
        )
        self.page.wait_for_selector("h1", timeout=RUN_SECONDS * 1000)
        self.page.wait_for_timeout(600)
        return self

    def _wait_for(self, condition: str, arg: object = None) -> None:
        """Looks ten times a second. By default it looks at each frame, and makes the browser
        draw sixty a second."""
        self.page.wait_for_function(condition, arg=arg, polling=100, timeout=RUN_SECONDS * 1000)

    def turn(self, scheme: Scheme) -> None:
        """To the dark theme or to the light one."""
        self.page.emulate_media(color_scheme=scheme)
        self._wait_for(IS_BACKGROUND, BACKGROUNDS[scheme])

    def fits_soon(self) -> bool:
        """Whether the page is no wider than its window: charts draw themselves again after a change
        of its width, on a busy machine some seconds later."""
        give_up_at = time.monotonic() + 10
        while not self.page.evaluate(FITS):
            if time.monotonic() > give_up_at:
                return False
            self.page.wait_for_timeout(200)
        return True

    def found_by_axe(
        self, schemes: Iterable[Scheme] = ("light", "dark"), *, of_contrast: bool = True
    ) -> Iterator[tuple[str, str, str]]:
        """In which theme a rule of WCAG 2.2 AA is broken, which, and where; those `of_contrast`
        take two thirds of the time.

        Of Streamlit's date input, day, month and year are smaller targets than WCAG 2.5.8 asks for;
        its calendar is the other way that the criterion allows.
        """
        options = {
            "runOnly": {"type": "tag", "values": WCAG_22_AA},
            "resultTypes": ["violations"],
            "rules": {"color-contrast": {"enabled": of_contrast}},
            "preload": False,  # of media, of which our pages have none
        }
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        for scheme in schemes:
            self.turn(scheme)
            while True:  # the page may begin to draw itself again while it is looked at
                self._wait_for(IS_STILL)
                found = self.page.evaluate("it => axe.run(document, it)", options)["violations"]
                if self.page.evaluate(IS_STILL):
                    break
            for broken in found:
                for node in broken["nodes"]:
                    if broken["id"] != "target-size" or 'role="spinbutton"' not in node["html"]:
                        yield scheme, broken["id"], node["html"][:200]

    def menu(self, name: str) -> Locator:
        """What opens a menu in the head of the page."""
        return self.page.locator(".st-key-choices summary").filter(has_text=name)

    def speak(self, language: str) -> None:
        """Chooses a language in the menu of whoever reads."""
        self.page.locator(".st-key-menu_you summary").click()
        self.page.locator(".st-key-lang").get_by_text(language, exact=True).click()

    def title(self) -> str:
        return self.page.locator("h1").inner_text()

    def text(self) -> str:
        return self.page.locator('[data-testid="stMain"]').inner_text()

    def query(self) -> str:
        return self.page.url.partition("?")[2]


def contrast(one: str, other: str) -> float:
    """Of two colours written `rgb(r, g, b)`, as WCAG defines it."""

    def luminance(colour: str) -> float:
        shares = [int(it) / 255 for it in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (
            share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
            for share in shares
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


NO_TURBOFAN = "--js-flags=--no-turbofan"
"""No page stays open for so long that its scripts would win back what it takes to compile them for
the highest speed. The compiler before that one pays: a tab that goes through many pages takes 0.88
of the time with it, and axe 0.82."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, which may call nobody on its own; its headless shell, where there is
    one, shows the same for a quarter less of a core."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-background-networking", NO_TURBOFAN],
        )
        try:
            yield running
        finally:
            running.close()
