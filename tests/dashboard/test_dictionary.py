"""The data dictionary is made from the headers of the views, and nothing else."""

from pipeline import views
from tests.dashboard.conftest import OpenLog, Visit
from tests.dashboard.reading import page_text


def test_every_view_is_there_with_its_columns(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        app = visit("dictionary")
    shown = page_text(app)
    for name in ("process_state", "watchlist", "findings"):
        assert name in shown
    assert f"{len(views.public())} views" in shown
    assert "whole days left" in shown or "whole days of 24 hours left" in shown


def test_a_word_finds_the_views_that_say_it(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        found = visit("dictionary", q="longest expired first")
        assert [it.label.split("`")[1] for it in found.expander] == ["expired_processes"]
        nothing = page_text(visit("dictionary", q="xyzzy"))
    assert "No view says that" in nothing
