"""Receivers for these tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import gateway, marketplace, served
from tests.support.receiver import RunningReceiver, receiver

__all__ = ["gateway", "marketplace", "served"]

Start = Callable[..., RunningReceiver]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    """A receiver without authentication that many tests ask, each for events of its own."""
    with receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(WEBHOOK_AUTH="basic", ...)` -> a receiver of this test's own."""
    with ExitStack() as running:

        def start_one(**options: Any) -> RunningReceiver:
            return running.enter_context(receiver(tmp_path, **options))

        yield start_one
