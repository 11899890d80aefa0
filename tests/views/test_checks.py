"""Every check finds nothing in a sound ledger, and something once its invariant is broken."""

import dataclasses

import pytest

from pipeline import checks, views
from tests.ledgers import ledger_of
from tests.views.lines import act
from tests.views.test_headers import RICH

BREAKING = {
    "seq_gaps": "delete from log where seq = 2",
    "stream_gaps": "update log set process_n = process_n + 1 where seq = 4",
    "leaves_disagree": "update log set recorded_by = 'someone else' where seq = 3",
    "tree_sizes": "insert into tree_nodes values (8, 0, '\\x00'::blob)",
    "facts_missing": "delete from facts.collections where seq = 8",
    "facts_disagree": "update facts.reviews set occurred_at = occurred_at + interval 1 second",
    "details_missing": "delete from facts.seller_events where event_type = 'seller.denied'",
    "kept_processes_disagree": "update kept.processes set attempts = attempts + 1",
    "kept_superseded_disagree": "delete from kept.superseded",
    "kept_timeline_disagrees": "delete from kept.timeline where seq = 5",
    "kept_attempts_disagree": "update kept.attempts set is_last = not is_last",
    "kept_findings_disagree": "delete from kept.findings where rule = 'finished_elsewhere'",
    "kept_sellers_disagree": "update kept.sellers set was_enabled = not was_enabled",
    "kept_repeated_disagree": "insert into kept.repeated_collections values (8)",
    "kept_subjects_disagree": "update kept.subjects set is_shared = not is_shared",
    "kept_unlisted_codes_disagree": "delete from kept.unlisted_codes",
    "counted_deliveries": "update facts.webhooks set is_again = false",
}
"""One statement for each check that breaks what it is about; sums can only be broken by a view."""


@pytest.fixture
def ledger():
    with ledger_of(RICH) as reader:
        yield reader._ledger


def test_a_sound_ledger_breaks_no_check(ledger):
    assert list(checks.broken(ledger)) == []


def test_every_check_is_broken_below():
    assert {*BREAKING, "sums_disagree"} == set(checks.names())


@pytest.mark.parametrize("check", BREAKING)
def test_a_check_finds_its_invariant_broken(check, ledger):
    cursor = ledger.cursor()
    cursor.execute("drop trigger log_no_update on log")
    cursor.execute("drop trigger log_no_delete on log")
    cursor.execute(BREAKING[check])
    broken = checks.run(check, ledger)
    assert broken is not None
    assert broken.rows >= 1
    assert str(broken).startswith(check)


def test_a_finding_kept_twice_is_noticed(ledger):
    ledger.cursor().execute("insert into kept.findings from kept.findings")
    assert checks.run("kept_findings_disagree", ledger) is not None


def test_an_act_to_come_of_no_process_hides_no_fault():
    act_to_come = act("override", "2090-01-01T00:00:00Z", process_id=None, seller_id="s1")
    with ledger_of([*RICH, act_to_come]) as reader:
        reader._ledger.cursor().execute("update kept.attempts set outcome = 'accepted'")
        assert checks.run("kept_attempts_disagree", reader._ledger) is not None


def test_sums_disagree_once_a_view_loses_a_row(ledger, monkeypatch):
    watchlist = views.catalogue()["watchlist"]
    shorter = dataclasses.replace(watchlist, sql=f"from ({watchlist.rows}) offset 1")
    known = {**views.catalogue(), "watchlist": shorter}
    monkeypatch.setattr("pipeline.catalogue.catalogue", lambda: known)
    broken = checks.run("sums_disagree", ledger)
    assert broken is not None
    assert broken.rows == 1
    assert broken.shown == ("what late processes on the watchlist, by_process 3, elsewhere 2",)
