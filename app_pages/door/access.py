"""Says who looks at a page, and asks those who have not logged in to do so.

Everything that a page shows or does follows from `person()`. It is worked out again at every run,
so that a session that ends, or a role that is taken away, takes effect on the next click, or when
the freshness line moves.
"""

from collections.abc import Callable
from typing import Final

import streamlit as st

from app_pages.door import audience, callers
from app_pages.language import formats
from app_pages.language.i18n import _, declare_language
from pipeline.continuity import service
from pipeline.language import codes
from pipeline.serve.roles import LOCAL, Permission, Person
from pipeline.settings import Settings

WATCH_SECONDS = 7  # no multiple of other fragments' pauses: of two runs at once one is dropped
_BEGAN = "access_began_at"
ASKED_SCRIPT: Final = "sessionStorage.setItem('prazo_asked', location.href)"
RETURN_SCRIPT: Final = """(() => {
    const asked = sessionStorage.getItem('prazo_asked')
    sessionStorage.removeItem('prazo_asked')
    if (asked?.startsWith(location.href) && asked !== location.href) location.replace(asked)
})()"""
"""Streamlit leads everybody who has logged in to the first page. So the tab keeps which page it was
asked for when the login stood there, and goes back to it: what begins with the address of the first
page is of this dashboard."""


def person() -> Person | None:
    """Whoever looks; None where nobody is logged in, the session is over, or no role fits."""
    return session()()


def session() -> Callable[[], Person | None]:
    """Says whoever looks, for as long as their session lasts; for what outlives the page's run,
    where nobody can be asked who looks (a file that is made once its button is pressed)."""
    settings = service.current().settings
    if settings.login == "none":
        return lambda: LOCAL
    claims = st.user.to_dict() if settings.login == "oidc" else _of_the_proxy(settings)
    ends_at, roles = _ends_at(settings), callers.role_map(settings)
    return lambda: roles.person(claims) if callers.now() < ends_at else None


def may(permission: Permission) -> bool:
    """Whether whoever looks has the permission."""
    found = person()
    return found is not None and found.may(permission)


def may_read(view: str) -> bool:
    """Whether the rows of a view are open to whoever looks."""
    found = person()
    return found is not None and audience.may_read(found, view)


def may_open(page: str) -> bool:
    """Whether a page, by the stem of its file, is open to whoever looks."""
    found = person()
    return found is not None and audience.may_open(found, page)


def admit() -> Person | None:
    """Whoever looks. Where that is nobody with a role, says what to do.

    Nothing else may be drawn then, and the run has to end by itself: after `st.stop()` Streamlit
    would still run the fragments of the run before, and draw them over what is said here.
    """
    found = person()
    if found is None:
        _ask_to_log_in(service.current().settings)
    return found


def name_of(whoever: Person | None) -> str:
    """The name of a person who has logged in, as Markdown of a label; "" of anybody else."""
    if whoever is None or whoever.name is None:
        return ""
    # A label makes no links, so that the name can be read and found as it is.
    return formats.plain(whoever.name).replace("\N{WORD JOINER}", "")


def leave(whoever: Person) -> None:
    """The person's roles, and the way out; nothing where nobody logs in."""
    if whoever.name is None:
        return
    st.markdown(", ".join(sorted(_(codes.ROLES[it]) for it in whoever.roles)))
    if service.current().settings.login == "oidc":
        st.button(_("Log out"), on_click=st.logout, width="stretch")
    _watch(whoever)


def return_to_asked() -> None:
    """Leads whoever has just logged in to the page that they had asked for."""
    if service.current().settings.login == "oidc":
        st.html(f"<script>{RETURN_SCRIPT}</script>", unsafe_allow_javascript=True)


@st.fragment(run_every=WATCH_SECONDS)
def _watch(whoever: Person) -> None:
    """Runs the page again once the session is over or the roles are others: an open page must not
    go on by itself."""
    if person() != whoever:
        st.rerun()


def _of_the_proxy(settings: Settings) -> dict[str, object]:
    return callers.proxy_claims(settings, st.context.headers.get)


def _is_over(settings: Settings) -> bool:
    return callers.now() >= _ends_at(settings)


def _ends_at(settings: Settings) -> float:
    """When the session ends, in seconds of the epoch; 0 where there is none."""
    if settings.login == "oidc":
        return callers.token_ends_at(settings, st.user)
    # Headers are those of the moment when the browser connected; it has to come by the proxy again.
    began: float = st.session_state.setdefault(_BEGAN, callers.now())
    return began + settings.session_seconds


def _ask_to_log_in(settings: Settings) -> None:
    declare_language()
    st.title("Prazo", anchor=False)
    if settings.login == "proxy":
        if _is_over(settings):
            st.warning(_("Reload the page to continue."), title=_("The session is over"))
        else:
            _say_no_role(_of_the_proxy(settings).get("sub"))
        return
    if st.user.get("is_logged_in") and not _is_over(settings):
        _say_no_role(st.user.get("email") or st.user.get("sub"))
        st.button(_("Log out"), on_click=st.logout)
        return
    st.html(f"<script>{ASKED_SCRIPT}</script>", unsafe_allow_javascript=True)
    st.markdown(_("Deadlines, submissions and evidence of the marketplace's registration reviews."))
    if st.user.get("is_logged_in"):
        st.info(_("The session is over; log in again to continue."))
    st.button(_("Log in"), on_click=st.login, icon=":material/login:")


def _say_no_role(name: object) -> None:
    st.error(
        _("Ask whoever runs Prazo for a role: see *Who may look* in the guide *Operations*."),
        title=_("{name} has no role here", name=formats.plain(name)),
        icon=":material/block:",
    )
