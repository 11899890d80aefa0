"""Whatever happened, once all bytes are erased every view says of it what it said before."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.erasure.finding import ERASED_KINDS
from pipeline.ledger.facts import facts_of, remains
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import catalogue
from pipeline.log.entries import Entry
from tests import depth
from tests.erasure.test_forgetting import PERSONAL
from tests.support.histories.whole import histories
from tests.support.ledgers import KEYS, ledger_of, rows
from tests.support.lines import aci, at

UNREADABLE = "unreadable_part"
Said = dict[str, list[dict[str, Any]]]
"""Rows by view."""
AS_OF = at("2026-06-01T00:00:00")
OF_VALUES = {"seller_identities", "seller_names", "seller_holdings", "denial_fields"}
"""Views that say what there is of a person, or what of it changed: nothing, afterwards."""
VIEWS = [
    name
    for name, view in catalogue().items()
    if view.is_public and name not in OF_VALUES | {"ledger_health"}
]


def erased(entry: Entry) -> Entry:
    if entry.kind not in ERASED_KINDS or entry.body is None:
        return entry
    return entry._replace(body=remains.of(facts_of(entry, KEYS)), salt=None)


def said(history: list[dict[str, Any]], views: list[str]) -> Said:
    with ledger_of(history) as reader:
        return {view: rows(reader, view, AS_OF) for view in views}


def before_and_after(history: list[dict[str, Any]], views: list[str]) -> tuple[Said, Said]:
    """What views say of a history, and what they say once all of its bytes are erased."""
    before = said(history, views)
    honest = Ledger.batch
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            Ledger, "batch", lambda self, some: honest(self, [erased(it) for it in some])
        )
        return before, said(history, views)


@settings(max_examples=depth.rounds(4, 300))
@given(history=histories(), views=st.permutations(VIEWS).map(lambda some: some[:12]))
def test_erased_bytes_change_no_state_date_or_count(history, views) -> None:
    before, after = before_and_after(history, views)
    for view in views:
        differing = {
            column
            for one, other in zip(before[view], after[view], strict=True)
            for column in one
            if one[column] != other[column]
        }
        # Each time it is recorded, with other salts, a history has other leaves.
        assert differing <= PERSONAL.get(view, set()) | {"leaf_hash"}, view


def test_a_finding_about_an_unreadable_part_says_after_an_erasure_what_was_about_nobody() -> None:
    """Before: nothing at all, so that the finding looked like another one."""
    history = [
        aci("e1", requested_fields=[], process_id="p1"),
        aci("e2", deadline_at="Mariana Quintela", process_id="p2"),
    ]
    before, after = before_and_after(history, ["findings"])
    told = [
        {it["process_id"]: it["detail"] for it in found["findings"] if it["rule"] == UNREADABLE}
        for found in (before, after)
    ]
    assert told == [
        {"p1": "requested_fields: []", "p2": 'deadline_at: "***"'},
        {"p1": "requested_fields: []", "p2": "deadline_at: "},
    ]
