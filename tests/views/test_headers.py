"""The headers of `queries/` are true: people read them, and the data dictionary is made of them."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import pytest

from pipeline import facts, kept
from pipeline.views import Reader, View, catalogue, install
from tests.ledgers import ledger_of
from tests.views.lines import (
    aci,
    acp,
    act,
    answered,
    at,
    finished,
    invited,
    live,
    refusal,
    seller,
    started,
    webhook,
)

TABLES = {*facts.TABLES.values(), *kept.TABLES, "log", "tree_heads", "tree_nodes"}
AS_OF = at("2026-06-01T00:00:00")

BANK = {"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s1"}}
ARTIFACT = [{"name": "screen.png", "sha256": "ab" * 32}]
REASONS = [{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}, {"reason": "NEW"}]

RICH = [
    acp(),
    live(acp(), "2026-03-01T12:01:00Z"),
    acp(occurred_at="2026-03-01T13:00:00Z", requested_fields=["address"]),
    acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-05-30T12:00:00Z", status="EXPIRED"),
    acp("e3", process_id="p2", customer_id="s2", requested_fields=["documents"]),
    acp("e4", process_id="p3", customer_id="s3", type="SOMETHING_NEW"),
    aci("e5", process_id="p4", customer_id="s3", requested_fields=["revenue"]),
    invited(),
    answered(artifacts=ARTIFACT),
    answered("2026-03-01T19:00:00Z", process_id="p2", artifacts=ARTIFACT),
    answered("2026-03-01T19:00:00Z", process_id="p4", source="bureau"),
    *refusal("a0", "2026-03-01T23:00:00Z"),
    started("a1"),
    finished("a1", 500),
    finished("a1", 200, "2026-03-02T00:00:02Z"),
    started("a2", "2026-03-02T01:00:00Z"),
    finished("a2", 401, "2026-03-02T01:00:01Z"),
    started("a3", "2026-03-02T02:00:00Z", process_id="p4", seller_id="s3"),
    finished("a3", 200, "2026-03-02T02:00:01Z", process_id="p4"),
    started("a4", "2026-03-02T03:00:00Z", process_id="p9"),
    aci("e6", "2026-03-10T00:00:00Z", process_id="p5", customer_id="s3"),
    aci("e7", "2026-03-11T00:00:00Z", process_id="p5", customer_id="s3", status="FINISHED"),
    started("a5", "2026-03-12T00:00:00Z", process_id="p5", seller_id="s3"),
    finished("a5", 200, "2026-03-12T00:00:01Z", process_id="p5"),
    aci("e8", "2026-03-11T00:00:00Z", process_id="p6", customer_id="s3", status="FINISHED"),
    seller("created", "v1", "2026-03-01T12:00:00Z", taxpayer_id="123"),
    seller("denied", "v2", "2026-03-01T12:02:00Z", decision_reasons=REASONS, retry=False),
    seller("created", "v3", "2026-03-02T12:00:00Z", "s2", taxpayer_id="1-2-3"),
    seller("enabled", "v4", "2026-03-02T12:02:00Z", "s2"),
    seller("denied", "v5", "2026-05-20T12:00:00Z", "s4", decision_reasons=REASONS),
    webhook(BANK, "2026-03-01T12:00:00Z"),
    webhook("not json", "2026-03-01T12:00:00Z"),
    webhook({"id": "x1", "type": "seller.paused"}, "2026-03-01T12:00:00Z"),
    act("override", "2026-03-02T00:00:00Z", gates=["evidence"]),
    act("replacement", "2026-03-02T00:30:00Z"),
    act("note", "2026-03-03T00:00:00Z"),
    act("assignment", "2026-03-04T00:00:00Z", assignee="bia"),
    started("a6", "2026-03-13T00:00:00Z", process_id="p2"),
    finished("a6", 503, "2026-03-13T00:00:01Z", process_id="p2"),
    live(invited(), "2026-03-13T01:00:00Z"),
    started("a7", "2026-03-13T01:00:00Z", process_id="p2", body={"process_id": "p2"}),
]
"""Something of everything, so that every view has rows."""

EMPTY_WHEN_SOUND = "checks"
"""The folder of views that must have no rows."""


@pytest.fixture(scope="module")
def reader():
    with ledger_of(RICH) as reader:
        install(reader._ledger)
        yield reader


def cursor_of(reader: Reader) -> duckdb.DuckDBPyConnection:
    cursor = reader._ledger.cursor()
    cursor.execute("set variable as_of = ?", [AS_OF])
    return cursor


def read_by(view: View) -> set[str]:
    """Tables and views that the SQL names, as DuckDB's own parser finds them."""
    [(text,)] = duckdb.execute("select json_serialize_sql(?::varchar)", [view.sql]).fetchall()
    nodes = list(nodes_of(json.loads(text)))
    ctes = {entry["key"] for node in nodes for entry in node.get("cte_map", {}).get("map", [])}
    named = {
        f"{node['schema_name']}.{node['table_name']}".lstrip(".")
        for node in nodes
        if node.get("type") == "BASE_TABLE"
    }
    return named - ctes


def nodes_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a syntax tree."""
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from nodes_of(child)
    elif isinstance(value, list):
        for child in value:
            yield from nodes_of(child)


every_view = pytest.mark.parametrize("view", catalogue().values(), ids=lambda view: view.name)


@every_view
def test_a_view_reads_what_its_header_says(view):
    assert set(view.reads) == read_by(view)


@every_view
def test_what_a_view_reads_exists(view):
    assert set(view.reads) <= {*catalogue(), *TABLES}


@every_view
def test_a_views_columns_are_the_documented_ones_in_their_order(view, reader):
    described = cursor_of(reader).execute(f"describe {view.name}").fetchall()
    assert [row[0] for row in described] == list(view.columns)


def test_views_are_made_anew_only_where_they_changed(reader):
    cursor = cursor_of(reader)
    cursor.execute("drop view watchlist")
    install(reader._ledger)
    with pytest.raises(duckdb.CatalogException):
        cursor.execute("from watchlist")
    cursor.execute("update meta set value = 'of an older release' where name = 'views'")
    install(reader._ledger)
    assert cursor.execute("select count(*) from watchlist").fetchall() == [(3,)]


@every_view
def test_every_column_is_explained(view):
    assert view.summary
    assert all(view.columns.values())


@every_view
def test_a_views_key_is_unique_and_not_null(view, reader):
    """A part of a key may be null only where its column says so, and never all of it."""
    assert set(view.key) <= set(view.columns)
    key = ", ".join(view.key)
    keys = cursor_of(reader).execute(f"select {key} from {view.name}").fetchall()
    assert len(keys) == len(set(keys))
    if view.group != EMPTY_WHEN_SOUND:
        assert keys, "the rich history leaves it empty"
    for name, values in zip(view.key, zip(*keys, strict=True), strict=False):
        assert None not in values or "null" in view.columns[name]
    assert all(any(value is not None for value in each) for each in keys)


@pytest.mark.parametrize("view", [it for it in catalogue().values() if it.name != "clock"])
def test_only_the_clock_asks_for_the_time(view):
    assert not re.search(r"\b(now|current_timestamp|current_date|today)\b *\(", view.sql)
    assert "as_of" not in re.findall(r"getvariable\('(\w+)'\)", view.sql)


def test_the_rich_history_is_over_at_its_instant():
    assert (
        max(datetime.fromisoformat(line["occurred_at"]) for line in RICH).replace(tzinfo=None)
        < AS_OF
    )
