"""What the view `findings` says of one rule, and the rows that a test expects."""

from typing import Any

from tests.support import oracle
from tests.support.ledgers import asked
from tests.support.lines import at

FROM_RECORDING = {"evidence_recorded_late", "slow_record"}
"""Rules about when an entry was recorded, which is not in its line."""

NOON = "2026-03-01T12:00:00"


def found(rule: str, history: list[dict[str, Any]], as_of: str) -> list[tuple]:
    """Those of the rule, which the oracle finds, too: else a number could be changed in the SQL and
    in the test, and the oracle and the page stayed with the other one."""
    columns = ("severity", "process_id", "seller_id", "seq", "detail", "found_at")

    def of_rule(findings: list[dict[str, Any]]) -> list[tuple]:
        return [tuple(row[it] for it in columns) for row in findings if row["rule"] == rule]

    def comparable(rows: list[tuple]) -> list[tuple]:
        """In one order; of a body that cannot be read, each parser may use its own words."""
        if rule == "quarantined":
            rows = [(*row[:4], "", row[5]) for row in rows]
        return sorted(rows, key=repr)

    rows = of_rule(asked(history, "findings", at(as_of)))
    if rule not in FROM_RECORDING:
        expected = of_rule(oracle.rows("findings", list(history), at(as_of)))
        assert comparable(rows) == comparable(expected), (
            f"{rule} is another rule in queries/findings/ (left) than in tests/support/oracle/:"
            " change what docs/rules.md#findings says, and both by that"
        )
    return rows


def breach(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("breach", process, process and "s1", seq, detail, at(found_at))


def risk(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("risk", process, process and "s1", seq, detail, at(found_at))


def notice(seq: int, found_at: str, detail: str = "", process: str | None = "p1") -> tuple:
    return ("notice", process, process and "s1", seq, detail, at(found_at))
