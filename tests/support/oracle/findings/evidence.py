"""Findings about evidence: what was sent without it, late, or twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.support.oracle.attempts import sent_attempts
from tests.support.oracle.evidence import sendings
from tests.support.oracle.model import Attempt, Entry, Log
from tests.support.oracle.payload import sent_fields
from tests.support.oracle.processes import Process
from tests.support.oracle.reading import same_json

from .finding import BREACH, NOTICE, RISK, finding, process_of

LATE_EVIDENCE = timedelta(hours=24)


def fields_without_cover(process: Process) -> Iterator[dict]:
    """One row per process and field path: the first sending of it that was not covered."""
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
    for sending in sendings(process):
        evidence, started_at = sending.evidence, sending.attempt.started_at
        if evidence is not None and is_recorded_late(evidence, started_at):
            at = max(started_at, evidence.recorded_at)
            found[evidence.seq] = min(at, found.get(evidence.seq, at))
    for seq, at in found.items():
        yield finding("evidence_recorded_late", RISK, at, seq, process)


def is_recorded_late(evidence: Entry, started_at: datetime) -> bool:
    return (
        evidence.recorded_at > started_at
        or evidence.recorded_at - evidence.occurred_at > LATE_EVIDENCE
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
    """Every field of an accepted submission equals one earlier submission of that seller.

    Earlier means started before, for another process: a retry repeats its own values. It is no
    more than a notice where each field is covered by fresh evidence.
    """
    attempts = sent_attempts(log)
    for accepted in attempts:
        fields, seller_id = sent_fields(accepted), seller_of(log, accepted)
        if accepted.status != 200 or not fields or seller_id is None:
            continue
        for earlier in attempts:
            if (
                earlier.started_at is not None
                and earlier.started_at < accepted.started_at
                and seller_of(log, earlier) == seller_id
                and earlier.process_id != accepted.process_id
                and holds(sent_fields(earlier), fields)
            ):
                process = process_of(log, accepted.process_id)
                yield finding(
                    "values_reused",
                    NOTICE if is_covered(process, accepted) else RISK,
                    accepted.finished_at,
                    accepted.start.seq,
                    process,
                    accepted.attempt_id,
                )
                break


def seller_of(log: Log, attempt: Attempt) -> str | None:
    """The seller that its entries name, else its process's."""
    return attempt.seller_id or process_of(log, attempt.process_id).seller_id


def is_covered(process: Process, attempt: Attempt) -> bool:
    return all(
        sending.broken_rule is None for sending in sendings(process) if sending.attempt == attempt
    )


def holds(earlier: dict[str, object], fields: dict[str, object]) -> bool:
    return all(path in earlier and same_json(earlier[path], fields[path]) for path in fields)
