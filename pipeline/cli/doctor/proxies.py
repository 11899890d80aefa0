"""Asks a receiver by way of the proxy before it: whether it is reached, and by which bodies."""

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection, parse_headers
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.http import addresses
from pipeline.http.answers import MARK
from pipeline.http.outgoing import contexts
from pipeline.settings import Settings

ANSWER_SECONDS: Final = 10.0
CONTINUE: Final = 100
OK: Final = 200
FORBIDDEN: Final = 403
TOO_LARGE: Final = 413
_LONGEST_LINE: Final = 4096
_PAGE: Final = "text/html"


class _Answer(NamedTuple):
    status: int
    content_type: str
    is_receivers: bool

    def __str__(self) -> str:
        by = "a page" if self.content_type == _PAGE else self.content_type or "no content"
        return f"{self.status} and {by}"


def proxied(url: str, settings: Settings) -> Iterator[Diagnosis]:
    """What answers at a URL where a proxy should pass on to a receiver. Nothing is recorded: no
    body is sent, only announced."""
    try:
        url = addresses.parted(url.rstrip("/")).url
        yield (reached := _reached(url))
        if reached.verdict != "ok":
            return
        for path, name, most in (
            ("/webhooks", "PRAZO_MAX_BODY_BYTES", settings.max_body_bytes),
            ("/v1/collections", "PRAZO_MAX_COLLECTION_BYTES", settings.max_collection_bytes),
        ):
            yield _limit(f"{url}{path}", name, most)
    except (OSError, HTTPException, ValueError) as error:
        why = str(error) or type(error).__name__
        found = f"{addresses.shown(url)} does not answer as a server of HTTP does: {why}"
        yield Diagnosis("proxy", "fault", found, "correct the address, or start what listens there")


def _reached(url: str) -> Diagnosis:
    """Who answers there: a receiver, a dashboard, or a page of anything else."""
    answer = _asked(f"{url}/healthz")
    if answer.is_receivers and answer.status == FORBIDDEN:
        return Diagnosis(
            "proxy",
            "fault",
            f"the receiver behind {url} takes nothing from there: deliveries prove nothing, so it"
            " serves this machine alone",
            "set PRAZO_WEBHOOK_AUTH and PRAZO_WEBHOOK_SECRET_FILE",
        )
    if answer.is_receivers:
        return Diagnosis("proxy", "ok", f"{url}/healthz is answered by a receiver")
    if answer[:2] == (OK, _PAGE) and _asked(f"{url}/_stcore/health")[:2] == (OK, "text/plain"):
        return Diagnosis(
            "proxy",
            "warning",
            f"{url} leads to a dashboard, which answers /healthz by {answer}, however it is",
            "let a probe of it ask /_stcore/health; if a receiver should answer there, correct the"
            " proxy",
        )
    return Diagnosis(
        "proxy",
        "fault",
        f"{url}/healthz is answered by {answer}, and not by a receiver: a probe that goes by the"
        " status alone calls it alive, and deliveries are lost there",
        "let the proxy pass on to the receiver, with no login or page of its own before it"
        " (docs/deployment.md)",
    )


def _limit(url: str, name: str, most: int) -> Diagnosis:
    answer = _asked(url, announced=most)
    if answer.status == CONTINUE or answer.is_receivers:
        found = f"{url} lets the {most:,} bytes of {name} be announced"
        return Diagnosis("proxy", "ok", found)
    if answer.status == TOO_LARGE:
        return Diagnosis(
            "proxy",
            "fault",
            f"{url} refuses the {most:,} bytes that {name} allows, by {answer} before they reach a"
            " receiver: what is larger than the proxy's limit never comes in, and no log says so",
            "raise the limit of the proxy (nginx: client_max_body_size), or lower the setting",
        )
    return Diagnosis(
        "proxy",
        "fault",
        f"a POST to {url} is answered by {answer}, and not by a receiver",
        "let the proxy pass it on as it is, with no login or page of its own before it",
    )


def _asked(url: str, *, announced: int | None = None) -> _Answer:
    """The answer to a GET. With `announced`, what is said to a POST of so many bytes, which waits
    with them until it is asked to go on, and then leaves."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    with closing(
        HTTPSConnection(host, port, timeout=ANSWER_SECONDS, context=contexts.trusting(None))
        if parts.scheme == "https"
        else HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    ) as connection:
        connection.putrequest("GET" if announced is None else "POST", parts.path)
        if announced is not None:
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(announced))
            connection.putheader("Expect", "100-continue")
        connection.endheaders()
        with connection.sock.makefile("rb") as answer:
            protocol, status, *_ = answer.readline(_LONGEST_LINE).decode("latin-1").split()
            fields = parse_headers(answer)
    if not protocol.startswith("HTTP/"):
        raise ValueError("it speaks another protocol")
    content = fields.get_content_type() if "content-type" in fields else ""
    return _Answer(int(status), content, MARK[0].decode() in fields)
