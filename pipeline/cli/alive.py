"""Asks a part that listens whether it is alive, or those that a container's first process runs."""

import urllib.error
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from typing import Final

from pipeline.http import addresses
from pipeline.http.outgoing import direct
from pipeline.settings import Settings

ANSWER_SECONDS: Final = 5.0
FIRST: Final = Path("/proc/1/cmdline")
"""What the first process was started as: in a container, a part."""
_MADE_OF: Final = {
    "serve": ("receive", "dashboard", "journey"),
    "streamlit": ("dashboard",),  # which a dashboard becomes
    **{it: (it,) for it in ("receive", "dashboard", "follow", "journey")},
}
"""A word of a command -> the parts that it runs and that listen."""
_LISTENS_NOWHERE: Final = ("alerts", "backup", "forward", "notices", "resume", "witness")


def parts_of(command: Iterable[str]) -> tuple[str, ...] | None:
    """The parts that listen, of those that a command runs; None where it runs no part."""
    for word in command:
        if word in _MADE_OF:
            return _MADE_OF[word]
        if word in _LISTENS_NOWHERE:
            return ()
    return None


def first_command() -> list[str]:
    """The words of the first process's command; none where nobody may read them."""
    try:
        return FIRST.read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def failure(part: str, settings: Settings) -> str | None:
    """Why a part that listens is not alive; None where it is: it answers, if only by a refusal. A
    page is the answer of another program, or of a login in between: no part shows one there. A
    seller's page that is not set up is not asked."""
    places = {
        "receive": (settings.receiver_host, settings.receiver_port, "/healthz"),
        "dashboard": (settings.dashboard_host, settings.dashboard_port, "/_stcore/health"),
        "follow": (settings.dashboard_host, settings.dashboard_port, "/api/head"),
        "journey": (settings.journey_host, settings.journey_port, "/healthz"),
    }
    host, port, path = places[part]
    if part == "journey" and not settings.journey_url:
        return None
    url = f"{addresses.local(host, port)}{path}"
    try:
        with direct.opened(url, ANSWER_SECONDS) as answer:
            answer.read(1)
            if answer.headers.get_content_type() == "text/html":
                return f"{part} does not answer at {url}, but a page of something else"
    except urllib.error.HTTPError as error:
        error.close()
        return f"{part} answers {error.code} at {url}" if error.code >= 500 else None
    except (OSError, HTTPException) as error:
        return f"{part} does not answer at {url} ({getattr(error, 'reason', None) or error})"
    return None
