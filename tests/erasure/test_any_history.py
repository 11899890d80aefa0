"""Whatever happened, once all bytes are erased every view says of it what it said before."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.erasure.finding import ERASED_KINDS
from pipeline.ledger.catalogue import catalogue
from pipeline.ledger.facts import facts_of, remains
from pipeline.ledger.store import Ledger
from pipeline.log.entries import Entry
from tests import depth
from tests.erasure.test_forgetting import PERSONAL
from tests.support.histories.whole import histories
from tests.support.ledgers import KEYS, ledger_of, rows
from tests.support.lines import at

AS_OF = at("2026-06-01T00:00:00")
NAMES = {"seller_identities", "seller_names"}
VIEWS = [
    name
    for name, view in catalogue().items()
    if view.is_public and name not in NAMES | {"ledger_health"}
]


def erased(entry: Entry) -> Entry:
    if entry.kind not in ERASED_KINDS or entry.body is None:
        return entry
    return entry._replace(body=remains.of(facts_of(entry, KEYS)), salt=None)


def said(history: list[dict[str, Any]], views: list[str]) -> dict[str, list[dict[str, Any]]]:
    with ledger_of(history) as reader:
        return {view: rows(reader, view, AS_OF) for view in views}


@settings(max_examples=depth.rounds(4, 300))
@given(history=histories(), views=st.permutations(VIEWS).map(lambda some: some[:12]))
def test_erased_bytes_change_no_state_date_or_count(history, views) -> None:
    before = said(history, views)
    honest = Ledger.batch
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            Ledger, "batch", lambda self, some: honest(self, [erased(it) for it in some])
        )
        after = said(history, views)
    for view in views:
        differing = {
            column
            for one, other in zip(before[view], after[view], strict=True)
            for column in one
            if one[column] != other[column]
        }
        # Each time it is recorded, with other salts, a history has other leaves.
        assert differing <= PERSONAL.get(view, set()) | {"leaf_hash"}, view
