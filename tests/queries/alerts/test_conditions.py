"""The header of a view of conditions says what its SQL gives, and alerts read it."""

import re

import pytest

from pipeline import conditions, headers
from pipeline.ledger.views.catalogue import all_read, catalogue

VIEWS = [it for it in catalogue().values() if it.group == "model/alerts/conditions"]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_header_names_the_conditions_that_its_sql_gives_and_alerts_read_it(view) -> None:
    parts = headers.read(view.file, conditions.LABELS).parts("condition")
    named = {part["condition"] for part in parts}
    given = {*re.findall(r"'(\w+)' as condition", view.sql)}
    if "rule as condition" in view.sql:  # a finding that is a condition of the same name
        given |= named & {*re.findall(r"'(\w+)'", catalogue()[view.reads[0]].sql)}
    assert given == named != set()
    assert view.name in all_read(catalogue()["alarms"]), "say in: alarming_conditions"


def test_no_two_conditions_have_one_place() -> None:
    places = [it.place for it in conditions.of_log().values()]
    assert len({*places}) == len(places) > 5
