"""Runs several processes as one: starts them, restarts those that end, stops all on a signal.

The receiver and the dashboard are processes of their own so that neither waits for the other; this
one only watches. Ctrl-C in a terminal, and its end, reach this one alone, which asks the others to
end as SIGTERM does. Where it dies without a word itself, Linux asks them to end, so that the next
one finds their ports and the ledger free.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from pipeline import signals, text_log
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

STOP_SECONDS: Final = 40.0
"""A receiver finishes its requests first, which may take it 25 seconds."""
LONGEST_PAUSE_SECONDS: Final = 5.0
"""Before a process is started again: deliveries are answered by nobody until then."""
REFUSED_PAUSE_SECONDS: Final = 60.0
"""Before one is that refused its settings: a person has to put them right."""
STEADY_SECONDS: Final = 60.0
USAGE_ERROR: Final = 2
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)


def parts(settings: Settings) -> list[tuple[str, ...]]:
    """The commands that make up the product; without a platform there is nothing to send again,
    without endpoints nobody to pass deliveries on to, without a file that may name recipients
    nobody to tell, without one that says how sellers are notified no schedule, and without an
    address of its own no page for sellers."""
    resuming = [("resume", "--follow")] if settings.platform_url else []
    forwarding = [("forward", "run")] if settings.forward_file else []
    telling = [("alerts", "run")] if settings.alerts_file else []
    notifying = [("notices", "run")] if settings.notices_file else []
    asking = [("journey", "run")] if settings.journey_url else []
    return [("receive",), *resuming, *forwarding, *telling, *notifying, *asking, ("dashboard",)]


@dataclass(slots=True)
class _Child:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None
    is_vital: bool
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    starts: int = 0
    falls: int = 0
    start_again_at: float | None = None
    last_words: str = ""
    """The last line that it wrote to standard error."""


@dataclass(slots=True)
class Supervisor:
    """`add` processes, then `run` until SIGTERM, SIGINT or SIGHUP."""

    _children: list[_Child] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def add(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        is_vital: bool = True,
    ) -> None:
        """Starts a process now; it is started again whenever it ends by itself. `is_vital`: where
        it refuses its settings at its first start, nothing runs."""
        if not self._children:  # from here on a signal has processes to stop
            signals.stop_by_signals(self._stop.set)
        child = _Child(name, command, environment, is_vital)
        self._start(child)
        self._children.append(child)

    def run(self) -> int:
        """Returns the exit code: 0 after a signal, or that of a hangup; 2 where a vital process
        refused its settings."""
        try:
            while not self._stop.wait(0.2):
                for child in self._children:
                    code = self._watch(child)
                    if code is not None:
                        return code
        finally:
            self.stop()
        return signals.code()

    def _start(self, child: _Child) -> None:
        child.last_words = ""
        child.process = subprocess.Popen(
            child.command,
            env=child.environment,
            stderr=subprocess.PIPE,
            preexec_fn=_ends_with(os.getpid()),
            process_group=0,  # what a terminal sends is for the supervisor
        )
        assert child.process.stderr is not None
        threading.Thread(target=_pass_on, args=(child.process.stderr, child), daemon=True).start()
        child.started_at = time.monotonic()
        child.starts += 1
        child.start_again_at = None

    def _watch(self, child: _Child) -> int | None:
        now = time.monotonic()
        if child.start_again_at is not None:
            if now >= child.start_again_at:
                self._start_again(child, now)
            return None
        code = child.process.poll() if child.process else None
        if code is None:
            return None
        is_refused = code == USAGE_ERROR
        if is_refused and child.is_vital and child.starts == 1:  # later, the others go on
            LOG.error("the %s refused its settings; see its message above", child.name)
            return code
        child.falls = 1 if now - child.started_at > STEADY_SECONDS else child.falls + 1
        longest = REFUSED_PAUSE_SECONDS if is_refused else LONGEST_PAUSE_SECONDS
        pause = min(2.0 ** (child.falls - 1), longest)
        LOG.error(
            "the %s ended %s after %.0f s; started again in %.0f s%s",
            child.name,
            _how(code),
            now - child.started_at,
            pause,
            f'; it said last: "{child.last_words}"' if child.last_words else "",
        )
        child.start_again_at = now + pause
        return None

    def _start_again(self, child: _Child, now: float) -> None:
        try:
            self._start(child)
        except OSError as error:  # the machine has no memory or no process left; the others run on
            pause = LONGEST_PAUSE_SECONDS
            LOG.error("the %s cannot be started: %s; again in %.0f s", child.name, error, pause)
            child.start_again_at = now + pause

    def stop(self) -> None:
        """Asks every process to end, in reverse order, and waits; kills what does not."""
        running = [
            child
            for child in reversed(self._children)
            if child.process and child.process.poll() is None
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


def _how(code: int) -> str:
    """How a process ended, for a person to read."""
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


def _pass_on(words: IO[bytes], child: _Child) -> None:
    """Writes what a process says to our own standard error, and remembers the last line."""
    with words:
        for line in words:
            sys.stderr.buffer.write(text_log.passed_on(line, child.name))
            sys.stderr.buffer.flush()
            child.last_words = text_log.words_of(line) or child.last_words


def _ends_with(parent: int) -> Callable[[], None] | None:
    """What a new process does first: it asks Linux for SIGTERM once its parent is gone, however
    that ended. Other systems do not offer it: there the processes of a killed supervisor stay."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it died before we asked
            os.kill(os.getpid(), signal.SIGTERM)

    return ask
