"""`prazo doctor --proxy` by way of nginx, with its limit of 1 MB that nobody has raised."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.cli.doctor.proxies import proxied
from pipeline.settings import Settings
from tests.support.machine import free_port, wait_until
from tests.support.receiver import receiver


@contextmanager
def nginx(folder: Path, port: int, behind: int, more: str) -> Iterator[None]:
    if shutil.which("nginx") is None:
        pytest.skip("there is no nginx here")
    whole = folder / "nginx.conf"
    whole.write_text(
        f"user root;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\nserver {{ listen 127.0.0.1:{port};\n{more}\n"
        f"location / {{ proxy_pass http://127.0.0.1:{behind}; proxy_set_header Host $http_host; }}"
        "\n}\n}\n",
        encoding="utf-8",
    )
    command = ["nginx", "-p", str(folder), "-c", str(whole), "-g", "daemon off;"]
    running = subprocess.Popen(command)
    try:
        wait_until((folder / "pid").exists)
        yield
    finally:
        running.terminate()
        running.wait(30)


@pytest.mark.parametrize(
    ("more", "verdicts"),
    [
        ("", ["ok", "ok", "fault"]),
        ("client_max_body_size 33m;", ["ok", "ok", "ok"]),
        ("location = /v1/collections { client_max_body_size 2m; }", ["ok", "ok", "fault"]),
        ("location = /healthz { return 302 https://login.example/; }", ["fault"]),
    ],
)
def test_a_limit_that_was_left_as_it_is_and_a_login_are_named(
    more: str, verdicts: list[str], tmp_path: Path
) -> None:
    port, secret = free_port(), tmp_path / "secret"
    secret.write_text("market:s3cret", encoding="utf-8")
    secret.chmod(0o600)
    proves = {"WEBHOOK_AUTH": "basic", "WEBHOOK_SECRET_FILE": str(secret)}
    with receiver(tmp_path, **proves) as behind, nginx(tmp_path, port, behind.port, more):
        found = list(proxied(f"http://127.0.0.1:{port}", Settings()))
        assert [it.verdict for it in found] == verdicts, found
        assert behind.entries() == []


def test_a_receiver_that_serves_its_machine_alone_is_named(tmp_path: Path) -> None:
    port = free_port()
    with receiver(tmp_path) as behind, nginx(tmp_path, port, behind.port, ""):
        [fault] = proxied(f"http://127.0.0.1:{port}", Settings())
    assert (fault.verdict, "takes nothing from there" in fault.found) == ("fault", True)
