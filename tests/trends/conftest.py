"""A log that a file brings: sixty reviews that ended, and what is open by 1 May 2026.

All have 30 days. Of those due on 31 March forty were finished in time, and twenty are EXPIRED.
"""

import json
from pathlib import Path

import pytest

from tests.queries.trends.test_forecast import HISTORY, opened_with
from tests.support.commands import here
from tests.support.stores import environment_in

LINES = [*HISTORY, *opened_with(4, "soon"), *opened_with(20, "later")]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `prazo` has taken that file."""
    found = tmp_path_factory.mktemp("trends")
    lines = "".join(json.dumps(line) + "\n" for line in LINES)
    (found / "log.ndjson").write_text(lines, encoding="utf-8")
    done = here("ingest", "log.ndjson", environment=environment_in(found), folder=found)
    assert done.returncode == 0, done.stderr
    return found
