"""A history that has happened, a running sandbox, a client of its own, and a webhook receiver."""

from collections.abc import Iterator

import httpx
import pytest

import sandbox
from sandbox.server import Handle
from tests.sandbox.past import accepted, events, lines, past, reviews
from tests.sandbox.real_http import Receiver, a_receiver, client_of

__all__ = ["accepted", "events", "lines", "past", "reviews"]


@pytest.fixture
def platform() -> Iterator[Handle]:
    with sandbox.running() as handle:
        yield handle


@pytest.fixture
def client(platform: Handle) -> Iterator[httpx.Client]:
    with client_of(platform) as client:
        yield client


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as receiver:
        yield receiver
