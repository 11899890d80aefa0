"""Every check finds nothing in a sound ledger, and something once its invariant is broken."""

import contextlib
import dataclasses

import pytest

from pipeline import instants
from pipeline.ledger import checks
from pipeline.ledger.views.catalogue import catalogue
from tests.support.ledgers import ledger_of, standing
from tests.support.lines import ACI_DEADLINE, aci, acp, action, started
from tests.support.rich import RICH

BREAKING = {
    "seq_gaps": "delete from log where seq = 2",
    "stream_gaps": "update log set process_n = process_n + 1 where seq = 4",
    "leaves_disagree": "update log set recorded_by = 'someone else' where seq = 3",
    "tree_sizes": "insert into tree_nodes values (8, 0, '\\x00'::blob)",
    "ingest_keys_astray": "insert into ingest_keys values (999999, 'x'::blob)",
    "facts_missing": "delete from fact_collections where seq = 8",
    "facts_disagree": "update fact_reviews set occurred_at = occurred_at + interval 1 second",
    "details_missing": "delete from fact_seller_events where event_type = 'seller.denied'",
    "materialized_processes_disagree": "update kept_processes set attempts = attempts + 1",
    "materialized_repeated_deliveries_disagree": "delete from kept_repeated_deliveries",
    "materialized_timeline_disagree": "delete from kept_timeline where seq = 5",
    "materialized_attempts_disagree": "update kept_attempts set is_last = not is_last",
    "materialized_findings_disagree": ("delete from kept_findings where rule = 'deadline_changed'"),
    "materialized_field_evidence_disagree": (
        "update kept_field_evidence set covered = not covered"
    ),
    "materialized_sellers_disagree": "update kept_sellers set denials = denials + 1",
    "materialized_repeated_collections_disagree": (
        "insert into kept_repeated_collections values (8)"
    ),
    "materialized_subjects_disagree": "update kept_subjects set is_shared = not is_shared",
    "materialized_unlisted_codes_disagree": "delete from kept_unlisted_codes",
    "subjects_disagree": "delete from kept_subjects",
    "settled_disagree": "update kept_watermark set materialized_entries = 99",
    "counted_deliveries": "update fact_webhooks set is_again = false",
}
"""For each check a statement that breaks its invariant. That of `sums_disagree` only a wrong view
breaks."""


@pytest.fixture
def ledger(monkeypatch):
    """A ledger whose `broken_by` takes a statement that breaks it. The statement takes effect while
    a check looks, and is rolled back."""
    rich = standing(RICH)._ledger
    snapshot = rich.snapshot
    statements = ["drop trigger log_no_update on log", "drop trigger log_no_delete on log"]

    @contextlib.contextmanager
    def broken_snapshot(cursor):
        with snapshot(cursor) as watermark:
            for statement in statements:
                cursor.execute(statement)
            yield watermark  # and is rolled back

    monkeypatch.setattr(rich, "snapshot", broken_snapshot)
    monkeypatch.setattr(rich, "broken_by", statements.append, raising=False)
    return rich


def test_every_check_is_broken_below():
    assert {*BREAKING, "sums_disagree"} == set(checks.names()), (
        "give BREAKING a statement for each check, and for nothing else"
    )


@pytest.mark.parametrize("check", BREAKING)
def test_a_check_finds_its_invariant_broken(check, ledger):
    ledger.broken_by(BREAKING[check])
    broken = checks.run(check, ledger)
    assert broken is not None
    assert broken.rows >= 1
    assert str(broken).startswith(check)


@pytest.mark.parametrize(
    "change",
    [
        "update kept_subjects set process_id = 'another'",
        "insert into kept_subjects values ('made up', 'p1', false)",
    ],
)
def test_a_subject_of_one_process_that_was_changed_is_noticed(change, ledger):
    """Before: only those of two processes were compared, and the second process of a journey was
    taken for its first: `evidence_reused` was not found."""
    ledger.broken_by(change)
    assert checks.run("materialized_subjects_disagree", ledger) is None
    assert checks.run("subjects_disagree", ledger) is not None


@pytest.mark.parametrize("seq", [0, 999999])
def test_an_unreadable_part_of_no_delivery_is_noticed(seq, ledger):
    """Whoever has the file could make up what a process's platform said wrong: facts are compared
    entry by entry, and none has that seq."""
    values = f"{seq}, 'e1', '2026-03-01', 'p1', 's1', 'deadline_at', '\"x\"'"
    ledger.broken_by(f"insert into fact_unreadable_parts values ({values})")
    broken = checks.run("details_missing", ledger)
    assert broken is not None
    assert broken.shown == (f"seq {seq}, fact unreadable_parts",)


def test_an_entry_with_two_keys_by_which_it_counts_once_is_noticed(ledger):
    """Which one it was compared by was the one that DuckDB gave last."""
    ledger.broken_by("insert into ingest_keys values (3, 'x'::blob)")
    broken = checks.run("ingest_keys_astray", ledger)
    assert broken is not None
    assert broken.shown == ("seq 3, keys 2, entries 1",)


def test_a_finding_written_twice_is_noticed(ledger):
    ledger.broken_by("insert into kept_findings from kept_findings")
    assert checks.run("materialized_findings_disagree", ledger) is not None


def test_a_process_that_is_kept_from_being_compared_is_noticed(ledger):
    """Comparisons leave out what changes after the instant; views read it all the same."""
    ledger.broken_by(
        "update kept_processes set deadline_at = '2099-01-01', settled_at = '2099-01-01'"
    )
    assert checks.run("materialized_processes_disagree", ledger) is None
    assert checks.run("settled_disagree", ledger) is not None


def test_sums_disagree_once_a_view_loses_a_row(ledger, monkeypatch):
    watchlist = catalogue()["watchlist"]
    shorter = dataclasses.replace(watchlist, sql=f"from ({watchlist.sql}) offset 1")
    known = {**catalogue(), "watchlist": shorter}
    monkeypatch.setattr("pipeline.ledger.views.catalogue.catalogue", lambda: known)
    broken = checks.run("sums_disagree", ledger)
    assert broken is not None
    assert broken.rows == 1
    assert broken.shown == ("what late processes on the watchlist, by_process 7, elsewhere 6",)


# --- in ledgers of their own ---


def test_a_sound_ledger_breaks_no_check_though_attempts_wait_for_their_answers():
    """`prazo verify` called the stores false for as long as any submission was under way."""
    now = instants.canonical(instants.now())
    first, second = (started(it, now, process_id=it, timeout_seconds=600) for it in ("p1", "p2"))
    again = started("again", now, process_id="p2", timeout_seconds=600)
    with ledger_of([*RICH, first, second, again]) as reader:
        assert list(checks.broken(reader._ledger)) == []
        [row] = reader.read("process_state", where={"process_id": "p1"}).to_pylist()
        assert row["last_outcome"] == "in_flight"


@pytest.mark.parametrize(
    "review",
    [
        aci(customer_id=None),
        acp(created_at="2200-01-01T00:00:00Z", occurred_at=ACI_DEADLINE),
        acp(created_at="2200-01-01T00:00:00Z", occurred_at=ACI_DEADLINE, status="FINISHED"),
    ],
    ids=["names no seller", "is opened on a day to come", "is finished on a day to come"],
)
def test_a_review_breaks_no_check_though_it(review):
    """`prazo verify` called the stores false from an open review without a readable `customer_id`
    on, and as long as the platform's clock had opened the very first review on a later day."""
    with ledger_of([review]) as reader:
        assert checks.run("sums_disagree", reader._ledger) is None


def test_an_action_to_come_of_no_process_hides_no_fault():
    action_to_come = action("override", "2090-01-01T00:00:00Z", process_id=None, seller_id="s1")
    with ledger_of([*RICH, action_to_come]) as reader:
        reader._ledger.cursor().execute("update kept_attempts set outcome = 'accepted'")
        assert checks.run("materialized_attempts_disagree", reader._ledger) is not None
