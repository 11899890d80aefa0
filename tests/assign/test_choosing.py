"""By the rules each review goes to somebody who is there and has room, and always to the same."""

from datetime import date
from typing import Any

import pytest

from pipeline import instants
from pipeline.alert_rules import AlertRules
from pipeline.assign.choosing import Unassigned, choose
from pipeline.assign.rules import AssignRules, load
from pipeline.errors import SettingsError

NOW = instants.parse("2026-03-10T12:00:00Z")
OFF = {"away": [{"first": date(2026, 3, 9), "last": date(2026, 3, 10)}]}


def given(people: dict[str, Any], *types: str | None, by: str = "turn", **past: Any) -> list[str]:
    """`assignee` of each review that somebody gets, of reviews of these types; with `*` where they
    stand in for somebody."""
    recipients = {
        name: {"email": f"{name}@market.example", **said}
        for name, said in past.pop("recipients", {}).items()
    }
    mail = {"host": "localhost", "sender": "a@market.example"} if recipients else None
    known = AlertRules.model_validate({"recipients": recipients, "mail": mail})
    reviews = [Unassigned(f"p{number}", "s", type) for number, type in enumerate(types)]
    rules = AssignRules.model_validate({"by": by, "people": people})
    past = {"loads": {}, "turns": {}, **past}
    found = [*choose(rules, known, reviews, now=NOW, **past)]
    assert found == [*choose(rules, known, reviews, now=NOW, **past)]
    return [it.assignee + ("" if it.assignee == it.turn_of else "*") for it in found]


EVERYBODY: dict[str, Any] = {"ana": {}, "bia": {}, "caio": {}}
TWO: dict[str, Any] = {"ana": {}, "bia": {}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # in turn: whoever got one longest ago, else in the order of the file
        (given(EVERYBODY, *["ACP"] * 4), ["ana", "bia", "caio", "ana"]),
        (given(EVERYBODY, "ACP", "ACI", turns={"ana": 7, "caio": 3}), ["bia", "caio"]),
        # by type: an unknown one goes to whoever takes all
        (given({"ana": {"review_types": ["ACP"]}, "bia": {}}, None, "ACP", "ACI"),
         ["bia", "ana", "bia"]),
        (given({"ana": {"review_types": ["ACP"]}}, "ACI", "ACP"), ["ana"]),
        # by load, whatever the turn, under any of a person's names
        (given(TWO, *["ACP"] * 3, by="load", loads={"ana": 2}, turns={"bia": 9}),
         ["bia", "bia", "ana"]),
        (given(TWO, "ACP", by="load", loads={"Ana Lima": 1},
               recipients={"ana": {"assigned_as": ["ana lima"]}}), ["bia"]),
        # with a limit: who has reached it gets none, and what nobody has room for waits
        (given({"ana": {"limit": 2}, "bia": {"limit": 1}}, *["ACP"] * 4, loads={"ana": 1}),
         ["ana", "bia"]),
        # who is away gets none: the stand-in does, within their own limit, else the next
        (given(TWO, "ACP", "ACP", recipients={"ana": OFF}), ["bia", "bia"]),
        (given(TWO, *["ACP"] * 3, recipients={"ana": {**OFF, "stand_in": "caio"}, "caio": {}}),
         ["caio*", "bia", "caio*"]),
        (given({"ana": {}, "bia": {}, "caio": {"limit": 1}}, *["ACP"] * 4,
               recipients={"ana": {**OFF, "stand_in": "caio"}, "caio": {}}),
         ["caio*", "bia", "bia", "bia"]),
        (given({"ana": {}}, "ACP", recipients={"ana": {**OFF, "stand_in": "bia"}, "bia": OFF}), []),
    ],
)  # fmt: skip
def test_a_review_goes_to_whoever_is_there_and_has_room(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("by = 'turn'", "people"),
        ("by = 'luck'\n[people.ana]", "by"),
        ("[people.ana]\nlimit = 0", "limit"),
        ("[people.ana]\nreview_types = ['ACX']", "'ACP'"),
    ],
)
def test_a_fault_of_the_file_is_named(tmp_path, text, fault):
    file = tmp_path / "assign.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load(file)
    assert fault in refused.value.why
