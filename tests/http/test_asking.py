"""What goes to a service outside goes there, and nowhere else."""

from pathlib import Path

import pytest

from pipeline.http.outgoing import asking
from tests.alert.sinks import WebhookServer
from tests.support.machine import free_port


def test_neither_a_proxy_nor_a_login_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy read what a webhook says, and the desk got the login of the process's own user."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ana password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with WebhookServer().running() as server:
        assert asking.post(server.url, b"{}", "application/json").status == 204
    assert b"authorization" not in server.taken[0].headers
