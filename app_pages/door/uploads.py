"""Takes files in: one at a time from each tab, and only while the page that asks for it is open
there, to somebody who may open it.

Streamlit takes files of any tab, from whoever knows its session, and keeps them until it is closed.
So `Served` asks here first; and once a page has read a file, only its name is kept.
"""

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from app_pages.door import access
from pipeline.serve.roles import Person

PLACE: Final = "/_stcore/upload_file/"
METHODS: Final = ("PUT", "DELETE")
AT_ONCE: Final = 8
"""Files that are on their way in, of all tabs; each is as large as `server.maxUploadSize`."""

_DRAWN: Final = "a file was asked for in this run"


class _Tab(NamedTuple):
    """A tab on which a page asks for a file."""

    session: Callable[[], Person | None]
    may: Callable[[Person], bool]


_TABS: dict[str, _Tab] = {}
_COMING: set[str] = set()
_LOCK: Final = threading.Lock()


def begin() -> None:
    """At the beginning of each run: nothing has been asked for yet."""
    st.session_state[_DRAWN] = False


def end() -> None:
    """At the end of each run: where no file was asked for, none is taken any longer."""
    if not st.session_state.get(_DRAWN):
        _TABS.pop(_tab(), None)


def zip_file(label: str, *, key: str, may: Callable[[Person], bool]) -> UploadedFile | None:
    """Where a ZIP is dropped; what was dropped there. `may`: whether somebody's roles allow it."""
    for gone in [it for it in list(_TABS) if not runtime.get_instance().is_active_session(it)]:
        _TABS.pop(gone, None)
    _TABS[_tab()] = _Tab(access.session(), may)
    st.session_state[_DRAWN] = True
    return st.file_uploader(label, type="zip", key=key)


def forget(file: UploadedFile) -> None:
    """Lets go of what is in a file that was read; the page still shows its name."""
    kept = UploadedFileRec(file.file_id, file.name, file.type, b"")
    _files().add_file(_tab(), kept)


def is_taken(path: str, asker: Person | None) -> bool:
    """Whether whoever sends a request may put a file at that path, or take it away: on a tab of
    theirs that asks for one."""
    tab, _, name = path.removeprefix(PLACE).partition("/")
    asked = _TABS.get(tab)
    if asked is None or asker is None or not name or "/" in name:
        return False
    owner = asked.session()
    is_theirs = owner is not None and owner.name == asker.name
    return is_theirs and asked.may(asker) and runtime.get_instance().is_active_session(tab)


def come(path: str) -> bool:
    """Notes that a file is on its way in; False where its tab or all of them have enough. What the
    tab sent before is dropped."""
    tab = path.removeprefix(PLACE).partition("/")[0]
    with _LOCK:
        if tab in _COMING or len(_COMING) >= AT_ONCE:
            return False
        _COMING.add(tab)
    _files().remove_session_files(tab)
    return True


def came(path: str) -> None:
    """Notes that it is there, or that it will not come."""
    _COMING.discard(path.removeprefix(PLACE).partition("/")[0])


def _files() -> MemoryUploadedFileManager:
    kept = runtime.get_instance().uploaded_file_mgr
    assert isinstance(kept, MemoryUploadedFileManager)  # Streamlit's own server has no other
    return kept


def _tab() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""
