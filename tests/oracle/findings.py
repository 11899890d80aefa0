"""Broken rules, one row per rule and subject (rules.md section 6).

Readings, beside those of the package: `found_at` is the instant in the world at which the rule
was broken, so a late delivery moves it no later: `created_at` for what an event says, the finish
for a finish, the start for what was sent, `occurred_at` for what only our log shows (altered
bodies, new codes, quarantine, overrides). `seq` is the entry that shows it first: for what the
clock alone shows, the first event that carries the current deadline. `unauthorized`,
`slow_record` and `quarantined` are about the wires, not about a process: they name none.
"""

from . import attempt_findings, delivery_findings, evidence_findings, process_findings
from .model import Log
from .processes import processes

PROCESS_RULES = (
    process_findings.expired_unfinished,
    process_findings.finished_late,
    process_findings.finished_elsewhere,
    process_findings.flags,
    process_findings.overdue_unstarted,
    process_findings.outcome_unknown,
    evidence_findings.leaves_without_cover,
    evidence_findings.evidence_recorded_late,
)
LOG_RULES = (
    evidence_findings.evidence_reused,
    evidence_findings.values_reused,
    attempt_findings.attempt_findings,
    attempt_findings.unauthorized,
    delivery_findings.event_altered,
    delivery_findings.slow_record,
    delivery_findings.quarantined,
    delivery_findings.override,
    delivery_findings.new_code,
)


def findings(log: Log) -> list[dict]:
    found = [row for rule in PROCESS_RULES for process in processes(log) for row in rule(process)]
    found += [row for rule in LOG_RULES for row in rule(log)]
    return sorted(found, key=lambda row: (row["rule"], row["found_at"], row["seq"]))
