"""Lists the views whose rows are kept in tables, and those that are read in another way than by
their own SQL alone. No I/O.

What a row means, its view under `queries/` says; what is here only spares time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple


@dataclass(frozen=True, slots=True)
class Storage:
    """How a view's rows are stored in a table, `kept_` and its name here."""

    table: str
    key: str = ""  # its primary key; "" for a table without one
    written: str = ""  # the file in `queries/refresh/` that its rows are written by; "": the view
    clustered: str = ""  # by which column many rows that are written together lie in order
    stored: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Column -> as it is written, as it is read."""

    rows: str = ""  # which rows of the table are the view's; "" for all
    settled: str = ""
    """Of which rows the table says what the view says, as rows of other instants differ. With such
    a condition, rows may also wait for a later batch."""


class Reading(NamedTuple):
    """How a view is read; each part is "", or empty, where nothing is to be said."""

    found_by: str = ""  # a view below it, of the same keys and order, that takes less time
    among: str = ""  # the view with a table that has its rows, with more columns
    within: str = ""
    """The view that says of which processes it has the rows of the first view that it reads."""

    led: Mapping[str, str] = MappingProxyType({})
    """Column -> the file in `queries/narrowed/` that says which materialized rows are needed for
    few ids of it, where facts of all are needed, or none."""

    decided_by_others: tuple[str, ...] = ()
    """Views below it that rows of other ids decide on, or that have rows of no id. Without them it
    answers for a process of which `queries/held/processes.sql` has no row of the same name."""

    sets: str = ""
    """The variable that is true for it: views below it leave out rows that it does not need."""

    scanned: str = ""
    """Why each view that reads its table scans it for itself, by its own filter; "": the rows that
    all of them need are copied once."""


NO_OTHER: Final = Reading()
"""By its own SQL alone."""

_OF_A_PROCESS: Final = (
    "process_id not in (select process_id from kept_processes where settled_at > as_of())"
)
_OF_ALL: Final = "(select settled_at <= as_of() from kept_watermark)"

STORED: Final[Mapping[str, Storage]] = {
    "timeline": Storage(
        "timeline",
        written="timeline.sql",
        stored={"leaf_hash": ("unhex(leaf_hash)", "lower(hex(leaf_hash))")},
        rows="shown_from <= as_of() and (shown_until is null or shown_until > as_of())",
    ),
    "unlisted_codes": Storage("unlisted_codes"),
    "repeated_deliveries": Storage("repeated_deliveries"),
    "repeated_collections": Storage("repeated_collections"),
    "shared_subjects": Storage("subjects", rows="is_shared"),
    "seller_records": Storage("sellers", "seller_id", settled=_OF_ALL),
    "attempt_facts": Storage(
        "attempts",
        "attempt_id",
        clustered="ordered_at",
        stored={
            "outcome": (
                "outcome",
                "case when finish_seq is null and as_of() < timeout_at then 'in_flight'"
                " else outcome end",
            ),
            "is_retryable": (
                "is_retryable",
                "is_retryable and (finish_seq is not null or as_of() >= timeout_at)",
            ),
        },
        settled=_OF_A_PROCESS,
    ),
    "process_facts": Storage(
        "processes",
        "process_id",
        written="processes.sql",
        clustered="settled_at",
        stored={
            "requested_fields": (
                "cast(to_json(requested_fields) as varchar)",
                "from_json(requested_fields, '[\"VARCHAR\"]')",
            )
        },
        rows="is_known",
        settled=_OF_A_PROCESS,
    ),
    "field_evidence": Storage("field_evidence", settled=_OF_A_PROCESS),
    "settled_findings": Storage("findings", settled=_OF_ALL),
}
"""By the view's name."""

READ: Final[Mapping[str, Reading]] = {
    "timeline": Reading(
        scanned="of all entries, a process or a seller needs few, which an index finds",
        led={"process_id": "timeline_of_processes", "seller_id": "timeline_of_sellers"},
    ),
    "attempt_facts": Reading(scanned="of all attempts, most views need the last few"),
    "attempts": Reading(among="attempt_facts"),
    "current_answers": Reading(within="unfinished_processes"),
    "alarming_states": Reading(within="alarming_processes"),
    "findings": Reading(
        led={"process_id": "kept_of_processes"},
        decided_by_others=(
            "unnotified_findings",
            "alert_findings",
            "rejection_findings",
            "reused_evidence_findings",
            "delivery_findings",
            "new_code_findings",
            "status_findings",
        ),
    ),
    "seller_entries": Reading(led={"seller_id": "timeline_of_sellers"}),
    "new_alerts": Reading(sets="unraised"),
    "open_processes": Reading(found_by="unfinished_states"),
    "waiting_submissions": Reading(found_by="tried_processes"),
}
"""By the view's name; all others are read by their own SQL alone."""
