"""A marketplace before a running sandbox, with one receiver in between for all tests of a module.

Every test has a seller and a process of its own.
"""

from collections.abc import Iterator

import pytest

from sandbox.server import Handle
from tests.gateway.client import Client, receiving
from tests.marketplace import Marketplace, _sandbox, platform

__all__ = ["_sandbox", "platform"]


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
