"""`prazo receive` in a hurry: what it waits 15 seconds for, and half a minute, is short here."""

import logging
import os

from pipeline.http import server
from pipeline.inbox.postgres import session
from pipeline.receive import collections, deliveries, receiver
from pipeline.settings import Settings
from pipeline.submit import attempt

ANSWER_SECONDS = 2.0
END_SECONDS = 4.0
PROGRAM = (__file__,)
HANGS = {"STATEMENT_SECONDS": "120"}
"""In the environment of a test in which no statement may end before the process does."""

if __name__ == "__main__":
    logging.basicConfig()
    deliveries.ANSWER_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    receiver.LAST_WRITE_SECONDS = 0.5  # type: ignore[misc]
    collections.ANSWER_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    attempt.DECIDE_SECONDS = ANSWER_SECONDS  # type: ignore[misc]
    server.END_SECONDS = END_SECONDS  # type: ignore[misc]
    server.GRACEFUL_SECONDS = 1  # type: ignore[misc]
    if seconds := os.environ.get("STATEMENT_SECONDS"):
        session.STATEMENT_SECONDS = float(seconds)  # type: ignore[misc]
    receiver.serve(Settings.load())
