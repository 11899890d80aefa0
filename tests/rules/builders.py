"""Lines of histories as the rules' tables of cases have them, and what is asked about them.

As in `tests.support.lines`, but every event here is received at noon, whenever it was created.
"""

from typing import Any

from tests.support import lines
from tests.support.ledgers import asked
from tests.support.lines import OPENED, acp, at


def review(
    event_id: str = "e1",
    created_at: str | None = OPENED,
    occurred_at: str = OPENED,
    **review: Any,
) -> dict[str, Any]:
    """An ACP of seller s1, due on 30 April; `review` overrides fields of payload.object."""
    return acp(event_id, created_at, occurred_at, **review)


def aci(event_id: str = "e1", occurred_at: str = OPENED, **more: Any) -> dict[str, Any]:
    """An ACI of seller s1, due on 31 March."""
    return lines.aci(event_id, occurred_at=occurred_at, **more)


def seller_event(
    action: str,
    event_id: str,
    created_at: str = OPENED,
    seller_id: str = "s1",
    occurred_at: str = OPENED,
    **record: Any,
) -> dict[str, Any]:
    line = lines.seller(action, event_id, created_at, seller_id, resource="seller", **record)
    return {**line, "occurred_at": occurred_at}


def process(history: list[dict], as_of: str) -> dict:
    [row] = asked(history, "process_state", at(as_of))
    return row


def found(history: list[dict], as_of: str, *rules: str) -> list[tuple]:
    """(rule, severity, seq, found_at) of the findings of those rules."""
    return [
        (row["rule"], row["severity"], row["seq"], row["found_at"])
        for row in asked(history, "findings", at(as_of))
        if row["rule"] in rules
    ]
