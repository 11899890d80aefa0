"""A small client for a marketplace's own programs: tells the receiver what sellers did.

    with Prazo("http://127.0.0.1:8400", token) as prazo:
        prazo.collect({"process_id": ..., "step": "answered", ...}, artifacts=[Artifact(...)])

It needs httpx alone, and nothing else of Prazo. Reviews are submitted through the gateway with
whatever client a marketplace has: the call is the platform's own.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import httpx

ATTEMPTS: Final = 5
FIRST_PAUSE_SECONDS: Final = 0.2
TIMEOUT_SECONDS: Final = 30.0


class Artifact(NamedTuple):
    """A screen, a flow or a log that shows a step of the journey."""

    name: str
    media_type: str
    content: bytes


class Recorded(NamedTuple):
    """Where the log holds a collection; `is_new` is false where it held it already."""

    seq: int
    is_new: bool


class PrazoRefused(Exception):
    """The receiver turned the collection down; saying it again changes nothing."""


class Prazo:
    """A connection to a receiver."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._client = httpx.Client(
            base_url=url,
            timeout=TIMEOUT_SECONDS,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def collect(
        self, occurrence: Mapping[str, Any], artifacts: Sequence[Artifact] = ()
    ) -> Recorded:
        """Records what a seller did; once it returns, the log holds it.

        Said again until it is answered, since evidence cannot be collected a second time; the log
        counts it once. Raises `PrazoRefused` with the reason, or httpx.HTTPError in the end.
        """
        for attempt in range(ATTEMPTS):
            try:
                response = self._post(occurrence, artifacts)
            except httpx.TransportError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                if response.status_code == 200:
                    told = response.json()
                    return Recorded(told["seq"], told["recorded"] == "new")
                if response.status_code < 500:
                    raise PrazoRefused(_reason(response))
                if attempt == ATTEMPTS - 1:
                    response.raise_for_status()
            time.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
        raise AssertionError  # the last attempt has returned or raised

    def _post(self, occurrence: Mapping[str, Any], artifacts: Sequence[Artifact]) -> httpx.Response:
        if not artifacts:
            return self._client.post("/v1/collections", json=dict(occurrence))
        return self._client.post(
            "/v1/collections",
            data={"collection": json.dumps(dict(occurrence))},
            files=[("artifact", (it.name, it.content, it.media_type)) for it in artifacts],
        )


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}"
