"""The row of a finding, and the process it is about."""

from datetime import datetime

from tests.support.oracle.model import Log
from tests.support.oracle.processes import Process, processes

BREACH, RISK, NOTICE = "breach", "risk", "notice"


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


def process_of(log: Log, process_id: str | None) -> Process | None:
    return next((process for process in processes(log) if process.process_id == process_id), None)
