"""The header of a view of findings says what its SQL gives, and each list reads what it has to."""

import re
from collections.abc import Iterator

import pytest

from pipeline import findings, headers
from pipeline.ledger.views.catalogue import View, all_read, catalogue

RULES = {
    view.name: {
        part["rule"]: part for part in headers.read(view.file, findings.LABELS).parts("rule")
    }
    for view in catalogue().values()
    if view.group.startswith("findings/rules")
}
of_each_view = pytest.mark.parametrize("name", [name for name, rules in RULES.items() if rules])


def given(view: View, column: str) -> Iterator[str]:
    """The codes that the SQL of a view can give in a column."""
    yield from re.findall(rf"'(\w+)' as {column}", view.sql)
    for choice in re.findall(rf"case((?:(?!case).)*?)end as {column}", view.sql, re.DOTALL):
        yield from re.findall(r"(?:then|else) '(\w+)'", choice)
    for choice in re.findall(rf"if\((.*)\) as {column}", view.sql):
        yield from re.findall(r", '(\w+)'", choice)
    if f"outcome as {column}" in view.sql:  # an outcome that is a rule of the same name
        [outcomes] = re.findall(r"where outcome in \((.*?)\)", view.sql)
        yield from re.findall(r"'(\w+)'", outcomes)


@of_each_view
def test_a_header_names_the_rules_and_severities_that_its_sql_gives(name: str) -> None:
    view = catalogue()[name]
    assert {*given(view, "rule")} == {*RULES[name]}, "name each rule in the header, and no other"
    said = {it for rule in RULES[name] for it in findings.rules()[rule].severities}
    assert {*given(view, "severity")} == said


@of_each_view
def test_whatever_finds_a_breach_is_read_by_the_lists_that_show_it(name: str) -> None:
    """Of a new one nobody was told: `alarming_findings` did not read the view that finds it."""
    assert name in all_read(catalogue()["findings"]), "say in: in its header"
    if RULES[name].keys().isdisjoint(findings.breaches()):
        return
    assert name in all_read(catalogue()["alarming_findings"]), "say in: alarming_findings, too"


def test_no_two_rules_have_one_place() -> None:
    places = [rule.place for rule in findings.rules().values()]
    assert len({*places}) == len(places) > 30
