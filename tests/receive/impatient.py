"""`prazo receive` in a hurry: what may take 20 or 60 seconds takes one here."""

import logging

from pipeline.http import limits
from pipeline.receive import deliveries, receiver, rejections
from pipeline.settings import Settings

SECONDS = 1.0
PROGRAM = (__file__,)

if __name__ == "__main__":
    logging.basicConfig()
    limits.REQUEST_SECONDS = SECONDS  # type: ignore[misc, assignment]
    rejections.SECONDS_BETWEEN_ENTRIES = SECONDS  # type: ignore[misc]
    deliveries.SECONDS_BETWEEN_ENTRIES = SECONDS  # type: ignore[misc, attr-defined]
    receiver.serve(Settings.load())
