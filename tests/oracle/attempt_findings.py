"""Findings about payloads, tries and credentials."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from .attempts import RETRYABLE, outcome, outcome_at, sent_attempts
from .finding import BREACH, RISK, finding
from .model import ACI, ACP, REVIEW_TYPES, Attempt, Log
from .payload import extra_in_aci, missing_from_acp, payload_of
from .processes import Process, processes

TRY_LASTS = timedelta(hours=24)
TRY_ATTEMPTS = 30


def attempt_findings(log: Log) -> Iterator[dict]:
    for process in processes(log):
        replaced_at = [
            entry.occurred_at
            for entry in log.replacements
            if entry.line["process_id"] == process.process_id
        ]
        yield from sent_against_the_rules(process)
        yield from payload_changed_on_retry(process, replaced_at)
        for tried in tries(process.attempts):
            yield from retries_exhausted(process, tried, replaced_at)


def sent_against_the_rules(process: Process) -> Iterator[dict]:
    """One row per payload, shown by the first attempt that sent it against the rules."""
    seen = set()
    for attempt in process.attempts:
        if payload_of(attempt) is None:
            continue
        received = [
            event for event in process.events if event.delivery.occurred_at <= attempt.started_at
        ]
        if not received:
            continue
        review_type = REVIEW_TYPES.get(received[0].type_code)
        requested = received[-1].requested_fields
        if review_type == ACP:
            rule, faults = "acp_incomplete", missing_from_acp(payload_of(attempt), requested)
        elif review_type == ACI:
            rule, faults = "aci_extra_field", extra_in_aci(attempt, requested)
        else:
            continue
        if faults and (rule, attempt.body) not in seen:
            seen.add((rule, attempt.body))
            yield finding(
                rule, BREACH, attempt.started_at, attempt.start.seq, process, ", ".join(faults)
            )


def payload_changed_on_retry(process: Process, replaced_at: list[datetime]) -> Iterator[dict]:
    """After a retryable outcome, an attempt with other bytes and no replacement entry."""
    for before, attempt in zip(process.attempts, process.attempts[1:], strict=False):
        if before.body is None or attempt.body is None or before.body == attempt.body:
            continue
        was_retryable = outcome(before, attempt.started_at) in RETRYABLE
        replaced = any(before.started_at <= at <= attempt.started_at for at in replaced_at)
        if was_retryable and not replaced:
            yield finding(
                "payload_changed_on_retry",
                RISK,
                attempt.started_at,
                attempt.start.seq,
                process,
                attempt.attempt_id,
            )


def tries(attempts: list[Attempt]) -> list[list[Attempt]]:
    """A try is one payload (its bytes) with its retries: a run of attempts with equal bytes."""
    runs: list[list[Attempt]] = []
    for attempt in attempts:
        if runs and runs[-1][-1].body == attempt.body:
            runs[-1].append(attempt)
        else:
            runs.append([attempt])
    return runs


def retries_exhausted(
    process: Process, tried: list[Attempt], replaced_at: list[datetime]
) -> Iterator[dict]:
    """A pending retry reached 24 hours after the try began, or followed the 30th attempt."""
    gives_up_at = tried[0].attempted_at + TRY_LASTS
    for count, attempt in enumerate(tried, start=1):
        if outcome(attempt, process.as_of) not in RETRYABLE:
            continue
        pending_from = outcome_at(attempt)
        at = pending_from if count >= TRY_ATTEMPTS else max(pending_from, gives_up_at)
        ends = [end for end in replaced_at if end >= attempt.attempted_at]
        ends += [later.attempted_at for later in process.attempts if later.order > attempt.order]
        if process.finish:
            ends.append(process.finished_at)
        if at <= process.as_of and all(at < end for end in ends):
            yield finding(
                "retries_exhausted",
                RISK,
                at,
                attempt.shown_by.seq,
                process,
                attempt.attempt_id,
            )
            return


def unauthorized(log: Log) -> Iterator[dict]:
    """A 401 with no later 200 on any process; one row, found at the first such 401."""
    attempts = sent_attempts(log)
    accepted_at = [attempt.finished_at for attempt in attempts if attempt.status == 200]
    refused = [
        attempt
        for attempt in attempts
        if attempt.status == 401 and not any(at > attempt.finished_at for at in accepted_at)
    ]
    if refused:
        first = min(refused, key=lambda attempt: (attempt.finished_at, attempt.attempt_id))
        yield finding("unauthorized", RISK, first.finished_at, first.finish.seq)
