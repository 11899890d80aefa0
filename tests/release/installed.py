"""Installs the wheel into environments of its own, and drives it there as an operator would."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.machine import free_port, wait_until

ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv" / "bin" / "uv"
PROCESS = "prc_6a0d71c51ee01834"
"""A process of the samples."""
_FINDERS = ("~/.pyenv/versions/{}.*/bin/python", "/usr/bin/python{}", "/usr/local/bin/python{}")


def python(version: str) -> Path | None:
    """A Python of that version on this machine, such as 3.12."""
    for finder in _FINDERS:
        pattern = Path(finder.format(version)).expanduser()
        if found := sorted(Path("/").glob(str(pattern.relative_to("/")))):
            return found[-1]
    return None


def install(wheel: Path, interpreter: Path, folder: Path) -> "Installed":
    """The wheel in a venv, with exactly the versions that the lock names."""
    lock = folder.with_suffix(".lock")
    lines = (ROOT / "requirements.lock").read_text(encoding="ascii").split("# otel\n")[0]
    lock.write_text(lines, encoding="ascii")
    _done(UV, "venv", "--quiet", "--python", interpreter, folder)
    here = ("pip", "install", "--quiet", "--python", folder / "bin" / "python")
    _done(UV, *here, "--require-hashes", "-r", lock)
    _done(UV, *here, "--offline", "--no-deps", wheel)
    return Installed(folder)


def _done(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def end(process: "subprocess.Popen[bytes]", log: Path, well: tuple[int, ...] = (0,)) -> None:
    """Ends a part by TERM, which has to be well and without a traceback."""
    process.send_signal(signal.SIGTERM)
    code = process.wait(90)
    said = log.read_text(encoding="utf-8", errors="backslashreplace")
    assert code in well, said
    assert "Traceback" not in said, said


@dataclass(frozen=True)
class Installed:
    """The product in a venv; who runs it, in which folder, and all that the environment says."""

    venv: Path
    folder: Path = Path("/")
    user: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    """A command that ends by running what follows."""

    def run(self, *arguments: str | bytes) -> "subprocess.CompletedProcess[str]":
        """The command, to its end."""
        done = subprocess.run(
            [*self.before, self.venv / "bin" / "prazo", *arguments],
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=300,
            check=False,
            **self._started,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    @contextmanager
    def running(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """The command as it runs; afterwards TERM has ended it well, without a traceback."""
        log = self.venv.with_suffix(f".{time.monotonic_ns()}.log")
        process = self.start(log, *arguments)
        try:
            yield process
        finally:
            end(process, log)

    def start(self, log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
        """The command as a process, which writes what it says to the log."""
        with log.open("wb") as kept:
            return subprocess.Popen(
                [*self.before, self.venv / "bin" / "prazo", *arguments],
                stdout=kept,
                stderr=subprocess.STDOUT,
                **self._started,
            )

    @property
    def _started(self) -> dict:
        """Nothing of this environment but where the machine's own programs are."""
        user = {} if self.user is None else {"user": self.user, "group": self.user}
        others = {} if self.user is None else {"extra_groups": []}
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        return {"cwd": self.folder, "env": path | dict(self.environment), **user, **others}

    def comes_up(self, *command: str, host: str = "127.0.0.1", page: int = 200) -> None:
        """Asserts that receiver and dashboard answer, the page by this status, and end by TERM."""
        receiver, dashboard = free_port(), free_port()
        ports = ("--port", str(receiver), "--dashboard-port", str(dashboard))
        with self.running(*command, *ports) as process:

            def answers() -> bool:
                assert process.poll() is None, "it ended by itself"
                return all(
                    status(f"http://{host}:{port}{path}") == 200
                    for port, path in ((receiver, "/readyz"), (dashboard, "/_stcore/health"))
                )

            wait_until(answers, seconds=120, pause=0.2)
            assert status(f"http://{host}:{dashboard}/") == page

    def is_whole(self) -> None:
        """Asserts that what a person does first works: take in, look, export, verify."""
        samples = next(self.venv.glob("lib/python*/site-packages/prazo/data/samples"))
        for command in (
            ("ingest", str(samples / "occurrences.ndjson")),
            ("show", "process_state"),
            (
                "export",
                "--process",
                PROCESS,
                "--out",
                "a.zip",
                "--reason",
                "why",
                "--actor",
                "Ana",
            ),
            ("verify", "a.zip"),
        ):
            done = self.run(*command)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert PROCESS in self.run("show", "process_state").stdout


def status(url: str) -> int:
    """The status that curl is answered, or 0."""
    ask = ["curl", "-gs", "--noproxy", "*", "-m", "5", "-o", os.devnull, "-w", "%{http_code}", url]
    return int(subprocess.run(ask, capture_output=True, text=True, check=False).stdout)
