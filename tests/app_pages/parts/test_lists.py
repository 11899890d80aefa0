"""What a list shows of its rows, also where some went while it was asked for."""

from typing import Any

import pytest

from app_pages.parts import lists
from pipeline import instants
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review


@pytest.mark.parametrize("left", [0, 1])
def test_rows_that_went_since_they_were_counted_leave_the_list_shorter(
    monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """Between the question how many there are and the question which. It was a failed page, when
    ten people clicked while deliveries came: `make soak` found it."""
    rows = [{"process_id": "prc_1"}][:left]

    def read(view: str, *, offset: int, limit: int, **asked: Any) -> list[dict[str, str]]:
        return rows[offset : offset + limit]

    drawn: list[Any] = []
    monkeypatch.setattr(lists.views, "read", read)
    monkeypatch.setattr(lists.views, "count", lambda *_, **__: len(rows))
    monkeypatch.setattr(lists.service, "current", lambda: None)
    monkeypatch.setattr(lists.views, "source", lambda held: None)
    monkeypatch.setattr(lists.views, "rests_on", lambda: (instants.naive(0), 7))
    monkeypatch.setattr(lists.address, "page_number", lambda pages: pages)
    for drawn_beside in ("offer", "say_on_paper"):
        monkeypatch.setattr(lists.downloads, drawn_beside, lambda *_, **__: None)
    page = lists.paged(
        "open_processes",
        lambda shown, key: drawn.append((list(shown), key)),
        counted=str,
        total=10 * lists.ROWS,
    )
    assert page.total == left
    assert drawn == ([(rows, "open_processes 1")] if left else [])


def test_a_click_leaves_the_rows_of_its_list_alone_and_none_of_another_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows of somebody who was forgotten came back with a click from what the session held."""
    session: dict[str, Any] = {}
    monkeypatch.setattr(lists.st, "session_state", session)
    monkeypatch.setattr(lists.views, "rests_on", lambda: (instants.naive(0), 7))

    def rows(view: str, file: int, now: str) -> Any:
        return lists._staying(view, (file, view), lambda: [{"id": now}])[0]["id"]

    def click(view: str) -> None:
        session[f"{lists._CLICKED} {view}"] = True

    assert [rows("a", 1, "a1"), rows("b", 1, "b1")] == ["a1", "b1"]
    click("a")
    assert [rows("b", 1, "b2"), rows("a", 1, "a2")] == ["b2", "a1"]
    assert rows("a", 1, "a3") == "a3", "a click counts once"
    click("a")
    assert rows("a", 2, "a4") == "a4"


def test_an_id_in_the_place_of_a_name_says_that_it_is_cut(open_log: OpenLog, visit: Visit) -> None:
    """A column of names has no room for an id, whose end was cut off in the middle of a letter. On
    paper the id is whole, since a column there is as wide as it has to be."""
    history = [
        review("prc_1", before(days=41), seller="sel_0123456789abcdef"),
        review("prc_2", before(days=40), seller="sel_ana1234"),
    ]
    with open_log(history):
        app = visit("watchlist")
    assert list(app.dataframe[0].value["seller_name"]) == ["sel_ana1234", "sel_012345…"]
    assert any("<td>sel_0123456789abcdef</td>" in it.proto.body for it in app.get("html"))
    assert (
        lists.cut("Maria Aparecida dos Santos Lima", lists.NAME_CHARACTERS)
        == "Maria Aparecida dos Santos L…"
    )


def test_the_filters_of_a_page_that_drew_no_list_are_forgotten_by_the_next_page(
    open_log: OpenLog, visit: Visit
) -> None:
    """They stayed in the session, and a list without filters would have added to them."""
    with open_log([review("prc_1", before(days=41))]):
        app = visit("alerts", as_of=None, whose="mine")
        assert lists._LINE in app.session_state
        app.switch_page("app_pages/pages/ledger.py").run()
        assert lists._LINE not in app.session_state


def test_sellers_who_look_alike_in_a_list_are_kept_apart_by_the_end_of_their_ids(
    open_log: OpenLog,
) -> None:
    """Two of one name, or of long names that begin alike, were two equal rows. Of an id that is a
    tax id, four digits stood there in clear."""
    sellers = [
        ("52998224725", "Eva Sá"),
        ("11144477735", "Eva Sá"),
        ("sel_0001", "Ana Neves"),
        ("sel_0002", "Ana Neves"),
        ("sel_0003", "Bia Luz"),
        ("sel_0003", "Bia Luz"),
        ("sel_0004", "Comércio de Roupas Infantis do Norte"),
        ("sel_0005", "Comércio de Roupas Infantis do Sul"),
        (None, ""),
    ]
    ids, names = zip(*sellers, strict=True)
    with open_log([]):
        first, second, *others = lists.kept_apart(ids, names, 24)
    assert first != second
    assert {it[:8] for it in (first, second)} == {"Eva Sá …"}
    assert not {first[8:], second[8:]} & {"4725", "7735"}
    assert others == [
        "Ana Neves …0001",
        "Ana Neves …0002",
        "Bia Luz",
        "Bia Luz",
        "Comércio de Roupa… …0004",
        "Comércio de Roupa… …0005",
        "",
    ]
