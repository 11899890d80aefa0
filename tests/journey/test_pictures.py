"""Where a browser is at hand, pictures of the screens are added after the confirmation."""

import shutil
from pathlib import Path

import pytest

from tests.journey.served import served
from tests.support.machine import wait_until

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
def test_each_screen_has_a_picture_of_the_bytes_that_were_seen(tmp_path: Path) -> None:
    with served(tmp_path, PRAZO_JOURNEY_BROWSER=str(BROWSER)) as page:
        process = page.review()
        page.seller().finish(page.mint(process).url)
        wait_until(lambda: page.steps(process).count("confirmed") == 2)
        _, said = page.collections(process)[-1]
        pictures = {it["name"]: page.artifact(it["sha256"]) for it in said["artifacts"]}
    assert said["source"] == "marketplace"
    assert list(pictures) == ["01-landing.png", "02-revenue.png", "03-review.png"]
    for content in pictures.values():
        assert content.startswith(b"\x89PNG")
        assert int.from_bytes(content[16:20]) == 390


def test_a_browser_that_is_not_there_costs_nothing_but_the_pictures(tmp_path: Path) -> None:
    with served(tmp_path, PRAZO_JOURNEY_BROWSER="/nowhere/chromium") as page:
        process = page.review()
        receipt = page.seller().finish(page.mint(process).url)
        assert receipt.slug == "receipt"
        wait_until(lambda: "there are no pictures of journey" in page.log.read_text())
        assert page.steps(process).count("confirmed") == 1
