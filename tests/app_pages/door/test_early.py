"""What pages are drawn with comes with their head, and nothing else is changed by that."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from app_pages.door import early

PAGE = "<html><head><title>x</title></head><body></body></html>"


async def page(_: object) -> HTMLResponse:
    return HTMLResponse(PAGE, headers={"etag": '"1"'})


async def in_parts(_: object) -> StreamingResponse:
    return StreamingResponse(iter([PAGE[:20], PAGE[20:]]), media_type="text/html")


async def plain(_: object) -> PlainTextResponse:
    return PlainTextResponse("</head>", headers={"etag": '"1"'})


def get(path: str) -> httpx.Response:
    routes = [Route("/page", page), Route("/in_parts", in_parts), Route("/plain", plain)]
    transport = httpx.ASGITransport(early.Early(Starlette(routes=[*routes])))

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://dashboard") as client:
            return await client.get(path)

    return asyncio.run(asked())


@pytest.mark.parametrize("path", ["/page", "/in_parts"])
def test_a_page_gets_our_style_and_parts_once(path: str) -> None:
    answer = get(path)
    added = answer.text.removeprefix(PAGE.partition("</head>")[0]).removesuffix(
        "</head><body></body></html>"
    )
    assert added == early.head()
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "etag" not in answer.headers, "the file's, not that of these bytes"


def test_what_is_not_a_page_stays_as_it_is() -> None:
    answer = get("/plain")
    assert answer.text == "</head>"
    assert answer.headers["etag"] == '"1"'


def test_the_head_names_each_part_with_all_that_it_imports() -> None:
    """A release of Streamlit that calls its parts otherwise shows here, not as pages that move."""
    head = early.head()
    for part in early.PARTS:
        assert f'href="./static/js/{part}.' in head, part
    assert f"./static/media/{early.ICONS}." in head
    scripts = early.INDEX.parent / "static" / "js"
    table = next(scripts.glob("Table.*.js")).read_text(encoding="utf-8")
    for name in early._IMPORT.findall(table):
        assert name in head or name in early.INDEX.read_text(encoding="utf-8"), name
    assert "<style>" in head
