"""Disks that are slow, broken or full, for processes that a test starts.

A conftest imports the fixtures it uses: `from tests.faults.shim import fsync_shim, small_disk`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SMALL_DISK_BYTES = 4 * 2**20

_SOURCE = Path(__file__).with_name("fsync_shim.c")


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


@pytest.fixture(scope="session")
def _fsync_library() -> Iterator[Path]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler (Debian: apt install gcc libc6-dev)")
    with tempfile.TemporaryDirectory(prefix="prazo-shim-") as folder:
        Path(folder).chmod(0o755)  # a database server runs as another user
        library = Path(folder) / "fsync_shim.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, _SOURCE, "-ldl"],
            check=True,
        )
        library.chmod(0o755)
        yield library


@pytest.fixture
def fsync_shim(_fsync_library: Path) -> Iterator[FsyncShim]:
    """A shim that lets every sync pass until it is told otherwise."""
    with tempfile.TemporaryDirectory(prefix="prazo-shim-") as folder:
        Path(folder).chmod(0o755)
        yield FsyncShim(_fsync_library, Path(folder) / "order")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of `SMALL_DISK_BYTES`; skips the test where none may be mounted."""
    place = tmp_path / "small-disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)
