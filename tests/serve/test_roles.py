"""Whom a claim lets in, and what they are permitted to do."""

import re
from pathlib import Path
from typing import get_args

import pytest

from pipeline.errors import SettingsError
from pipeline.http.tokens import SCOPES
from pipeline.serve.roles import (
    PERMISSIONS_OF_ACTS,
    SCOPES_OF_ACTS,
    Permission,
    Person,
    Role,
    RoleMap,
)
from pipeline.settings import FourEyes, Settings
from tests.docs.pages import ROOT

OFFICERS = "officer:groups:compliance\n"


def role_map(folder: Path, text: str) -> RoleMap:
    path = folder / "roles"
    path.write_text(text, encoding="utf-8")
    return RoleMap(path)


def roles(folder: Path, text: str, **claims: object) -> set[str] | None:
    person = role_map(folder, text).person({"sub": "u-1", **claims})
    return None if person is None else {str(it) for it in person.roles}


def test_a_claim_that_is_listed_gives_its_role(tmp_path: Path):
    assert roles(tmp_path, OFFICERS, groups=["staff", "compliance"]) == {"officer"}
    assert roles(tmp_path, OFFICERS, groups="compliance") == {"officer"}


def test_a_claim_that_only_looks_alike_gives_none(tmp_path: Path):
    for groups in (["Compliance"], ["compliance-team"], "non compliance", [], None, 7):
        assert roles(tmp_path, OFFICERS, groups=groups) is None


def test_without_a_line_that_fits_there_is_no_access(tmp_path: Path):
    assert roles(tmp_path, OFFICERS) is None


def test_claims_within_claims_are_reached_by_dots(tmp_path: Path):
    line = "analyst:realm_access.roles:data\n"
    assert roles(tmp_path, line, realm_access={"roles": ["data"]}) == {"analyst"}
    assert roles(tmp_path, line, realm_access=["data"]) is None


def test_an_address_counts_only_once_it_is_verified(tmp_path: Path):
    line = "admin:email:ana@example.com\n"
    assert roles(tmp_path, line, email="ana@example.com", email_verified=True) == {"admin"}
    for verified in (False, None, "true"):
        assert roles(tmp_path, line, email="ana@example.com", email_verified=verified) is None


def test_the_name_in_the_log_is_never_one_that_people_choose_themselves(tmp_path: Path):
    people = role_map(tmp_path, OFFICERS)
    claims = {"sub": "u-1", "groups": ["compliance"], "name": "Ana", "preferred_username": "root"}
    unverified, verified, nameless = (
        people.person({**claims, "email": "ana@example.com"}),
        people.person({**claims, "email": "ana@example.com", "email_verified": True}),
        people.person({**claims, "sub": ""}),
    )
    assert unverified is not None
    assert unverified.name == "u-1"
    assert verified is not None
    assert verified.name == "ana@example.com"
    assert nameless is None


def test_several_roles_add_up(tmp_path: Path):
    people = role_map(tmp_path, "analyst:groups:data\nauditor:groups:audit\n")
    both = people.person({"sub": "u-1", "groups": ["data", "audit"]})
    assert both is not None
    assert both.roles == {Role.ANALYST, Role.AUDITOR}
    assert both.may(Permission.EXPORT)
    assert not both.may(Permission.ANNOTATE)


def test_each_role_may_do_what_the_readme_says(tmp_path: Path):
    table = {
        "officer": set(Permission),
        "auditor": {Permission.UNMASK, Permission.EXPORT},
        "analyst": set(),
        "admin": set(Permission),
    }
    for role, permissions in table.items():
        person = role_map(tmp_path, f"{role}:sub:u-1\n").person({"sub": "u-1"})
        assert person is not None
        assert {it for it in Permission if person.may(it)} == permissions, role


def test_a_role_that_is_taken_away_is_gone_a_second_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.files.reread.RECHECK_SECONDS", 0.0)
    people = role_map(tmp_path, OFFICERS)
    ana = {"sub": "u-1", "groups": ["compliance"]}
    assert people.person(ana) is not None
    (tmp_path / "roles").write_text("officer:groups:others-now\n", encoding="utf-8")
    assert people.person(ana) is None


@pytest.mark.parametrize(
    "text",
    ["", "# nobody\n", "owner:groups:compliance\n", "officer:groups\n", "officer compliance\n"],
)
def test_a_file_that_gives_no_role_is_refused_with_its_line(tmp_path: Path, text: str):
    with pytest.raises(SettingsError, match="role"):
        role_map(tmp_path, text)


def test_each_role_scope_and_act_is_known_wherever_one_is_named():
    """A role without a line of permissions was a traceback for anyone who has it."""
    to_do = 'see "Settings and roles" in CONTRIBUTING.md'
    operations = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    for role in Role:
        Person("bia", frozenset({role})).may(Permission.UNMASK)
        assert f"\n| {role} | " in operations, to_do
        assert role in str(Settings.model_fields["roles_file"].description), to_do
        assert re.search(rf"\*\*role\*\*:.*\b{role}\b", glossary), to_do
    for scope in SCOPES:
        assert re.search(rf"Scopes are .*`{scope}`", operations), to_do
        assert re.search(rf"\*\*scope\*\*:.*`{scope}`", glossary), to_do
    assert set(PERMISSIONS_OF_ACTS) == set(SCOPES_OF_ACTS) == set(get_args(FourEyes)), to_do
