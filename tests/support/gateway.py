"""A receiver in a process of its own, and a plain HTTP client that knows only the contract.

A conftest imports the fixtures: `from tests.support.gateway import gateway, marketplace, served`.
One receiver then serves all tests of a module; every test has a seller and a process of its own.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from sandbox.server import Handle
from tests import fork_server
from tests.support.machine import free_port
from tests.support.marketplace import Marketplace, Review
from tests.support.receiver import PRAZO_RECEIVE


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_ours(self) -> bool:
        return self.headers.get("prazo-answer") == "gateway"


class Client:
    """Speaks to a base URL as the contract describes it: nothing of ours is used."""

    def __init__(self, port: int, marketplace_id: str) -> None:
        self.port = port
        self.marketplace_id = marketplace_id

    def put(self, review: Review, body: bytes | None = None, **headers: str) -> Answer:
        seller = quote(review.seller_id, safe="")
        path = f"/v1/marketplaces/{self.marketplace_id}/sellers/{seller}/registration/review"
        sent = {
            "Content-Type": "application/json",
            "Authorization": "Basic bWFya2V0cGxhY2U6c2VjcmV0",
            "Idempotency-Key": review.process_id,
            **{name.replace("_", "-"): it for name, it in headers.items()},
        }
        return self.request("PUT", path, review.payload if body is None else body, sent)

    def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()


@contextmanager
def receiving(
    marketplace: Marketplace, *, program: Sequence[str] = PRAZO_RECEIVE, **environment: str
) -> Iterator[Client]:
    """`prazo receive` in a process of its own, ready to record."""
    port = free_port()
    process = fork_server.start(
        [sys.executable, *program],
        env=marketplace.process_environment(PRAZO_RECEIVER_PORT=str(port), **environment),
    )
    client = Client(port, marketplace.platform.marketplace_id)
    try:
        _wait_until_ready(client, process)
        yield client
    finally:
        process.terminate()
        process.wait(60)


def _wait_until_ready(client: Client, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + 60
    while True:
        assert process.poll() is None, "the receiver ended"
        assert time.monotonic() < limit, "the receiver did not become ready"
        try:
            if client.request("GET", "/readyz", b"", {}).status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)


@pytest.fixture(scope="module")
def served(
    _sandbox: Handle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Marketplace, Client]]:
    marketplace = Marketplace(_sandbox, tmp_path_factory.mktemp("marketplace"))
    with receiving(marketplace, PRAZO_REQUEST_TIMEOUT_SECONDS="5") as client:
        yield marketplace, client
    marketplace.close()


@pytest.fixture
def marketplace(served: tuple[Marketplace, Client], platform: Handle) -> Marketplace:
    return served[0]


@pytest.fixture
def gateway(served: tuple[Marketplace, Client]) -> Client:
    return served[1]
