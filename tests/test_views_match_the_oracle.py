"""Every view equals the oracle, which was written from rules.md alone and shares no code with it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import oracle
from tests.histories import histories, histories_and_as_of, instants_of, reordered, repeated
from tests.ledgers import ledger_of, rows

VIEWS = [
    "process_state",
    "watchlist",
    "expired_processes",
    "deadline_calendar",
    "seller_state",
    "denials",
    "denial_reasons",
    "quarantine",
]
DERIVED_FROM_RECORDING = {"reason", "seq", "recorded_at", "is_redelivery", "body_sha256", "is_replayed"}
THOROUGH = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def comparable(found: list[dict], expected: list[dict]) -> tuple[list, list]:
    """Both, on the columns that both have, in an order of their own."""
    columns = set(expected[0]) & set(found[0]) if expected and found else set()

    def plain(table: list[dict]) -> list:
        return sorted(
            ({name: row[name] for name in sorted(columns - DERIVED_FROM_RECORDING)} for row in table),
            key=repr,
        )

    return plain(found), plain(expected)


@THOROUGH
@given(histories_and_as_of())
def test_each_view_holds_the_rows_that_the_rules_give(case):
    history, as_of = case
    with ledger_of(history) as reader:
        for view in VIEWS:
            expected = oracle.rows(view, history, as_of)
            found = rows(reader, view, as_of)
            assert len(found) == len(expected), view
            ours, theirs = comparable(found, expected)
            assert ours == theirs, view
