"""Posts one message to an endpoint, and says what came of it.

Whatever the network does becomes an `Answer`. Time and answer are bounded, and no redirect is
followed: what is signed for one URL is for no other.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, NamedTuple

import httpx

from pipeline.forward.endpoints import Endpoint, Followed
from pipeline.http import standard_webhooks
from pipeline.http.outgoing import clients, failures

IDLE_SECONDS: Final = 5.0
"""For which a connection is kept for the next message."""
_WRITING: Final = "http11.send_request_headers.started"


class Answer(NamedTuple):
    """A status, or why there is none."""

    status: int | None
    error: str | None = None
    retry_after: str | None = None
    is_withheld: bool = False
    """Nothing was sent, through no fault of the endpoint's."""

    @property
    def is_taken(self) -> bool:
        """Whether the endpoint has the message now."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def words(self) -> str:
        """What went wrong. The body of an answer is not kept: it may say anything."""
        return self.error or f"status {self.status}"


class Withheld(Exception):
    """The message must not be sent any more."""


class Post:
    """The way to one endpoint. For one event loop; close it in the end."""

    def __init__(self, endpoint: Endpoint, given: Followed, may_send: Callable[[], bool]) -> None:
        """`given`: has the endpoint in force, and knows its files. `may_send`: asked directly
        before a message is written."""
        self._endpoint = endpoint
        self._may_send = may_send
        self._secrets = given.secrets_of(endpoint)
        self._trusted = given.trust_of(endpoint)
        self._context = self._trusted()
        self._client = clients.client(
            self._context,
            httpx.Limits(
                max_connections=endpoint.concurrency,
                max_keepalive_connections=endpoint.concurrency,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )

    @property
    def is_outdated(self) -> bool:
        """Whether the endpoint's file of authorities has others than these connections trust."""
        return self._trusted() is not self._context

    async def send(self, message_id: bytes, body: bytes, content_type: bytes, now: int) -> Answer:
        """`now`: the instant that the signature says, in microseconds."""
        request = self._client.build_request(
            "POST",
            self._endpoint.url,
            content=body,
            headers=[
                (b"content-type", content_type),
                *standard_webhooks.signed(self._secrets.get(), message_id, now, body),
                (b"accept-encoding", b"identity"),
                (b"user-agent", b"prazo"),
            ],
            extensions={"trace": self._note},
        )
        return await self._exchange(request)

    async def _note(self, step: str, _: object) -> None:
        if step == _WRITING and not self._may_send():
            raise Withheld

    async def _exchange(self, request: httpx.Request) -> Answer:
        response: httpx.Response | None = None
        try:
            async with asyncio.timeout(self._endpoint.timeout_seconds):
                response = await self._client.send(request, stream=True)
                # To its end, so that the connection can be used again; one that is long is left,
                # and its connection is closed.
                await clients.body_of(response)
            return _answered(response)
        except Withheld:
            return Answer(None, "nothing was sent: another process may send by now", None, True)
        except (TimeoutError, httpx.HTTPError, httpx.StreamError, OSError) as error:
            if response is not None and 200 <= response.status_code < 300:
                return _answered(response)  # it said so, whatever became of the rest
            return Answer(None, self._words(error))
        finally:
            if response is not None:
                with contextlib.suppress(Exception):  # it has been read as far as it goes
                    await response.aclose()

    def _words(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError | httpx.TimeoutException):
            return f"no whole answer within {self._endpoint.timeout_seconds:g} s"
        return failures.in_words(error)[:200]

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.aclose()


def _answered(response: httpx.Response) -> Answer:
    return Answer(response.status_code, None, response.headers.get("retry-after"))
