"""The dashboard's frame: title, instant, language, navigation; nothing else.

Imported (`streamlit run app.py`, uvicorn) this file is the ASGI app that holds the ledger; run as
`__main__`, which Streamlit does at every rerun, it draws one page.
"""

import logging
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - before the follower starts: its first transaction would wait for it
import streamlit as st
from starlette.middleware import Middleware
from streamlit import config, delta_generator

import app_pages
from app_pages.desk import find, people, visits
from app_pages.door import access, audience, browsers, early, loggers, pages, starting, uploads
from app_pages.door.lobby import Lobby
from app_pages.door.requests import Door
from app_pages.door.security import NotStored, SecurityHeaders
from app_pages.door.served import Served
from app_pages.language.i18n import LANGUAGE_SCRIPTS, _, declare_language, look_up_language
from app_pages.parts import acting, elements, frame, freshness, links, lists, seller_names, views
from pipeline import memory, places, signals, text_log, traces
from pipeline.assign import assigner
from pipeline.continuity import service
from pipeline.http import limits
from pipeline.http.sockets import LimitedSocket
from pipeline.serve import api
from pipeline.serve.roles import Person, RoleMap, provider
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

STATIC = Path(app_pages.__file__).with_name("static")
# By itself, no file: those are handed out to whoever has logged in alone.
ICON = f"data:image/png;base64,{b64encode((STATIC / 'icon.png').read_bytes()).decode()}"
LOGO = STATIC / "logo.svg"
ANY_ADDRESS = "0.0.0.0"
# Where a run that is to end, as on a quick way back, still writes into the session while the next
# one lists what is in it: each has a lock of its own (Streamlit 1.67). The page is drawn once more.
OVERTAKEN = "dictionary changed size during iteration"
DRAWN_AGAIN = "drawn_again"


def page() -> None:
    """One run of one page. Whatever fails on it, the page says what to do."""
    try:
        _draw()
    except Exception as error:
        if str(error) == OVERTAKEN and not st.session_state.get(DRAWN_AGAIN):
            LOG.exception("a page was overtaken")
            st.session_state[DRAWN_AGAIN] = True
            st.rerun()
        elements.say_failure(error)
    else:
        st.session_state.pop(DRAWN_AGAIN, None)


def _draw() -> None:
    acting.wait_for_acts()
    look_up_language()
    st.set_page_config(page_title="Prazo", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large")
    whoever = access.admit()
    if whoever is None:
        frame.hold_choices()
        return
    heading = st.container(gap="xsmall", key="heading")
    title, search, bell = _title_line(heading, whoever)
    sections = _sections(whoever)
    offered = {heading: list(listed.values()) for heading, listed in sections.items()}
    # Else Streamlit shows the first page under the address of one that is closed.
    offered.setdefault("", []).extend(_closed(sections))
    current = st.navigation(offered, position="top")
    links.use_pages({name: it for listed in sections.values() for name, it in listed.items()})
    st.set_page_config(page_title=f"{current.title} · Prazo")
    with title:
        frame.skips()
        st.title(current.title, anchor=False)
        links.to_help(current.url_path or next(iter(pages.pages())))
        declare_language()
        access.return_to_asked()
        visits.remember()
        acting.keep_name()
    with heading:  # before what asks the ledger, which has little time beside a long act
        frame.working()
        acting.say_what_was_masked()
        acting.say_what_goes_on()
        seller_names.mask_in_time()
    with search:
        find.box(current.title)
    line = freshness.place(heading)
    views.begin()
    lists.begin()
    uploads.begin()
    with heading:
        frame.time_travel_banner()
    try:
        try:
            with suppress(elements.PageEnd):
                current.run()
        finally:
            uploads.end()
            with line:  # before alerts are counted: both are wanted at once, *Undo* above all
                acting.say_rest()
            with heading:
                acting.say_done()
    except Exception:  # a run that is to end for another one is none, and counts no alerts
        _ring(bell)
        raise
    else:
        _ring(bell)
    finally:
        with line:
            freshness.show()


def _ring(place: Any) -> None:
    """Draws the bell: after the page, as nobody waits for theirs until alerts are counted, and
    before the line that says how old what stands there is."""
    with place:
        frame.bell(people.mine)


def _title_line(heading: Any, whoever: Person) -> tuple[Any, Any, Any]:
    """Draws the choices at the head of every page. Returns where title, search and bell go, which
    are drawn later: all that is written after the choices is in the language that they say."""
    line = heading.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="title_line"
    )
    with line:
        title = st.container(horizontal=True, vertical_alignment="center", gap=None, key="title")
        with st.container(
            horizontal=True,
            vertical_alignment="center",
            gap="xsmall",
            width="content",
            key="choices",
        ):
            bell = st.container(width="content")  # first: whatever it says, nothing beside it moves
            search = st.container(width="content")
            frame.choose_view(whoever)
    return title, search, bell


def _sections(whoever: Person) -> dict[str, dict[str, st.Page]]:
    """The pages that somebody may open: heading -> stem of the file -> page."""

    sections: dict[str, dict[str, st.Page]] = {}
    for name, page in pages.pages().items():
        if audience.may_open(whoever, name):
            heading = page.section.value and _(page.section.value)
            sections.setdefault(heading, {})[name] = links.page(name, _(page.title), page.icon)
    return sections


def _closed(sections: dict[str, dict[str, st.Page]]) -> list[st.Page]:
    """For each page that is not among these, one in its place that says so."""
    is_open = {name for listed in sections.values() for name in listed}
    return [
        st.Page(frame.closed_page, title=_("Not open"), url_path=name, visibility="hidden")
        for name in sorted(pages.pages())
        if name not in is_open
    ]


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Holds the ledger while the server runs, and closes it even where no exit handler runs."""
    places.leave_out_key_logs()
    # Before its first element Streamlit looks through all modules for an interactive Python, to
    # warn of it: a tenth of what the first page takes.
    delta_generator._use_warning_has_been_displayed = True
    memory.look_for_cycles_less_often()
    os.umask(0o077)  # DuckDB makes its files with whatever the mask leaves
    signals.stop_server_by_hangup()
    with ExitStack() as held:
        with starting.or_end():
            settings = _settings()
            if settings.roles_file is not None:
                RoleMap(settings.roles_file)  # a wrong one is refused now, not at the first visit
            if settings.login == "oidc" and settings.oidc_file is not None:
                provider(settings.oidc_file)  # else nobody could log in, and no message says so
                config.set_option("secrets.files", [str(settings.oidc_file)])
            ledger = held.enter_context(service.ledger_service(settings))
            held.enter_context(assigner.assigning(ledger))
        yield


def _settings() -> Settings:
    """With the address that Streamlit really listens on, whoever started it and however."""
    return Settings.load(
        dashboard_host=st.get_option("server.address") or ANY_ADDRESS,
        dashboard_port=st.get_option("server.port"),
    )


if __name__ == "__main__":
    page()
else:
    text_log.begin(logging.WARNING)  # else Python prints what came from outside as it came
    with starting.or_end():
        places.go_home()
    loggers.keep_to_setting()
    with starting.or_end():
        traces.keep_to_setting("dashboard")
    limits.limit_every_connection(LimitedSocket)
    app = st.App(
        __file__,
        routes=api.routes(),
        lifespan=lifespan,
        middleware=[
            Middleware(
                SecurityHeaders,
                scripts=[
                    *LANGUAGE_SCRIPTS.values(),
                    access.ASKED_SCRIPT,
                    access.RETURN_SCRIPT,
                    visits.SCRIPT,
                    acting.NAME_SCRIPT,
                    early.SCRIPT,
                ],
            ),
            Middleware(NotStored),
            Middleware(browsers.Numbered),
            Middleware(early.Early),
            Middleware(starting.or_end()(Door), load=_settings),
            Middleware(starting.or_end()(Served), pages.pages(), api.routes(), load=_settings),
            Middleware(starting.or_end()(Lobby), load=_settings),
        ],
    )
