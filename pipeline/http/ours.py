"""Marks answers of our own, so that none passes for the platform's: by the contract its 404 means
that a process or seller is unknown."""

from typing import Final

from starlette.responses import Response

MARK: Final = (b"prazo-answer", b"gateway")


class Relayed(Response):
    """The platform's answer."""


def mark(answer: Response) -> None:
    """Marks an answer, unless it is the platform's."""
    if not isinstance(answer, Relayed):
        answer.raw_headers.append(MARK)
