"""Finds out before a start whether its ports are free, and what takes those that are not."""

import errno
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import hosts
from pipeline.errors import OperatorError, PortTaken

_LISTENING: Final = "0A"  # in the fourth column of /proc/net/tcp
_SEARCHED: Final = 100


class Wanted(NamedTuple):
    """A port that is about to be listened on, and the option that names another."""

    what: str
    host: str
    port: int
    option: str


def check(*wanted: Wanted, besides: Iterable[int] = ()) -> None:
    """Raises `OperatorError` that names every port that cannot be had, and free ones instead, none
    of them among `besides`; `PortTaken` where another program has one of them."""
    ports = [*(it.port for it in wanted), *besides]
    refused = {
        each: found
        for each in wanted
        if (found := _refusal(each) or _asked_twice(each, wanted)) is not None
    }
    if not refused:
        return
    options = []
    for taken in (each for each, found in refused.items() if not found.is_elsewhere):
        port = _free_port(taken.host, taken.port, besides=ports)
        ports.append(port)
        options.append(f"{taken.option} {port}")
    is_taken = any(found.is_taken for found in refused.values())
    another_port = f"choose another with {' '.join(options)}, or stop what is there"
    raise (PortTaken if is_taken else OperatorError)(
        "It cannot start here",
        "; ".join(f"port {it.port}, for the {it.what}, {no.why}" for it, no in refused.items()),
        another_port if options else hosts.ELSEWHERE,
    )


def check_apart(*wanted: Wanted) -> None:
    """Raises `OperatorError` where one port is meant for two, whether anybody has it or not."""
    for each in wanted:
        if (found := _asked_twice(each, wanted)) is not None:
            raise OperatorError(
                "It cannot start here",
                f"port {each.port}, for the {each.what}, {found.why}",
                f"choose another with {each.option}",
            )


def free(host: str, port: int, besides: Iterable[int]) -> int:
    """The port itself, or the next one that can be had and is not among `besides`."""
    if port not in besides and _refusal(Wanted("", host, port, "")) is None:
        return port
    return _free_port(host, port, besides=list(besides))


class _Refusal(NamedTuple):
    """Why a port cannot be had."""

    why: str
    is_taken: bool = False  # another program listens there
    is_elsewhere: bool = False  # no port can be had on that host: this machine does not have it


def _asked_twice(asked: Wanted, wanted: Iterable[Wanted]) -> _Refusal | None:
    first = next(it for it in wanted if it.port == asked.port)
    return None if first is asked else _Refusal(f"is already meant for the {first.what}")


def _refusal(wanted: Wanted) -> _Refusal | None:
    """Why a port cannot be listened on, or None where it can."""
    try:
        found = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
            probe.bind(address)
            probe.listen()
    except PermissionError:
        return _Refusal("may only be used by the system's administrator")
    except OSError as error:
        if (why := hosts.not_here(wanted.host, error)) is not None:
            return _Refusal(f"cannot be had: {why}", is_elsewhere=True)
        if error.errno != errno.EADDRINUSE and not _is_answered(wanted):
            return _Refusal(f"cannot be used on {wanted.host} ({error.strerror})")
        holder = _holder(wanted.port) or "another program"
        return _Refusal(f"is taken by {holder}", is_taken=True)
    return None


def _is_answered(wanted: Wanted) -> bool:
    try:
        socket.create_connection((wanted.host, wanted.port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port(host: str, port: int, besides: Iterable[int]) -> int:
    for candidate in range(port + 1, min(port + _SEARCHED, 65_536)):
        if candidate not in besides and _refusal(Wanted("", host, candidate, "")) is None:
            return candidate
    with socket.create_server((host, 0)) as probe:
        chosen: int = probe.getsockname()[1]
        return chosen


def _holder(port: int) -> str | None:
    """`python (process 4711)` listens on a port; None where /proc does not say so to us."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for columns in map(str.split, lines):
            listens_at = int(columns[1].rpartition(":")[2], 16)
            if columns[3] == _LISTENING and listens_at == port:
                sockets.add(f"socket:[{columns[9]}]")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        process = descriptor.parent.parent
        try:
            if str(descriptor.readlink()) in sockets:
                name = (process / "comm").read_text(encoding="utf-8").strip()
                return f"{name} (process {process.name})"
        except OSError:
            continue  # another user's, or ended meanwhile
    return None
