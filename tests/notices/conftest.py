"""Each test has a log of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notices.office import Office, office_in


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with office_in(tmp_path) as opened:
        yield opened
