"""`prazo alerts run` in a hurry: what it waits seconds and minutes for, is short here."""

from pipeline.alert import dispatcher, unrecorded
from pipeline.cli.group import main

PROGRAM = __file__

if __name__ == "__main__":
    unrecorded.GRACE_SECONDS = 1.0  # type: ignore[misc]
    unrecorded.OPEN_AGAIN_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.TURN_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.LOOK_SECONDS = 0.1  # type: ignore[misc]
    dispatcher.BEAT_SECONDS = 0.1  # type: ignore[misc]
    main(["alerts", "run"])
