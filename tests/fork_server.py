"""Starts programs of ours as processes forked from one that has imported all of them.

A receiver spends two thirds of its start on imports, and a dashboard four fifths. Each worker has a
fork server, which imports once, and works out once what programs make of the queries. A process
that it forks becomes a child of the worker itself (prctl(2), PR_SET_CHILD_SUBREAPER), which can
wait for it, kill it and read from it as from any other child.
"""

import atexit
import contextlib
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
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.continuity import service
from pipeline.ledger.syntax import tree
from tests.support import ledgers
from tests.support.children import Child
from tests.support.rich import RICH

ROOT: Final = Path(__file__).parents[1]
PROGRAMS: Final = ("pipeline.cli", "streamlit")
OF_TESTS: Final = Path(__file__).parent
"""The folder of the tests' own programs, which are modules or files."""
PACKAGES: Final = ("pipeline", *(f"app_pages.{it}" for it in ("door", "desk", "language", "parts")))
BEGIN_AGAIN: Final = ("follow", "dashboard")
"""Commands that replace their program by another Python, which imports for itself."""
READ_AT_A_START: Final = ("PYTHON", "LD_", "LANG", "LC_", "GLIBC_", "MALLOC_", "OPENBLAS_", "TZ")
"""Variables of the environment that a program reads before it runs, or while it imports."""
MOST_BYTES: Final = 200_000
"""The longest order; Linux takes little more in one message."""
READY: Final = b"ready"
_CHILD_SUBREAPER: Final = 36

is_wanted = False
"""Whether programs are forked: tests want that; in benchmarks each program starts by itself."""


class Order(NamedTuple):
    """A program to be started."""

    arguments: Sequence[str]  # after `python`
    folder: str
    environment: Mapping[str, str]
    umask: int
    most_files: tuple[int, int]


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any] | Child:
    """As `subprocess.Popen`; forked, where that makes no difference to the program."""
    arguments = [os.fspath(it) for it in command]
    is_plain = options.keys() <= {"env", "cwd", "stdin", "stdout", "stderr", "text"}
    if is_wanted and is_plain and _is_prepared(arguments):
        given = options.get("env")
        if _server().stands_for(os.environ if given is None else given):
            return _forked(arguments, **options)
    return subprocess.Popen(arguments, **options)


def _is_prepared(command: Sequence[str]) -> bool:
    if not sys.platform.startswith("linux") or command[0] != sys.executable:
        return False
    if command[1] != "-m":
        return Path(command[1]).is_relative_to(OF_TESTS)
    if command[2].startswith(f"{OF_TESTS.name}."):
        return True
    return command[2] in PROGRAMS and {*command[3:]}.isdisjoint(BEGIN_AGAIN)


def _read_at_a_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {it: environment[it] for it in environment if it.startswith(READ_AT_A_START)}


def _forked(arguments: Sequence[str], *, env: Any = None, cwd: Any = None, **streams: Any) -> Child:
    """A process whose program was imported before it began."""
    environment = dict(os.environ if env is None else env)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    umask = int(status.partition("Umask:")[2].split()[0], 8)
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    order = Order(arguments[1:], str(cwd or Path.cwd()), environment, umask, most_files)
    return Child(arguments, functools.partial(_server().fork, order), **streams)


class ForkServer:
    """The process that has imported everything."""

    def __init__(self) -> None:
        self._read_at_its_start = _read_at_a_start(os.environ)
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )
        if self._orders.recv(32) != READY:
            raise RuntimeError("the fork server has ended: its traceback says why")

    def stands_for(self, environment: Mapping[str, str]) -> bool:
        """Whether a program in that environment would have imported the same."""
        return _read_at_a_start(environment) == self._read_at_its_start

    def fork(self, order: Order, files: Sequence[int]) -> int:
        """The id of the new process, a child of this one; `files`: its input, output and errors."""
        with _LOCK:
            _adopt(True)
            try:
                socket.send_fds(self._orders, [json.dumps(order).encode()], files)
                answer = self._orders.recv(32)
            except BaseException:  # an answer that still comes would be taken for the next order's
                _only_server.cache_clear()
                raise
            finally:
                _adopt(False)
        if not answer.isdigit():
            raise RuntimeError("the fork server could not fork: its traceback says why")
        return int(answer)

    def close(self) -> None:
        """Ends the server; what it forked goes on."""
        self._orders.close()
        self._process.wait(60)


_LOCK: Final = threading.RLock()


@functools.cache
def _only_server() -> ForkServer:
    server = ForkServer()
    atexit.register(server.close)
    return server


def _server() -> ForkServer:
    with _LOCK:
        return _only_server()


def _adopt(does: bool) -> None:
    """Sets whether children of a child that ends become children of this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_CHILD_SUBREAPER, int(does), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


# --- in the server -------------------------------------------------------------------------------


def _import_all() -> None:
    importlib.import_module("streamlit.web.bootstrap")
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(paths, f"{package}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)


def _work_out_sql() -> None:
    """Fills the caches of what follows from `queries/` alone. No database stays open: a forked
    process would lack its threads."""
    with ledgers.ledger_of(RICH) as views:
        for view in ("findings", "alerts", "watchlist"):
            views.read(view)
    ledgers.end()
    tree._parser().close()
    tree._parser.cache_clear()


def leave_views_out() -> None:
    """Keeps whoever holds a ledger from making the views in its file, which takes 4 s of a core,
    half a minute after the start: on a busy machine most tests would wait for that. These views are
    for people who open the file with DuckDB alone; tests/queries/test_headers.py and the demo try
    them."""
    service.installed_later = lambda _: contextlib.nullcontext()


def _serve(orders: socket.socket) -> Order:
    """Forks a process for each order, and returns in that process alone. In the server this never
    returns: it exits once the worker is gone."""
    orders.send(READY)
    while True:
        message, files, *_ = socket.recv_fds(orders, MOST_BYTES, 3)
        if not message:
            sys.exit()
        read_end, write_end = os.pipe()
        between = os.fork()
        if between == 0 and _is_new(write_end):
            os.close(read_end)
            for own, its in enumerate(files):
                os.dup2(its, own)
                os.close(its)
            return Order(*json.loads(message))
        os.close(write_end)
        os.waitpid(between, 0)  # only then has the child its new parent
        orders.send(os.read(read_end, 32) or b"none")
        for its in (read_end, *files):
            os.close(its)


def _is_new(write_end: int) -> bool:
    """Forks the new process, and returns True in it. The calling process, which is between it and
    the server, writes the new one's id and exits."""
    try:
        child = os.fork()
        if child == 0:
            os.close(write_end)
            return True
        os.write(write_end, str(child).encode())
    except OSError:
        traceback.print_exc()
    os._exit(0)


def _open_streams() -> None:
    """Opens standard input, output and errors, as Python does at a start: those of the server were
    opened on other kinds of files, and would seek where these cannot."""
    for name, own, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        former = getattr(sys, name)
        stream = open(own, mode, encoding=former.encoding, errors=former.errors, closefd=False)  # noqa: SIM115
        is_lines = name == "stderr" or stream.isatty()
        stream.reconfigure(line_buffering=is_lines, write_through=former.write_through)
        setattr(sys, name, stream)


def _main() -> None:
    _import_all()
    _work_out_sql()
    leave_views_out()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        order = _serve(orders)
    _open_streams()
    os.umask(order.umask)
    resource.setrlimit(resource.RLIMIT_NOFILE, order.most_files)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    tempfile.tempdir = None  # a program works it out of its own environment
    sys.path[0] = order.folder
    if order.arguments[0] == "-m":
        sys.argv = [*order.arguments[1:]]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [*order.arguments]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _main()
