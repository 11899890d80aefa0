"""Takes the README's screenshots from a running dashboard, such as that of `make demo`:

python docs/screenshots.py http://127.0.0.1:8501
"""

import shutil
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
PAGES = {"overview": "", "watchlist": "watchlist"}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def take(browser: Browser, url: str, name: str, path: str, theme: Literal["light", "dark"]) -> None:
    page = browser.new_page(
        locale="en-US", color_scheme=theme, viewport={"width": 1440, "height": 1000}
    )
    page.goto(f"{url}/{path}")
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for(
        timeout=120_000
    )
    page.wait_for_timeout(3000)  # charts draw themselves after the script has ended
    page.screenshot(path=FOLDER / f"{name}-{theme}.png")
    page.close()


def main(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        for name, path in PAGES.items():
            for theme in THEMES:
                take(browser, url.rstrip("/"), name, path, theme)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8501")
