"""Broken rules, one row per rule and subject (docs/rules.md#findings).

Readings, beside those of the package: `found_at` is the instant in the world at which the rule
was broken, so a late delivery moves it no later: `created_at` for what an event says, the finish
for a finish, the start for what was sent, `occurred_at` for what only our log shows (altered
events, unreadable parts, new codes, quarantine, overrides). What holds only once two things are
so is found at the later one. `seq` is the entry that shows it first: for what the clock alone
shows, the first event that carries the current deadline, or the earliest where none does.
`unauthorized`, `tls_refused`, `slow_record` and `quarantined` are about the wires, not about a
process: they name none.
"""

from tests.support.oracle.model import Log
from tests.support.oracle.processes import processes as all_processes

from . import (
    alerts,
    attempts,
    deliveries,
    evidence,
    notices,
    processes,
    sellers,
    unreadable_parts,
)

PROCESS_RULES = (
    processes.expired_unfinished,
    processes.finished_late,
    processes.finished_by_the_platform,
    processes.flags,
    processes.overdue_unstarted,
    processes.outcome_unknown,
    evidence.fields_without_cover,
    evidence.evidence_recorded_late,
)
LOG_RULES = (
    evidence.evidence_reused,
    evidence.values_reused,
    attempts.attempt_findings,
    attempts.unauthorized,
    attempts.tls_refused,
    alerts.alert_undelivered,
    deliveries.event_altered,
    deliveries.slow_record,
    deliveries.quarantined,
    deliveries.override,
    deliveries.new_code,
    unreadable_parts.unreadable_part,
    sellers.status_after_deletion,
    sellers.deleted_with_open,
    notices.never_notified,
    notices.notified_late,
    notices.contact_recorded_late,
)


def findings(log: Log) -> list[dict]:
    found = [
        row for rule in PROCESS_RULES for process in all_processes(log) for row in rule(process)
    ]
    found += [row for rule in LOG_RULES for row in rule(log)]
    return sorted(found, key=lambda row: (row["rule"], row["found_at"], row["seq"]))
