"""Every HTTP answer of the dashboard says what a browser may load, and who may frame it."""

import asyncio
import base64
import hashlib

import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from app_pages.door import security
from app_pages.language import i18n


async def plain(_: object) -> PlainTextResponse:
    return PlainTextResponse("x", headers={"Content-Security-Policy": "default-src *"})


async def streamed(_: object) -> StreamingResponse:
    return StreamingResponse(iter([b"a", b"b"]))


def headers_of(path: str, scripts: tuple[str, ...] = ()) -> httpx.Headers:
    inner = Starlette(routes=[Route("/plain", plain), Route("/streamed", streamed)])
    transport = httpx.ASGITransport(security.SecurityHeaders(inner, scripts))

    async def get() -> httpx.Headers:
        async with httpx.AsyncClient(transport=transport, base_url="http://dashboard") as client:
            return (await client.get(path)).headers

    return asyncio.run(get())


def test_every_answer_carries_the_headers_once() -> None:
    for path in ("/plain", "/streamed", "/nowhere"):
        headers = headers_of(path)
        assert headers.get_list("content-security-policy") == [headers["content-security-policy"]]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    policy = headers_of("/plain")["content-security-policy"]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in directives["script-src"]
    assert "http" not in policy
    assert "*" not in policy


def test_the_script_in_streamlits_page_is_allowed_by_its_digest() -> None:
    """The script changes with Streamlit's version, so its digest is worked out."""
    html = security.INDEX.read_text(encoding="utf-8")
    [script] = security.inline_scripts(html)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in headers_of("/plain")["content-security-policy"]
    assert html.count("<script>") == 1


def test_our_own_scripts_are_allowed_by_their_digests() -> None:
    scripts = tuple(i18n.LANGUAGE_SCRIPTS.values())
    policy = headers_of("/plain", scripts)["content-security-policy"]
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_the_web_socket_passes_through_untouched() -> None:
    passed: list[object] = []

    async def inner(scope: object, receive: object, send: object) -> None:
        passed.extend((scope, receive, send))

    scope = {"type": "websocket"}
    guarded = security.SecurityHeaders(inner)
    asyncio.run(guarded(scope, receive := object(), send := object()))
    assert passed == [scope, receive, send]
