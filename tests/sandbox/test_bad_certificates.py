"""A client certificate that is refused as the contract says: 401, after a handshake that ends well.

How the handshake itself ends with an alert is in `test_server.py`.
"""

import ssl
from collections.abc import Iterator

import httpx
import pytest

import sandbox
from sandbox.server import Handle
from tests.sandbox.real_http import client_of


@pytest.fixture
def lenient() -> Iterator[Handle]:
    """A platform behind something that ends TLS and hands on whatever certificate was shown."""
    with sandbox.running(bad_certificates="401") as handle:
        yield handle


def put(client: httpx.Client, platform: Handle) -> httpx.Response:
    sellers = f"/v1/marketplaces/{platform.marketplace_id}/sellers"
    return client.put(f"{sellers}/sel_nobody/registration/review", json={"type": "individual"})


@pytest.mark.parametrize("name", ["expired_client", "stranger_client"])
def test_a_bad_certificate_is_answered_401(lenient: Handle, name: str) -> None:
    with client_of(lenient, getattr(lenient.certificates, name)) as client:
        response = put(client, lenient)
    assert response.status_code == 401
    assert "certificate" in response.json()["error"]["message"]
    assert [it.status for it in lenient.requests] == [401]


def test_no_certificate_at_all_is_answered_401(lenient: Handle) -> None:
    context = ssl.create_default_context(cafile=str(lenient.certificates.authority))
    good = (lenient.credentials.username, lenient.credentials.password)
    with httpx.Client(base_url=lenient.url, verify=context, trust_env=False, auth=good) as client:
        assert put(client, lenient).status_code == 401


def test_the_good_certificate_is_let_in(lenient: Handle) -> None:
    with client_of(lenient) as client:
        assert put(client, lenient).status_code == 404, "no such seller"
