"""deploy/: what its files say comes up, and is reached by way of the proxies as they are set up."""

import base64
import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import websockets.sync.client as sockets
import yaml

from tests.release.composed import HOOKS, PEOPLE, Deployed
from tests.release.containers import PODMAN, done, wait_until_healthy
from tests.release.installed import ROOT, UV
from tests.support.events import event
from tests.support.machine import wait_until
from tests.support.postgres import PostgresServer

IDLE_SECONDS = 70
"""Longer than the minute after which nginx closes what is silent, by default."""


@pytest.fixture(scope="module")
def deployed(
    image: str, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    """Database, ledger with dashboard and both receivers, as in compose.yaml."""
    shape = Deployed.make(tmp_path_factory.mktemp("shape") / "deploy")
    postgres.execute(postgres.url(), "create database inbox owner prazo")
    with contextlib.ExitStack() as up:
        for name in ("dashboard", "receiver-1", "receiver-2"):
            up.enter_context(shape.part(name, postgres.url("inbox")))
        yield shape


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxied(deployed: Deployed, request: pytest.FixtureRequest) -> Iterator[Deployed]:
    with getattr(deployed, request.param)():
        yield deployed


def delivery(shape: Deployed, *options: str) -> int:
    """The status of a signed delivery by way of the proxy."""
    return shape.deliver(event(), *options)


def person(shape: Deployed) -> list[str]:
    return ["-u", f"ana:{shape.said_of('The password of ana')}"]


@pytest.mark.timeout(900)
def test_deliveries_are_recorded_and_others_refused(proxied: Deployed) -> None:
    assert [delivery(proxied) for _ in range(4)] == [200] * 4
    assert proxied.ask(HOOKS, "/webhooks", "--data", "{}") == 401
    for inside in ("/metrics", "/readyz", "/readyz/webhooks"):
        assert proxied.ask(HOOKS, inside) == 404


@pytest.mark.timeout(400)
def test_the_largest_collection_gets_through(proxied: Deployed, tmp_path: Path) -> None:
    """The proxy lets it pass, so that the receiver judges it."""
    (tmp_path / "large").write_bytes(b"x" * 31 * 2**20)
    token = f"-HAuthorization: Bearer {proxied.said_of('The token of the programs')}"
    kind = "-HContent-Type: application/json"
    assert proxied.ask(HOOKS, "/v1/collections", token, "-F", f"a=@{tmp_path / 'large'}") in (
        400,
        422,
    )
    (tmp_path / "larger").write_bytes(b"x" * 40 * 2**20)
    data = f"@{tmp_path / 'larger'}"
    assert proxied.ask(HOOKS, "/v1/collections", token, kind, "--data-binary", data) == 413


@pytest.mark.timeout(400)
def test_people_need_a_password_and_programs_a_token(proxied: Deployed) -> None:
    assert proxied.ask(PEOPLE, "/") == 401
    assert proxied.ask(PEOPLE, "/", *person(proxied)) == 200
    # Whoever says another name, or the secret, is still who logged in.
    forged = ["-HX-Forwarded-User: eve", "-HX-Proxy-Secret: guess"]
    assert proxied.ask(PEOPLE, "/", *forged) == 401
    assert proxied.ask(PEOPLE, "/", *person(proxied), *forged) == 200
    token = f"-HAuthorization: Bearer {proxied.said_of('The token of the programs')}"
    assert proxied.ask(PEOPLE, "/api/status") == 401
    assert proxied.ask(PEOPLE, "/api/status", token) == 200


def connected(shape: Deployed) -> socket.socket:
    return socket.create_connection(("127.0.0.1", shape.ports["https"]))


def trusting(shape: Deployed) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=shape.folder / "nginx" / "tls" / "server.pem")


@pytest.mark.timeout(400)
def test_a_body_that_does_not_come_is_never_acknowledged(proxied: Deployed) -> None:
    """nginx ends it after 20 seconds; Caddy waits on, and with a limit it answered 200."""
    head = f"POST /webhooks HTTP/1.1\r\nHost: {HOOKS}\r\nContent-Length: 1000\r\n\r\n{{"
    answer = b""
    with trusting(proxied).wrap_socket(connected(proxied), server_hostname=HOOKS) as stalled:
        stalled.sendall(head.encode())
        stalled.settimeout(35)
        with contextlib.suppress(TimeoutError):
            answer = stalled.recv(4096)
    assert answer == b"" or answer.split()[1] in (b"408", b"502")


@pytest.mark.timeout(400)
def test_a_page_that_nobody_touches_stays_connected(proxied: Deployed) -> None:
    pair = base64.b64encode(person(proxied)[1].encode()).decode()
    address = f"{PEOPLE}:{proxied.ports['https']}"
    with sockets.connect(
        f"wss://{address}/_stcore/stream",
        sock=connected(proxied),
        ssl=trusting(proxied),
        origin=f"https://{address}",
        additional_headers={"Authorization": f"Basic {pair}"},
        ping_interval=None,
    ) as page:
        until = time.monotonic() + IDLE_SECONDS
        while (left := until - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                page.recv(left)
        assert page.ping().wait(10)


@pytest.mark.timeout(400)
def test_one_receiver_is_enough(proxied: Deployed, request: pytest.FixtureRequest) -> None:
    """One is killed: nginx goes to the other at once, Caddy within its interval."""
    variable = f"PRAZO_RECEIVER_PORT={proxied.ports['receiver-1']}"
    names = done("podman", "ps", "--format", "{{.Names}}").split()
    asked = ("podman", "inspect", "--format", "{{.Config.Env}}")
    [first] = [it for it in names if variable in done(*asked, it)]
    done(*PODMAN, "kill", "--signal", "KILL", first)
    try:
        if request.node.callspec.params["proxied"] == "caddy":
            time.sleep(5)
        assert [delivery(proxied) for _ in range(10)] == [200] * 10
    finally:
        done(*PODMAN, "start", first)
        wait_until_healthy(first)


@pytest.mark.timeout(400)
def test_nginx_can_ask_the_platform_for_its_certificate(deployed: Deployed) -> None:
    tls = deployed.folder / "nginx" / "tls"
    authority, key = tls / "platform-ca.pem", tls / "platform.key"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=platform")
    done(*made, "-keyout", key, "-out", authority)

    def change(text: str) -> str:
        return text.replace("# ssl_client_c", "ssl_client_c").replace("# ssl_verify", "ssl_verify")

    shown = ["--cert", str(authority), "--key", str(key)]
    with deployed.nginx(change):
        assert delivery(deployed) == 400
        assert delivery(deployed, *shown) == 200
        assert deployed.ask(PEOPLE, "/", *person(deployed)) == 200


@pytest.mark.timeout(400)
def test_the_sender_looks_after_retries(deployed: Deployed, postgres: PostgresServer) -> None:
    """It says so to the receivers, whose metrics show it."""
    beats = "select 1 from prazo.heartbeats where name = 'resumer'"
    with deployed.part("sender", postgres.url("inbox"), **deployed.platform()):
        wait_until(lambda: postgres.execute(postgres.url("inbox"), beats), pause=1)


@pytest.mark.timeout(400)
def test_a_backup_is_made_by_itself(deployed: Deployed, postgres: PostgresServer) -> None:
    """The signing key is the dashboard's, whose folder no container shares here."""
    beats = "select 1 from prazo.heartbeats where name = 'backup'"
    with deployed.nginx():
        assert delivery(deployed) == 200  # of a log without an entry there is no backup
    with deployed.part("backup", postgres.url("inbox")):
        wait_until(lambda: postgres.execute(postgres.url("inbox"), beats), pause=1)


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("image")
def test_the_dashboard_may_stand_below_a_path(postgres: PostgresServer, tmp_path: Path) -> None:
    shape = Deployed.make(tmp_path / "deploy")
    postgres.execute(postgres.url(), "create database below owner prazo")

    def below(text: str) -> str:
        return text.replace(
            "location / {\n        proxy_pass           http://dashboard",
            "location /prazo/ {\n        proxy_pass           http://dashboard",
        )

    with (
        shape.part("dashboard", postgres.url("below"), STREAMLIT_SERVER_BASE_URL_PATH="prazo"),
        shape.nginx(below),
    ):
        assert shape.ask(PEOPLE, "/prazo/") == 401
        assert shape.ask(PEOPLE, "/prazo/", *person(shape)) == 200
        token = f"-HAuthorization: Bearer {shape.said_of('The token of the programs')}"
        assert shape.ask(PEOPLE, "/api/status", token) == 200


def test_the_manifests_of_kubernetes_are_of_its_schema() -> None:
    """No cluster is to be had here: nothing was run."""
    tool = (UV, "tool", "run", "--quiet", "--from", "kubernetes-validate==1.37.0")
    done(*tool, "kubernetes-validate", "--strict", "--quiet", ROOT / "deploy" / "kubernetes.yaml")


def test_no_service_of_kubernetes_becomes_a_setting() -> None:
    """Kubernetes gives each pod a variable for each service: PRAZO_RECEIVER_PORT would be `tcp://...`,
    and refused."""
    text = (ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")
    parts = [it["spec"] for it in yaml.safe_load_all(text) if it["apiVersion"] == "apps/v1"]
    assert [it["template"]["spec"]["enableServiceLinks"] for it in parts] == [False] * 3
