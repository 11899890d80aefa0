"""Has the browser of `PRAZO_JOURNEY_BROWSER` draw HTML of ours, as a picture or as a PDF. The page
can reach nothing outside of the machine."""

import os
import subprocess
from pathlib import Path
from typing import Final

from pipeline.errors import OperatorError
from pipeline.files.temporary import OwnFolder

SECONDS: Final = 30.0
"""For one page."""


def picture(browser: Path, html: bytes, size: str) -> bytes:
    """A PNG of a page. `size`: width and height, in pixels, with a comma between. Raises OSError or
    `subprocess.SubprocessError`."""
    return _drawn(browser, html, "drawn.png", f"--window-size={size}", "--screenshot")


def pdf(browser: Path, html: bytes) -> bytes:
    """A PDF of a page, on paper as the page itself asks for. Raises `OperatorError`."""
    try:
        return _drawn(browser, html, "drawn.pdf", "--no-pdf-header-footer", "--print-to-pdf")
    except (OSError, subprocess.SubprocessError) as error:
        raise OperatorError(
            "The PDF was not made",
            f"the browser of PRAZO_JOURNEY_BROWSER failed: {type(error).__name__}",
            "try it: prazo doctor; or take the HTML and print it",
        ) from error


def _drawn(browser: Path, html: bytes, name: str, *options: str) -> bytes:
    """`options`: the last one takes the file to write."""
    with OwnFolder("prazo-picture-") as folder:
        page, drawn = folder / "page.html", folder / name
        page.write_bytes(html)
        command = [
            *(str(browser), "--headless", "--disable-gpu", "--hide-scrollbars"),
            *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"),
            f"--user-data-dir={folder / 'profile'}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *(*options[:-1], f"{options[-1]}={drawn}", page.as_uri()),
        ]
        subprocess.run(command, check=True, timeout=SECONDS, capture_output=True)
        return drawn.read_bytes()
