"""Columns that nothing reads go, all others stay, and a query has the rows that it had."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.alert_rules import AlertRules
from pipeline.ledger import materialized
from pipeline.ledger.syntax.pruning import pruned
from pipeline.ledger.syntax.questions import PRUNED_AT, question
from pipeline.ledger.views.catalogue import public, whole_sql
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.support.ledgers import ledger_of
from tests.support.lines import at
from tests.support.rich import RICH

AS_OF = at("2026-06-01T00:00:00")


@pytest.fixture(scope="module")
def cursor():
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(
        "create table t as from (values (1, 2, 3), (1, 5, 6), (7, 8, null)) t(a, b, c)"
    )
    yield connection
    connection.close()


def answer(cursor, sql, *parameters):
    """Names, types and rows, in whatever order these come."""
    cursor.execute(sql, parameters)
    rows = cursor.fetchall()
    names = [(name, str(kind)) for name, kind, *_ in cursor.description]
    return names, sorted(map(repr, rows))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select a from (select a, b from t)", "SELECT a FROM (SELECT a FROM t)"),
        ("with q as (select a, b from t) select a from q", "WITH q AS (SELECT a FROM t)"),
        ("with q as (select a, b + c as d from t) select a from q", "(SELECT a FROM t)"),
        (
            "with q as (select a, b from t), r as (select * from q) select a from r",
            "SELECT a FROM t",
        ),
        ("with q as (select a as x, b as Y from t) select X from q", "(SELECT a AS x FROM t)"),
        ("with q as (select a, max(b) as m from t group by a) select a from q", "(SELECT a FROM t"),
        ("with q as (select a, b from t) select count(*) as n from q", "(SELECT a FROM t)"),
        ("select (select max(a) from (select a, b from t)) as most", "(SELECT a FROM t)"),
        (
            "with q as (select a, row_number() over () as n from t) select a from q",
            "SELECT a FROM t",
        ),
    ],
)
def test_a_column_that_nothing_reads_goes(sql, expected, cursor):
    assert expected in pruned(sql)
    assert answer(cursor, pruned(sql)) == answer(cursor, sql)


@pytest.mark.parametrize(
    "rest",
    [
        "select * from q",  # what is asked for
        "select a from q where b > 2",
        "select a from q order by b limit 1",
        "select a from q qualify max(b) over () > 2",
        "select t.a from t join q using (b)",
        "select t.a from t natural join q",
        "select q from q",  # a struct of all of them
        "select r from q as r",
        "select x from q as r(x, y)",
        "select a from q where exists (from t where t.b = q.b)",
        "select (select max(t.a) from t where t.b = q.b) from q",
        "select q.a, z from q, (select q.b + 1 as z)",
        "select q.a, z from q join lateral (select max(t.c) as z from t where t.b = q.b) on true",
        "select q.a, z from q, unnest([q.b]) as u(z)",
        "select * exclude (b) from q",
        "select * replace (1 as b) from q",
        "select * rename (b as d) from q",
        "select columns('a') from q",
        "select distinct * from q",
        "select count(*) as n from (from q except select a, c from t)",
        "select count(*) from (pivot q on b using max(a))",
    ],
)
def test_a_column_that_is_read_in_any_way_stays(rest, cursor):
    sql = f"with q as (select a, b from t) {rest}"
    assert "select a, b from t" in pruned(sql).lower()
    assert answer(cursor, pruned(sql)) == answer(cursor, sql)


@pytest.mark.parametrize(
    ("inner", "stays"),
    [
        ("select distinct a, b from t", "a, b"),
        ("select a, b from t group by all", "a, b"),
        ("select a, b from t group by 1, 2", "a, b"),
        ("select a, b as d from t group by a, d", "b as d"),
        ("select a, b from t order by 2 limit 1", "a, b"),
        ("select a, b from t union select a, c from t", "a, b"),
        ("select a, b + 1 as d from t where d > 3", "as d"),
        ("select a, b + 1 as d, d * 2 as a from t", "as d"),
        ("select b as d, d + 1 as a from t", "b as d"),
        ("select max(a) as a, count(*) as n from t", "as n"),
        ("select 1 as a, count(*) as n from t", "as n"),
        ("select a, unnest([b, c]) as d from t", "unnest"),
        ("select a, b + $1::integer as d from t where a > $2::integer - 1", "as d"),
        ("with q(a, y) as (select a, b from t) select a from q", "a, b"),
        ("with recursive q as (select 1 as a, 2 as b union all select a + b, b from q where a < 9)"
         " select a from q", "2 as b"),
    ],
)  # fmt: skip
def test_a_column_on_which_rows_hang_stays(inner, stays, cursor):
    sql = f"select a from ({inner})"
    parameters = [1] * sql.count("$")
    assert stays in pruned(sql).lower()
    assert answer(cursor, pruned(sql), *parameters) == answer(cursor, sql, *parameters)


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) as n from (select distinct * from (select a, b from t))",
        "select count(*) as n from (select distinct x.*, 1 as o from (select a, b from t) as x)",
        "with x as (select a, b from t) select count(*) as n from (select * from x group by all)",
        "select count(*) as n from (select * from (select a, b from t) order by 2 desc limit 2)",
        "select z.a from (select a, b from t) x, lateral (select x.a as a, count(*) as n from t) z",
        "select (select k from (select x.a as k, count(*) as n from t)) as z from t x",
        "select a from (select a, unlist([b, c]) as u from t)",
        "select a from (select a, regexp_split_to_table('a b', ' ') as u from t)",
        "select #1 as z from (select b, a from t) where a > 1",
        "select a from (select a, b, c from t) where #2 > 2",
        "with k as (select {'m': a, 'n': b} as st, a from t)"
        " select count(*) as n from (select st.* from k)",
        "with x as (select a, b from t)"
        " select (select to_json(w) from (select y.*) w) as n from x y",
        "select a_1 as y from (select a, b, b as a from t)",
        "select distinct on (*) a from (select a, b from t)",
        f"select {'+'.join(['a'] * 200)} as z from (select a, b from t)",
    ],
)
def test_what_a_reviewer_found_says_the_same(sql, cursor):
    """Each gave other rows, or an error, without columns of its inner queries."""
    assert answer(cursor, pruned(sql)) == answer(cursor, sql)


@pytest.mark.parametrize(
    "sql", ["select from where", "drop table t", "from t; from t", "select a + 1 from (from t)"]
)
def test_what_is_not_a_query_or_has_no_names_stays(sql):
    assert pruned(sql) == sql


@pytest.fixture(scope="module")
def ledger():
    with ledger_of(RICH) as reader:
        yield reader._ledger


@pytest.mark.parametrize("view", depth.few([*public().values()], 9), ids=lambda view: view.name)
def test_every_view_says_the_same(view, ledger):
    """With all views below it, which are in its SQL."""
    cursor = ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])
    rules = AlertRules(look_back_days=366).for_views()
    cursor.execute("set variable alert_rules = ?", [rules])
    sql = whole_sql(view, materialized.within_few(materialized.when_settled))
    assert answer(cursor, pruned(sql)) == answer(cursor, sql)


NAMES = ("a", "b", "c", "q1", "q2")
"""Of columns; two of them are names of queries, too."""


@st.composite
def queries(draw):
    """SQL of a few queries, each over those before it, with many ways to read a column."""
    columns = {"t": ("a", "b", "c")}
    parts = []
    for number in range(draw(st.integers(1, 4))):
        source = draw(st.sampled_from(sorted(columns)))
        read = columns[source]
        chosen = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
        of = {name: draw(st.sampled_from(read)) for name in chosen}
        inputs = [f"{source}.{it}" if draw(st.booleans()) else it for it in of.values()]
        how = draw(
            st.sampled_from(["plain", "star", "grouped", "distinct", "union", "join", "all"])
        )
        listed = ", ".join(f"{it} as {name}" for it, name in zip(inputs, of, strict=True))
        match how:
            case "plain":
                where = draw(st.sampled_from(read))
                sql = f"select {listed} from {source} where {where} > 0 or {where} is null"
            case "star":
                chosen = read
                sql = f"select * from (select *, 1 as one from {source}) where one = 1"
                chosen = (*read, "one") if "one" not in read else read
            case "grouped":
                first, *others = of
                sums = "".join(f", sum({source}.{of[it]}) as {it}" for it in others)
                sql = f"select {source}.{of[first]} as {first}{sums} from {source} group by 1"
            case "distinct":
                sql = f"select distinct {listed} from {source}"
            case "union":
                sql = f"select {listed} from {source} union all select {listed} from {source}"
            case "join":
                sql = f"select {listed} from {source} left join t as u on u.a = {source}.{read[0]}"
                sql = (
                    sql if {"a", "b", "c"}.isdisjoint(inputs) else f"select {listed} from {source}"
                )
            case "all":
                key = read[0]
                sql = f"from {source} where {key} in (select {key} from (from {source}))"
                chosen = read
        if how == "star" and "one" in read:
            sql, chosen = f"select * from {source}", read
        name = f"q{number}"
        parts.append(f"{name} as ({sql})")
        columns[name] = tuple(chosen)
    last = draw(st.sampled_from(sorted(columns)))
    wanted = draw(st.sampled_from([*columns[last], "*", "count(*)", last]))
    return f"with {', '.join(parts)} select {wanted} from {last}"


@given(queries())
def test_a_pruned_query_has_the_rows_that_it_had(cursor, sql):
    try:
        expected = answer(cursor, sql)
    except duckdb.Error:
        return  # a name that stands for two things
    assert answer(cursor, pruned(sql)) == expected


def test_what_is_asked_often_is_pruned_and_says_the_same(cursor):
    sql = "select a from (select range as a, 2 * range as b from range(?::integer)) where a > 1"
    for _ in range(PRUNED_AT - 1):
        seldom = question(sql).counted()
        assert seldom.sql == sql
    before = seldom.run(cursor, [4]).fetchall()
    often = question(sql).counted()
    assert often is seldom
    assert "AS b" not in often.sql
    assert before == often.run(cursor, [4]).fetchall() == [(2,), (3,)]


def test_a_reader_says_the_same_however_often_it_is_asked(ledger):
    reader = Reader(ledger)
    [process] = reader.read("process_state", as_of=1_780_000_000_000_000, limit=1)["process_id"]
    for name in ("process_state", "timeline", "findings", "open_processes"):
        first, *_, last = (
            reader.read(name, as_of=1_780_000_000_000_000, where={"process_id": process.as_py()})
            for _ in range(PRUNED_AT + 1)
        )
        assert first.equals(last)
