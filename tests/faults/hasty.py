"""`prazo receive` in a hurry: what it waits 15 seconds for, and half a minute, is short here."""

import logging

from pipeline.http import server
from pipeline.receive import collections, deliveries, receiver
from pipeline.settings import Settings
from pipeline.submit import attempt

ANSWER_SECONDS = 2.0
END_SECONDS = 4.0
PROGRAM = (__file__,)

if __name__ == "__main__":
    logging.basicConfig()
    deliveries.ANSWER_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    receiver.LAST_WRITE_SECONDS = 0.5  # type: ignore[misc]
    collections.ANSWER_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    attempt.DECIDE_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    server.END_SECONDS = END_SECONDS  # type: ignore[misc]
    server.GRACEFUL_SECONDS = 1  # type: ignore[misc]
    receiver.serve(Settings.load())
