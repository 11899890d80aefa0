"""Collections and whether they cover what was sent (docs/rules.md#the-evidence-gate)."""

from dataclasses import dataclass
from datetime import datetime

from .model import Attempt, Entry, Log
from .payload import covers, fields_asked_for, sent_fields
from .processes import Process, processes
from .reading import flattened, json_bytes, same_json, sha256

WITHOUT_EVIDENCE = "field_without_evidence"
NOT_SELLER = "source_not_seller"
BEFORE_REQUEST = "evidence_before_request"
ABOUT = ("kind", "occurred_at", "recorded_at", "origin", "process_id", "seller_id")


@dataclass(frozen=True)
class Sending:
    """One field in one attempt, with the latest answer by its start where that has the value."""

    attempt: Attempt
    path: str
    evidence: Entry | None
    broken_rule: str | None


def answered_fields(collection: Entry) -> dict[str, object]:
    """The fields of an `answered` collection; other steps carry none."""
    fields = collection.line.get("fields")
    if collection.line.get("step") != "answered" or not isinstance(fields, dict):
        return {}
    return flattened(fields)


def answers(process: Process, path: str, at: datetime) -> list[Entry]:
    """This process's `answered` collections with that path, at or before `at`, latest last."""
    found = [
        collection
        for collection in process.collections
        if collection.occurred_at <= at and path in answered_fields(collection)
    ]
    return sorted(found, key=answer_order)


def answer_order(answer: Entry) -> tuple:
    return (answer.occurred_at, sha256(said_by(answer)), -answer.seq)


def said_by(answer: Entry) -> bytes:
    """All that a collection says but when and for whom."""
    return json_bytes({key: answer.line[key] for key in answer.line if key not in ABOUT})


def sendings(process: Process) -> list[Sending]:
    """Every field of every attempt that was sent, in order of the attempts."""
    found = []
    for attempt in process.attempts:
        for path, value in sorted(sent_fields(attempt).items()):
            latest = next(reversed(answers(process, path, attempt.started_at)), None)
            says_so = latest is not None and same_json(answered_fields(latest)[path], value)
            evidence = latest if says_so else None
            found.append(Sending(attempt, path, evidence, broken_rule(process, evidence)))
    return found


def broken_rule(process: Process, evidence: Entry | None) -> str | None:
    """None where the field is covered, else the one of the three rules that it breaks."""
    if evidence is None:
        return WITHOUT_EVIDENCE
    if evidence.line.get("source") != "seller":
        return NOT_SELLER
    if process.opened_at is not None and evidence.occurred_at < process.opened_at:
        return BEFORE_REQUEST
    return None


def collections(log: Log) -> list[dict]:
    """One row per collection."""
    return [
        {
            "seq": entry.seq,
            "occurred_at": entry.occurred_at,
            "recorded_at": entry.recorded_at,
            "process_id": entry.line["process_id"],
            "seller_id": entry.line.get("seller_id"),
            "journey_id": entry.line.get("journey_id"),
            "step": entry.line.get("step"),
            "channel": entry.line.get("channel"),
            "source": entry.line.get("source"),
            "paths": sorted(answered_fields(entry)),
        }
        for entry in log.collections
    ]


def evidence_coverage(log: Log) -> list[dict]:
    """One row per process and field path, over the paths requested, answered and sent."""
    rows = []
    for process in processes(log):
        requested = process.requested_fields or []
        sent = sendings(process)
        paths = {path for entry in process.collections for path in answered_fields(entry)}
        paths |= {sending.path for sending in sent}
        asked_for = {field for listed in requested for field in fields_asked_for(listed)}
        # A requested path that has fields under it is shown by these alone.
        paths |= {
            listed
            for listed in asked_for
            if not any(path.startswith(f"{listed}.") for path in paths | asked_for)
        }
        for path in sorted(paths):
            given = answers(process, path, log.as_of)
            of_path = [sending for sending in sent if sending.path == path]
            rows.append(
                {
                    "process_id": process.process_id,
                    "path": path,
                    "requested": any(covers(listed, path) for listed in requested),
                    "answered_at": given[-1].occurred_at if given else None,
                    "sent_at": of_path[-1].attempt.started_at if of_path else None,
                    "covered": all(sending.broken_rule is None for sending in of_path)
                    if of_path
                    else None,
                }
            )
    return rows
