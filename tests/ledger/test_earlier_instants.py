"""Rows of earlier instants are kept, brought forward and let go; they say what the log says."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.continuity.definitions import altered_in_ledger
from pipeline.continuity.service import LedgerService
from pipeline.ledger import earlier_instants, materialized
from pipeline.ledger.earlier_instants import LEAST_ROWS, ROWS_IN_ALL
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import whole_sql
from pipeline.ledger.views.reader import Reader
from pipeline.log.deliveries import delivery
from tests.ledger.conftest import OPENED, review
from tests.support.histories.questions import instants_of
from tests.support.histories.whole import histories
from tests.support.ledgers import Step, ledger_of, rows
from tests.support.lines import acp, at, started
from tests.support.lines import finished as finished_attempt
from tests.support.rich import RICH

SECOND = instants.SECOND
AT = OPENED + SECOND  # the deliveries of `deliver` occur in the microseconds before
LATER = AT + SECOND
KEPT = ROWS_IN_ALL // LEAST_ROWS  # instants of few rows


@st.composite
def histories_in_steps(draw) -> tuple[list[dict], list[Step]]:
    """A history that is followed in small batches, while people ask about its instants."""
    history = draw(histories())
    asked_at = st.one_of(st.none(), instants_of(history))
    steps = st.builds(Step, st.integers(1, 4), may_wait=st.booleans(), asked_at=asked_at)
    return history, draw(st.lists(steps, max_size=len(history)))


def differences(ledger: Ledger, at: int) -> list[str]:
    """The views whose rows at an instant, with those that are kept, are others over the log alone;
    none where nothing is kept for it."""
    cursor = ledger.cursor()
    cursor.execute("set variable as_of = ?", [instants.naive(at)])
    with ledger.snapshot(cursor) as watermark:
        if not ledger.earlier.show(
            cursor, at, watermark.entries, is_now=False, is_worth_making=False
        ):
            return []
        return [
            view.name
            for view in materialized.of_subjects()
            if cursor.execute(
                f"""
                with kept as ({_rows(view, materialized.before_settled())}),
                by_log as ({_rows(view, materialized.none())})
                (from kept except all from by_log) union all (from by_log except all from kept)"""
            ).fetchall()
        ]


def _rows(view, stand_ins) -> str:
    return f"select {', '.join(view.columns)} from ({whole_sql(view, stand_ins)})"


@settings(max_examples=settings.default.max_examples // 8)
@given(histories_in_steps())
def test_kept_rows_say_what_the_log_says_however_it_has_grown(case):
    history, steps = case
    with ledger_of(history, steps) as reader:
        ledger = reader._ledger
        wrong = {at: differences(ledger, at) for at in [*ledger.earlier._instants]}
        assert not any(wrong.values()), wrong


def test_an_instant_of_a_rich_history_keeps_rows_of_every_kind():
    """Else the test above could compare nothing with nothing."""
    at = instants.parse("2026-03-03T00:00:00Z")
    with ledger_of(RICH) as reader:
        reader.read("findings", as_of=at)
        cursor = reader._ledger.cursor()
        [instant] = reader._ledger.earlier._instants.values()
        for view in materialized.of_subjects():
            [(count,)] = cursor.execute(
                f"select count(*) from {instant.database}.{view.name}"
            ).fetchall()
            assert count > 0, view.name
        assert differences(reader._ledger, at) == []


def test_a_sending_recorded_late_changes_the_findings_of_another_process_at_the_instant():
    """The process of the late sending had nothing after the instant, and no row of it."""
    instant = at("2026-03-03T00:00:00")
    sent = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    history = [
        acp("e2", process_id="p2"),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2", body=sent),
        finished_attempt("a2", 200, "2026-03-02T01:00:01Z", process_id="p2"),
        acp("e3", "2026-03-05T00:00:00Z", process_id="p2", status="FINISHED"),
        started(),
    ]
    for steps in ([], [Step(4, asked_at=instant)]):
        with ledger_of(history, steps) as reader:
            found = [it["rule"] for it in rows(reader, "findings", instant)]
            assert ("values_reused" in found, len(steps)) == (True, len(steps))


def test_a_process_that_shares_values_since_has_the_findings_of_the_instant():
    """What it shares them with has a later entry: at the end of time its row is another."""
    instant = at("2026-03-03T00:00:00")
    history = [
        started("a1", process_id="p3", seller_id=None),
        acp("e3", "2026-03-05T00:00:00Z", process_id="p3"),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2"),
        finished_attempt("a2", 200, "2026-03-02T01:00:01Z", process_id="p2"),
    ]
    found = []
    for steps in ([], [Step(2, asked_at=instant)]):
        with ledger_of(history, steps) as reader:
            found.append(rows(reader, "findings", instant))
    assert found[0] == found[1]


@pytest.mark.parametrize("year", ["0001", "1969", "1970", "9999"])
def test_a_ledger_without_entries_answers_at_any_instant(year):
    with ledger_of([]) as reader:
        assert rows(reader, "watchlist", at(f"{year}-01-01T00:00:00")) == []


@pytest.mark.long
def test_questions_of_now_push_no_instant_out_where_an_entry_is_dated_ahead():
    instant = at("2026-03-01T13:00:00")
    ahead = acp("e2", "2090-01-01T00:00:00Z", process_id="p2")
    with ledger_of([acp(), ahead]) as reader:
        rows(reader, "watchlist", instant)
        for _ in range(KEPT + 1):
            assert [it["process_id"] for it in rows(reader, "process_state")] == ["p1"]
        assert (
            instants.from_datetime(instant.replace(tzinfo=UTC)) in reader._ledger.earlier._instants
        )


@pytest.fixture
def service(followed) -> Iterator[LedgerService]:
    """Three hundred processes at `AT`, one of which was finished later."""
    with closing(LedgerService(followed)) as service:
        finish(service, 7)
        yield service


def finish(service: LedgerService, number: int) -> None:
    event = delivery(review(number, "FINISHED"), occurred_at=LATER, recorded_by="webhook")
    service.inbox.append([event])
    service.catch_up()


def finished(service: LedgerService, at: int) -> int:
    return service.reader.count("process_state", as_of=at, where={"state": ["FINISHED"]})


def databases(service: LedgerService) -> list[str]:
    sql = "select database_name from duckdb_databases() where database_name like 'earlier_%'"
    return sorted(name for (name,) in service.ledger.cursor().execute(sql).fetchall())


def test_rows_of_the_last_instants_alone_are_kept(service):
    for number in range(KEPT + 2):
        assert finished(service, AT + number) == 0
    assert len(databases(service)) == KEPT
    assert [*service.ledger.earlier._instants] == [AT + it for it in range(2, KEPT + 2)]


def test_instants_of_many_rows_leave_less_room(service, monkeypatch):
    for number in range(10, 13):
        finish(service, number)
    monkeypatch.setattr(earlier_instants, "LEAST_ROWS", 1)
    monkeypatch.setattr(earlier_instants, "ROWS_IN_ALL", 9)
    for number in range(4):
        finished(service, AT + number)
    # Four processes have rows of their own at each. The last one counted as one before it had them.
    assert [*service.ledger.earlier._instants] == [AT + it for it in (1, 2, 3)]


@pytest.mark.long
def test_a_reader_reads_on_while_its_instant_makes_room_for_others(service):
    """Whoever reads an instant sees its rows to the end, though others ask about many meanwhile."""
    cursor = service.ledger.cursor()
    with service.ledger.snapshot(cursor) as watermark:
        show = service.ledger.earlier.show
        assert show(cursor, AT, watermark.entries, is_now=False, is_worth_making=True)
        for number in range(1, KEPT + 1):
            finished(service, AT + number)
        assert AT not in service.ledger.earlier._instants
        [(count,)] = cursor.execute("select count(*) from earlier_process_facts").fetchall()
        assert count == 1


def test_what_comes_later_is_brought_into_the_instants_rows(service):
    assert finished(service, AT) == 0
    [database] = databases(service)
    finish(service, 8)
    late = delivery(review(9, "FINISHED"), occurred_at=AT, recorded_by="webhook")
    service.inbox.append([late])
    service.catch_up()
    assert finished(service, AT) == 1
    assert databases(service) == [database]
    assert differences(service.ledger, AT) == []


def test_an_instant_of_too_many_rows_is_worked_out_from_the_log(service, monkeypatch):
    monkeypatch.setattr(earlier_instants, "MOST_ROWS", 0)
    assert (finished(service, AT), finished(service, LATER)) == (0, 1)
    assert databases(service) == []


def test_rows_that_cannot_be_made_are_worked_out_from_the_log_and_tried_again(
    service, monkeypatch, caplog
):
    def fail(name: str) -> str:
        raise duckdb.OutOfMemoryException("no room")

    with monkeypatch.context() as patched:
        patched.setattr(earlier_instants, "_rows", fail)
        assert finished(service, AT) == 0
    assert "could not be kept" in caplog.text
    assert databases(service) == []
    assert finished(service, AT) == 0
    assert len(databases(service)) == 1


def test_a_question_about_one_process_makes_no_rows_of_others(service):
    of_7 = {"process_id": "p7"}
    [row] = service.reader.read("process_state", as_of=AT, where=of_7).to_pylist()
    assert (row["state"], databases(service)) == ("PENDING", [])
    finished(service, AT)
    assert service.reader.read("process_state", as_of=AT, where=of_7).to_pylist() == [row]


def test_an_instant_is_read_in_one_state_while_the_log_grows(service):
    """A delivery a moment ago about a process that had not changed before: it must be in neither
    both of the ledger's rows and the instant's, nor in none."""
    stop = threading.Event()

    def grow() -> None:
        for number in range(10, 60):
            if stop.is_set():
                return
            finish(service, number)

    follower = threading.Thread(target=grow)
    follower.start()
    try:
        counts = {
            (finished(service, AT), Reader.count(service.reader, "process_state", as_of=AT))
            for _ in range(15)
        }
    finally:
        stop.set()
        follower.join()
    assert counts == {(0, 300)}


def test_verifying_a_ledger_leaves_out_what_is_kept_beside_it(service):
    """`prazo verify` asked what the ledger's file defines, and named the tables beside it."""
    finished(service, AT)
    assert len(databases(service)) == 1
    assert altered_in_ledger(service.ledger) == []
