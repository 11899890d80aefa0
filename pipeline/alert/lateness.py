"""Says whether a message would leave too late: what it says may be over by then."""

from typing import Final

from pipeline import instants

LATEST_SECONDS: Final = 60.0
"""From the entry of a try to the moment its message leaves: whoever was paused for longer does not
send, since somebody else may have taken the try for lost. And from the look at what is due to the
entry: after that it is looked at again, since it may be over."""
IN_A_ROW_SECONDS: Final = 15.0
"""For so long after a look, messages to a recipient follow each other; others may wait for a turn.
"""


def is_late(since: int, *, is_first: bool = True) -> bool:
    """Whether too much time has passed, by this machine's clock since its start, in microseconds.
    `is_first`: of messages that follow each other."""
    seconds = LATEST_SECONDS if is_first else IN_A_ROW_SECONDS
    return instants.since_boot() - since > seconds * instants.SECOND
