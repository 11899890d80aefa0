"""Findings about evidence: what was sent without it, late, or twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from .attempts import sent_attempts
from .evidence import sendings
from .finding import BREACH, RISK, finding, process_of
from .model import Entry, Log
from .payload import sent_leaves
from .processes import Process
from .reading import same_json

LATE_EVIDENCE = timedelta(hours=24)


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
