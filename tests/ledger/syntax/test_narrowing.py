"""SQL is led to some rows of its tables completely, and nothing but a table's name is replaced."""

import re
from dataclasses import replace
from datetime import UTC

import pytest

from pipeline import instants
from pipeline.alert_rules import AlertRules
from pipeline.ledger import materialized
from pipeline.ledger.syntax.narrowing import narrowed, rows_of, stand_in, tables
from pipeline.ledger.views.catalogue import QUERIES, catalogue, whole_sql
from pipeline.ledger.views.kept import NO_OTHER
from tests import depth
from tests.support.ledgers import ledger_of
from tests.support.lines import answered, at
from tests.support.rich import RICH

AS_OF = at("2026-06-01T00:00:00")

ADDRESS = {"address.line1": "Rua Um", "address.city": "Recife"}
HISTORY = [*RICH, answered("2026-03-02T10:00:00Z", fields=ADDRESS)]
"""With answers of unfinished processes, which are asked for apart from those of others."""

ROWS = {"asked_reviews": "from facts.reviews where seq > 7", "asked_log": "from log where seq > 7"}

READ_BY_OTHERS = {name for view in catalogue().values() for name in view.reads}
TOPMOST = [view for view in catalogue().values() if view.name not in READ_BY_OTHERS]
"""Those that no other view reads: every other one stands in the SQL of one of them."""


def over(sql: str) -> str:
    """The narrowed SQL behind its WITH clause, on one line."""
    return " ".join(narrowed(sql, ROWS).partition("select * from (")[2].split())


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select seq from facts.reviews", "FROM asked_reviews AS reviews"),
        ("select r.seq from facts.reviews as r", "FROM asked_reviews AS r"),
        ("FROM   FACTS.Reviews", "FROM asked_reviews AS Reviews"),
        ('select seq from "facts"."reviews"', "FROM asked_reviews AS reviews"),
        ("select seq from facts . reviews", "FROM asked_reviews AS reviews"),
        ("select seq from facts.events, facts.reviews", "asked_reviews AS reviews"),
        ("select 1 where exists (from log)", "FROM asked_log AS log"),
        ("with t as (from log) from t", "FROM asked_log AS log"),
    ],
)
def test_a_table_is_found_however_it_is_written(sql, expected):
    assert expected in over(sql)


@pytest.mark.parametrize(
    ("sql", "stays"),
    [
        ("select 'from facts.reviews' as text from facts.webhooks", "'from facts.reviews'"),
        ("select seq from facts.webhooks -- from facts.reviews", "facts.webhooks"),
        ("select seq from facts.webhooks /* join log on */", "facts.webhooks"),
        ("select log.seq from facts.webhooks as log", "facts.webhooks AS log"),
        ("with reviews as (from facts.webhooks) from reviews", "FROM reviews"),
        ("with log as (from facts.webhooks) from log", "FROM log"),
        ("select reviews.log from other.reviews", "other.reviews"),
    ],
)
def test_what_only_looks_like_a_table_stays(sql, stays):
    found = over(sql)
    assert stays in found
    assert "asked_" not in found


def test_tables_are_those_of_the_headers():
    for view in catalogue().values() if depth.is_long() else TOPMOST:
        reads, waiting = set(), [view.name]
        while waiting:
            name = waiting.pop()
            if name in catalogue():
                waiting += catalogue()[name].reads
            elif name not in ("ingest_keys", "tree_heads", "tree_nodes"):
                reads.add(name)
        assert tables(whole_sql(view)) == reads, view.name


@pytest.fixture(scope="module")
def ledger():
    with ledger_of(HISTORY) as reader:
        yield reader._ledger


@pytest.mark.parametrize("view", depth.few(TOPMOST, 9), ids=lambda view: view.name)
def test_sql_led_to_all_rows_of_its_tables_says_the_same_and_reads_no_table_itself(view, ledger):
    sql = whole_sql(view)
    rows = {stand_in(table): f"from {table}" for table in tables(sql)} or {"asked": "select 1"}
    cursor = ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])

    def answer(sql):
        cursor.execute(sql)
        return cursor.description, sorted(map(repr, cursor.fetchall()))

    led = narrowed(sql, rows)
    assert answer(led) == answer(sql)
    _, _, rest = led.partition("select * from (\n")
    assert tables(rest.rpartition("\n)")[0]) == frozenset()


NAMES_OF_NO_TABLE = ("asked", "asked_entries", "asked_attempt_ids", "sellers_of_asked")


@pytest.mark.parametrize(
    "name", ["by_process", "by_touched_process", "by_seller", "by_touched_seller"]
)
def test_each_query_reads_its_own_table(name):
    for query, sql in rows_of(name).items():
        read = {stand_in(table) for table in tables(sql)}
        assert query in read or query in NAMES_OF_NO_TABLE


def test_every_table_that_views_of_a_process_read_is_narrowed():
    """What is asked of few processes reads no table whole."""
    for view in catalogue().values():
        if "process_id" in view.by:
            for stand_ins in (materialized.while_behind(), materialized.when_settled()):
                sql = materialized.of_processes(
                    whole_sql(view, stand_ins), "select 'p' as process_id"
                )
                left = tables(sql.partition("select * from (\n")[2].rpartition("\n)")[0])
                assert {it for it in left if it.startswith("facts.")} == set(), view.name


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


def test_no_module_replaces_text_of_sql():
    """SQL is changed through the syntax tree alone."""
    folder = QUERIES.parent / "pipeline" / "ledger"
    for module in ("materialized.py", "refresh.py", "syntax/narrowing.py", "syntax/pruning.py"):
        source = (folder / module).read_text(encoding="utf-8")
        assert not re.search(r"\bre\.|\.replace\(", source), module
