"""Ticks hold on to rows, however a browser's words and the grids' other rows follow each other."""

from typing import Any

import pytest

from app_pages.parts import ticks
from app_pages.parts.ticks import Ticks


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the session holds: by its key, a grid that is drawn."""
    held: dict[str, Any] = {}
    monkeypatch.setattr(ticks.st, "session_state", held)
    monkeypatch.setattr(ticks.elements, "edition", lambda _, ids: "".join(ids))
    return held


def drawn(these: Ticks, session: dict[str, Any], rows: str) -> tuple[str, list[int]]:
    key, begun_with = these.begin("page 1", list(rows))
    session.clear()
    session[key] = ...
    return key, begun_with


def test_a_grid_stays_the_same_while_its_reader_ticks_in_it(session: dict[str, Any]) -> None:
    these = Ticks()
    key, begun_with = drawn(these, session, "abcd")
    assert begun_with == []
    for places in ([1], [1, 3], [3]):
        these.take(key, list("abcd"), places)
        assert drawn(these, session, "abcd") == (key, [])
    assert these.ids == {"d"}


def test_a_tick_that_comes_with_other_rows_is_on_the_row_that_was_seen(
    session: dict[str, Any],
) -> None:
    these = Ticks()
    key, _ = drawn(these, session, "abcd")
    these.take(key, list("abcd"), [0])
    these.take(key, list("abcd"), [0, 2])  # with it, the rows have changed
    assert drawn(these, session, "xbcda")[1] == [2, 4]
    assert these.ids == {"c", "a"}


def test_a_tick_that_comes_after_its_grid_was_replaced_is_not_lost(session: dict[str, Any]) -> None:
    these = Ticks()
    first, _ = drawn(these, session, "abcd")
    these.take(first, list("abcd"), [0])
    second, begun_with = drawn(these, session, "bacd")
    assert begun_with == [1]
    these.take(first, list("abcd"), [0, 2, 3])
    these.take(second, list("bacd"), [0, 1])
    third, begun_with = drawn(these, session, "bacd")
    assert third != second, "its browser has to hear of what it does not show"
    assert begun_with == [0, 1, 2, 3]
    these.take(third, list("bacd"), [0, 2, 3])
    assert drawn(these, session, "bacd") == (third, [0, 1, 2, 3])
    assert these.ids == {"b", "c", "d"}


def test_no_tick_outlives_its_row(session: dict[str, Any]) -> None:
    these = Ticks()
    key, _ = drawn(these, session, "ab")
    these.take(key, list("ab"), [0, 1])
    assert drawn(these, session, "bc")[1] == [0]
    assert drawn(these, session, "abc")[1] == [1]


def test_ticks_stay_while_the_list_has_their_rows_on_another_page(session: dict[str, Any]) -> None:
    these = Ticks()
    first, _ = drawn(these, session, "ab")
    these.take(first, list("ab"), [1])
    second, begun_with = these.begin("page 2", list("cd"), elsewhere={"b"})
    assert begun_with == []
    these.take(second, list("cd"), [0])
    assert these.ids == {"b", "c"}
    assert these.begin("page 1", list("ab"), elsewhere={"c"})[1] == [1]
    these.begin("page 2", list("cd"))  # b has left the list
    assert these.ids == {"c"}


def test_no_tick_outlives_its_page(session: dict[str, Any]) -> None:
    these = ticks.of("a_view", 0)
    key, _ = these.begin("page 1", list("ab"))
    session[key] = ...
    these.take(key, list("ab"), [0])
    assert ticks.of("a_view", 0) is these
    del session[key]  # another page was drawn
    assert ticks.of("a_view", 0).ids == set()


def test_what_comes_after_all_were_unticked_ticks_nothing(session: dict[str, Any]) -> None:
    before = ticks.of("a_view", 0)
    key, _ = before.begin("page 1", list("ab"))
    session[key] = ...
    assert ticks.of("a_view", 0) is before
    after = ticks.of("a_view", 1)
    before.take(key, list("ab"), [0])
    assert after.ids == set()
