"""Materialized rows are what the log says, at any instant, after any batches."""

import math
import re
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.ledger import arrow, checks, materialized, refresh
from pipeline.ledger.file import made_by
from pipeline.ledger.store import Ledger
from pipeline.ledger.views import catalogue as catalogue_of_queries
from pipeline.ledger.views.catalogue import QUERIES, all_read, catalogue, script, scripts, whole_sql
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.ledger.conftest import deliver
from tests.support.histories import histories_and_as_of
from tests.support.ledgers import (
    KEYS,
    Step,
    asked,
    ledger_of,
    materialized_rows,
    renewed_in_large_batches,
    rows,
)
from tests.support.lines import (
    acp,
    action,
    answered,
    at,
    finished,
    invited,
    seller,
    started,
)
from tests.support.rich import MOVED

few = settings(max_examples=settings.default.max_examples // 33)

SHORTCUTS = (
    "process_state",
    "timeline",
    "submission_attempts",
    "submission_outcomes",
    "next_actions",
    "evidence_coverage",
    "findings",
    "denial_retries",
)
"""Views over materialized rows, or over both these and facts."""

END = datetime(2200, 1, 1, tzinfo=UTC).replace(tzinfo=None)
STEPS = st.lists(st.builds(Step, st.integers(1, 6), *[st.booleans()] * 4), max_size=12)
LATER = Step(1, more_follow=True)
MANY = (0, refresh.MANY)
"""From how many rows on they are renewed as in a large batch."""


def test_tables_follow_from_their_rules_and_from_no_comment_or_other_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number had to be raised by hand, else ledgers kept what the old rule had made of them:
    states and dates that were wrong after an update, and no test would have failed."""
    copied = shutil.copytree(QUERIES, tmp_path / "queries")
    kept = (catalogue, script, scripts, materialized.views, materialized.rules)

    def rules_with(more: str, name: str) -> str:
        for path in copied.rglob(name):
            with path.open("a", encoding="utf-8") as file:
                file.write(more)
        for each in kept:
            each.cache_clear()
        return materialized.rules()

    rules = materialized.rules()
    for module in (catalogue_of_queries, materialized):
        monkeypatch.setattr(module, "QUERIES", copied)
    try:
        assert rules_with("\n    -- Said once more.\n\n", "*.sql") == rules
        for name in ("watchlist.sql", "alerts.sql"):
            assert rules_with("\nand is_new", name) == rules
        for name in ("schema", "macros", "process_facts", "attempt_facts", "processes"):
            former, rules = rules, rules_with("\nand is_new", f"{name}.sql")
            assert rules != former, name
    finally:
        for each in kept:
            each.cache_clear()


def test_a_ledger_that_other_rules_have_made_is_made_again(settings, inbox):
    now = instants.now()
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        held = service.reader.read("process_state", as_of=now)
        cursor = service.ledger.cursor()
        cursor.execute("update kept_processes set opened_at = opened_at - interval 1 day")
        cursor.execute("update meta set value = 'of another release' where name = 'rules'")
        assert not service.reader.read("process_state", as_of=now).equals(held)
    with closing(LedgerService(settings)) as service:
        assert service.reader.read("process_state", as_of=now).equals(held)


def test_a_mask_that_changed_makes_a_ledger_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without bodies holds what was masked when it was written: it kept names in the place of a
    list of paths, which a new mask hides."""
    before = made_by.__wrapped__()
    masks = {**arrow.MASKED_COLUMNS, "fact_actions": {}}
    monkeypatch.setattr(arrow, "MASKED_COLUMNS", masks)
    assert made_by.__wrapped__() != before


def by_log(reader: Reader, view: str, as_of: datetime) -> list[dict[str, Any]]:
    """The view over the log alone, which is its definition."""
    cursor = reader._ledger.cursor()
    cursor.execute("set variable as_of = ?", [as_of])
    return cursor.sql(whole_sql(catalogue()[view])).to_arrow_table().to_pylist()


def assert_rows_say_what_the_log_says(reader: Reader, as_of: datetime) -> None:
    for view in SHORTCUTS:
        found, expected = rows(reader, view, as_of), by_log(reader, view, as_of)
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), (view, as_of)


@few
@given(histories_and_as_of(), STEPS, st.sampled_from(MANY))
def test_materialized_rows_say_what_the_log_says_at_every_instant_and_after_any_batches(
    case, steps, many
):
    history, as_of = case
    with renewed_in_large_batches(many), ledger_of(history, steps) as reader:
        assert_rows_say_what_the_log_says(reader, as_of)
        assert_rows_say_what_the_log_says(reader, END)
        for check in checks.names():
            if check.startswith("materialized_"):
                assert checks.run(check, reader._ledger) is None


@few
@given(histories_and_as_of())
def test_views_are_right_while_rows_wait_for_later_batches_and_cannot_be_made_before(case):
    history, as_of = case
    with ledger_of(history) as reader:
        reader._ledger.cursor().execute("update kept_watermark set materialized_entries = 0")
        for table in (
            "kept_processes",
            "kept_attempts",
            "kept_field_evidence",
            "kept_findings",
            "kept_sellers",
        ):
            reader._ledger.cursor().execute(f"delete from {table}")
        reader._ledger._mark()
        reader._ledger._cannot_settle_until = math.inf
        assert_rows_say_what_the_log_says(reader, as_of)


@few
@given(histories_and_as_of(), STEPS, st.sampled_from(MANY))
def test_materialized_rows_do_not_depend_on_the_batches(case, steps, many):
    history, _ = case
    with ledger_of(history) as reader:
        expected = materialized_rows(reader._ledger)
    with renewed_in_large_batches(many), ledger_of(history, steps) as reader:
        found = materialized_rows(reader._ledger)
    del (
        found["kept_timeline"],
        expected["kept_timeline"],
    )  # leaves are salted: no two logs share one
    assert found == expected


SAME = {"type": "individual", "revenue": "1000_to_5000"}


@pytest.mark.parametrize("steps", depth.few([[Step(1)] * 6, []], 2))
@pytest.mark.parametrize(
    ("history", "process_id"),
    [
        (
            [
                acp(),
                started("a1", "2026-03-02T00:00:00Z", process_id="p3", body=SAME),
                finished("a1", 500, "2026-03-02T00:00:01Z", process_id="p3"),
                started("a2", "2026-03-03T00:00:00Z", seller_id=None, body=SAME),
                finished("a2", 200, "2026-03-03T00:00:01Z", process_id="p2", seller_id="s1"),
            ],
            "p1",
        ),
        (
            [
                started("a1", "2026-03-02T00:00:00Z", process_id="p3", seller_id=None, body=SAME),
                finished("a1", 500, "2026-03-02T00:00:01Z", process_id="p4", seller_id="s1"),
                started("a2", "2026-03-03T00:00:00Z", process_id="p4", body=SAME),
                finished("a2", 200, "2026-03-03T00:00:01Z", process_id="p4"),
            ],
            "p4",
        ),
    ],
)
def test_values_reused_are_found_whichever_entry_names_the_seller(history, process_id, steps):
    with ledger_of(history, steps) as reader:
        found = [it for it in rows(reader, "findings", END) if it["rule"] == "values_reused"]
        assert [it["process_id"] for it in found] == [process_id]
        assert checks.run("materialized_findings_disagree", reader._ledger) is None


@pytest.mark.parametrize("steps", depth.few([[Step(1)] * 3, [LATER] * 2, []], 3))
@pytest.mark.parametrize(
    ("history", "created_at"),
    [
        (
            [
                seller("denied", "v1", "2026-03-02T00:00:00Z", "s1"),
                seller("denied", "v1", "2026-03-01T00:00:00Z", "s2"),
            ],
            {"s1": at("2026-03-02T00:00:00")},
        ),
        (
            [
                seller("denied", "v1", "2026-03-01T00:00:00Z", "s2"),
                seller("denied", "v1", "2026-03-02T00:00:00Z", "s1"),
            ],
            {"s1": at("2026-03-02T00:00:00")},
        ),
        (
            [
                seller("denied", "v1", "2026-03-02T00:00:00Z", "s1"),
                acp("e1", "2026-03-01T12:00:00Z", customer_id="s1"),
                acp("e1", "2026-03-01T11:00:00Z", customer_id="s2"),
            ],
            {"s1": at("2026-03-01T12:00:00")},
        ),
        (
            [
                acp("e1", "2026-03-01T12:00:00Z", customer_id="s1"),
                acp("e1", "2026-03-01T11:00:00Z", process_id="p2", customer_id="s2"),
                seller("denied", "v1", "2026-03-02T00:00:00Z", "s2"),
            ],
            {"s2": at("2026-03-01T11:00:00")},
        ),
    ],
)
def test_a_seller_is_known_by_the_events_that_count(history, created_at, steps):
    with ledger_of(history, steps) as reader:
        cursor = reader._ledger.cursor()
        materialized_sellers = "select seller_id, created_at from kept_sellers"
        assert dict(cursor.execute(materialized_sellers).fetchall()) == created_at
        assert checks.run("materialized_sellers_disagree", reader._ledger) is None


def test_a_process_makes_the_tables_of_its_next_ledger_as_those_of_its_first(monkeypatch):
    """For the first it lets DuckDB find the columns of the views; these it remembers."""
    monkeypatch.setattr(arrow, "_MADE", {})
    made = []
    for _ in range(2):
        with closing(Ledger(None, log="tests", keys=KEYS)) as ledger:
            sql = "select table_name, sql from duckdb_tables() where table_name like 'kept_%'"
            made.append(sorted(ledger.cursor().execute(sql).fetchall()))
    first, second = made
    assert {name for name, _ in first} >= set(materialized.tables())
    assert second == first


def test_a_rebuilt_ledger_keeps_the_same_rows(settings, inbox):
    with closing(LedgerService(settings)) as service:
        for number in range(4):
            deliver(inbox, range(250 + 40 * number, 320 + 40 * number))
            service.catch_up()

        before = materialized_rows(service.ledger)
        assert len(before["kept_processes"]) == 440
        service.rebuild()
        assert materialized_rows(service.ledger) == before


@pytest.mark.parametrize("steps", depth.few([[LATER] * 3, [Step(1)] * 4, []], 3))
def test_a_process_is_known_only_while_an_entry_of_its_own_counts(steps):
    with ledger_of(MOVED, steps) as reader:

        def known(as_of: str) -> list[str]:
            found = rows(reader, "process_state", at(as_of))
            return sorted(row["process_id"] for row in found)

        assert known("2026-03-01T11:30:00") == ["p2"]
        assert known("2026-03-02T12:00:00") == ["p1", "p2", "p4"]
        assert known("2026-03-03T12:00:00") == ["p1", "p2", "p3", "p7"]


@pytest.mark.parametrize(
    ("as_of", "outcome"),
    [("2026-03-02T00:00:59.999999", "in_flight"), ("2026-03-02T00:01:00", "unknown")],
)
def test_an_attempt_without_an_end_is_unknown_from_its_timeout_on(as_of, outcome):
    history = [acp(), started("a1", "2026-03-02T00:00:00Z")]
    [row] = asked(history, "process_state", at(as_of))
    assert row["last_outcome"] == outcome


@pytest.mark.parametrize(
    ("as_of", "deadline_at", "state"),
    [
        ("2026-04-29T12:00:00", "2026-04-30T12:00:00", "OVERDUE"),
        ("2026-04-30T12:00:00", "2026-04-30T12:00:00", "EXPIRED"),
        ("2026-05-01T12:00:00", "2026-06-30T12:00:00", "OVERDUE"),
        ("2026-05-31T12:00:00", "2026-06-30T12:00:00", "OVERDUE"),
    ],
)
def test_an_extension_dated_ahead_counts_from_its_own_instant(as_of, deadline_at, state):
    extension = acp("e2", "2026-05-01T12:00:00Z", deadline_at="2026-06-30T12:00:00Z")
    [row] = asked([acp(), extension], "process_state", at(as_of))
    assert (row["deadline_at"], row["state"]) == (at(deadline_at), state)


def test_one_entry_dated_ahead_leaves_the_others_to_materialized_rows():
    history = [acp(), acp("e2", "2090-01-01T00:00:00Z", process_id="p2")]
    with ledger_of(history) as reader:
        now = at("2026-03-02T00:00:00")
        cursor = reader._ledger.cursor()
        cursor.execute("update kept_processes set seller_id = 'written' where process_id = 'p1'")
        [row] = rows(reader, "process_state", now)
        assert row["seller_id"] == "written"


def test_rows_hold_while_an_answer_is_awaited_and_before_a_replacement_that_is_dated_ahead():
    """Rows are made as of the end of time; a check compares them with what the log says now."""
    awaited = started("a1", instants.canonical(instants.now()), timeout_seconds=86400)
    of_p2 = {"process_id": "p2"}
    history = [
        *(acp(), awaited),
        *(started("a2", "2026-03-02T00:00:00Z", **of_p2), finished("a2", 500, **of_p2)),
        action("replacement", "2090-01-01T00:00:00Z", **of_p2),
        action("replacement", "2026-03-03T00:00:00Z", process_id="p3"),
    ]
    with ledger_of(history, [Step(1)] * 6) as reader:
        assert [it["process_id"] for it in rows(reader, "process_state")] == ["p1", "p2"]
        broken = [it for it in checks.names() if checks.run(it, reader._ledger)]
        assert broken == []


def test_an_early_read_reads_no_instant_twice():
    """`now` is asked for once: a row kept for later must not slip in between two clocks."""
    with ledger_of([acp(occurred_at=instants.canonical(instants.now()))]) as reader:
        assert len(rows(reader, "process_state")) == 1


def test_a_finding_without_attempts_is_looked_for_where_a_process_is_suspected():
    """A batch without attempts is looked through for suspected processes alone: what another rule
    finds would be found in some batches, and in others not."""
    views = catalogue()
    rules = {it for it in views["process_findings"].reads if it.endswith("_findings")}
    others = rules - {"sent_findings"}
    lost = {it for it in others if "suspected_processes" not in all_read(views[it])}
    assert lost == set(), (
        "have them read suspected_processes (CONTRIBUTING.md#findings-views-and-pages)"
    )


def test_what_was_sent_is_set_against_its_evidence_once_in_a_batch():
    """Rows of fields and findings each did: one more entry of a process that had been answered and
    sent 8,000 times took 6.5 s where it had taken 4.9."""
    findings = refresh._findings("process_findings", "touched", "touched")
    fields = refresh._of_touched("field_evidence", materialized.of_processes)
    # Of the clause that leads them, and the table that it reads; no view reads either.
    assert len(re.findall(r"\bfact_answered_fields\b", findings)) == 2
    assert len(re.findall(r"\bfact_sent_fields\b", fields)) == 2


def sent_before(attempt_id: str, process_id: str, seller_id: str) -> list[dict[str, Any]]:
    return [
        started(attempt_id, process_id=process_id, seller_id=seller_id, body=SAME),
        finished(attempt_id, 400, process_id=process_id),
    ]


def sent_since(attempt_id: str, process_id: str) -> dict[str, Any]:
    instant = "2026-03-04T00:00:00Z"
    return started(attempt_id, instant, process_id=process_id, seller_id=None, body=SAME)


ONE_BY_ONE = [
    *[acp(), started(), finished("a1", 500)],
    *[acp("e2", process_id="p2"), invited("2026-03-02T00:00:00Z", process_id="p2")],
    *[acp("e3", process_id="p3"), started("a3", process_id="p3")],
    finished("a3", 500, "2026-03-02T00:00:01Z", process_id="p3"),
    # For three sellers the same was sent twice: who the second time's is, comes last.
    *sent_before("a6", "p6", "s6"),
    *[sent_since("a5", "p5"), finished("a5", 200, "2026-03-04T00:00:01Z", process_id="p5")],
    *sent_before("a8", "p8", "s7"),
    *[sent_since("a7", "p7"), finished("a7", 200, "2026-03-04T00:00:01Z", process_id="p7")],
    *sent_before("b0", "q0", "s9"),
    sent_since("a9", "p9"),
    # For this one what was sent first is told last, and no more than that.
    started("b1", "2026-03-05T00:00:00Z", process_id="q1", seller_id="s11", body=SAME),
    finished("b1", 200, "2026-03-05T00:00:01Z", process_id="q1"),
]
LATECOMERS = [
    action("replacement", "2026-03-02T12:00:00Z"),
    action("override", "2026-03-02T12:00:00Z", process_id="p8"),
    action(
        "seller_notice",
        "2026-03-09T00:00:00Z",
        message_id="n1",
        process_id="p2",
        channel="letter",
    ),
    action("ticket", "2026-03-09T00:00:00Z", process_id="p3", step="opened", number="T-1"),
    acp("e5", process_id="p5", customer_id="s6"),
    answered(process_id="p7", seller_id="s7", journey_id="j7"),
    finished("a9", 200, "2026-03-04T00:00:01Z", process_id="p9", seller_id="s9"),
    started("b2", process_id="q2", seller_id="s11", body=SAME),
]


@pytest.mark.parametrize(
    ("steps", "many"),
    [
        *((([Step(len(ONE_BY_ONE)), *[Step(1)] * len(LATECOMERS)]), it) for it in MANY),
        ([], refresh.MANY),
    ],
)
def test_an_entry_that_comes_alone_renews_the_rows_that_follow_from_it(steps, many):
    """A replacement, a letter, a ticket, and what says which seller a process is of."""
    with (
        renewed_in_large_batches(many),
        ledger_of([*ONE_BY_ONE, *LATECOMERS], steps) as reader,
    ):
        exhausted = [
            row for row in rows(reader, "findings", END) if row["rule"] == "retries_exhausted"
        ]
        assert sorted(it["process_id"] for it in exhausted) == ["p3", "q2"]
        acting = rows(reader, "next_actions", at("2026-03-09T00:00:00"))
        soon = {it["process_id"]: it for it in acting}
        assert (soon["p2"]["next_action"], soon["p3"]["next_action"]) == (
            "await_seller",
            "await_platform",
        )
        found = rows(reader, "findings", END)
        assert [it["process_id"] for it in found if it["rule"] == "override"] == ["p8"]
        reused = [it for it in found if it["rule"] == "values_reused"]
        assert sorted((it["process_id"], it["detail"]) for it in reused) == [
            ("p5", "a5"),
            ("p7", "a7"),
            ("p9", "a9"),
            ("q1", "b1"),
        ]
        assert_rows_say_what_the_log_says(reader, END)
