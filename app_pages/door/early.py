"""Puts into the head of the page what a browser needs before the first element is drawn: our own
style and script, and the parts of Streamlit that pages are drawn with.

Otherwise it hears of each part when the first element of that kind is drawn: it shows a grey box
of some height, and what stands below moves when the element comes. So do words in place of icons,
until their font is there, and a page that is narrow until Streamlit knows that it is wide.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app_pages.door import paths
from app_pages.door.security import INDEX
from pipeline.http.asgi import App, Message, Receive, Scope, Send
from pipeline.serve import seller_area

STYLE: Final = Path(__file__).parents[1] / "static" / "page.css"
SCRIPT: Final = STYLE.with_suffix(".js").read_text(encoding="utf-8")
PARTS: Final = (
    *("Button", "ButtonGroup", "DateInput", "DateTimeInput", "DownloadButton", "Html", "Metric"),
    *(
        "Multiselect",
        "PageLink",
        "Pagination",
        "Radio",
        "Selectbox",
        "Table",
        "TextArea",
        "TextInput",
    ),
)
"""Kinds of elements whose height follows from what is in them. Charts and grids have theirs from
us, and weigh megabytes."""
ICONS: Final = "MaterialSymbols-Rounded"
_IMPORT: Final = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')
_NOT_PAGES: Final = ("/static/", "/_stcore/", "/api/", seller_area.PATH, "/media/")
_ABOUT_BYTES: Final = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
_OF_BYTES: Final = (b"content-length", b"etag", b"last-modified", b"accept-ranges")


def head(index: Path = INDEX) -> str:
    """What is added to the head: the font of the icons, the parts, and what these import, but for
    what the page names itself; our style, and our script."""
    named = index.read_text(encoding="utf-8")
    folder = index.parent / "static"
    fonts = [
        f'<link rel="preload" href="./static/media/{font.name}" as="font" crossorigin>'
        for font in folder.glob(f"media/{ICONS}.*.woff2")
    ]
    first = [it.name for part in PARTS for it in folder.glob(f"js/{part}.*.js")]
    modules = [
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in _with_imports(folder / "js", first)
        if name not in named
    ]
    style = f"<style>{STYLE.read_text(encoding='utf-8')}</style>"
    return "\n".join([*fonts, *modules, style, f"<script>{SCRIPT}</script>"])


def _with_imports(folder: Path, names: list[str]) -> Iterator[str]:
    """The modules and all that they import, each once."""
    seen: set[str] = set()
    while names:
        name = names.pop()
        if name not in seen and (folder / name).exists():
            seen.add(name)
            yield name
            names += _IMPORT.findall((folder / name).read_text(encoding="utf-8"))


class Early:
    """Adds `head` to each answer that is a page. It is sent whole, since its bytes are not those of
    Streamlit's file."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._head = head().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or paths.within(scope["path"]).startswith(_NOT_PAGES)
        ):
            await self._app(scope, receive, send)
            return
        asked = [(name, it) for name, it in scope["headers"] if name not in _ABOUT_BYTES]
        began: Message | None = None
        body = b""

        async def whole(message: Message) -> None:
            nonlocal began, body
            if message["type"] == "http.response.start" and is_page(message):
                began = message
            elif began is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await self._answer(began, body, send)

        await self._app({**scope, "headers": asked}, receive, whole)

    async def _answer(self, began: Message, body: bytes, send: Send) -> None:
        body = body.replace(b"</head>", self._head + b"</head>", 1)
        kept = [(k, v) for k, v in began.get("headers", ()) if k.lower() not in _OF_BYTES]
        length = (b"content-length", str(len(body)).encode())
        await send({**began, "headers": [*kept, length]})
        await send({"type": "http.response.body", "body": body})


def is_page(message: Message) -> bool:
    """Whether an answer that begins is a page."""
    fields = message.get("headers", ())
    return any(k.lower() == b"content-type" and b"text/html" in v for k, v in fields)
