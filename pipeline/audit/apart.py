"""Verifies a package that somebody handed in, in a process of its own with limits of its own.

Whatever the bytes are, they are read by `prazo verify`'s own checks alone, and nothing in them is
run. The process has neither our settings nor our secrets in its environment, gets no more memory,
time and disk than is said here, and yields to the others; of the package nothing is kept.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline import memory, verify
from pipeline.errors import OperatorError
from pipeline.files.temporary import OwnFolder

SECONDS: Final = 120.0
"""For one package: the verifier itself then ends with a fault that says so."""
GRACE_SECONDS: Final = 30.0
"""For the start of the process and its end, beyond that."""
MEMORY_BYTES: Final = 4 << 30
"""Of addresses, of which a usual package needs a quarter."""
DISK_BYTES: Final = 256 << 20
"""Of any file that it writes: keys, signatures and timestamps for openssl."""
AT_ONCE: Final = 2
"""Packages of all readers at the same time; another one waits for its turn."""

_PLACES: Final = threading.BoundedSemaphore(AT_ONCE)
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", memory.BLAS_THREADS)


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict in the verifier's own words, and of which log the package says that it is."""

    sha256: str  # of what was handed in
    result: str  # the last line of the verdict
    exit_code: int
    about: Sequence[str]
    checked: Sequence[str]
    notes: Sequence[str]
    unchecked: Sequence[str]
    undecided: Sequence[str]
    faults: Sequence[str]
    signer: str = (
        ""  # the key that signed the package and its checkpoint; "" where there is a fault
    )
    size: int = 0  # of the log, as the package's checkpoint says
    root: bytes = b""


def found_in(content: bytes, ours: Sequence[str]) -> Found:
    """The verdict on a package. `ours`: the keys of our own log: a package that bears its name is
    held to them. Raises `OperatorError` where there is none, which says nothing of the package."""
    if not _PLACES.acquire(timeout=SECONDS):
        raise _no_verdict("others have packages verified, and none of them has ended yet")
    try:
        with OwnFolder("prazo-verify-") as folder:
            file = folder / "package.zip"
            file.write_bytes(content)
            said = _answered(file, ours)
    finally:
        _PLACES.release()
    digest, root = hashlib.sha256(content).hexdigest(), bytes.fromhex(said.pop("root"))
    return Found(sha256=digest, root=root, **said)


def _answered(file: Path, ours: Sequence[str]) -> dict[str, Any]:
    environment = {it: os.environ[it] for it in _KEPT if it in os.environ}
    try:
        ended = subprocess.run(
            [sys.executable, *memory.MODULE, __name__, str(file)],
            input=json.dumps(list(ours)).encode(),
            capture_output=True,
            timeout=SECONDS + GRACE_SECONDS,
            env=environment | {"TMPDIR": str(file.parent)},
            cwd=file.parent,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _no_verdict("the verifier did not end in time") from None
    if ended.returncode:
        raise _no_verdict(f"the verifier ended with {ended.returncode} and without a word")
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


def _no_verdict(why: str) -> OperatorError:
    return OperatorError(
        "There is no verdict on this package", why, "verify it with `prazo verify` or verify.py"
    )


# --- within the process ---------------------------------------------------------------------------


def main() -> None:
    """Writes what was found in the file that the command line names to standard output."""
    _limit()
    json.dump(_found(Path(sys.argv[1]), json.loads(sys.stdin.read())), sys.stdout)


def _limit() -> None:
    os.nice(10)
    limits = (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, int(2 * SECONDS)),
        (resource.RLIMIT_FSIZE, DISK_BYTES),
        (resource.RLIMIT_CORE, 0),  # what it holds may be about people
    )
    for kind, most in limits:
        with suppress(ValueError, OSError):  # a system may know no such limit, or have a lower one
            resource.setrlimit(kind, (most, most))


def _found(file: Path, ours: Sequence[str]) -> dict[str, Any]:
    # After the limits, and in this process alone: it brings the database with it.
    from pipeline.audit.reproduce import verify_package

    verdict = verify_package(file, key=_key(file, ours), seconds=SECONDS)
    *_, result = verdict.lines()
    plain = {
        name: [verify.plain(it) for it in texts[: verify.MAX_LINES]]
        for name, texts in (
            ("about", verdict.about),
            ("checked", verdict.checked),
            ("notes", verdict.notes),
            ("unchecked", verdict.unchecked),
            ("undecided", verdict.undecided),
            ("faults", verdict.faults),
        )
    }
    signed = {"signer": "", "size": 0, "root": ""}
    if not verdict.faults:  # else nothing that it says of itself was found to be signed
        with verify.Package(file) as package:
            stated = verify.stated_by(package.read("data/checkpoint.note"))
            signer = package.json("data/parameters.json")["key"]
        signed = {"signer": signer, "size": stated.size, "root": stated.root.hex()}
    return {"result": result, "exit_code": verdict.exit_code, **plain, **signed}


def _key(file: Path, ours: Sequence[str]) -> str | None:
    """The key to hold the package to: ours, if it bears our log's name. Of several, the one that
    signed it, since it may be of before a later one. None for another log, whose key we lack."""
    try:
        with verify.Package(file) as package:
            name = "data/parameters.json"
            stated = str(package.json(name, verify.MAX_UNSEALED_BYTES)["key"])
        log = verify.read_key(stated).name
    except Exception:  # any bytes at all: the verdict says what is wrong with them
        return None
    if not ours or log != verify.read_key(ours[-1]).name:
        return None
    return stated if stated in ours else ours[-1]


if __name__ == "__main__":
    main()
