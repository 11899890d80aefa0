"""The README's examples for the marketplace's developers do what they are said to do."""

import json
import re
import shlex
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.artifacts import ArtifactStore
from pipeline.occurrences import COLLECTION
from tests.gateway.client import Client
from tests.marketplace import Marketplace, Review

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SCREEN = b"\x89PNG what the seller saw"


def example(pattern: str) -> str:
    """The indented lines that begin with a pattern, up to the next prose."""
    [found] = re.findall(rf"^ {{4}}{pattern}.*?(?=^\S)", README, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found)


def told_of(review: Review) -> dict[str, Any]:
    """The occurrence that the README shows, for a review of ours, now."""
    shown: dict[str, Any] = json.loads(example(r'\{"occurred_at"'))
    return {
        **shown,
        "occurred_at": instants.canonical(instants.now()),
        "process_id": review.process_id,
        "seller_id": review.seller_id,
    }


def kept_artifacts(marketplace: Marketplace, review: Review) -> list[bytes | None]:
    [entry] = marketplace.inbox.find(process_id=review.process_id, kind=COLLECTION)
    store = ArtifactStore(marketplace.settings().artifacts)
    return [store.read(it["sha256"]) for it in json.loads(entry.body or b"")["artifacts"]]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_curl_sends_the_file_that_prazo_collect_takes_with_its_artifact(
    marketplace: Marketplace, gateway: Client, tmp_path: Path
) -> None:
    """The example once sent the JSON alone, which names a file of the caller's machine: 422."""
    review = marketplace.review(is_answered=False)
    (tmp_path / "answered.json").write_text(json.dumps(told_of(review)))
    (tmp_path / "screen.png").write_bytes(SCREEN)
    [line] = re.findall(r"^ {4}(curl .*/v1/collections.*)$", README, re.MULTILINE)
    command = shlex.split(line.replace(":8400", f":{gateway.port}"))
    done = subprocess.run([*command, "-sS"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout)["recorded"] == "new"
    assert kept_artifacts(marketplace, review) == [SCREEN]


def test_the_client_collects(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review(is_answered=False)
    known = {"answered": told_of(review), "screen": SCREEN}
    exec(example(r"from pipeline\.client").replace(":8400", f":{gateway.port}"), known)
    assert kept_artifacts(marketplace, review) == [SCREEN]


def test_the_python_interface_submits(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    review = marketplace.review()
    for name, value in marketplace.environment.items():
        monkeypatch.setenv(name, value)
    script = example(r"from pipeline import sending").replace("prc_123", review.process_id)
    exec(script, {"payload": review.payload})
    assert capsys.readouterr().out.startswith("True Sent(")
    assert marketplace.state(review.process_id) == "FINISHED"
