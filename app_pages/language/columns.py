"""Names the columns of lists for people, where a file of their rows is made for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa

from app_pages.language import changes, code_texts, occurrences, rulebook, sellers
from app_pages.language.i18n import N_, said_in
from pipeline.language import codes
from pipeline.language.catalogue import Language
from pipeline.language.next_actions import ACTIONS
from pipeline.log.actions import WRITTEN
from pipeline.log.kinds import collection
from pipeline.serve.compared import THEN

LABELS: Final[Mapping[str, str]] = {
    "acknowledged_at": N_("Acknowledged at"),
    "acknowledged_by": N_("Acknowledged by"),
    "actor": N_("Person"),
    "alert_id": N_("Alert"),
    "artifacts": N_("Artifacts"),
    "assignee": N_("Assigned to"),
    "assignees": N_("Assigned to"),
    "attempt_id": N_("Attempt"),
    "attempt_number": N_("Attempt of the process"),
    "attempt_of_try": N_("Attempt of the try"),
    "attempts": N_("Attempts"),
    "balance_at": N_("Balance as of"),
    "came_back_at": N_("Came back at"),
    "chance": N_("Chance"),
    "chance_high": N_("Chance, at most"),
    "chance_low": N_("Chance, at least"),
    "change": N_("Change"),
    "changed_at": N_("When"),
    "channel": N_("Channel"),
    "code": N_("Code"),
    "codes": N_("Reasons as codes"),
    "current_balance": N_("Balance"),
    "cured_at": N_("Cured at"),
    "days_to_deadline": N_("Days to the deadline"),
    "days_to_overdue": N_("Days to OVERDUE"),
    "deadline_at": N_("Deadline"),
    "deadline_changed": N_("Deadline changed"),
    "deadline_mismatch": N_("Deadline unusual"),
    "denied_at": N_("Denied at"),
    "detail": N_("Detail"),
    "duration_ms": N_("Duration, ms"),
    "error": N_("Error"),
    "event_id": N_("Event"),
    "expired": N_("Expired"),
    "expiry_disabled_at": N_("Disabled after a deadline"),
    "fields": N_("Fields"),
    "fields_answered": N_("Fields answered"),
    "fields_required": N_("Fields required"),
    "lacks_type": N_("Type of seller missing"),
    "finish_seq": N_("Entry of the finish"),
    "finished_at": N_("Finished at"),
    "finished_by": N_("Finished by"),
    "finished_late": N_("Finished late"),
    "first_denied_at": N_("First denied at"),
    "found_at": N_("True since"),
    "gives_up_at": N_("Given up at"),
    "how": N_("What was seen"),
    "identity_changed": N_("Type or seller changed"),
    "is_cured": N_("Cured"),
    "is_due_within_7_days": N_("Due in 7 days"),
    "is_given_up": N_("Given up"),
    "is_held": N_("Held back by our rules"),
    "is_open": N_("Open"),
    "is_retry_pending": N_("Waiting for a retry"),
    "journey_id": N_("Journey"),
    "kind": N_("What it is about"),
    "last_attempt_at": N_("Last attempt at"),
    "last_contact_at": N_("Last contact"),
    "last_contact_by": N_("Last contacted by"),
    "last_contact_channel": N_("Channel of the last contact"),
    "last_outcome": N_("Last outcome"),
    "lowest_chance": N_("Lowest chance"),
    "next_action": N_("Next action"),
    "next_deadline_at": N_("Next deadline"),
    "next_savable_deadline_at": N_("Next deadline ahead"),
    "occurred_at": N_("Occurred at"),
    "open_after_finish": N_("Reported open after the finish"),
    "opened_at": N_("Opened at"),
    "origin": N_("Origin"),
    "outcome": N_("Outcome"),
    "overdue": codes.STATES["OVERDUE"],
    "overdue_at": N_("OVERDUE from"),
    "paths": N_("Fields named"),
    "payload_sha256": N_("SHA-256 of the payload"),
    "payload_type": N_("Type of the payload"),
    "pending": N_("Pending"),
    "process_id": N_("Process"),
    "queue": N_("Queue"),
    "raised_at": N_("Raised at"),
    "reason": N_("Reason"),
    "reasons": N_("Reasons"),
    "recipients": N_("Recipients"),
    "recorded_at": N_("Recorded at"),
    "recorded_by": N_("Recorded by"),
    "replayed_as": N_("Replayed as"),
    "reported_at": N_("Reported at"),
    "reported_status": N_("Status reported"),
    "requested_fields": N_("Requested fields"),
    "retry": N_("A new attempt can succeed"),
    "retry_after_at": N_("Not again before"),
    "retry_due_at": N_("Retry due at"),
    "review_type": N_("Type"),
    "review_types": N_("Type"),
    "role": N_("Role"),
    "rule": N_("Rule"),
    "seconds_to_cure": N_("Seconds to the cure"),
    "seconds_to_deadline": N_("Seconds to the deadline"),
    "seller_deleted_at": N_("Seller deleted at"),
    "seller_id": N_("Seller"),
    "seller_type": N_("Type of seller"),
    "seq": N_("Entry"),
    "severity": N_("Severity"),
    "shown_view": N_("View"),
    "since": N_("Due since"),
    "size_bytes": N_("Bytes"),
    "snoozed_until": N_("Snoozed until"),
    "source": N_("Source"),
    "start_seq": N_("Entry of the start"),
    "started_at": N_("Started at"),
    "state": N_("State"),
    "status": N_("Status"),
    "status_disagrees": N_("Report disagrees with the clock"),
    "step": N_("Step"),
    "subject": N_("Subject"),
    "successor_id": N_("Came back as"),
    "successors": N_("New sellers"),
    "ticket_due": N_("A ticket is due"),
    "timeout_at": N_("Too late from"),
    "told": N_("Notified"),
    "try_number": N_("Content number"),
    "unassigned": N_("Unassigned"),
    "undelivered": N_("Not delivered"),
    "via": N_("Via"),
    "was_in_vain": N_("Had no chance"),
    "why_not": N_("Why there is no chance"),
    "worst_state": N_("Worst state"),
}
"""Of the views that pages list; a column of any other view keeps its own name."""

VIEWS: Final[Mapping[str, str]] = {
    "open_processes": N_("Unfinished processes"),
    "open_by_chance": N_("Unfinished processes"),
    "savable_sellers": N_("Sellers with an open review"),
    "seller_watchlist": N_("Sellers with an open review"),
    "sellers_by_chance": N_("Sellers with an open review"),
    "process_state": N_("Review processes"),
    "changes": N_("What changed"),
    "alerts": N_("Alerts"),
    "findings": N_("Findings"),
    "submission_attempts": N_("Submission attempts"),
    "denials": N_("Denials"),
    "returned_sellers": N_("Sellers who came back"),
    "collections": N_("Collections"),
    "quarantine": N_("Quarantine"),
    "personal_accesses": N_("Who saw a person's data"),
}
"""The views that pages list, as a file of their rows is headed."""

DIFFERENCE: Final = N_("Difference")
DIFFERENCES: Final[Mapping[str, str]] = {
    "changed": N_("changed"),
    "came": N_("new"),
    "went": N_("gone"),
}
"""What became of a row of a list that is compared with an earlier instant."""

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "state": codes.STATES,
    "worst_state": codes.STATES,
    "last_contact_channel": codes.SELLER_CHANNELS,
    "queue": codes.QUEUES,
    "review_type": codes.REVIEW_TYPES,
    "outcome": codes.OUTCOMES,
    "last_outcome": codes.OUTCOMES,
    "finished_by": codes.FINISHERS,
    "reported_status": codes.STATES,
    "next_action": {code: it.name for code, it in ACTIONS.items()},
    "severity": codes.SEVERITIES,
    "rule": {code: it.name for code, it in rulebook.RULES.items()},
    "how": occurrences.ACCESSES,
    "change": {code: it.name for code, it in changes.CHANGES.items()},
    "channel": codes.SELLER_CHANNELS,
    "step": collection.KIND.steps,
    "error": codes.ERRORS,
    "origin": codes.ORIGINS,
    "via": codes.VIAS,
    "role": codes.ROLES,
    "source": codes.SOURCES,
    "seller_type": codes.SELLER_TYPES,
}
_ALERTS: Final[Mapping[str, str]] = {"alerts": "kind", "changes": "code"}
"""Views -> their column of what an alert is about, or which rule is broken."""


def view_name(view: str, into: Language) -> str:
    """What the rows of a view are called; its own name where no page lists it."""
    return said_in(into, VIEWS[view]) if view in VIEWS else view


def label(view: str, column: str, into: Language) -> str:
    """What stands above a column of a view: a word of a language where pages list the view."""
    return said_in(into, LABELS[column]) if view in VIEWS and column in LABELS else column


def meanings(view: str, into: Language, kinds: Iterable[str] = ()) -> dict[str, dict[str, str]]:
    """Columns of a view that pages list -> what stands for their codes in that language. `kinds`:
    of the alerts in its rows, of which the settings say how many there are."""
    if view not in VIEWS:
        return {}
    named = {
        column: {code: said_in(into, word) for code, word in meanings.items()}
        for column, meanings in _WORDS.items()
    }
    if view in _ALERTS:
        named[_ALERTS[view]] = {kind: occurrences.alert_name(kind, into) for kind in kinds}
    return named


def sentences(view: str, into: Language) -> dict[str, Callable[[Any], str]]:
    """Columns of a view with other values than one code -> what says them in that language."""

    def of_denial(reasons: Sequence[Mapping[str, str | None]]) -> str:
        return "; ".join(sellers.reason(pair, into) for pair in reasons)

    said: dict[str, dict[str, Callable[[Any], str]]] = {
        "denials": {"reasons": of_denial},
        "quarantine": {"reason": partial(occurrences.unreadable, into=into)},
        "personal_accesses": {"reason": lambda reason: code_texts.word(WRITTEN, reason, into)},
    }
    return said.get(view, {})


def kinds(view: str, rows: pa.Table) -> set[str]:
    """What the alerts in some rows of a view are about; in a comparison, at either instant."""
    found = (it for it in rows.column_names if it.removeprefix(THEN) == _ALERTS.get(view))
    return {kind for it in found for kind in rows.column(it).unique().to_pylist() if kind}
