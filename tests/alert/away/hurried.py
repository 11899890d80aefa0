"""`prazo alerts run` in a hurry: what it waits seconds and minutes for, is short here.

A number behind it: after so many repetitions a message is given up, without a pause, and what is
wrong beside the log is told of after a second. A second number: so many seconds are between two
looks at all that is due.
"""

import sys

from pipeline import instants
from pipeline.alert import decision, dispatcher, watch
from pipeline.alert.away import unrecorded
from pipeline.cli.group import main

PROGRAM = __file__

if __name__ == "__main__":
    unrecorded.GRACE_SECONDS = 1.0  # type: ignore[misc]
    unrecorded.OPEN_AGAIN_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.TURN_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.LOOK_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.BEAT_SECONDS = 0.1  # type: ignore[misc]
    if len(sys.argv) > 1:
        watch.GRACE_SECONDS = 1.0  # type: ignore[misc]
        decision.BACKOFF = (instants.SECOND // 10,) * int(sys.argv[1])  # type: ignore[misc]
        decision.HELD = 0  # type: ignore[misc]
    if len(sys.argv) > 2:
        dispatcher.WHOLE_LOOK_SECONDS = float(sys.argv[2])  # type: ignore[misc]
    main(["alerts", "run"])
