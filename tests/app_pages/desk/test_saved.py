"""Filters and an order are saved under a name: for oneself, or for all."""

import pytest

from app_pages.desk import saved
from tests import depth
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review
from tests.app_pages.support.reading import page_text, press

HISTORY = [
    review("prc_late", before(days=40)),
    review("prc_soon", before(days=26)),
    *attempt("prc_late", before(days=2), status=500),
]


def save(app, name: str, *, actor: str | None = None, for_all: bool = False) -> None:
    app.text_input(key="view_name").set_value(name)
    app.toggle(key="view_for_all").set_value(for_all)
    if actor is not None:
        app.text_input(key="view_actor").set_value(actor)
    press(app, "Save it")


def names(app) -> set[str]:
    return {button.label for button in app.button}


def opened(app, name: str) -> dict[str, str]:
    """What stands in the URL of the list once a view was opened."""
    press(app, name)
    return {
        key: app.query_params[key]
        for key in ("queue", "state", "type", "sort", "period", "row")
        if key in app.query_params
    }


def test_a_view_is_found_by_its_owner_and_one_for_all_by_everybody_until_an_entry_takes_it_away(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        query = {"queue": "expired", "sort": "-deadline_at", "row": "prc_soon"}
        app = visit("watchlist", as_of=None, **query)
        save(app, "soon", actor="Ana")
        save(app, "for us", for_all=True)
        own, others = names(app), names(visit("watchlist", as_of=None))
        on_another_page = names(visit("findings", as_of=None))
        entries = service.reader.read("timeline", where={"kind": "saved_view"}).to_pylist()
        visited = opened(visit("watchlist", as_of=None, type="ACI", row="prc_late"), "for us")
        app.selectbox(key="view_to_drop").set_value("'Ana' 'soon'").run()
        press(app, "Take it away")
        left = names(app)
        assert app.selectbox(key="view_to_drop").value is None
        steps = service.reader.read("timeline", where={"kind": "saved_view"}).to_pylist()
    assert visited == {"queue": "expired", "sort": "-deadline_at"}
    assert {"soon", "for us"} <= own
    assert "for us" in others
    assert "soon" not in others
    assert "for us" not in on_another_page
    assert [(it["actor"], it["step"]) for it in entries] == [("Ana", "saved"), ("Ana", "saved")]
    assert "soon" not in left
    assert "for us" in left
    assert [it["step"] for it in steps] == ["saved", "saved", "dropped"]


def test_names_that_look_alike_are_views_of_their_own_and_of_too_many_one_sees_ones_own(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two names that look alike, or one of a view from the start, the page failed for
    everybody, and with it the only place where a view is taken away. Where more are saved than are
    offered, the page says so."""
    monkeypatch.setattr(saved, "MOST", 3)
    with open_log(HISTORY):
        app = visit("watchlist", as_of=None, type="ACI")
        save(app, "c d", actor="Ana", for_all=True)
        save(app, "c  d", for_all=True)
        save(app, "Mine, soonest first", for_all=True)
        labels = [button.label for button in visit("watchlist", as_of=None).button]
        assert "Showing" not in page_text(app)
        save(app, "z", for_all=False)
        assert "Showing 3 of 4." in page_text(app)
        assert "z" in names(app)
    assert labels.count("c d") == 2
    assert labels.count("Mine, soonest first") == 2


def test_a_name_is_needed_and_nothing_is_saved_in_the_past(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("watchlist", as_of=None)
        save(app, "soon", for_all=True)
        assert "A name is needed: it goes into the log." in page_text(app)
        assert app.text_input(key="view_name").value == "soon"
        assert app.toggle(key="view_for_all").value
        save(app, " ", actor="Ana")
        assert service.inbox.last()[0] == len(HISTORY)
        then = visit("watchlist")
    assert "Save it" not in {button.label for button in then.button}


def test_there_are_views_from_the_start(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        asked = opened(visit("watchlist"), "Expired ACI, due this month")
    assert asked == {
        "queue": "all",
        "state": "EXPIRED",
        "type": "ACI",
        "period": "this_month",
    }


LISTS = ("watchlist", "findings", "alerts", "since", "submissions", "evidence")


def test_every_list_with_filters_has_its_views(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        pages = {page: names(visit(page, as_of=None)) for page in depth.few(LISTS, 2)}
    without = [page for page, offered in pages.items() if "Save it" not in offered]
    assert without == []


def test_a_name_that_looks_personal_is_masked_wherever_a_view_is_named(
    open_log: OpenLog, visit: Visit
) -> None:
    cpf = "529.982.247-25"
    with open_log(HISTORY):
        app = visit("watchlist", as_of=None, queue="all")
        save(app, f"of {cpf}", actor="Ana")
        labels = [it for it in names(app) if it.startswith("of ")]
        keys = [button.key or "" for button in app.button]
        offered = app.selectbox(key="view_to_drop").options
        assert opened(app, labels[0]) == {"queue": "all"}
    assert [it.startswith("of ***25~") for it in offered] == [True]
    assert not [it for it in (*labels, *keys, *offered) if cpf in it]
