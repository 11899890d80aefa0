"""The dashboard's frame: title, instant, language, navigation; nothing else.

Imported (`streamlit run app.py`, uvicorn) this file is the ASGI app that holds the ledger; run as
`__main__`, which Streamlit does at every rerun, it draws one page.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pandas  # noqa: F401 - before the follower starts: its first transaction would wait for it
import streamlit as st
from starlette.middleware import Middleware

from app_pages import frame
from app_pages.i18n import _
from app_pages.security import SecurityHeaders
from pipeline import api, service
from pipeline.settings import Settings

PAGES = Path(__file__).parent / "app_pages"
ICON = PAGES / "static" / "icon.png"
LOGO = PAGES / "static" / "logo.svg"


def page() -> None:
    """One run of one page."""
    st.set_page_config(page_title="Prazo", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large")
    heading = st.container(gap="xsmall")
    with heading.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        title = st.container(gap=None)
        # The choices first: what follows is written in the language that they say.
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", width="content"
        ):
            frame.choose_view()
    current = st.navigation(
        {
            "": [
                st.Page(
                    PAGES / "overview.py",
                    title=_("Overview"),
                    icon=":material/monitoring:",
                    default=True,
                ),
                st.Page(PAGES / "watchlist.py", title=_("Watchlist"), icon=":material/alarm:"),
                st.Page(PAGES / "findings.py", title=_("Findings"), icon=":material/gavel:"),
            ],
            _("Investigate"): [
                st.Page(PAGES / "process.py", title=_("Process"), icon=":material/timeline:"),
                st.Page(PAGES / "seller.py", title=_("Seller"), icon=":material/storefront:"),
                st.Page(PAGES / "submissions.py", title=_("Submissions"), icon=":material/send:"),
                st.Page(
                    PAGES / "denials.py", title=_("Denials and retries"), icon=":material/block:"
                ),
            ],
            _("Evidence"): [
                st.Page(
                    PAGES / "evidence.py",
                    title=_("Collection and audit export"),
                    icon=":material/inventory_2:",
                ),
                st.Page(PAGES / "ledger.py", title=_("Ledger"), icon=":material/verified:"),
                st.Page(
                    PAGES / "dictionary.py",
                    title=_("Data dictionary"),
                    icon=":material/menu_book:",
                ),
            ],
        },
        position="top",
    )
    st.set_page_config(page_title=f"{current.title} · Prazo")
    with title:
        st.title(current.title, anchor=False)
        frame.declare_language()
    with heading:
        frame.freshness()
        frame.time_travel_banner()
    current.run()


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Holds the ledger while the server runs, and closes it even where no exit handler runs."""
    with service.ledger_service(Settings.load()):
        yield


if __name__ == "__main__":
    page()
else:
    app = st.App(
        __file__,
        routes=api.routes(),
        lifespan=lifespan,
        middleware=[Middleware(SecurityHeaders, scripts=frame.LANGUAGE_SCRIPTS.values())],
    )
