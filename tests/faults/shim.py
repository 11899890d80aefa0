"""Disks that are slow, broken or full, clocks that jump and sockets that are watched, for processes
that a test starts.

Its fixtures are there for every test: see `tests/conftest.py`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SMALL_DISK_BYTES = 4 * 2**20

_FOLDER = Path(__file__).parent


class FsyncShim:
    """Governs fsync and fdatasync in every process that is started with `env` in its environment.

    `env` is an addition to the environment, not a whole one. Orders hold for calls that begin
    later, in all of these processes, until the next order.
    """

    def __init__(self, library: Path, control: Path) -> None:
        self._control = control
        self.env = {"LD_PRELOAD": str(library), "FSYNC_SHIM_CONTROL": str(control)}
        self.heal()

    def delay(self, milliseconds: int) -> None:
        """Every sync takes that much longer."""
        self._order(f"delay {milliseconds}")

    def fail(self) -> None:
        """Every sync fails with EIO and writes nothing."""
        self._order("fail")

    def heal(self) -> None:
        """Syncs work again."""
        self._order("")

    def _order(self, order: str) -> None:
        draft = self._control.with_suffix(".draft")
        draft.write_text(order)
        draft.chmod(0o644)
        draft.rename(self._control)


class ClockShim:
    """Governs the wall clock, and the kernel's word for it, in every process that is started with
    `env` in its environment. It holds for all of them at once, until the next order."""

    def __init__(self, library: Path, control: Path) -> None:
        self._control = control
        self.env = {"LD_PRELOAD": str(library), "CLOCK_SHIM_CONTROL": str(control)}
        self.jump(0)

    def jump(self, seconds: int, *, is_synchronised: bool = False) -> None:
        """The wall clock is so far ahead of this machine's; whether a time service keeps it."""
        draft = self._control.with_suffix(".draft")
        draft.write_text(f"{seconds}{' synchronised' if is_synchronised else ''}")
        draft.chmod(0o644)
        draft.rename(self._control)


class SocketShim:
    """Watches the sockets of every process that is started with `env` in its environment, and lets
    none leave this machine."""

    def __init__(self, library: Path, notes: Path) -> None:
        self._notes = notes
        self.env = {"LD_PRELOAD": str(library), "SOCKET_SHIM_NOTES": str(notes)}

    def left(self) -> list[str]:
        """The calls that would have left this machine, each with its address."""
        return self._notes.read_text().splitlines() if self._notes.exists() else []


@contextmanager
def library(name: str) -> Iterator[Path]:
    """The shim of that name, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler (Debian: apt install gcc libc6-dev)")
    with tempfile.TemporaryDirectory(prefix="prazo-shim-") as folder:
        Path(folder).chmod(0o755)  # a database server runs as another user
        compiled, source = Path(folder) / f"{name}.so", _FOLDER / f"{name}.c"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", compiled, source, "-ldl"],
            check=True,
        )
        compiled.chmod(0o755)
        yield compiled


@pytest.fixture(scope="session")
def _fsync_library() -> Iterator[Path]:
    with library("fsync_shim") as compiled:
        yield compiled


@pytest.fixture(scope="session")
def _clock_library() -> Iterator[Path]:
    with library("clock_shim") as compiled:
        yield compiled


@pytest.fixture
def socket_shim(tmp_path: Path) -> Iterator[SocketShim]:
    """A shim that has noted nothing yet."""
    with library("socket_shim") as compiled:
        yield SocketShim(compiled, tmp_path / "left")


@pytest.fixture
def clock_shim(_clock_library: Path) -> Iterator[ClockShim]:
    """A shim of a wall clock that is right until it jumps."""
    with tempfile.TemporaryDirectory(prefix="prazo-shim-") as folder:
        Path(folder).chmod(0o755)
        yield ClockShim(_clock_library, Path(folder) / "order")


@pytest.fixture
def fsync_shim(_fsync_library: Path) -> Iterator[FsyncShim]:
    """A shim that lets every sync pass until it gets another order."""
    with tempfile.TemporaryDirectory(prefix="prazo-shim-") as folder:
        Path(folder).chmod(0o755)
        yield FsyncShim(_fsync_library, Path(folder) / "order")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of `SMALL_DISK_BYTES`; skips the test where none may be mounted."""
    with disk(tmp_path / "small-disk", SMALL_DISK_BYTES) as place:
        yield place


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """A file system of so many bytes at a place; skips the test where none may be mounted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="session")
def write_shim() -> Iterator[dict[str, str]]:
    """What a process needs in its environment, so that it may have itself ended, or find no room,
    at any change to a folder: see `tests/faults/steps.py`."""
    with library("write_shim") as compiled:
        yield {"LD_PRELOAD": str(compiled), "WRITE_SHIM": str(compiled)}
