"""Hands files out: each to the person for whom it was made, while the tab that asked for it is
open, their session lasts and their role allows it.

Streamlit gives a file that it keeps to whoever knows its address, and the address follows from
what is in it. So it never gets one of ours: what it keeps in its place are random bytes, by whose
address `Served` asks here.
"""

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import streamlit as st
from starlette.responses import FileResponse, Response
from streamlit import runtime
from streamlit.runtime.memory_media_file_storage import _calculate_file_id
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app_pages.door import access
from pipeline.errors import CallerError
from pipeline.serve.roles import Person

SECONDS: Final = 300.0
"""For which a file can be taken once it was made; a browser does so at once."""
MOST: Final = 4
"""Files that a tab can still take: one more ends the oldest."""

May = Callable[[Person], bool]


class Made(NamedTuple):
    """A file whose name says what is only known once it was made."""

    content: bytes
    name: str


class _File(NamedTuple):
    """One file, as its button made it."""

    content: bytes | Path
    name: str
    mime: str
    tab: str
    session: Callable[[], Person | None]
    may: May
    until: float


_FILES: dict[str, _File] = {}  # in the order in which they were made
_LOCK: Final = threading.Lock()


def button(
    label: str,
    make: Callable[[], bytes | Path | Made],
    *,
    file_name: str,
    mime: str,
    may: May,
    key: str | None = None,
    pressed: Callable[[], None] | None = None,
) -> None:
    """A button that makes a file once it is pressed, when the page's run is long over, and the
    session of whoever looks may be, too. `make`: the content, or a file that is there for as long
    as the tab is; `file_name` is its name, unless it was made with another. `may`: whether
    somebody's roles allow it, asked now and when it is taken. `pressed`: what else follows a press,
    before the file is made; then what the button stands in is drawn again."""
    session = access.session()
    context = get_script_run_ctx()
    tab = context.session_id if context else ""

    def pass_on() -> bytes:
        whoever = session()
        if whoever is None or not may(whoever):
            raise CallerError(f"{file_name} is not handed out", "the session or the role is over")
        stands_for_it = secrets.token_bytes(32)
        place = _calculate_file_id(stands_for_it, mime, file_name)
        until = time.monotonic() + SECONDS
        made = make()
        content, name = made if isinstance(made, Made) else (made, file_name)
        _keep(place, _File(content, name, mime, tab, session, may, until))
        return stands_for_it

    st.download_button(
        label,
        pass_on,
        file_name=file_name,
        mime=mime,
        icon=":material/download:",
        on_click=pressed or "ignore",
        key=key,
    )


def _keep(place: str, file: _File) -> None:
    sweep()
    with _LOCK:
        of_this_tab = [it for it, kept in _FILES.items() if kept.tab == file.tab]
        for oldest in of_this_tab[: max(0, len(of_this_tab) - MOST + 1)]:
            del _FILES[oldest]
        _FILES[place] = file


def sweep() -> None:
    """Forgets what nobody can take any longer."""
    with _LOCK:
        for place, file in list(_FILES.items()):
            if not _is_there(file):
                del _FILES[place]


def _is_there(file: _File) -> bool:
    return time.monotonic() < file.until and runtime.get_instance().is_active_session(file.tab)


def taken(name: str, asker: Person | None) -> Response | None:
    """The file of that name below `/media/`, for whoever asks; None where it is not theirs, or not
    theirs any longer, as where there is none."""
    file = _FILES.get(name.partition(".")[0])
    if file is None or asker is None or not _is_there(file):
        return None
    owner = file.session()
    if owner is None or owner.name != asker.name or not file.may(owner) or not file.may(asker):
        return None
    headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(file.name, safe='')}"}
    if isinstance(file.content, bytes):
        return Response(file.content, media_type=file.mime, headers=headers)
    if not file.content.is_file():
        return None
    return FileResponse(file.content, media_type=file.mime, headers=headers)
