"""Each browser gets a number of its own with its first page, which no script can read."""

import asyncio
import re

import pytest

from app_pages.door.browsers import Numbered
from pipeline.http.asgi import Message, Receive, Scope, Send


def cookies(kind: str, *given: str) -> list[str]:
    """Those that an answer of a kind sets, where the browser sends these."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        fields = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"cookie", it.encode()) for it in given]
    asyncio.run(Numbered(app)({"type": "http", "headers": headers}, receive, send))
    return [it.decode() for name, it in sent[0]["headers"] if name == b"set-cookie"]


def test_a_browser_without_a_number_gets_one_with_the_page() -> None:
    [first], [second] = cookies("text/html; charset=utf-8"), cookies("text/html", "prazo_seen=1")
    for cookie in (first, second):
        assert re.fullmatch(
            r"prazo_browser=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict", cookie, re.ASCII
        )
    assert first != second


@pytest.mark.parametrize(
    ("kind", "given"),
    [("text/html", ["prazo_name=Bia; prazo_browser=" + 43 * "a"]), ("text/javascript", [])],
)
def test_who_has_a_number_keeps_it_and_only_pages_give_one(kind: str, given: list[str]) -> None:
    assert cookies(kind, *given) == []
