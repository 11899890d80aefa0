"""A view that somebody has just begun, asked for with `prazo show`: what is wrong with its file, in
place of DuckDB's traceback."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.ledger import materialized
from pipeline.ledger.views import catalogue, reader
from tests import depth
from tests.support.commands import here
from tests.support.events import SAMPLES
from tests.support.stores import environment_in

Show = Callable[[str], tuple[int, str]]

KEY = "-- key: process_id\n"
COLUMN = "-- column: process_id | the id\n"
SELECT = "select process_id from process_state\n"


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Show]:
    """`show(text)` -> how `prazo show mine` ends, with this text as the file of that view."""
    queries = shutil.copytree(catalogue.QUERIES, tmp_path / "queries")
    for module in (catalogue, materialized):
        monkeypatch.setattr(module, "QUERIES", queries)
    caches = (catalogue.catalogue, catalogue.public, reader._statement)
    environment = os.environ | environment_in(tmp_path)
    samples = str(SAMPLES / "occurrences.ndjson")
    assert here("ingest", samples, environment=environment, folder=tmp_path).returncode == 0

    def shown(text: str) -> tuple[int, str]:
        (queries / "state" / "mine.sql").write_text(f"-- One row per process.\n{text}")
        for cache in caches:
            cache.cache_clear()
        done = here("show", "mine", environment=environment, folder=tmp_path)
        return done.returncode, done.stderr

    yield shown
    for cache in caches:
        cache.cache_clear()


def test_a_finished_one_is_shown(show: Show) -> None:
    code, said = show(KEY + SELECT)
    lines = said.splitlines()
    assert (code, [it for it in lines if "a new key was made" not in it]) == (0, [])


@pytest.mark.parametrize(
    ("text", "finding", "remedy"),
    depth.few(
        [
            (COLUMN + SELECT, "mine.sql has no line `key:`\n", "a row is one of its kind"),
            (
                KEY + "-- column: process_id\n" + SELECT,
                "mine.sql cannot be read: `column: process_id` is neither `name | meaning` nor",
                "as in queries/state/watchlist.sql",
            ),
            (
                KEY + "select process_id from watchlist join mine using (process_id)",
                "The views cannot be put in order: mine reads mine",
                "read another view",
            ),
            (
                KEY + "select process_it from process_state",
                "The view mine cannot be read: Binder Error: ",
                "correct that view's file",
            ),
            (
                KEY + "select process_id from process_sate",
                "The view mine cannot be read: Catalog Error: Table with name process_sate",
                "correct that view's file",
            ),
            (
                KEY + "select process_id::int as process_id from process_state",
                "The view mine cannot be read: a value has another type",
                "correct that view's file",
            ),
            (
                KEY + "select process_id form process_state",
                "The view mine cannot be read: Parser Error: ",
                "correct that view's file",
            ),
        ],
        2,
    ),
)
def test_what_one_lacks_is_said(show: Show, text: str, finding: str, remedy: str) -> None:
    code, said = show(text)
    assert code == 2
    assert finding in said
    assert remedy in said.partition("To fix it: ")[2]
