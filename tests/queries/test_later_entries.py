"""What occurs after an instant changes nothing that views say of it (docs/rules.md#as-of).

Answers about an earlier instant are kept until an entry comes that occurred by then
(`app_pages/parts/views.py`).
"""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app_pages.parts.views import OF_THE_LOG
from pipeline import instants
from pipeline.ledger.views.catalogue import public
from tests import depth
from tests.support.histories import histories_and_as_of
from tests.support.ledgers import ledger_of, rows
from tests.support.lines import at
from tests.support.rich import RICH

VIEWS = [view for view in public() if view not in OF_THE_LOG]
Line = dict[str, Any]


def said(history: list[Line], views: list[str], as_of: datetime) -> dict[str, list[Line]]:
    """What views say. Each time it is recorded, with other salts, a history has other leaves."""
    with ledger_of(history) as reader:
        return {
            view: [{**row, "leaf_hash": None} for row in rows(reader, view, as_of)]
            for view in views
        }


def parted(history: list[Line], as_of: datetime) -> tuple[list[Line], list[Line]]:
    """What had occurred by then, and that with what came later after it."""
    by_then, later = [], []
    for line in history:
        occurred_at = instants.parse(line["occurred_at"])
        came_by_then = occurred_at is not None and instants.naive(occurred_at) <= as_of
        (by_then if came_by_then else later).append(line)
    return by_then, by_then + later


def test_of_a_rich_history_no_view_says_anything_else_once_the_rest_has_come() -> None:
    as_of = at("2026-03-14T00:30:00")
    by_then, whole = parted(RICH, as_of)
    assert len(by_then) > 30
    assert len(whole) - len(by_then) > 30
    asked = [*depth.few(VIEWS, 2)]
    before = said(by_then, asked, as_of)
    assert before == said(whole, asked, as_of)
    assert sum(bool(it) for it in before.values()) > len(asked) * 0.7


@pytest.mark.long
@settings(max_examples=depth.rounds(20, 300))
@given(case=histories_and_as_of(), views=st.permutations(VIEWS).map(lambda some: [*some[:9]]))
def test_whatever_happens_later_views_say_the_same_of_an_instant(case, views) -> None:
    history, as_of = case
    by_then, whole = parted(history, as_of)
    assert said(by_then, views, as_of) == said(whole, views, as_of)


def test_what_is_said_of_the_log_itself_changes_with_what_comes_later() -> None:
    """Else a view stands in the list that does not belong there."""
    as_of = at("2026-03-14T00:30:00")
    by_then, whole = parted(RICH, as_of)
    views = [*OF_THE_LOG]
    before, after = said(by_then, views, as_of), said(whole, views, as_of)
    assert all(before[view] != after[view] for view in views)
