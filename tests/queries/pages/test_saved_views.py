"""Views that people saved under a name: by hand from the header of `saved_views`."""

from typing import Any

from tests.support.ledgers import asked
from tests.support.lines import action, at


def step(name: str, when: str, **more: Any) -> dict[str, Any]:
    given = {"page": "watchlist", "name": "mine", "actor": "Ana", "for_all": False, **more}
    return action("saved_view", f"2026-03-30T{when}Z", step=name, **given)


def found(*history: dict[str, Any], until: str = "20:00:00") -> list[tuple[str, str, str, str]]:
    rows = asked(list(history), "saved_views", at(f"2026-03-30T{until}"))
    return [(row["page"], row["view_name"], row["owner"], row["query"]) for row in rows]


def test_the_latest_under_a_name_counts_and_those_of_others_stand_beside_it() -> None:
    history = (
        step("saved", "12:00:00", query="a=1"),
        step("saved", "13:00:00", query="a=2"),
        step("saved", "12:30:00", query="b=1", actor="Bia"),
        step("saved", "12:40:00", query="c=1", for_all=True),
        step("saved", "12:50:00", query="d=1", page="denials"),
    )
    assert found(*history) == [
        ("denials", "mine", "Ana", "d=1"),
        ("watchlist", "mine", "", "c=1"),
        ("watchlist", "mine", "Ana", "a=2"),
        ("watchlist", "mine", "Bia", "b=1"),
    ]
    assert found(*history, until="12:10:00") == [("watchlist", "mine", "Ana", "a=1")]


def test_one_that_was_dropped_is_gone_until_it_is_saved_again() -> None:
    saved, dropped = step("saved", "12:00:00", query="a=1"), step("dropped", "13:00:00")
    assert found(saved, dropped) == []
    # One for all has another owner than a private one of that name.
    assert found(saved, step("dropped", "13:00:00", for_all=True)) != []
    assert found(saved, dropped, step("saved", "14:00:00", query="a=3")) == [
        ("watchlist", "mine", "Ana", "a=3")
    ]
