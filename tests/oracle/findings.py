"""Broken rules, one row per rule and subject (rules.md section 6).

Readings, beside those of the package: `found_at` is the instant in the world at which the rule
was broken, so a late delivery moves it no later: `created_at` for what an event says, the finish
for a finish, the start for what was sent, `occurred_at` for what only our log shows (altered
bodies, new codes, quarantine, overrides). `seq` is the entry that shows it first: for what the
clock alone shows, the first event that carries the current deadline. `unauthorized`,
`slow_record` and `quarantined` are about the wires, not about a process: they name none.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from .attempts import RETRYABLE, outcome, outcome_at, sent_attempts
from .deliveries import bank_account_seller, deliveries_of, replays
from .evidence import Sending, answered_leaves, sendings
from .model import (
    ACI,
    ACP,
    BANK_EVENTS,
    LISTED_EVENTS,
    REVIEW_TYPES,
    SELLER_EVENTS,
    Attempt,
    Delivery,
    Entry,
    Log,
    ReviewEvent,
)
from .payload import SHOWN_PATHS, extra_in_aci, missing_from_acp, payload_of, sent_leaves
from .processes import Process, processes
from .reading import DAY, same_json, sha256, text_of
from .sellers import denials, record

BREACH, RISK, NOTICE = "breach", "risk", "notice"
TRY_LASTS = timedelta(hours=24)
TRY_ATTEMPTS = 30
LATE_EVIDENCE = timedelta(hours=24)
SLOW = timedelta(seconds=5)

REVIEW_STATUSES = ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")
REASONS = (
    "DOCUMENT_VALIDATION",
    "INTERNAL_KYC_POLICY",
    "FRAUD_PREVENTION",
    "REGISTRATION_INCONSISTENCY",
)
DETAILS = (
    "DOCUMENT_NOT_MATCH",
    "DOCUMENT_QUALITY",
    "NAME_INVALID",
    "BIRTH_DATE_INVALID",
    "REGISTRATION_STATUS_INVALID",
)


def findings(log: Log) -> list[dict]:
    found: list[dict] = []
    for process in processes(log):
        for rule in PROCESS_RULES:
            found += rule(process)
        found += attempt_findings(log, process)
    for rule_over_all in LOG_RULES:
        found += rule_over_all(log)
    return sorted(found, key=lambda row: (row["rule"], row["found_at"], row["seq"]))


def finding(
    rule: str,
    severity: str,
    found_at: datetime,
    seq: int,
    process: Process | None = None,
    detail: str = "",
) -> dict:
    return {
        "rule": rule,
        "severity": severity,
        "process_id": process.process_id if process else None,
        "seller_id": process.seller_id if process else None,
        "seq": seq,
        "found_at": found_at,
        "detail": detail,
    }


# Clocks and reports


def expired_unfinished(process: Process) -> Iterator[dict]:
    """Found at the earlier of deadline_at and the first report of it."""
    if process.state == "EXPIRED":
        at, seq = reached(process, "EXPIRED", process.deadline_at)
        yield finding("expired_unfinished", BREACH, at, seq, process)


def reached(process: Process, state: str, clock_at: datetime) -> tuple[datetime, int]:
    """When a state began: by the clock or by the first report that carries the deadline."""
    reports = [event for event in process.current_events if event.status == state]
    if reports and reports[0].created_at < clock_at:
        return reports[0].created_at, reports[0].seq
    return clock_at, process.current_events[0].seq


def finished_late(process: Process) -> Iterator[dict]:
    if process.finished_late:
        yield finding(
            "finished_late", BREACH, process.finished_at, process.finish.entry_seq, process
        )


def finished_elsewhere(process: Process) -> Iterator[dict]:
    answered = any(attempt.status == 200 for attempt in process.attempts)
    if process.finish and process.finish.by == "platform" and not answered:
        yield finding(
            "finished_elsewhere", BREACH, process.finished_at, process.finish.entry_seq, process
        )


def flags(process: Process) -> Iterator[dict]:
    """The boolean columns of section 2, each from the event that first shows it."""
    if process.deadline_mismatch:
        event = process.current_events[0]
        yield finding("deadline_mismatch", RISK, event.created_at, event.seq, process)
    if process.deadline_changed:
        event = first_other(process, lambda event: event.deadline_at)
        yield finding("deadline_changed", RISK, event.created_at, event.seq, process)
    if process.identity_changed:
        event = first_other(process, lambda event: (event.type_code, event.seller_id))
        yield finding("identity_changed", RISK, event.created_at, event.seq, process)
    if process.status_disagrees:
        yield finding("status_disagrees", RISK, process.reported_at, process.latest.seq, process)
    if process.open_after_finish:
        event = process.reopening_events[0]
        yield finding("open_after_finish", RISK, event.created_at, event.seq, process)


def first_other(process: Process, said) -> ReviewEvent:
    """The first event that disagrees with the earliest."""
    return next(event for event in process.events if said(event) != said(process.earliest))


def overdue_unstarted(process: Process) -> Iterator[dict]:
    """OVERDUE for 24 h, and no journey was opened, answered or confirmed."""
    started = any(
        collection.line.get("step") in ("opened", "answered", "confirmed")
        for collection in process.collections
    )
    if process.state != "OVERDUE" or started:
        return
    since, seq = reached(process, "OVERDUE", process.overdue_at)
    if process.as_of >= since + DAY:
        yield finding("overdue_unstarted", RISK, since + DAY, seq, process)


def outcome_unknown(process: Process) -> Iterator[dict]:
    """Unfinished, and the last attempt is `unknown` or `conflict`."""
    if process.finish or not process.attempts:
        return
    last = process.attempts[-1]
    if outcome(last, process.as_of) in ("unknown", "conflict"):
        yield finding("outcome_unknown", RISK, outcome_at(last), last.shown_by.seq, process)


# Evidence


def leaves_without_cover(process: Process) -> Iterator[dict]:
    """One row per process and leaf path: the first sending of it that was not covered."""
    paths = set()
    for sending in sendings(process):
        if sending.broken_rule and sending.path not in paths:
            paths.add(sending.path)
            yield finding(
                sending.broken_rule,
                BREACH,
                sending.attempt.started_at,
                sending.attempt.start.seq,
                process,
                sending.path,
            )


def evidence_recorded_late(process: Process) -> Iterator[dict]:
    """One row per collection used: recorded after the start, or over 24 h after it happened."""
    found: dict[int, datetime] = {}
    answers: dict[int, Entry] = {}
    for sending in sendings(process):
        if is_used(sending) and is_recorded_late(sending):
            answer = sending.answer
            at = max(sending.attempt.started_at, answer.recorded_at)
            found[answer.seq] = min(at, found.get(answer.seq, at))
            answers[answer.seq] = answer
    for seq, at in found.items():
        yield finding("evidence_recorded_late", RISK, at, answers[seq].seq, process)


def is_used(sending: Sending) -> bool:
    """The answer that stood at the start says what was sent, from whatever source."""
    return sending.answer is not None and same_json(
        answered_leaves(sending.answer)[sending.path], sending.value
    )


def is_recorded_late(sending: Sending) -> bool:
    answer = sending.answer
    return (
        answer.recorded_at > sending.attempt.started_at
        or answer.recorded_at - answer.occurred_at > LATE_EVIDENCE
    )


def evidence_reused(log: Log) -> Iterator[dict]:
    """One row per journey or artifact and process, all but the process that had it first."""
    for severity, subject_of in ((BREACH, journeys_of), (RISK, artifacts_of)):
        uses: dict[str, list[Entry]] = {}
        for collection in log.collections:
            for subject in subject_of(collection):
                uses.setdefault(subject, []).append(collection)
        for subject, collections in uses.items():
            firsts: dict[str, Entry] = {}
            for collection in sorted(
                collections, key=lambda use: (use.occurred_at, use.line["process_id"], use.seq)
            ):
                firsts.setdefault(collection.line["process_id"], collection)
            for process_id, first in list(firsts.items())[1:]:
                process = process_of(log, process_id)
                yield finding(
                    "evidence_reused", severity, first.occurred_at, first.seq, process, subject
                )


def journeys_of(collection: Entry) -> list[str]:
    journey = collection.line.get("journey_id")
    return [journey] if journey else []


def artifacts_of(collection: Entry) -> list[str]:
    if collection.line.get("step") not in ("answered", "confirmed"):
        return []
    digests = {artifact.get("sha256") for artifact in collection.line.get("artifacts") or []}
    return sorted(digests - {None})


def values_reused(log: Log) -> Iterator[dict]:
    """Every leaf of an accepted submission equals one earlier submission of that seller.

    Earlier means started before, for another process: a retry repeats its own values.
    """
    attempts = sent_attempts(log)
    for accepted in attempts:
        leaves = sent_leaves(accepted)
        if accepted.status != 200 or not leaves or accepted.seller_id is None:
            continue
        for earlier in attempts:
            if (
                earlier.started_at is not None
                and earlier.started_at < accepted.started_at
                and earlier.seller_id == accepted.seller_id
                and earlier.process_id != accepted.process_id
                and holds(sent_leaves(earlier), leaves)
            ):
                yield finding(
                    "values_reused",
                    RISK,
                    accepted.finished_at,
                    accepted.start.seq,
                    process_of(log, accepted.process_id),
                    accepted.attempt_id,
                )
                break


def holds(earlier: dict[str, object], leaves: dict[str, object]) -> bool:
    return all(path in earlier and same_json(earlier[path], leaves[path]) for path in leaves)


# Payloads and tries


def attempt_findings(log: Log, process: Process) -> Iterator[dict]:
    yield from sent_against_the_rules(process)
    replaced_at = [
        entry.occurred_at
        for entry in log.replacements
        if entry.line["process_id"] == process.process_id
    ]
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


# Deliveries


def event_altered(log: Log) -> Iterator[dict]:
    """One row per event id: its first delivery with other bytes than those that count."""
    for event in log.events:
        altered = [
            delivery
            for delivery in deliveries_of(log, event)
            if delivery.entry.body != event.entry.body
        ]
        if altered:
            first = min(
                altered,
                key=lambda other: (other.occurred_at, sha256(other.entry.body), other.entry.seq),
            )
            row = finding(
                "event_altered", RISK, first.occurred_at, first.entry.seq, detail=event.event_id
            )
            yield {**row, **subject_of(log, event)}


def slow_record(log: Log) -> Iterator[dict]:
    """A live delivery recorded more than 5 s after its receipt; a replay is none."""
    for entry in log.of_kind("webhook"):
        is_live = entry.origin == "live" and entry.line.get("replay_of") is None
        if is_live and entry.recorded_at - entry.occurred_at > SLOW:
            yield finding("slow_record", NOTICE, entry.recorded_at, entry.seq)


def quarantined(log: Log) -> Iterator[dict]:
    """Until it is replayed."""
    replayed = replays(log)
    for entry, reason in log.quarantined:
        if entry.seq not in replayed:
            yield finding("quarantined", RISK, entry.occurred_at, entry.seq, detail=reason)


def override(log: Log) -> Iterator[dict]:
    """The process that the entry names, though nothing else may have named it yet."""
    for entry in log.overrides:
        row = finding("override", NOTICE, entry.occurred_at, entry.seq)
        process = process_of(log, entry.line.get("process_id"))
        yield {
            **row,
            "process_id": entry.line.get("process_id"),
            "seller_id": process.seller_id if process else None,
        }


def new_code(log: Log) -> Iterator[dict]:
    """One row per kind of code and value, from its first entry.

    An event without an id, or without a record, is a code of its event type (section 8).
    """
    seen = set()
    for event in sorted(log.events, key=lambda event: (event.occurred_at, event.event_id)):
        for kind, value in unlisted_codes(log, event):
            if (kind, value) not in seen:
                seen.add((kind, value))
                row = finding(
                    "new_code",
                    NOTICE,
                    event.occurred_at,
                    event.entry.seq,
                    detail=f"{kind}: {value}",
                )
                yield {**row, **subject_of(log, event)}


def unlisted_codes(log: Log, event: Delivery) -> Iterator[tuple[str, str]]:
    if event.event_type not in LISTED_EVENTS:
        yield "event type", event.event_type
    if text_of(event.envelope.get("id")) is None:
        yield "event without id", event.event_type
    if event.event_type in SELLER_EVENTS and record(event) is None:
        yield "payload", event.event_type
    for review in log.review_events:
        if review.delivery is event:
            if review.type_code not in REVIEW_TYPES:
                yield "review type", review.type_code
            if review.status is not None and review.status not in REVIEW_STATUSES:
                yield "review status", review.status
            for path in review.requested_fields:
                if path not in SHOWN_PATHS:
                    yield "requested path", path
    for denial in denials(log):
        if denial["event_id"] == event.event_id:
            for pair in denial["reasons"]:
                if pair["reason"] not in REASONS:
                    yield "reason", pair["reason"]
                if pair["detail"] is not None and pair["detail"] not in DETAILS:
                    yield "detail", pair["detail"]


def subject_of(log: Log, event: Delivery) -> dict:
    """The process and the seller that an event is about; a process names its own seller."""
    process_id = seller_id = None
    for review in log.review_events:
        if review.delivery is event:
            process_id = review.process_id
            seller_id = process_of(log, process_id).seller_id
    if event.event_type in SELLER_EVENTS and record(event):
        seller_id = record(event)["id"]
    if event.event_type in BANK_EVENTS:
        seller_id = bank_account_seller(event)
    return {"process_id": process_id, "seller_id": seller_id}


def process_of(log: Log, process_id: str | None) -> Process | None:
    return next((process for process in processes(log) if process.process_id == process_id), None)


PROCESS_RULES = (
    expired_unfinished,
    finished_late,
    finished_elsewhere,
    flags,
    overdue_unstarted,
    outcome_unknown,
    leaves_without_cover,
    evidence_recorded_late,
)
LOG_RULES = (
    evidence_reused,
    values_reused,
    unauthorized,
    event_altered,
    slow_record,
    quarantined,
    override,
    new_code,
)
