"""What the view `findings` says of one rule, and the rows that a test expects."""

from typing import Any

from tests.support.ledgers import asked
from tests.support.lines import at

NOON = "2026-03-01T12:00:00"


def found(rule: str, history: list[dict[str, Any]], as_of: str) -> list[tuple]:
    columns = ("severity", "process_id", "seller_id", "seq", "detail", "found_at")
    findings = asked(history, "findings", at(as_of))
    return [tuple(row[it] for it in columns) for row in findings if row["rule"] == rule]


def breach(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("breach", process, process and "s1", seq, detail, at(found_at))


def risk(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("risk", process, process and "s1", seq, detail, at(found_at))


def notice(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("notice", process, process and "s1", seq, detail, at(found_at))
