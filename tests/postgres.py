"""A real PostgreSQL server for tests, from the binaries that the machine has.

A conftest imports the fixtures it uses: `from tests.postgres import database, postgres`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

SUPERUSER = "postgres"
STARTUP_SECONDS = 20.0
_ACCOUNTS = ("postgres", "nobody")


class PostgresServer:
    """One cluster in a temporary folder, on a free loopback port; started and stopped at will."""

    def __init__(
        self, binaries: Path, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._binaries = binaries
        self._folder = folder
        self._environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **(environment or {})}
        self._port = _free_port()
        self._databases = 0
        self._server: subprocess.Popen[bytes] | None = None
        _own(folder)
        self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", f"-U{SUPERUSER}")

    def url(self, database: str = "postgres", *, user: str = SUPERUSER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self._port}/{database}"

    def new_database(self, *, encoding: str = "UTF8") -> str:
        """The URL of an empty database of its own."""
        self._databases += 1
        name = f"inbox_{self._databases}"
        self.execute(f"create database {name} encoding '{encoding}' locale 'C' template template0")
        return self.url(name)

    def execute(self, statement: str) -> None:
        """Runs a statement as the superuser, in the database `postgres`."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": "50",
        }
        log = self._folder / "server.log"
        with log.open("ab") as errors:
            self._server = subprocess.Popen(
                self._command("postgres", *(f"-c{name}={it}" for name, it in settings.items())),
                **self._as_its_owner(),
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

    def _as_its_owner(self) -> dict[str, object]:
        """PostgreSQL refuses to run as root."""
        common: dict[str, object] = {"cwd": self._folder, "env": self._environment}
        account = _unprivileged()
        if account is None:
            return common
        return {**common, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def installed() -> Path:
    """The folder of PostgreSQL's binaries; skips the test where there are none."""
    candidates = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda it: int(it.parts[-3])
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
    return next((it for it in pwd.getpwall() if it.pw_name in _ACCOUNTS), None)


def _own(folder: Path) -> None:
    if account := _unprivileged():
        os.chown(folder, account.pw_uid, account.pw_gid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server, shared by the whole session; stop it only to start it again."""
    binaries = installed()
    with tempfile.TemporaryDirectory(prefix="prazo-postgres-") as folder:
        server = PostgresServer(binaries, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The URL of an empty database."""
    return postgres.new_database()
