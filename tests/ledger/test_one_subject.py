"""A question about one subject reads its entries alone, and says what the whole view says of it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from pipeline import instants
from pipeline.ledger.catalogue import catalogue
from pipeline.ledger.reader import Reader
from tests.support.ledgers import ledger_of, rows
from tests.support.lines import at
from tests.support.rich import MOVED, RICH

END = at("2200-01-01T00:00:00")

NARROWED = [
    (view.name, column) for view in catalogue().values() if view.is_public for column in view.by
]
"""Views that are asked for a few ids over the entries of these alone."""


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with ledger_of([*RICH, *MOVED]) as opened:
        yield opened


@pytest.mark.parametrize(("view", "column"), NARROWED)
@pytest.mark.parametrize("as_of", [at("2026-05-15T00:00:00"), END])
def test_what_is_asked_of_one_subject_is_what_the_whole_view_says_of_it(
    reader: Reader, view: str, column: str, as_of: datetime
) -> None:
    whole = rows(reader, view, as_of)
    subjects = {row[column] for row in whole if row[column] is not None}
    assert subjects
    for subject in subjects:
        instant = instants.from_datetime(as_of.replace(tzinfo=UTC))
        found = reader.read(view, as_of=instant, where={column: subject}).to_pylist()
        assert found == [row for row in whole if row[column] == subject]
