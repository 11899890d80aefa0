"""Questions about few processes or sellers are answered by statements that DuckDB planned once."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.errors import WrongUsage
from pipeline.ledger import prepared
from pipeline.ledger.prepared import Few, Prepared
from pipeline.ledger.views.catalogue import all_read, catalogue, public
from pipeline.ledger.views.kept import READ
from pipeline.ledger.views.reader import Reader
from tests.ledger.conftest import deliver
from tests.support.ledgers import ledger_of
from tests.support.lines import acp, action, answered, called, notice, seller
from tests.support.rich import RICH

NEEDS_ALL = {
    ("seller_entries", "seller_id"),  # what a reveal of a name covers
}
"""Views of which the held rows of few ids are not enough."""


@pytest.fixture
def reader() -> Iterator[Reader]:
    with ledger_of(RICH) as opened:
        opened._ledger._prepared = prepared.Connections(opened._ledger._connection)
        yield opened


def _connection(reader: Reader) -> Prepared:
    [connection] = reader._ledger._prepared._free
    return connection


def test_a_statement_is_not_planned_again(reader, tmp_path):
    asked = {
        (name, column): reader.read(name, where={column: id_}, limit=20)
        for column, id_ in (("process_id", "p1"), ("seller_id", "s1"))
        for name, view in public().items()
        if column in {*view.by, *view.reading.led}
    }
    reader.read("findings", where={"process_id": "p8"}, limit=20)  # on which nobody else decides
    connection = _connection(reader)
    statements = connection._statements
    unanswered = {key[1::-1] for key, it in statements.items() if it is None}
    assert unanswered == NEEDS_ALL
    assert {key[1::-1] for key in statements} == asked.keys()
    assert sum(map(len, asked.values())) > 20
    profile = tmp_path / "profile.json"
    connection.cursor.execute("set enable_profiling = 'json'")
    connection.cursor.execute(f"set profiling_output = '{profile}'")
    connection.cursor.execute("set profiling_mode = 'detailed'")

    def is_planned(sql: str) -> bool:
        connection.cursor.execute(sql).fetchall()
        said = json.loads(profile.read_text(encoding="utf-8"))
        return "expression_rewriter" in said["optimizer"]

    assert is_planned("select as_of()")
    again = [key[:2] for key, it in statements.items() if it is not None and is_planned(it.execute)]
    assert again == []


def test_who_may_see_less_is_answered_by_another_connection():
    named = seller("created", "e1", first_name="Ana", last_name="Souza")
    with ledger_of([named]) as reader:
        reader._ledger._prepared = prepared.Connections(reader._ledger._connection)
        where = {"seller_id": "s1"}
        [clear] = reader.read("seller_names", where=where, unmask=True).to_pylist()
        [masked] = reader.read("seller_names", where=where).to_pylist()
        assert clear["seller_name"] == "Ana Souza"
        assert masked["seller_name"] == "A*** S***"
        assert len(reader._ledger._prepared._free) == 2


def test_rows_are_read_again_once_an_entry_comes(followed):
    with closing(LedgerService(followed)) as service:
        asked = {"view": "process_state", "where": {"process_id": "p300"}}
        assert len(service.reader.records(**asked)) == 0
        deliver(service.inbox, range(300, 301))
        service.catch_up()
        assert len(service.reader.records(**asked)) == 1


def test_rows_serve_the_next_question_about_the_same_ids(reader, monkeypatch):
    reader.records("process_state", where={"process_id": "p1"})
    run, sqls = Prepared._run, []

    def noted(self, sql, *values):
        sqls.append(sql)
        return run(self, sql, *values)

    monkeypatch.setattr(Prepared, "_run", noted)
    reader.records("process_phases", where={"process_id": "p1"})
    assert not any(sql.startswith("set variable process_id_kept") for sql in sqls)
    reader.records("process_phases", where={"process_id": "p2"})
    assert sum(sql.startswith("set variable process_id_kept") for sql in sqls) == 2


SAME = [{"name": "screen.png", "sha256": "cd" * 32}]

DECIDED_BY_OTHERS = {
    "p2": "new_code",
    "p4": "evidence_reused",  # a journey of p3
    "p6": "evidence_reused",  # an artifact of p5
    "p7": "alert_undelivered",
    "p8": "never_notified",
    "p10": "notified_late",
}
"""Process -> the rule of `FINDINGS` that is broken by what entries about others say, too."""

FINDINGS = [
    acp(),
    acp("e2", process_id="p2", requested_fields=["documents"]),
    answered(process_id="p3", journey_id="j3"),
    answered("2026-03-01T19:00:00Z", process_id="p4", journey_id="j3"),
    answered(process_id="p5", journey_id="j5", artifacts=SAME),
    answered("2026-03-01T19:00:00Z", process_id="p6", journey_id="j6", artifacts=SAME),
    action(
        *("alert", "2026-03-14T00:00:00Z"),
        **{"process_id": "p7", "step": "undelivered", "alert": "9d3f", "to": "ana"},
        **{"via": "email", "level": 0, "answer": "550 no"},
    ),
    notice("n1", "2026-04-01T00:00:00Z", process_id="p9"),
    acp("e8", "2026-04-02T00:00:00Z", process_id="p8"),
    acp("e10", "2026-04-03T00:00:00Z", process_id="p10", deadline_at="2026-06-02T00:00:00Z"),
    called("n2", "2026-05-25T00:00:00Z", process_id="p10"),
]


def test_findings_on_which_others_decide_are_not_answered_by_rows_of_one_process():
    as_of = instants.parse("2026-07-01T00:00:00Z")
    with ledger_of(FINDINGS) as reader:
        reader._ledger._prepared = prepared.Connections(reader._ledger._connection)

        def found(process: str) -> set[str]:
            where = {"process_id": process}
            rows = reader.records("findings", as_of=as_of, where=where, limit=30)
            return {row["rule"] for row in rows.by_name()}

        for process, rule in DECIDED_BY_OTHERS.items():
            assert rule in found(process), process
            assert "kept_findings" not in _connection(reader)._rows["process_id"].held, process
        assert found("p1") == {"expired_unfinished"}
        assert "kept_findings" in _connection(reader)._rows["process_id"].held


def test_each_rule_of_findings_is_known_to_go_by_own_entries_or_by_those_of_others():
    """A new rule that goes by others would be answered from one process's rows: name it in
    `kept.READ`, and its reason in `decided_by_others` of queries/held/processes.sql."""
    own = """
        altered_event attempt changed_payload deadline deletion evidence finish late_contact
        late_evidence lost_start override payload report reused_value sent unexplained_finish
        unreadable_part
    """
    views = all_read(catalogue()["findings"])
    rules = {it.removesuffix("_findings") for it in views if it.endswith("_findings")}
    by_others = {it.removesuffix("_findings") for it in READ["findings"].decided_by_others}
    assert rules - {"process", "other", "settled"} == {*own.split()} | by_others  # these join rules
    assert not by_others & {*own.split()}


def test_the_statement_that_was_used_last_stays(reader, monkeypatch):
    monkeypatch.setattr(prepared, "MOST_STATEMENTS", 2)
    views = ("process_state", "timeline", "submission_attempts", "evidence_coverage")
    once = [len(reader.records(view, where={"process_id": "p1"})) for view in views]
    assert [len(reader.records(view, where={"process_id": "p1"})) for view in views] == once
    assert len(_connection(reader)._statements) == 2
    names = _connection(reader).cursor.execute("select name from duckdb_prepared_statements()")
    assert len(names.fetchall()) == 2


def test_a_question_that_fails_leaves_its_connection_to_nobody(reader):
    reader.records("process_state", where={"process_id": "p1"})
    with pytest.raises(WrongUsage):
        reader.records("process_state", where={"process_id": "p1", "deadline_at": "soon"})
    assert reader._ledger._prepared._free == []
    assert len(reader.records("process_state", where={"process_id": "p1"})) == 1


def test_many_at_once_are_each_answered_about_their_own_ids(reader):
    found: dict[str, set[str]] = {f"p{number}": set() for number in range(1, 9)}

    def ask(process: str) -> None:
        for _ in range(5):
            rows = reader.records("timeline", where={"process_id": process}).by_name()
            found[process] |= {row["process_id"] for row in rows}

    threads = [threading.Thread(target=ask, args=(process,)) for process in found]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with_entries = {process for process, ids in found.items() if ids}
    assert all(found[process] == {process} for process in with_entries)
    assert len(with_entries) > 3
    assert len(reader._ledger._prepared._free) <= prepared.MOST_CONNECTIONS


def test_rows_of_a_subject_with_many_entries_are_not_held():
    """Eight thousand entries of a seller took 1.7 s and a gigabyte as values."""
    events = [
        seller("updated", f"e{n}", f"2026-03-01T12:{n // 60:02}:{n % 60:02}Z", first_name=f"N{n}")
        for n in range(prepared.MOST_ENTRIES + 1)
    ]
    with ledger_of([*events, acp("e0")]) as reader:
        reader._ledger._prepared = prepared.Connections(reader._ledger._connection)
        [found] = reader.read("seller_names", where={"seller_id": "s1"}, unmask=True).to_pylist()
        assert found["seller_name"] == f"N{prepared.MOST_ENTRIES}"
        assert len(reader.records("process_state", where={"process_id": "p1"})) == 1
        for connection in reader._ledger._prepared._free:
            assert [it.are_few for it in connection._rows.values()] == [False]
            assert [it.held for it in connection._rows.values()] == [set()]


def test_many_ids_are_answered_by_a_narrowed_view(reader):
    ids = [f"p{number}" for number in range(1, prepared.MOST_IDS + 2)]
    found = reader.records("process_state", where={"process_id": ids})
    assert {row["process_id"] for row in found.by_name()} <= {*ids}
    assert len(found) > 3
    assert reader._ledger._prepared._free == []


def test_few_ids_are_equal_by_what_they_are():
    assert Few("process_id", ["p1"]) == Few("process_id", ["p1"])
    assert Few("process_id", ["p1"]) != Few("seller_id", ["p1"])


def test_while_all_are_in_use_a_question_is_answered_by_a_narrowed_view(reader, monkeypatch):
    monkeypatch.setattr(prepared, "MOST_CONNECTIONS", 1)
    few, settings = Few("process_id", ["p1"]), prepared.Settings(False, None, None)
    with reader._ledger.prepared(few, settings) as taken:
        assert taken is not None
        assert len(reader.records("process_state", where={"process_id": "p1"})) == 1
    assert reader._ledger._prepared._free == [taken]
    clear = prepared.Settings(True, None, None)
    with reader._ledger.prepared(few, clear) as other:
        assert other is not None
        assert other.settings == clear
    assert reader._ledger._prepared._free == [other]
    assert reader._ledger._prepared._open == 1
