"""What a release is tried with: its wheel, an installation that nobody may write to, its image."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.release.containers import image  # noqa: F401
from tests.release.installed import UV, Installed, install
from tests.support.postgres import PostgresServer, running


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = (
        "build",
        "--quiet",
        "--offline",
        "--no-build-isolation",
        "--python",
        ".venv/bin/python",
    )
    subprocess.run([UV, *build, "--out-dir", folder], cwd=UV.parents[2], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def read_only(wheel: Path) -> Iterator[Installed]:
    """Installed by root where others may read, so that nobody else can write there; with a Python
    that they may run."""
    if os.getuid() != 0:
        pytest.skip("only root can run it as other users")
    interpreter = next(Path("/usr/bin").glob("python3.1[1-3]"), None)
    if interpreter is None:
        pytest.skip("the system has no Python from 3.11 to 3.13")
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    folder.chmod(0o755)
    yield install(wheel, interpreter, folder / "venv")
    subprocess.run(["rm", "-r", folder], check=True)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A server of each file's own, that knows the user of compose.yaml: some of them make databases
    of the same names."""
    with running() as server:
        server.execute(server.url(), "create role prazo login")
        yield server


@pytest.fixture
def place(read_only: Installed, request: pytest.FixtureRequest) -> Path:
    """A new folder that everybody may write to."""
    folder = read_only.venv.parent / f"place{abs(hash(request.node.name))}"
    folder.mkdir()
    folder.chmod(0o777)
    return folder
