"""One page serves all tests of a module; each test has a process, a seller and a link."""

from collections.abc import Iterator

import pytest

from tests.journey.served import Page, served


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with served(tmp_path_factory.mktemp("journey")) as running:
        yield running
