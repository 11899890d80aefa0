"""Reports to the receiver what sellers did: a small client for a marketplace's own programs.

    with Prazo("http://127.0.0.1:8400", token) as prazo:
        prazo.collect({"process_id": ..., "step": "answered", ...}, artifacts=[Artifact(...)])

It needs only httpx, and nothing else of Prazo. To submit reviews, a marketplace uses any HTTP
client with the gateway, which takes the same call as the platform.
"""

import json
import ssl
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
    """The place of a collection in the log; `is_new` is false if the log had it already."""

    seq: int
    is_new: bool


class PrazoRefused(Exception):
    """The receiver refused the collection; sending it again changes nothing."""


class Prazo:
    """A connection to a receiver."""

    def __init__(
        self, url: str, token: str | None = None, trust: ssl.SSLContext | None = None
    ) -> None:
        """`url`: of the receiver. `token`: one with the scope `collect`, if it needs tokens.
        `trust`: whom to believe where the receiver is behind TLS with a private authority.

        No proxy of the environment is asked, and no login of a `.netrc` goes along: a proxy would
        read the token and what sellers answered, and 127.0.0.1 would be the proxy's own machine.
        """
        self._client = httpx.Client(
            base_url=url,
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
            verify=True if trust is None else trust,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def collect(
        self, occurrence: Mapping[str, Any], artifacts: Sequence[Artifact] = ()
    ) -> Recorded:
        """Records what a seller did. Once it returns, the log holds it.

        It sends the collection up to `ATTEMPTS` times until there is an answer, since evidence
        cannot be collected a second time; the log counts it once. Raises `PrazoRefused` with the
        reason, or httpx.HTTPError after the last attempt.
        """
        for attempt in range(ATTEMPTS):
            try:
                response = self._post(occurrence, artifacts)
            except httpx.TransportError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                if response.status_code == 200:
                    receipt = response.json()
                    return Recorded(receipt["seq"], receipt["recorded"] == "new")
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
