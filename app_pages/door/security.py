"""Guards every HTTP answer of the dashboard: what a browser may load from where, who may frame it,
and what nobody may keep.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import streamlit

from app_pages.door import paths
from pipeline.http.asgi import App, FixedHeaders
from pipeline.serve import calendar

PRIVATE = ("/api/", calendar.PATH, "/media/")
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"


def inline_scripts(html: str) -> list[str]:
    """The scripts that a page carries in itself, byte for byte."""
    return re.findall(r"<script>(.*?)</script>", html, re.DOTALL)


def digest(script: str) -> str:
    """The script as a source of a content security policy."""
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{hashed}'"


def policy(scripts: Iterable[str]) -> str:
    """The content security policy: this host alone, and of inline scripts only these.

    Styles are inline because Streamlit's are; fonts and images may be `data:`.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {' '.join(map(digest, scripts))}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "media-src 'self'",
            "manifest-src 'self'",
            "worker-src 'self' blob:",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders(FixedHeaders):
    """What a browser may do with any answer of the dashboard."""

    def __init__(self, app: App, scripts: Iterable[str] = ()) -> None:
        index = inline_scripts(INDEX.read_text(encoding="utf-8"))
        super().__init__(
            app,
            {
                "content-security-policy": policy([*index, *scripts]),
                "x-content-type-options": "nosniff",
                "x-frame-options": "DENY",
                "referrer-policy": "no-referrer",  # URLs hold ids
                "cross-origin-opener-policy": "same-origin",
                "cross-origin-resource-policy": "same-origin",
                "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(),"
                " usb=()",
            },
        )


class NotStored(FixedHeaders):
    """Rows and files: no browser and no proxy may keep them for whoever comes next."""

    def __init__(self, app: App) -> None:
        below = [f"{it}{place}" for it in {"", paths.base()} for place in PRIVATE]
        super().__init__(app, {"cache-control": "no-store"}, below)
