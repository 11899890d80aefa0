"""Findings about alerts: of whom nobody could be told."""

from collections import defaultdict
from collections.abc import Iterator

from tests.support.oracle.model import Entry, Log

from .finding import BREACH, RISK, finding, process_of


def alert_undelivered(log: Log) -> Iterator[dict]:
    """One row per alert that did not reach everybody whom it should: whoever was given up and never
    had it. It is a breach where nobody had it at all."""
    told: dict[str, set[str]] = defaultdict(set)
    given_up: dict[str, list[Entry]] = defaultdict(list)
    for entry in log.of_kind("alert"):
        said = entry.line
        if said["step"] == "sent":
            told[said["alert"]].add(said["to"])
        elif said["step"] == "undelivered":
            given_up[said["alert"]].append(entry)
    for alert, entries in given_up.items():
        missed = [entry for entry in entries if entry.line["to"] not in told[alert]]
        if not missed:
            continue
        process_id = missed[0].line.get("process_id")
        process = process_of(log, process_id)
        row = finding(
            "alert_undelivered",
            RISK if told[alert] else BREACH,
            min(entry.occurred_at for entry in missed),
            min(entry.seq for entry in missed),
            detail=", ".join(sorted({entry.line["to"] for entry in missed})),
        )
        known = process.seller_id if process else None
        yield {
            **row,
            "process_id": process_id,
            "seller_id": known or missed[0].line.get("seller_id"),
        }
