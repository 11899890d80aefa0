"""The headers of `queries/` are true: people read them, and the data dictionary is made of them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import duckdb
import pytest

from pipeline import headers
from pipeline.errors import LedgerDamaged
from pipeline.ledger import facts, materialized
from pipeline.ledger.arrow import MASKED_COLUMNS
from pipeline.ledger.views.catalogue import (
    View,
    catalogue,
    inherits_from,
    public,
    read,
    whole_sql,
)
from pipeline.ledger.views.described import described
from pipeline.ledger.views.installed import install, installed_later
from pipeline.ledger.views.kept import READ, STORED
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.support.ledgers import ledger_of
from tests.support.lines import at
from tests.support.machine import wait_until
from tests.support.rich import RICH
from tests.support.syntax import named_in, nodes_of, read_in, tree_of

TABLES = {*facts.TABLES.values(), *materialized.tables(), "log", "ingest_keys", "tree_heads"}
TABLES |= {"tree_nodes"}
AS_OF = at("2026-06-01T00:00:00")

EMPTY_WHEN_SOUND = "checks"
"""The folder of views that must have no rows."""


@pytest.fixture(scope="module")
def without_views():
    """A reader over a ledger without views. Making them stops at the first wrong one; these tests
    name all that are wrong."""
    with ledger_of(RICH) as reader:
        yield reader


@pytest.fixture(scope="module")
def reader(without_views):
    install(without_views._ledger)
    return without_views


def cursor_of(reader: Reader) -> duckdb.DuckDBPyConnection:
    cursor = reader._ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])
    return cursor


def read_by(view: View) -> set[str]:
    """Tables and views that the SQL names, as DuckDB's own parser finds them."""
    return read_in(view.sql) - named_in(view.sql)


def every_view(wrong: Callable[[View], Iterator[str]]) -> str:
    """What is wrong with the views, one line for each fault: one run names all."""
    return "\n".join(f"{view.name}: {it}" for view in catalogue().values() for it in wrong(view))


def test_a_view_is_a_query_that_can_be_read():
    def wrong(view):
        tree = tree_of(view.sql)
        if tree["error"]:
            yield tree["error_message"]
        elif len(tree["statements"]) != 1:
            yield "write one query"

    assert not every_view(wrong)


def test_what_a_view_reads_is_found_in_its_sql_and_exists():
    def wrong(view):
        if odd := set(view.reads) ^ read_by(view):
            yield f"write `from` or `join` before each of {odd}, as other views do"
        if unknown := set(view.reads) - {*catalogue(), *TABLES}:
            yield f"there is no table or view {unknown}"

    assert not every_view(wrong)


def test_what_is_listed_as_kept_is_a_view():
    assert {*STORED, *READ} <= {*catalogue()}


def test_the_header_states_the_order_of_a_views_rows():
    """The SQL has none, so that a view that reads it does not sort for nothing."""

    def wrong(view):
        for statement in tree_of(view.sql).get("statements", ()):
            if any("ORDER" in it["type"] for it in statement["node"]["modifiers"]):
                yield "put order by into its header, as a line order:"
        if view.order == view.key and headers.read(view.file, {"order"}).first("order"):
            yield "leave out the line order: it is in the order of its key anyhow"

    assert not every_view(wrong)


def test_no_two_rows_of_a_view_are_equal_in_its_order():
    """Else pages of it, each asked for by itself, would show some rows twice and others never."""
    by_others = {
        name
        for name, view in public().items()
        if not set(view.key) <= set(re.findall(r"\w+", " ".join(view.order)))
    }
    # Places of the key, the key by another name, one row, and parts that never begin at once.
    assert by_others == {"evidence_coverage", "coming_days", "intake", "process_phases"}, (
        "name the columns of key: in order:, or name the view here and say why above"
    )


@pytest.mark.parametrize(
    "view", [it for it in catalogue().values() if it.reading.found_by], ids=lambda view: view.name
)
@pytest.mark.parametrize("moment", depth.few([at("2026-03-05T00:00:00"), AS_OF], 2))
def test_a_view_that_finds_rows_has_the_same_ones_in_the_same_order(view, moment, reader):
    finder = catalogue()[view.reading.found_by]
    assert finder.key == view.key
    assert len(view.key) == 1
    assert view.key[0] in view.by  # else a page would be worked out from all rows
    assert finder.order == tuple(term.rpartition(".")[2] for term in view.order)
    shared = ", ".join(name for name in view.columns if name in finder.columns)
    cursor = reader._ledger.cursor()
    cursor.execute("set variable as_of = ?", [moment])

    def rows(view):
        whole = whole_sql(view, order=view.order_by)
        return cursor.execute(f"select {shared} from ({whole})").fetchall()

    found, own = rows(finder), rows(view)
    assert found == own
    assert len(own) > 1


def test_views_are_made_again_where_they_changed_alone_and_no_start_waits_for_that(
    reader, monkeypatch
):
    """The end of a program does wait, so that anyone who opens the file next finds them. One view
    stands for all."""
    one = {"watchlist": catalogue()["watchlist"]}
    monkeypatch.setattr("pipeline.ledger.views.installed.catalogue", lambda: one)
    install(reader._ledger)
    cursor = cursor_of(reader)
    cursor.execute("drop view watchlist")
    install(reader._ledger)
    with pytest.raises(duckdb.CatalogException):
        cursor.execute("from watchlist")
    cursor.execute("update meta set value = 'of an older release' where name = 'views'")
    with installed_later(reader._ledger):
        pass
    with pytest.raises(duckdb.CatalogException):
        cursor.execute("from watchlist")
    with installed_later(reader._ledger, seconds=0):
        made = "from duckdb_views() where view_name = 'watchlist'"
        wait_until(lambda: cursor.execute(made).fetchall(), pause=0.2)
    assert cursor.execute("from watchlist").fetchall() != []


def test_the_file_and_the_description_say_what_each_public_view_and_column_means(reader):
    cursor = cursor_of(reader)

    def said(columns, of):
        asked = f"select {columns}, comment from {of}() where comment is not null"
        return {tuple(names): comment for *names, comment in cursor.execute(asked).fetchall()}

    found = described(reader).to_pylist()
    assert said("view_name", "duckdb_views") == {(it["view"],): it["view_meaning"] for it in found}
    meanings = {(it["view"], it["column"]): it["meaning"] for it in found}
    assert said("table_name, column_name", "duckdb_columns") == meanings
    assert [*meanings] == [(name, it) for name, view in public().items() for it in view.columns]
    [chance] = [it for it in found if (it["view"], it["column"]) == ("forecast", "chance")]
    assert (chance["place"], chance["type"], chance["is_key"]) == (6, "double", False)
    assert chance["view_key"] == ["process_id"]
    assert chance["view_order"] == ["chance nulls last", "deadline_at", "process_id"]


def test_a_view_that_does_not_fit_is_named_and_the_others_stay(reader, monkeypatch):
    """Anyone who wrote it read which column was missing, of some hundred files."""
    whole = catalogue()
    misspelled = replace(whole["watchlist"], sql="select no_such_column from log")
    monkeypatch.setattr(
        "pipeline.ledger.views.installed.catalogue", lambda: {**whole, "watchlist": misspelled}
    )
    with pytest.raises(LedgerDamaged, match=r"its view watchlist: .*no_such_column") as told:
        install(reader._ledger)
    assert "correct that view's file" in str(told.value)  # a rebuild meets it again
    cursor = cursor_of(reader)
    assert cursor.execute("from watchlist").fetchall() != []


def test_views_of_a_ledger_that_is_not_open_wait_for_the_next_start(reader, monkeypatch, caplog):
    """The thread that makes views died of it, and left a traceback in the program's log."""

    def shut():
        raise LedgerDamaged("The ledger cannot be opened")

    monkeypatch.setattr(reader._ledger, "cursor", shut)
    with installed_later(reader._ledger, seconds=0):
        wait_until(lambda: caplog.messages)
    assert caplog.messages == ["The ledger cannot be opened"]


def test_a_view_has_the_documented_columns_in_their_order_and_its_key_is_unique(without_views):
    """A part of a key may be null only where its column says so, and never all of it."""
    asking = cursor_of(without_views)

    def wrong(view):
        try:
            cursor = asking.execute(whole_sql(view))
        except duckdb.Error as error:
            yield str(error)
            return
        found = [name for name, *_ in cursor.description or ()]
        if found != list(view.columns):
            yield f"name each of {found} in its list of columns, or all in lines column:"
        if not view.key or not {*view.key} <= {*found}:
            yield "write a line key: with columns of its own in which no two rows are equal"
            return
        places = [found.index(name) for name in view.key]
        keys = [tuple(row[place] for place in places) for row in cursor.fetchall()]
        if len(keys) != len(set(keys)):
            yield "several rows have the same key:"
        if not keys and view.group != EMPTY_WHEN_SOUND:
            yield "it is empty: add what it shows to tests/support/rich.py"
        for name, values in zip(view.key, zip(*keys, strict=True), strict=False):
            if None in values and "null" not in view.columns.get(name, ""):
                yield f"{name}, a part of its key, is null: say when in its line column:"
        if not all(any(value is not None for value in each) for each in keys):
            yield "a row's whole key is null"

    assert not every_view(wrong)


def test_each_column_is_explained_and_the_time_asked_for_by_no_way_but_as_of():
    def wrong(view):
        if not view.summary.endswith((".", ":")):  # a line of an unknown label is read as prose
            yield "begin its header with what one row is, in sentences"
        if unsaid := [name for name, meaning in view.columns.items() if not meaning]:
            said_by = " and ".join(inherits_from(view, catalogue()))
            yield f"write a line column: for each of {unsaid}: {said_by} say nothing, or two things"
        if re.search(r"\b(now|current_timestamp|current_date|today)\b *\(", view.sql):
            yield "ask as_of() for the time"
        if "as_of" in re.findall(r"getvariable\('(\w+)'\)", view.sql):
            yield "ask as_of() for the time, not the variable"

    assert not every_view(wrong)


def test_a_header_says_of_its_own_columns_alone_what_nothing_below_says():
    def wrong(view):
        own = read(view.file)
        if strange := {*own.columns} - {*view.columns}:
            yield f"leave out the lines column: of {strange}, which its SQL does not give"
        others = [catalogue()[name] for name in inherits_from(view, catalogue())]
        for column, meaning in own.columns.items():
            having = [it for it in others if column in it.columns]
            below = {(it.columns[column], it.kinds.get(column)) for it in having}
            if below == {(meaning, own.kinds.get(column))}:
                yield f"leave out the line column: of {column}, which says the same below"

    assert not every_view(wrong)


def personal(view: View) -> set[str]:
    """The columns of which the header says that they are about a person."""
    return {name for name, kind in view.kinds.items() if kind == "personal"}


MASKING = {"personal", "shown_name"}
"""Macros whose value is masked."""


def masked(view: View) -> set[str]:
    """The columns that the SQL makes by a macro that masks, whatever is around it."""
    columns = (
        column
        for node in nodes_of(tree_of(view.sql))
        for column in node.get("select_list", ())
        if column["alias"]
    )
    return {
        column["alias"]
        for column in columns
        if any(node.get("function_name") in MASKING for node in nodes_of(column))
    }


def test_what_is_about_a_person_is_masked_where_it_is_kept_and_where_it_is_shown():
    """A new field of a seller's record was named personal in both headers, and shown to everybody:
    its mask had to be said in two more places, and no test failed."""
    of_sellers = set(MASKED_COLUMNS["fact_seller_events"])
    assert personal(catalogue()["seller_events"]) == of_sellers, "name its mask in MASKED_COLUMNS"

    def wrong(view):
        if not view.is_public:
            return
        if unsaid := (of_sellers & {*view.columns}) - personal(view):
            yield f"write the kind `personal` into the lines column: of {unsaid}"
        if clear := personal(view) - masked(view):
            yield f"show {clear} by personal()"
        # Who did it may have been a seller's person; of an error what names somebody is left out.
        elsewhere = {"actor", "error"}
        if undeclared := masked(view) - personal(view) - elsewhere:
            yield f"write the kind `personal` into the lines column: of {undeclared}"

    assert not every_view(wrong)


def test_a_column_is_of_one_kind_in_every_view():
    """Pages and files mask by its name: of another kind in one view, it would be shown there."""
    found: dict[str, dict[str, list[str]]] = {}
    for view in public().values():
        for column, kind in view.kinds.items():
            found.setdefault(column, {}).setdefault(kind, []).append(view.name)
    assert {column: kinds for column, kinds in found.items() if len(kinds) > 1} == {}


def test_the_rich_history_is_over_at_its_instant():
    assert (
        max(datetime.fromisoformat(line["occurred_at"]) for line in RICH).replace(tzinfo=None)
        < AS_OF
    )
