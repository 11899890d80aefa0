"""The process that holds the ledger assigns what was never assigned, once among several."""

from contextlib import contextmanager

import pytest

from pipeline.assign import assigner, choosing
from pipeline.assign.assigner import Assigner, assigning
from pipeline.cli.doctor import examine
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import CopyHeld
from pipeline.inbox import copies
from pipeline.log.actions import By, action
from pipeline.log.entries import Draft, content_of
from pipeline.log.kinds.assignment import ASSIGNMENT
from tests.notices.office import Office, office_in
from tests.support.machine import wait_until
from tests.support.stores import settings_in

FILE = "[people.ana]\nlimit = 2\n[people.bia]\n"


@contextmanager
def follows(office: Office, ledger: str = "ledger.duckdb"):
    file = office.folder / "assign.toml"
    file.write_text(FILE)
    settings = settings_in(office.folder, assign_file=file, ledger=office.folder / ledger)
    service = LedgerService(settings)
    try:
        yield service
    finally:
        service.close()


def given_back(process_id: str) -> Draft:
    by = {"actor": "Ana Lima", "recorded_by": "dashboard", "process_id": process_id}
    return action(ASSIGNMENT, reason="undone", assignee=None, **by)


def assigned(office: Office) -> dict[str, tuple[str, str | None]]:
    """Process -> to whom it was assigned, by whom; each once."""
    entries = office.inbox.find(kind=ASSIGNMENT)
    found = {it.process_id: (content_of(it)["assignee"], it.name) for it in entries}
    assert len(found) == len(entries)
    return found


def test_each_review_is_assigned_once_by_rule_also_by_two_ledgers(tmp_path):
    with office_in(tmp_path) as office, follows(office) as one, follows(office, "b.duckdb") as two:
        for number, process_id in enumerate("abc"):
            office.review(process_id, f"s{number}", days=10 + number)
        first, second = Assigner(one), Assigner(two)
        for each in (one, two):
            each.catch_up()
        assert first.turn() == 3
        assert second.turn() == 0  # it has not read what the first recorded, and its choice is void
        expected = {"a": ("ana", "by rule"), "b": ("bia", "by rule"), "c": ("ana", "by rule")}
        assert assigned(office) == expected
        office.review("d", "s4")
        office.accept("a", "s0")  # now ana has room again, and it is bia's turn
        two.catch_up()
        assert second.turn() == 1
        two.catch_up()
        assert second.turn() == 0
        assert assigned(office)["d"] == ("bia", "by rule")


def test_a_copy_that_nobody_has_confirmed_assigns_nothing(tmp_path):
    """A restored or rehearsed log gave its people reviews that others had."""
    with office_in(tmp_path) as office, follows(office) as service:
        office.review("a", "s0")
        service.catch_up()
        copies.hold(office.inbox)
        with pytest.raises(CopyHeld):
            Assigner(service).turn()
        assert assigned(office) == {}
        copies.confirm(office.inbox, By("a test", "Ana", "user:ana"))
        service.catch_up()
        assert Assigner(service).turn() == 1


def test_no_more_is_chosen_than_is_assigned_in_a_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(assigner, "MOST_PER_TURN", 1)
    asked = []
    give = choosing._Desk.give

    def counted(desk, review):
        asked.append(review.process_id)
        return give(desk, review)

    monkeypatch.setattr(choosing._Desk, "give", counted)
    with office_in(tmp_path) as office, follows(office) as service:
        for number, process_id in enumerate("ab"):
            office.review(process_id, f"s{number}", days=10 + number)
        service.catch_up()
        assert Assigner(service).turn() == 1
        assert asked == ["a"]


def test_what_a_person_gave_back_to_nobody_is_left_to_people(tmp_path):
    with office_in(tmp_path) as office, follows(office) as service:
        office.review("a", "s0")
        office.inbox.append([given_back("a")])
        office.review("b", "s1")
        service.catch_up()
        assert Assigner(service).turn() == 1
        assert {name: it for name, (it, _) in assigned(office).items()} == {"a": None, "b": "ana"}


def test_it_runs_with_the_ledger_and_the_doctor_says_who_may_be_away(tmp_path, monkeypatch):
    monkeypatch.setattr(assigner, "TURN_SECONDS", 0.05)
    with office_in(tmp_path) as office:
        office.review("a", "s0")
    file = tmp_path / "assign.toml"
    file.write_text(FILE)
    settings = settings_in(tmp_path, assign_file=file)
    with ledger_service(settings) as service, assigning(service):
        wait_until(lambda: service.inbox.find(kind=ASSIGNMENT))
    [said] = [it for it in examine(settings) if it.check == "assignment"]
    assert (said.verdict, "ana, bia" in said.found) == ("warning", True)
