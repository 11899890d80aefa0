"""A real PostgreSQL server for tests, from the binaries that the machine has.

Its fixtures are there for every test: see `tests/conftest.py`.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.machine import free_port, memory

SUPERUSER = "postgres"
DATABASE = "prazo"
MEMORY_BYTES = 512 * 2**20
STARTUP_SECONDS = 60.0
_ACCOUNTS = ("postgres", "nobody")
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


class PostgresServer:
    """One cluster in a temporary folder, on a free loopback port; started and stopped at will."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries = binaries
        self._folder = folder
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        _own(folder)
        self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", f"-U{SUPERUSER}")

    def url(self, database: str = "postgres", *, user: str = SUPERUSER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self._port}/{database}"

    def new_database(
        self, name: str, *, encoding: str = "UTF8", tablespace: str = "pg_default"
    ) -> str:
        """The URL of an empty database of its own; it lasts as long as the server's folder."""
        create = (
            f"create database {name} encoding '{encoding}' locale 'C' template template0"
            f" tablespace {tablespace}"
        )
        self.execute(self.url(), create)
        return self.url(name)

    @staticmethod
    def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last."""
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self, environment: Mapping[str, str] | None = None, **options: str) -> None:
        """`environment` and `options` (of postgresql.conf) hold until it is stopped."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": "50",
            **options,
        }
        log = self._folder / "server.log"
        with log.open("ab") as errors:
            self._server = subprocess.Popen(
                self._command("postgres", *(f"-c{name}={it}" for name, it in settings.items())),
                **self._as_its_owner(environment),
                stderr=errors,
            )
        deadline = time.monotonic() + STARTUP_SECONDS
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise RuntimeError(log.read_text()) from None
                time.sleep(0.05)

    def freeze(self) -> None:
        """Stops every process of the server where it is: its sockets stay open, and it says
        nothing more until it is thawed."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, how: signal.Signals) -> None:
        assert self._server is not None
        pid = self._server.pid
        os.kill(pid, how)  # first, so that it starts no more of them
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), how)

    def disk(self, size: int) -> Path:
        """A file system of so many bytes with the tablespace `small_disk` on it; skips the test
        where none may be mounted."""
        place = self._folder / "small-disk"
        place.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no file system may be mounted here: {error}")
        _own(place)
        self.execute(self.url(), f"create tablespace small_disk location '{place}'")
        return place

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: sessions are cut off; SIGQUIT: at once, as in a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait()
            self._server = None

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [str(self._binaries / program), f"-D{self._folder / 'data'}", *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            self._command(program, *arguments),
            **self._as_its_owner(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def _as_its_owner(self, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        """PostgreSQL refuses to run as root."""
        common = {"cwd": self._folder, "env": {**_ENVIRONMENT, **(environment or {})}}
        account = _unprivileged()
        if account is None:
            return common
        return {**common, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def installed() -> Path:
    """The folder of PostgreSQL's binaries; skips the test where there are none."""
    candidates = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3])
    )
    found = candidates[-1] if candidates else shutil.which("initdb")
    if found is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    if os.geteuid() == 0 and _unprivileged() is None:
        pytest.skip(f"PostgreSQL does not run as root, and none of {_ACCOUNTS} exists")
    return Path(found).parent


def _unprivileged() -> pwd.struct_passwd | None:
    """Who runs the server where the tests run as root."""
    if os.geteuid() != 0:
        return None
    accounts = {it.pw_name: it for it in pwd.getpwall()}
    return next((accounts[name] for name in _ACCOUNTS if name in accounts), None)


def _own(folder: Path) -> None:
    if account := _unprivileged():
        os.chown(folder, account.pw_uid, account.pw_gid)


@contextlib.contextmanager
def running() -> Iterator[PostgresServer]:
    """A server of its own, which runs for the block."""
    binaries = installed()
    with tempfile.TemporaryDirectory(prefix="prazo-postgres-", dir=memory(MEMORY_BYTES)) as folder:
        server = PostgresServer(binaries, Path(folder))
        try:
            server.start()
            server.new_database(DATABASE)
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # its data is thrown away: no checkpoint of it all


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server, shared by the whole session; stop it only to start it again."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database with the server's default settings."""
    yield postgres.url(DATABASE)
    postgres.execute(
        postgres.url(DATABASE),
        "drop schema if exists prazo, public cascade",
        "create schema public",
        f"alter database {DATABASE} reset all",
    )
