"""No page leads where a reader's role does not let them go."""

import pytest

from app_pages.door import access
from pipeline.log.actions import action
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import attempt, before, review, seller_event
from tests.app_pages.support.reading import links, page_text

HISTORY = [
    review("prc_1", before(days=40)),
    *attempt("prc_1", before(days=2), status=400),
    seller_event("sel_ana", "denied", before(days=3), retry=True),
    {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
]


def test_an_analyst_sees_a_finding_without_who_did_what_and_why(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    overridden = action(
        "override",
        reason="seller on phone said so",
        actor="Ana Souza",
        recorded_by="test",
        process_id="prc_1",
        rule="evidence_missing",
    )
    with open_log(HISTORY) as service:
        service.inbox.append([overridden])
        follow(service)
        assert "Ana Souza" in page_text(visit("findings", as_of=None, rule="override"))
        monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
        shown = page_text(visit("findings", as_of=None, rule="override"))
    assert "Rule overridden" in shown
    assert "Ana Souza" not in shown
    assert "seller on phone" not in shown


def test_an_analyst_is_led_to_no_single_process_or_seller(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a link was an error that hid the rest of the page: theirs had no page to lead to."""
    monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
    pages = ("overview", "findings", "submissions", "denials")
    with open_log(HISTORY):
        shown = {page: links(visit(page)) for page in pages}
    # From Overview: the quarantine, and why sellers were denied.
    assert shown.pop("overview") == [
        ("View the quarantine", ""),
        ("View denials of the last 7 days", "ends=2026-06-01"),
    ]
    assert shown == {page: [] for page in pages[1:]}
