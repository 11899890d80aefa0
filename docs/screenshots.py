"""Takes the screenshots of README and docs/ from a running dashboard, such as that of `make demo`:

python docs/screenshots.py http://127.0.0.1:8501
"""

import shutil
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
DRAWN = """() => !document.querySelector('[data-testid="stSkeleton"]')
    && [...document.querySelectorAll('[data-testid="stPlotlyChart"]')]
        .every(chart => chart.querySelector('.main-svg'))"""


class Shot(NamedTuple):
    """A page as one reader sees it; `follow` is the name of a link to click first."""

    name: str
    path: str
    follow: str | None = None
    locale: str = "en-GB"
    theme: Literal["light", "dark"] = "light"
    height: int = 1000


SHOTS = (
    Shot("overview", "", height=1440),
    Shot("overview-pt-dark", "", locale="pt-BR", theme="dark", height=1000),
    Shot("watchlist", "watchlist", height=800),
    Shot("process", "watchlist?action=open_ticket", follow="Open the process", height=1100),
    Shot("denials", "denials", height=1000),
)


def take(browser: Browser, url: str, shot: Shot) -> None:
    page = browser.new_page(
        locale=shot.locale,
        color_scheme=shot.theme,
        viewport={"width": 1440, "height": shot.height},
    )
    idle = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.goto(f"{url}/{shot.path}")
    idle.wait_for(timeout=120_000)
    if shot.follow is not None:
        page.get_by_role("link", name=shot.follow).click()
        page.wait_for_timeout(1000)
        idle.wait_for(timeout=120_000)
    page.wait_for_function(DRAWN, timeout=120_000)  # charts draw themselves after the script ends
    page.wait_for_timeout(3000)
    file = FOLDER / f"{shot.name}.png"
    page.screenshot(path=file)
    page.close()
    with Image.open(file) as picture:  # a palette takes a third of the room
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def main(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        for shot in SHOTS:
            take(browser, url.rstrip("/"), shot)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8501")
