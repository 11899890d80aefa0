"""No page leads where a reader's role does not let them go."""

import pytest

from app_pages import access
from pipeline.roles import Person, Role
from tests.dashboard.conftest import OpenLog, Visit
from tests.dashboard.occurrences import attempt, before, review, seller_event
from tests.dashboard.reading import links

HISTORY = [
    review("prc_1", before(days=40)),
    *attempt("prc_1", before(days=2), status=400),
    seller_event("sel_ana", "denied", before(days=3), retry=True),
    {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
]


@pytest.mark.parametrize("page", ["overview", "findings", "submissions", "denials"])
def test_an_analyst_is_led_to_no_single_process_or_seller(
    page: str, open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a link was an error that hid the rest of the page: theirs had no page to lead to."""
    monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
    with open_log(HISTORY):
        shown = links(visit(page))
    # From Overview: the quarantine, and why sellers were denied.
    assert shown == ([("Show", "")] * 2 if page == "overview" else [])
