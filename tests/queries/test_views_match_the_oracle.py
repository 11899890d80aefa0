"""Every view equals the oracle, written from docs/rules.md alone; the two share no code.

Histories are generated, a few for each property; `make test-long` tries fifty times as many.
"""

import re
from datetime import datetime, time, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app_pages.language.rulebook import RULES
from pipeline.alert_rules.references import CONDITIONS
from tests.support import oracle
from tests.support.histories import histories_and_as_of, reordered, repeated
from tests.support.ledgers import as_recorded, assert_same, ledger_of, rows

few = settings(max_examples=settings.default.max_examples // 20)
"""Each example asks every view of a whole ledger: three percent of what other properties try."""

FROM_RECORDING = {
    "seq",
    "recorded_at",
    "record_seconds",
    "is_redelivery",
    "start_seq",
    "finish_seq",
}
"""Columns that may differ with the order of recording (docs/rules.md#as-of)."""

RULES_FROM_RECORDING = {"contact_recorded_late", "evidence_recorded_late", "slow_record"}
"""Findings that are about the recording itself."""

COUNTS_OF_DELIVERIES = {"deliveries", "redeliveries", "quarantine"}
"""Views that tell how often something was delivered."""


def without_recording(view: str, table: list[dict]) -> list[str]:
    """What must not depend on the order of recording, in an order of its own."""
    return sorted(
        repr({name: row[name] for name in row if name not in FROM_RECORDING})
        for row in table
        if not (view == "findings" and row["rule"] in RULES_FROM_RECORDING)
    )


def counted_once(view: str, table: list[dict]) -> list[str]:
    kept = [row for row in table if row.get("rule") != "quarantined"]
    return without_recording(view, kept)


@st.composite
def recorded_in_other_ways(draw) -> tuple[list[dict], datetime, list[dict], list[dict]]:
    """A history and an instant, and the same recorded in another order, or in part again."""
    history, as_of = draw(histories_and_as_of())
    return history, as_of, draw(reordered(history)), draw(repeated(history))


@settings(max_examples=settings.default.max_examples // 13)  # the first is empty
@given(recorded_in_other_ways())
def test_each_view_holds_the_rows_that_the_rules_give_in_whatever_order_and_how_often_recorded(
    case,
):
    history, as_of, shuffled, recorded_again = case
    with ledger_of(history) as reader:
        recorded = as_recorded(history, reader)
        before = {view: rows(reader, view, as_of) for view in oracle.VIEWS}
    for view, found in before.items():
        assert_same(view, found, oracle.rows(view, recorded, as_of))
    with ledger_of(shuffled) as reader:
        for view, found in before.items():
            after = rows(reader, view, as_of)
            assert without_recording(view, after) == without_recording(view, found), view
    with ledger_of(recorded_again) as reader:
        for view, found in before.items():
            if view not in COUNTS_OF_DELIVERIES:
                assert counted_once(view, rows(reader, view, as_of)) == counted_once(view, found)


@few
@given(histories_and_as_of())
def test_a_day_of_state_daily_is_process_state_at_its_end(case):
    history, as_of = case
    with ledger_of(history) as reader:
        days = rows(reader, "state_daily", as_of)
        assert [row["day"] for row in days] == [
            days[0]["day"] + timedelta(days=number) for number in range(len(days))
        ]
        for row in [*days[:3], *days[3:-1:7], *days[-1:]]:
            end = min(datetime.combine(row["day"], time.max), as_of)
            states = [
                process["state"]
                for process in rows(reader, "process_state", end)
                if process["opened_at"] is not None
            ]
            assert row == {
                "day": row["day"],
                "pending": states.count("PENDING"),
                "overdue": states.count("OVERDUE"),
                "expired": states.count("EXPIRED"),
                "finished": states.count("FINISHED"),
            }


@few
@given(histories_and_as_of())
def test_sums_agree_across_views(case):
    history, as_of = case
    with ledger_of(history) as reader:
        processes = rows(reader, "process_state", as_of)
        states = [row["state"] for row in processes]
        late = states.count("OVERDUE") + states.count("EXPIRED")
        unfinished = late + states.count("PENDING")
        assert len(rows(reader, "watchlist", as_of)) == late
        assert len(rows(reader, "expired_processes", as_of)) == states.count("EXPIRED")

        calendar = rows(reader, "deadline_calendar", as_of)
        assert sum(row["due"] for row in calendar) == unfinished
        sellers = rows(reader, "seller_state", as_of)
        # A process whose events name no seller is in no seller's count.
        sellerless = [row for row in processes if row["seller_id"] is None]
        nobodys = sum(row["state"] in ("PENDING", "OVERDUE", "EXPIRED") for row in sellerless)
        assert sum(row["open_processes"] for row in sellers) == unfinished - nobodys

        denials = len(rows(reader, "denials", as_of))
        assert sum(row["denials"] for row in sellers) == denials

        attempts = [
            row for row in rows(reader, "submission_attempts", as_of) if row["outcome"] != "refused"
        ]
        assert sum(row["attempts"] for row in processes) == len(attempts)
        by_day = rows(reader, "submission_outcomes", as_of)
        assert sum(row["attempts"] for row in by_day) == len(attempts)
        [retries] = rows(reader, "submission_retries", as_of)
        assert retries["processes"] == sum(row["attempts"] > 0 for row in processes)


def test_the_oracle_has_every_rule_and_condition():
    """Random histories may never come to a new one, and then nobody misses its second reading."""
    folder = Path(oracle.__file__).parent
    text = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    named = {*re.findall('"([a-z_]+)"', text)}
    assert {*RULES, *CONDITIONS} <= named
