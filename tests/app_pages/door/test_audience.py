"""Which pages and views each role opens: an analyst only those that somebody opened to them."""

from pathlib import Path

import pytest

from app_pages.door import access, audience, pages
from pipeline.errors import OperatorError
from pipeline.ledger.views.catalogue import public
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review, seller_event
from tests.app_pages.support.reading import page_text

FOR_ANALYSTS = [
    "overview",
    "findings",
    "submissions",
    "denials",
    "trends",
    "ledger",
    "dictionary",
    "help",
]
NOT_FOR_ANALYSTS = [
    "watchlist",
    "sellers",
    "since",
    "alerts",
    "process",
    "seller",
    "evidence",
    "check",
    "privacy",
]
CLOSED_VIEWS = {
    "alerts",
    "new_alerts",
    "alerts_sent",
    "calendar_deadlines",
    "calendar_feeds",
    "changes",
    "assignment_turns",
    "assignments",
    "backlog_by_person",
    "bank_accounts",
    "clearances",
    "collections",
    "evidence_coverage",
    "expired_processes",
    "forecast",
    "held_sellers",
    "log_entries",
    "next_actions",
    "notes",
    "on_time_by_person",
    "open_by_chance",
    "open_processes",
    "personal_accesses",
    "phases_by_person",
    "process_contents",
    "process_journeys",
    "process_phases",
    "process_state",
    "report_subscriptions",
    "samples",
    "savable_sellers",
    "saved_views",
    "seller_contents",
    "seller_day_contents",
    "seller_entries",
    "seller_holdings",
    "seller_identities",
    "seller_names",
    "seller_state",
    "seller_notices",
    "seller_watchlist",
    "sellers_by_chance",
    "tickets",
    "unassigned_processes",
    "timeline",
    "watchlist",
}


def person(*roles: Role) -> Person:
    return Person("bia", frozenset(roles))


def test_somebody_decided_who_opens_each_page():
    assert {*pages.pages()} == {*FOR_ANALYSTS, *NOT_FOR_ANALYSTS}, (
        "decide whether analysts open it: say so in its PAGE, and name it in one of the lists here"
    )


@pytest.mark.parametrize(
    "said",
    [
        "",
        "PAGE = Page(title=N_('Mine'), icon='sell', section=Section.PROOF, place=90)",
        "PAGE = Page(title=N_('Mine'), section=Section.OTHER, place=90, for_analysts=False)",
    ],
)
def test_a_page_that_does_not_say_who_opens_it_is_refused(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was not named in one of the lists opened for nobody, and every test passed."""
    (tmp_path / "mine.py").write_text(f"{said}\n", encoding="utf-8")
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    with pytest.raises(OperatorError, match=r"mine\.py cannot be offered"):
        pages.pages.__wrapped__()


def test_analysts_open_some_pages_and_every_other_role_opens_all():
    for role in (Role.OFFICER, Role.AUDITOR, Role.ADMIN):
        for page in FOR_ANALYSTS + NOT_FOR_ANALYSTS:
            assert audience.may_open(person(role), page), (role, page)
    for page in FOR_ANALYSTS:
        assert audience.may_open(person(Role.ANALYST), page), page
    for page in NOT_FOR_ANALYSTS:
        assert not audience.may_open(person(Role.ANALYST), page), page


def test_analysts_read_every_view_but_those_about_one_process_or_seller():
    closed = {view for view in public() if not audience.may_read(person(Role.ANALYST), view)}
    assert closed == CLOSED_VIEWS, (
        "decide whether analysts read it: say `open to: analysts` in its header, or name it in"
        " CLOSED_VIEWS here"
    )
    for role in (Role.OFFICER, Role.AUDITOR, Role.ADMIN):
        assert all(audience.may_read(person(role), view) for view in public()), role


def test_a_page_or_view_that_nobody_thought_of_is_closed_to_analysts():
    for name in ("a_new_one", "", "DENIALS", "denials "):
        assert not audience.may_open(person(Role.ANALYST), name)
        assert not audience.may_read(person(Role.ANALYST), name)


def test_several_roles_open_what_any_of_them_opens():
    both = person(Role.ANALYST, Role.AUDITOR)
    assert audience.may_open(both, "process")
    assert audience.may_read(both, "timeline")


def test_without_a_role_nothing_is_open():
    assert not audience.may_open(person(), "overview")
    assert not audience.may_read(person(), "denials")


def test_a_page_that_is_open_to_analysts_reads_no_view_that_is_not(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "person", lambda: person(Role.ANALYST))
    history = [
        review("prc_1", before(days=40)),
        *attempt("prc_1", before(days=2), status=400),
        seller_event("sel_ana", "denied", before(days=3), retry=True),
        {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
    ]
    with open_log(history):
        for page in FOR_ANALYSTS:
            app = visit(page)
            assert not app.error, (page, [it.value for it in app.error])
            assert "not open to your role" not in page_text(app), page
