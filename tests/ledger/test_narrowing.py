"""SQL is led to some rows of its tables by their names, completely, and nowhere else."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC

import pytest

from pipeline import instants
from pipeline.alert_rules import AlertRules
from pipeline.ledger import facts, materialized
from pipeline.ledger.narrowing import named, narrowed, rows_of
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import catalogue, scripts, whole_sql
from pipeline.ledger.views.kept import NO_OTHER
from tests import depth
from tests.support.ledgers import KEYS, ledger_of
from tests.support.lines import answered, at
from tests.support.rich import RICH
from tests.support.syntax import named_in, read_in

AS_OF = at("2026-06-01T00:00:00")

ADDRESS = {"address.line1": "Rua Um", "address.city": "Recife"}
HISTORY = [*RICH, answered("2026-03-02T10:00:00Z", fields=ADDRESS)]
"""With answers of unfinished processes, which are asked for apart from those of others."""

TABLES = {*facts.TABLES.values(), *materialized.tables(), "log", "ingest_keys", "tree_heads"}
TABLES |= {"tree_nodes", "meta", "guard"}
CLAUSES = {it: text for it, text in scripts("narrowed").items() if it != "unsteady_processes"}

READ_BY_OTHERS = {name for view in catalogue().values() for name in view.reads}
TOPMOST = [view for view in catalogue().values() if view.name not in READ_BY_OTHERS]
"""Those that no other view reads: every other one stands in the SQL of one of them."""


@pytest.fixture(scope="module")
def ledger():
    with ledger_of(HISTORY) as reader:
        yield reader._ledger


@pytest.fixture(scope="module")
def cursor(ledger):
    cursor = ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])
    return cursor


@pytest.fixture(scope="module")
def empty():
    with closing(Ledger(None, log="tests", keys=KEYS)) as ledger:
        for table in ("kept_watermark", "meta"):  # with a row each, whatever was recorded
            ledger.cursor().execute(f"delete from {table}")
        yield ledger


def answer(cursor, sql):
    cursor.execute(sql)
    return cursor.description, sorted(map(repr, cursor.fetchall()))


def test_no_table_shares_its_name_with_a_view():
    assert TABLES.isdisjoint(catalogue())


def test_no_query_in_a_view_takes_the_name_of_what_views_read():
    """A query of a WITH clause stands before a table or view of its name in all that is nested."""
    leading = {name for text in CLAUSES.values() for name in named_in(f"{text} select 1")}
    below = {
        view.name: {name for name in view.reads if name in catalogue()}
        for view in catalogue().values()
    }
    taken = {
        view.name: found
        for view in catalogue().values()
        if (found := named_in(view.sql) & (TABLES | leading | below[view.name]))
    }
    assert taken == {}
    assert leading.isdisjoint(catalogue())


def test_no_macro_reads_what_a_query_could_stand_for(cursor):
    said = cursor.execute(
        "select function_name, function_type, macro_definition"
        " from duckdb_functions() where not internal"
    )
    for name, kind, definition in said.fetchall():
        assert name not in TABLES | catalogue().keys()
        sql = definition if kind == "table_macro" else f"select {definition}"
        assert read_in(sql) - named_in(sql) == set(), name


@pytest.mark.parametrize("view", depth.few(TOPMOST, 9), ids=lambda view: view.name)
def test_sql_led_to_all_rows_of_its_tables_says_the_same(view, cursor):
    sql = whole_sql(view)
    assert answer(cursor, narrowed(sql, named(_rows("true")))) == answer(cursor, sql)


@pytest.mark.parametrize("view", depth.few(TOPMOST, 9), ids=lambda view: view.name)
def test_sql_led_to_no_rows_of_its_tables_reads_none_itself(view, cursor, empty):
    sql = whole_sql(view)
    found = answer(cursor, narrowed(sql, named(_rows("false"))))
    other = empty.cursor()
    other.execute("set variable as_of = ?", [AS_OF])
    assert found == answer(other, sql)


def _rows(condition):
    return {table: f"from main.{table} where {condition}" for table in sorted(TABLES)}


@pytest.mark.parametrize("name", sorted(CLAUSES))
def test_each_query_of_rows_reads_its_own_table(name):
    """By a name that no query can stand for: the table, and not itself."""
    sql = f"{CLAUSES[name]} select 1"
    for query in named_in(sql) & TABLES:
        assert f"main.{query}" in read_in(sql)


def test_every_table_that_views_of_a_process_read_is_narrowed():
    """What is asked of few processes reads no fact whole."""
    led = {
        name
        for clause in ("processes", "of_processes")
        for name in named_in(f"{rows_of(clause)} select 1")
    }
    for view in catalogue().values():
        if "process_id" in view.by:
            for stand_ins in (materialized.while_behind(), materialized.when_settled()):
                sql = whole_sql(view, stand_ins)
                read = read_in(sql) - named_in(sql)
                assert {it for it in read - led if it.startswith("fact_")} == set(), view.name


@pytest.mark.parametrize(
    "stand_ins", [materialized.while_behind, materialized.before_settled, materialized.when_settled]
)
def test_a_view_of_few_processes_says_of_them_what_the_view_of_all_says(stand_ins, ledger):
    cursor = ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])
    cursor.execute("begin")
    instant = instants.from_datetime(AS_OF.replace(tzinfo=UTC))
    assert ledger.earlier.show(cursor, instant, ledger.size, is_now=False, is_worth_making=True)
    rules = AlertRules(look_back_days=366).for_views()
    cursor.execute("set variable alert_rules = ?", [rules])
    for view in (it for it in catalogue().values() if it.reading.within):
        within = view.reading.within
        of_few = f"from {view.name} where process_id in (select process_id from {within})"
        reads = (view.name, within)
        asked = replace(view, name="asked", reads=reads, sql=of_few, reading=NO_OTHER)
        narrowed_rows, rows = (
            sorted(map(repr, cursor.execute(whole_sql(asked, found)).fetchall()))
            for found in (materialized.within_few(stand_ins), stand_ins())
        )
        assert len(rows) > 3
        assert narrowed_rows == rows
