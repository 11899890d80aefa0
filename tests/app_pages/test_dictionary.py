"""The data dictionary is made from the headers of the views, and nothing else."""

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.door import access
from app_pages.parts import views
from pipeline.errors import CallerError
from pipeline.ledger.views.catalogue import public
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text, plain, unfold


def names(app: AppTest) -> list[str]:
    """The views that the page describes; menus of its head fold away, too."""
    return sorted(it.label.split("`")[1] for it in app.expander if "`" in it.label)


def test_every_view_is_there_with_its_columns(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        app = visit("dictionary")
        assert f"{len(public())} views" in page_text(app)
        assert names(app) == sorted(public())
        assert not app.table, "what is behind a name is fetched when it is opened"
        unfold(app, "view_watchlist")
    [columns] = [it.value for it in app.table]
    assert [plain(name) for name in columns.index] == list(public()["watchlist"].columns)
    assert any("from process_state" in block.value for block in app.code)


def test_a_view_is_shown_with_its_rows_and_its_file(open_log: OpenLog, visit: Visit) -> None:
    """The file and the lines of Python are there once it is opened, without a further click."""
    with open_log([review("prc_1", before(days=40))]):
        app = visit("dictionary", q="longest expired first")
    assert list(app.dataframe[0].value["process_id"]) == ["prc_1"]
    offered = [it.label for it in app.get("download_button")]
    assert offered == ["XLSX", "CSV for spreadsheets", "CSV for programs", "Parquet"]
    [in_python, _sql] = [it.value for it in app.code]
    assert in_python == (
        "import pandas\nrows = pandas.read_parquet('http://127.0.0.1:8501/api/views/"
        "expired_processes?format=parquet&as_of=2026-06-01T12%3A00%3A00Z')"
    )


def test_what_is_of_one_person_is_described_to_analysts_and_not_shown(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
    with open_log([review("prc_1", before(days=40))]):
        app = visit("dictionary", q="longest expired first")
        assert "not open to your role" in page_text(app)
        assert not app.dataframe
        assert "not open" not in page_text(visit("dictionary", q="the gravest first, then"))


def test_rows_that_are_not_open_are_not_counted_either(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
    with open_log([]):
        for ask in (views.read, views.count):
            with pytest.raises(CallerError, match="not open to your role"):
                ask("timeline")


def test_a_word_finds_the_views_that_say_it(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        found = visit("dictionary", q="longest expired first")
        assert names(found) == ["expired_processes"]
        nothing = page_text(visit("dictionary", q="xyzzy"))
    assert "No view mentions that" in nothing
