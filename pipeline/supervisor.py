"""Runs several processes as one: starts them, starts again what falls, stops them all on a signal.

The receiver and the dashboard are processes of their own so that neither waits for the other; this
one only watches.
"""

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

STOP_SECONDS: Final = 40.0
"""A receiver finishes its requests first, which may take it 25 seconds."""
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0
USAGE_ERROR: Final = 2


def parts(settings: Settings) -> list[tuple[str, ...]]:
    """The commands that make up the product; without a platform there is nothing to send again."""
    resuming = [("resume", "--follow")] if settings.platform_url else []
    return [("receive",), *resuming, ("dashboard",)]


@dataclass(slots=True)
class _Child:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    starts: int = 0
    falls: int = 0
    start_again_at: float | None = None


@dataclass(slots=True)
class Supervisor:
    """`add` processes, then `run` until SIGTERM or SIGINT."""

    _children: list[_Child] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def add(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        """Starts a process now; it is started again whenever it ends by itself."""
        child = _Child(name, command, environment)
        self._start(child)
        self._children.append(child)

    def run(self) -> int:
        """Returns the exit code: 0 after a signal, 2 where a process refused its settings."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            while not self._stop.wait(0.2):
                for child in self._children:
                    code = self._watch(child)
                    if code is not None:
                        return code
        finally:
            self.stop()
        return 0

    def _start(self, child: _Child) -> None:
        child.process = subprocess.Popen(child.command, env=child.environment)
        child.started_at = time.monotonic()
        child.starts += 1
        child.start_again_at = None

    def _watch(self, child: _Child) -> int | None:
        now = time.monotonic()
        if child.start_again_at is not None:
            if now >= child.start_again_at:
                self._start(child)
            return None
        code = child.process.poll() if child.process else None
        if code is None:
            return None
        if code == USAGE_ERROR and child.starts == 1:  # later, the others go on
            LOG.error("the %s refused its settings; see its message above", child.name)
            return code
        child.falls = 1 if now - child.started_at > STEADY_SECONDS else child.falls + 1
        pause = min(2.0 ** (child.falls - 1), LONGEST_PAUSE_SECONDS)
        LOG.error("the %s ended with code %s; started again in %.0f s", child.name, code, pause)
        child.start_again_at = now + pause
        return None

    def stop(self) -> None:
        """Asks every process to end, in reverse order, and waits; kills what does not."""
        running = [
            it for it in reversed(self._children) if it.process and it.process.poll() is None
        ]
        for child in running:
            assert child.process is not None
            child.process.terminate()
        until = time.monotonic() + STOP_SECONDS
        for child in running:
            assert child.process is not None
            try:
                child.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                LOG.error("the %s did not stop in %.0f s and was killed", child.name, STOP_SECONDS)
                child.process.kill()
                child.process.wait()
