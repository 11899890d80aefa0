"""Nothing that Prazo runs calls an address outside by itself; every socket is watched."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.app_pages.conftest import fill
from tests.app_pages.door.test_login import HISTORY, forwarded, socket_status
from tests.faults.shim import SocketShim
from tests.support.dashboard import dashboard

TRIES = 5
FOREIGN = {"Origin": "https://a.example"}
OUTSIDE = "192.0.2.1"  # of the network for documentation (RFC 5737)


def test_the_shim_sees_a_socket_that_leaves_this_machine(socket_shim: SocketShim):
    calls = (
        "import socket, contextlib\n"
        "for call in (\n"
        f"    lambda: socket.create_connection(({OUTSIDE!r}, 80), 1),\n"
        f"    lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ({OUTSIDE!r}, 9)),\n"
        "    lambda: socket.getaddrinfo('a.example', 80),\n"
        "):\n"
        "    with contextlib.suppress(OSError):\n"
        "        call()\n"
    )
    subprocess.run([sys.executable, "-c", calls], env=os.environ | socket_shim.env, check=True)
    assert socket_shim.left() == [
        f"connect {OUTSIDE}",
        f"sendto {OUTSIDE}",
        "getaddrinfo a.example",
    ]


def test_no_start_and_no_page_of_another_site_makes_the_dashboard_call_outside(
    socket_shim: SocketShim, tmp_path: Path
):
    """A dashboard on all addresses asked an address outside for this machine's own as it started,
    and again for each web socket of another site's page; meanwhile everybody waited."""
    fill(tmp_path, HISTORY)
    (tmp_path / "roles").write_text("officer:groups:compliance\n")
    (tmp_path / "secrets").write_text(f"{forwarded()['X-Proxy-Secret']}\n")
    (tmp_path / "tokens").write_text(f"notebook:read:{'0' * 64}\n")
    settings = {
        "PRAZO_LOGIN": "proxy",
        "PRAZO_ALLOW_REMOTE": "true",
        "FORWARDED_ALLOW_IPS": "",
        "PRAZO_ROLES_FILE": str(tmp_path / "roles"),
        "PRAZO_PROXY_SECRET_FILE": str(tmp_path / "secrets"),
        "PRAZO_API_TOKENS_FILE": str(tmp_path / "tokens"),
    }
    everywhere = ("--server.address", "0.0.0.0")
    with dashboard(tmp_path, *everywhere, **settings, **socket_shim.env) as url:
        began = time.monotonic()
        for _ in range(TRIES):
            assert socket_status(url, {**forwarded(), **FOREIGN}) == 403
        assert time.monotonic() - began < TRIES  # two seconds each, before
        assert socket_status(url, {**forwarded(), "Origin": url}) == 101
        assert httpx.get(f"{url}/", headers=forwarded()).status_code == 200
    assert socket_shim.left() == []
