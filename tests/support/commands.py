"""`prazo` commands in processes of their own, to be killed or left to their end."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.support.marketplace import Marketplace, Review


class Done(NamedTuple):
    code: int
    out: str
    err: str


def start(marketplace: Marketplace, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments],
        env=marketplace.process_environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: "subprocess.Popen[str]") -> Done:
    out, err = process.communicate(timeout=100)
    return Done(process.returncode, out, err)


def run(marketplace: Marketplace, *arguments: str, **environment: str) -> Done:
    return end(start(marketplace, *arguments, **environment))


def submit(marketplace: Marketplace, review: Review) -> tuple[str, ...]:
    """The arguments that submit a review, with its payload in a file."""
    return ("submit", review.process_id, "--payload", str(payload_file(marketplace, review)))


def payload_file(marketplace: Marketplace, review: Review) -> Path:
    path = marketplace.folder / f"{review.process_id}.json"
    path.write_bytes(review.payload)
    return path


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def rows(marketplace: Marketplace, view: str, process_id: str) -> list[dict[str, object]]:
    """What `prazo show` says of a process."""
    shown = run(
        marketplace, "show", view, "--where", f"process_id={process_id}", "--format", "json"
    )
    assert shown.code == 0, shown.err
    found: list[dict[str, object]] = json.loads(shown.out)
    return found
