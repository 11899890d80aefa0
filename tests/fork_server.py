"""Starts programs of ours as processes forked from one that has imported all of them.

A receiver spends two thirds of its start on imports, and a dashboard four fifths. Each worker has a
fork server, which imports once. What it forks it hands over to whoever asked: it is their own child
(prctl(2), PR_SET_CHILD_SUBREAPER), which they wait for, kill and read from as from any other.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PROGRAMS: Final = ("pipeline.cli", "streamlit")
PACKAGES: Final = ("pipeline", *(f"app_pages.{it}" for it in ("door", "desk", "language", "parts")))
BEGIN_AGAIN: Final = ("follow", "dashboard")
"""Commands that replace their program by another Python, which imports for itself."""
READ_AT_A_START: Final = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "OPENBLAS_", "TZ")
"""Variables of the environment that a program reads before it runs, or while it imports."""
MOST_BYTES: Final = 2**18
_CHILD_SUBREAPER: Final = 36


class Order(NamedTuple):
    """A program to be started."""

    arguments: Sequence[str]  # after `python -m`
    folder: str
    environment: Mapping[str, str]
    umask: int
    most_files: tuple[int, int]


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`; forked, where that makes no difference to the program."""
    arguments = [os.fspath(it) for it in command]
    is_plain = options.keys() <= {"env", "cwd", "stdin", "stdout", "stderr", "text"}
    if is_plain and _can_be_forked(arguments, options.get("env") or os.environ):
        return Forked(arguments, **options)
    return subprocess.Popen(arguments, **options)


def _can_be_forked(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    if not sys.platform.startswith("linux") or command[:2] != [sys.executable, "-m"]:
        return False
    if command[2] not in PROGRAMS or not {*command[3:]}.isdisjoint(BEGIN_AGAIN):
        return False
    return _read_at_a_start(environment) == _read_at_a_start(os.environ)


def _read_at_a_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {it: environment[it] for it in environment if it.startswith(READ_AT_A_START)}


class Forked(subprocess.Popen[Any]):
    """A process whose program was imported before it began."""

    def _execute_child(self, args: Any, *options: Any) -> None:
        cwd, env = options[4:6]
        pipes = options[9:15]
        files = [its if its != -1 else own for own, its in enumerate((pipes[0], *pipes[3::2]))]
        umask = os.umask(0)
        os.umask(umask)
        most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        order = Order(args[2:], str(cwd or Path.cwd()), env or dict(os.environ), umask, most_files)
        self.pid = _server().fork(order, files)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class ForkServer:
    """The process that has imported everything; for several threads at once."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, order: Order, files: Sequence[int]) -> int:
        """The id of the new process, a child of this one; `files`: its input, output and errors."""
        with self._lock:
            _adopt(True)
            try:
                socket.send_fds(self._orders, [json.dumps(order).encode()], files)
                return int(self._orders.recv(32))
            finally:
                _adopt(False)

    def close(self) -> None:
        """Ends the server; what it forked goes on."""
        self._orders.close()
        self._process.wait(60)


@functools.cache
def _server() -> ForkServer:
    server = ForkServer()
    atexit.register(server.close)
    return server


def _adopt(is_wanted: bool) -> None:
    """Whether children of a child that ends become children of this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


# --- in the server -------------------------------------------------------------------------------


def _import_all() -> None:
    importlib.import_module("streamlit.web.bootstrap")
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(paths, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    gc.freeze()


def _serve(orders: socket.socket) -> Order:
    """Returns in each new process; the server itself ends once nobody can ask it any more."""
    while True:
        message, files, *_ = socket.recv_fds(orders, MOST_BYTES, 3)
        if not message:
            sys.exit()
        told, tell = os.pipe()
        if (between := os.fork()) == 0:
            if (child := os.fork()) == 0:
                os.close(told)
                os.close(tell)
                for own, its in enumerate(files):
                    os.dup2(its, own)
                    os.close(its)
                return Order(*json.loads(message))
            os.write(tell, str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)  # only then has the child its new parent
        orders.send(os.read(told, 32))
        for its in (told, tell, *files):
            os.close(its)


def _main() -> None:
    _import_all()
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        order = _serve(orders)
    os.umask(order.umask)
    resource.setrlimit(resource.RLIMIT_NOFILE, order.most_files)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv, sys.path[0] = [*order.arguments], order.folder
    runpy.run_module(order.arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
