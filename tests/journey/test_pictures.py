"""Where a browser is at hand, pictures of the screens are added after the confirmation."""

import hashlib
import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import browser, instants
from pipeline.erasure.forgetting import _forget_links
from pipeline.inbox.artifacts import artifact_store
from pipeline.journey import evidence, pictures
from pipeline.journey.links import Journey
from pipeline.log.artifacts import ArtifactStore
from pipeline.log.kinds.collection import COLLECTION
from pipeline.receive.collections import collect_file
from tests.journey.served import Page, served
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


def landed(page: Page) -> tuple[Journey, ArtifactStore]:
    """A journey whose seller has seen one screen, and where its bytes are kept."""
    journey = page.mint(page.review()).journey
    store, shown = artifact_store(page.settings(), page.inbox), evidence.Shown("pt-BR", "1")
    ours = [evidence.kept(store, "landing.html", "text/html", b"ours")]
    landing = evidence.seen(
        *(journey, "opened", instants.now(), shown), screen="landing", artifacts=ours
    )
    page.inbox.append([landing])
    return journey, store


def test_no_browser_of_ours_opens_what_another_program_says_that_a_seller_saw(
    tmp_path: Path,
) -> None:
    """Anyone who may collect knows the journey's id. An HTML file under it was opened as a file of
    this machine: its frames showed any other, such as keys, in a picture called one of our page."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!/bin/sh\nfor it; do case $it in --screenshot=*) out=${{it#*=}};; esac; done\n"
        f'cat "${{it#file://}}" >>{opened}; echo picture >"$out"\n'
    )
    browser.chmod(0o700)
    with closing(Page(tmp_path, {})) as page:
        journey, store = landed(page)
        (tmp_path / "theirs.html").write_bytes(b"theirs")
        theirs = {
            "occurred_at": instants.canonical(instants.now()),
            "process_id": journey.process_id,
            "seller_id": journey.seller_id,
            "journey_id": journey.journey_id,
            "step": "opened",
            "channel": "in_app",
            "source": "seller",
            "artifacts": [{"name": "x.html", "media_type": "text/html", "path": "theirs.html"}],
        }
        (tmp_path / "theirs.json").write_text(json.dumps(theirs))
        collect_file(tmp_path / "theirs.json", page.settings(), recorded_by="journey")
        assert pictures.take(browser, page.inbox, store, journey.ref) == 1
    assert opened.read_bytes() == b"ours"


@pytest.mark.parametrize("moment", ["taken", "kept"])
def test_pictures_of_a_seller_who_is_forgotten_meanwhile_are_not_kept(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: their entry and their bytes came after all else was gone."""
    with closing(Page(tmp_path, {})) as page:
        journey, store = landed(page)
        kept = evidence.kept

        def taken(*_: object) -> bytes:
            if moment == "taken":
                _forget_links(page.inbox, journey.seller_id)
            return b"picture"

        def then_forgotten(*given: Any) -> evidence.Artifact:
            artifact = kept(*given)
            _forget_links(page.inbox, journey.seller_id)
            return artifact

        monkeypatch.setattr(browser, "picture", taken)
        if moment == "kept":
            monkeypatch.setattr(evidence, "kept", then_forgotten)
        assert pictures.take(Path("none"), page.inbox, store, journey.ref) == 0
        assert [*store.names()] == [hashlib.sha256(b"ours").hexdigest()]
        collections = page.inbox.find(process_id=journey.process_id, kind=COLLECTION)
        assert len(collections) == 2  # invited and opened
