"""Findings about payloads, tries and credentials."""

from collections.abc import Callable, Iterator

from tests.support.oracle.attempts import RETRYABLE, outcome, sent_attempts
from tests.support.oracle.contract import REVIEW_TYPES
from tests.support.oracle.model import Attempt, Log
from tests.support.oracle.payload import extra_in_partial, missing_from_whole, payload_of
from tests.support.oracle.processes import Process, processes, requested_by

from .finding import BREACH, RISK, finding


def attempt_findings(log: Log) -> Iterator[dict]:
    for process in processes(log):
        yield from attempt_without_start(process)
        yield from sent_against_the_rules(process)
        yield from payload_changed_on_retry(process)
        yield from retries_exhausted(process)


def attempt_without_start(process: Process) -> Iterator[dict]:
    """Answered, and nothing says what was sent."""
    for attempt in process.attempts:
        if attempt.status is not None and attempt.body is None:
            yield finding(
                "attempt_without_start",
                RISK,
                attempt.finished_at,
                attempt.finish.seq,
                process,
                attempt.attempt_id,
            )


def sent_against_the_rules(process: Process) -> Iterator[dict]:
    """One row per payload, shown by the first attempt that sent it against the rules."""
    seen = set()
    first_via: dict[bytes, str | None] = {}
    for attempt in process.attempts:
        if attempt.body is None:
            continue
        first_via.setdefault(attempt.body, attempt.via)
        received = [
            event for event in process.events if event.delivery.occurred_at <= attempt.started_at
        ]
        if not received:
            continue
        review_type = REVIEW_TYPES.get(received[0].type_code)
        requested = requested_by(received)
        if review_type is None:
            continue
        if review_type.is_partial:
            rule, faults = "aci_extra_field", extra_in_partial(attempt, requested)
        else:
            rule, faults = (
                "acp_incomplete",
                missing_from_whole(
                    attempt, requested, came_by_gateway=first_via[attempt.body] == "gateway"
                ),
            )
        if payload_of(attempt) is None:
            faults = ["no readable JSON object"]
        if faults and (rule, attempt.body) not in seen:
            seen.add((rule, attempt.body))
            yield finding(
                rule, BREACH, attempt.started_at, attempt.start.seq, process, ", ".join(faults)
            )


def payload_changed_on_retry(process: Process) -> Iterator[dict]:
    """After a retryable outcome, an attempt with other bytes and no replacement entry."""
    for before, attempt in zip(process.attempts, process.attempts[1:], strict=False):
        if before.body is None or attempt.body is None or before.body == attempt.body:
            continue
        was_retryable = outcome(before, attempt.started_at) in RETRYABLE
        replaced = any(before.started_at < at <= attempt.started_at for at in process.replaced_at)
        if was_retryable and not replaced:
            yield finding(
                "payload_changed_on_retry",
                RISK,
                attempt.started_at,
                attempt.start.seq,
                process,
                attempt.attempt_id,
            )


def retries_exhausted(process: Process) -> Iterator[dict]:
    for each, *_ in process.given_up:
        yield finding(
            "retries_exhausted",
            RISK,
            each.at,
            each.attempt.shown_by.seq,
            process,
            each.attempt.attempt_id,
        )


def unauthorized(log: Log) -> Iterator[dict]:
    """A 401 with no later answer of another kind on any process."""
    yield from refused_access(
        log,
        "unauthorized",
        lambda attempt: attempt.status == 401,
        lambda attempt: attempt.status not in (None, 401),
    )


def tls_refused(log: Log) -> Iterator[dict]:
    """A refused handshake with no later answer on any process: that took a handshake."""
    yield from refused_access(
        log,
        "tls_refused",
        lambda attempt: attempt.status is None and attempt.error == "tls_refused",
        lambda attempt: attempt.status is not None,
    )


def refused_access(
    log: Log, rule: str, is_refusal: Callable[[Attempt], bool], clears: Callable[[Attempt], bool]
) -> Iterator[dict]:
    """One row, found at the first refusal that nothing cleared."""
    attempts = sent_attempts(log)
    cleared_at = [attempt.finished_at for attempt in attempts if clears(attempt)]
    refused = [
        attempt
        for attempt in attempts
        if is_refusal(attempt) and not any(at > attempt.finished_at for at in cleared_at)
    ]
    if refused:
        first = min(refused, key=lambda attempt: (attempt.finished_at, attempt.attempt_id))
        yield finding(rule, RISK, first.finished_at, first.finish.seq)
