"""`prazo alerts run` in a hurry: what it waits seconds and minutes for, is short here.

A number behind it: after so many repetitions a message is given up, without a pause, and what is
wrong beside the log is told of after a second.
"""

import sys

from pipeline import instants
from pipeline.alert import decision, dispatcher, unrecorded, watch
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
    main(["alerts", "run"])
