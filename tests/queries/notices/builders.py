"""What the views say of how the seller of `p1` was notified, each asked of the oracle, too."""

from typing import Any

from tests.support.ledgers import asked
from tests.support.lines import at, notice
from tests.support.oracle import notices
from tests.support.oracle.model import Log, entries
from tests.support.oracle.processes import processes

FIRST = notice("n0", "2026-02-01T00:00:00Z", process_id="p0", seller_id="s0")
"""The log's first notice, in each history of a world: none of them then judges another's by its
own."""

ASKING = {"await_seller", "remind_seller", "start_collection"}
"""The next actions that the oracle knows."""


def sent(
    history: list[dict[str, Any]], as_of: str, message_id: str = "n1", process_id: str = "p1"
) -> dict[str, Any] | None:
    """The row of one message about one process."""
    found = [
        row
        for row in asked(history, "seller_notices", at(as_of))
        if (row["message_id"], row["process_id"]) == (message_id, process_id)
    ]
    assert len(found) < 2
    return found[0] if found else None


def next_actions(history: list[dict[str, Any]], as_of: str) -> dict[str, tuple[str, str]]:
    """Per process its next action and its queue."""
    found = {
        row["process_id"]: (row["next_action"], row["queue"])
        for row in asked(history, "next_actions", at(as_of))
    }
    log = Log(entries(history), at(as_of))
    assert_same_actions(log, found)
    return found


def assert_same_actions(log: Log, found: dict[str, tuple[str, str]]) -> None:
    """Of an action that has nothing to do with notices the oracle says where it waits."""
    unfinished = {it.process_id: it for it in processes(log) if it.state != "FINISHED"}
    in_order = sorted(unfinished.values(), key=notices.savable_first)
    assert list(found) == [process.process_id for process in in_order]
    asking = notices.asking(log)
    for process_id, (action, queue) in found.items():
        if action in ASKING:
            assert action == asking[process_id], process_id
        assert queue == notices.queue(log, unfinished[process_id], action), (process_id, action)
