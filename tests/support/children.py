"""A child of this process that another one forked for it, with what tests use of
`subprocess.Popen`, which can wait only for what it starts itself."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import IO, Any


class Child:
    """See `subprocess.Popen`."""

    def __init__(
        self,
        args: Sequence[str],
        fork: Callable[[Sequence[int]], int],
        *,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
    ) -> None:
        """`fork`: takes the descriptors of input, output and errors, and returns the id."""
        self.args = args
        self.returncode: int | None = None
        kind = "" if text else "b"
        with contextlib.ExitStack() as passed:
            self.stdin, given = _end(stdin, 0, f"w{kind}", passed)
            self.stdout, out = _end(stdout, 1, f"r{kind}", passed)
            is_one = stderr == subprocess.STDOUT
            self.stderr, err = (None, out) if is_one else _end(stderr, 2, f"r{kind}", passed)
            self.pid = fork((given, out, err))
        self._ended = os.pidfd_open(self.pid)
        self._said: list[Future[Any]] = []

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self._ended)
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None and not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """`input`: as much as a pipe takes at once, which is 64 KiB."""
        give_up_at = None if timeout is None else time.monotonic() + timeout
        if self.stdin is not None and not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.writelines([input] if input else [])
        self._said = self._said or [_read(self.stdout), _read(self.stderr)]
        try:
            out, err = (it.result(_left(give_up_at)) for it in self._said)
        except TimeoutError:
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        self.wait(_left(give_up_at))
        return out, err


def _end(of: Any, own: int, mode: str, passed: contextlib.ExitStack) -> tuple[IO[Any] | None, int]:
    """This process's end of a pipe, where `of` asks for one, and the child's descriptor. What is
    open only to be passed on is closed with `passed`."""
    if of is None:
        return None, own
    if of == subprocess.PIPE:
        read_end, write_end = os.pipe()
        ours, theirs = (write_end, read_end) if own == 0 else (read_end, write_end)
        passed.callback(os.close, theirs)
        return os.fdopen(ours, mode), theirs
    if of == subprocess.DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        passed.callback(os.close, null)
        return None, null
    return None, of if isinstance(of, int) else of.fileno()


def _read(stream: IO[Any] | None) -> "Future[Any]":
    """What the stream says up to its end."""
    said: Future[Any] = Future()

    def read(stream: IO[Any]) -> None:
        with stream:
            said.set_result(stream.read())

    if stream is None or stream.closed:
        said.set_result(None)
    else:
        Thread(target=read, args=(stream,), daemon=True).start()
    return said


def _left(give_up_at: float | None) -> float | None:
    return None if give_up_at is None else max(give_up_at - time.monotonic(), 0)
