"""Asks a receiver whether it could record a delivery now."""

import json
import urllib.error
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, NamedTuple

from pipeline.http.outgoing import direct

READY_SECONDS: Final = 8.0
"""For the receiver's whole answer; it says after five that a trial write takes too long."""
MAX_BYTES: Final = 65_536


class Answer(NamedTuple):
    """What a receiver says of itself; `why` it cannot record, or does not answer. `log`: the name
    of the one into which it records; empty where nobody says."""

    is_there: bool
    is_ready: bool
    why: str = ""
    log: str = ""


READY: Final = Answer(is_there=True, is_ready=True)


def ask(url: str) -> Answer:
    """What the receiver at a URL says of itself; raises nothing for what it does."""
    try:
        with direct.opened(f"{url.rstrip('/')}/readyz", READY_SECONDS) as answer:
            said = object_in(answer)
    except urllib.error.HTTPError as error:
        with error:
            said = object_in(error)
            why = str(said.get("error", f"it answers {error.code}"))
            return Answer(is_there=True, is_ready=False, why=why, log=str(said.get("log", "")))
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        return Answer(False, False, f"none answers at {url} ({reason})")
    if said.get("status") != "able to record":
        return Answer(False, False, f"what answers at {url} is not a receiver")
    return READY._replace(log=str(said.get("log", "")))


def object_in(answer: HTTPResponse | urllib.error.HTTPError) -> dict[str, Any]:
    """The object of JSON that an answer holds; empty where it holds none."""
    try:
        said = json.loads(answer.read(MAX_BYTES))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
