"""`prazo` commands: in processes of their own, to be killed or left to their end, or in this one.

A process of its own takes three times as long, most of it to import: what asks for what a command
prints, records and ends with runs it here. How the command starts as a process is tried by the
examples of the documentation and by the demo.
"""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from pipeline.cli import main
from tests import fork_server
from tests.support.marketplace import Marketplace, Review


class Done(NamedTuple):
    code: int
    out: str
    err: str


def start(marketplace: Marketplace, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return fork_server.start(
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
    """The command, in this process."""
    done = here(
        *arguments, environment=marketplace.process_environment(**environment), folder=Path.cwd()
    )
    return Done(done.returncode, done.stdout, done.stderr)


def here(
    *arguments: str, environment: Mapping[str, str], folder: Path, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """The command in this process, as if in one of its own: in a folder, with its own environment,
    input, output and logging. An error that it does not report itself is raised."""
    with contextlib.chdir(folder), _own_logging_and_umask():
        done = CliRunner().invoke(main, arguments, input=given, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def apart(
    *arguments: str, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, to its end: another process where that matters."""
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *arguments],
        env=dict(environment),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextlib.contextmanager
def _own_logging_and_umask() -> Iterator[None]:
    root, umask = logging.getLogger(), os.umask(0o022)
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        os.umask(umask)


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
