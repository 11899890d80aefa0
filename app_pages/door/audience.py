"""Decides which pages and which views each role opens. Pure.

Officers, auditors and administrators open everything. An analyst's questions are about many
sellers at once, so analysts open the pages whose `PAGE` says so, the views that are listed here,
and nothing else: a new view stays closed to them until somebody adds its name.
"""

from typing import Final

from app_pages.door.pages import pages
from pipeline.serve.roles import Person, Role

_OPENS_EVERYTHING: Final = frozenset({Role.OFFICER, Role.AUDITOR, Role.ADMIN})

_VIEWS_FOR_ANALYSTS: Final = frozenset(
    {
        "alert_figures",
        "attempts_by_outcome",
        "journeys_by_step",
        "clock",
        "coming_days",
        "day_contents",
        "deadline_bars",
        "deadline_calendar",
        "deliveries",
        "denial_headline",
        "denial_months",
        "denial_pareto",
        "denial_reasons",
        "denial_retries",
        "denial_weeks",
        "denials",
        "finding_counts",
        "findings",
        "forwardings",
        "intake",
        "ledger_health",
        "onboarding_analysis",
        "onboarding_weeks",
        "open_actions",
        "open_counts",
        "outcomes_by_attempt",
        "overview_figures",
        "quarantine",
        "recent_states",
        "redeliveries",
        "retry_queue",
        "return_weeks",
        "returned_sellers",
        "review_flow",
        "state_daily",
        "submission_attempts",
        "submission_figures",
        "submission_outcomes",
        "submission_retries",
        "submission_weeks",
        "waiting_submissions",
    }
)
"""Figures about many, and rows without what a person wrote or who was assigned."""


def may_open(person: Person, page: str) -> bool:
    """`page`: the stem of its file under `app_pages/pages/`."""
    return _opens(person, page in pages() and pages()[page].for_analysts)


def may_read(person: Person, view: str) -> bool:
    """Whether the rows of a view are open to a person, wherever a page shows them."""
    return _opens(person, view in _VIEWS_FOR_ANALYSTS)


def _opens(person: Person, is_for_analysts: bool) -> bool:
    if person.roles & _OPENS_EVERYTHING:
        return True
    return Role.ANALYST in person.roles and is_for_analysts
