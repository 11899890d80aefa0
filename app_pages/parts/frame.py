"""Draws what is around every page: the choices of instant, zone and language, the bell, and a
banner on a page that shows the past."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, moments
from app_pages.language.i18n import LANGUAGES, _, ngettext, preferred
from app_pages.parts import elements, links, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.language import codes

DRAWER_SCRIPT: Final = """(() => {
    if (window.prazoDrawer) return
    window.prazoDrawer = true
    document.addEventListener('click', clicked => {
        if (!clicked.target.closest('[data-testid="stSidebarNavLink"]')) return
        const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button')
        if (close !== null) setTimeout(() => close.click())
    })
})()"""
"""On a narrow screen the navigation is a drawer, which Streamlit leaves open over the page that was
chosen in it."""
KEYBOARD_SCRIPT: Final = """(() => {
    if (window.prazoKeyboard) return
    window.prazoKeyboard = true
    const enter = (opener, frames) => {
        if (document.activeElement !== opener) return
        const opened = document.querySelector('[data-testid="stPopoverBody"]')
        const first = opened?.querySelector('input, textarea, button, a[href], [tabindex="0"]')
        const isThere = first && !opened.querySelector('[data-testid="stSkeleton"]')
        if (isThere) first.focus()
        else if (frames) requestAnimationFrame(() => enter(opener, frames - 1))
    }
    document.addEventListener('keyup', pressed => {
        if (pressed.key !== 'Enter' && pressed.key !== ' ') return
        const opener = pressed.target.closest('[data-testid="stPopoverButton"]')
        if (opener?.getAttribute('aria-expanded') === 'true') enter(opener, 60)
    })
    const places = ['[data-testid="stPopoverBody"]', '.st-key-compared', '.st-key-card']
    let was = null, place = -1, byKeys = false
    document.addEventListener('keydown', () => { byKeys = true }, true)
    document.addEventListener('pointerdown', () => { byKeys = false }, true)
    document.addEventListener('focusin', ({target}) => {
        was = target
        place = places.findIndex(it => target.closest(it))
    })
    const isLost = () =>
        place >= 0 && !was.isConnected && document.activeElement === document.body
    const follow = () => {
        if (!isLost()) return
        const now = places.slice(place).map(it => document.querySelector(it)).find(it => it)
        if (!now) return
        now.tabIndex = -1
        now.focus({preventScroll: true})
    }
    const later = (act, frames) =>
        requestAnimationFrame(() => frames ? later(act, frames - 1) : act())
    new MutationObserver(() => {
        if (!isLost()) return
        if (place > 0) follow()
        else if (byKeys) later(follow, 3)
    }).observe(document.body, {childList: true, subtree: true})
})()"""
"""Streamlit puts what a button opens at the end of the page, so that Tab would come to it last. So
the focus moves into it when the keyboard opens it; Escape moves it back to the button, some frames
later. When a card is drawn for another row, or a form again after an act, its former buttons are
gone, and Tab would begin at the top of the page. So the card gets the focus, or what is still open,
or the comparison that was asked for there: never one of its buttons, since a reader who still
presses Enter meant another one.
"""
ZONES: Final = (
    "America/Sao_Paulo",
    "America/Manaus",
    "America/Rio_Branco",
    "America/Noronha",
    "Europe/Lisbon",
    "UTC",
)


def close_drawer() -> None:
    """Closes the drawer of a narrow screen once a page was chosen in it."""
    st.html(f"<script>{DRAWER_SCRIPT}</script>", unsafe_allow_javascript=True)


def lead_keyboard() -> None:
    """Leads the keyboard into what a button has opened, and keeps it at a card drawn again."""
    st.html(f"<script>{KEYBOARD_SCRIPT}</script>", unsafe_allow_javascript=True)


def bell(names: Callable[[], Sequence[str]]) -> None:
    """Links with the number of alerts that nobody has taken yet and that are more than to be known,
    of those among them that wait for the reader under any of these names, and of requests that wait
    for a second person. A number that is zero is left out."""
    if not access.may_open("alerts"):
        return
    every = views.groups("alerts", ["severity", "assignee"], where={"is_open": True})
    pressing = [row for row in every if row["severity"] != codes.INFO]
    waiting = sum(row["rows"] for row in pressing)
    to_approve = _to_approve()
    if not waiting and not to_approve:
        return
    label = ngettext("{n} alert", "{n} alerts", waiting, n=formats.number(waiting))
    if to_approve:
        label += " · " + _("{n} to approve", n=formats.number(to_approve))
    own = set(names())
    theirs = sum(row["rows"] for row in pressing if row["assignee"] in own)
    # What it counts is what it opens: a filter that leaves nothing out is left out.
    severities = [] if len(pressing) == len(every) else [*codes.PRESSING]
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key="bell"):
        links.to_alerts(label, severity=severities)
        if theirs:
            own_label = _("{n} for you", n=formats.number(theirs))
            links.to_alerts(own_label, severity=severities, whose="mine")


def _to_approve() -> int:
    """How many requests wait for a second person; asked only where an act can wait for one."""
    if not service.current().settings.acts_of_two:
        return 0
    return views.count("clearances", where={"state": "requested"})


# --- the reader's choices ------------------------------------------------------------------------


def choose_view() -> None:
    """The inputs of instant, time zone and language. The URL holds each, from page to page.

    They are always in sight, and not in a popover, because Streamlit carries a bound input to the
    next page only while the browser shows it.
    """
    st.text_input(
        _("View as of (UTC)"),
        key="as_of",
        bind="query-params",
        icon=":material/history:",
        placeholder=_("now, or 2026-03-01T09:00Z"),
        label_visibility="collapsed",
        width=180,
    )
    with st.popover(_("Earlier"), icon=":material/calendar_month:"):
        _pick_instant()
    st.selectbox(
        _("Time zone"),
        _zones(),
        key="tz",
        bind="query-params",
        label_visibility="collapsed",
        width=164,
    )
    st.segmented_control(
        "Language · Idioma",
        list(LANGUAGES),
        default=preferred(st.context.locale),
        required=True,
        key="lang",
        bind="query-params",
        label_visibility="collapsed",
    )


def hold_choices() -> None:
    """Draws the same inputs out of sight, where nobody is logged in. Without them Streamlit would
    take their values out of the URL, and the page would show the present after the login."""
    with st.container(key="choices_held"):
        choose_view()


def _pick_instant() -> None:
    """A calendar for those who do not write ISO 8601, and the way back."""
    for name, label in moments.ENDS.items():
        st.button(_(label), on_click=_look_at, args=(name,), key=f"as_of {name}", width="stretch")
    st.datetime_input(
        _("Look at an earlier instant"),
        value=None,
        key="picked",
        format="DD/MM/YYYY",
        on_change=_take_picked,
        help=_("Everything is shown as it stood then. Pick it in the time zone that you chose."),
    )
    st.button(
        _("Back to now"),
        on_click=_back_to_now,
        disabled=not st.session_state["as_of"],
        width="stretch",
    )


def _zones() -> list[str]:
    """The zones to choose from: the settings' first, since it is the default, and the browser's."""
    known = [service.current().settings.time_zone, *ZONES, st.context.timezone]
    return list(dict.fromkeys(zone for zone in known if zone))


def _take_picked() -> None:
    picked: datetime | None = st.session_state["picked"]
    st.session_state["as_of"] = (
        ""
        if picked is None
        else instants.readable(
            instants.from_datetime(picked.replace(tzinfo=formats.zone()).astimezone(UTC))
        )
    )


def _look_at(name: str) -> None:
    """Moves the page to one of the instants that people name, counted from now in the reader's
    zone."""
    now = instants.of(service.current().now()).replace(tzinfo=None)
    there = moments.end_of(name, now, formats.zone())
    st.session_state["as_of"] = instants.readable(instants.from_datetime(there))
    st.session_state["picked"] = None  # what stays there cannot be picked again


def _back_to_now() -> None:
    st.session_state["as_of"] = ""
    st.session_state["picked"] = None


# --- what every page says ------------------------------------------------------------------------


def time_travel_banner() -> None:
    """Says that the page shows another instant than now; nothing when it shows now."""
    if views.as_of() is not None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.warning(
                _(
                    "What happened later is left out, and every deadline is counted from that"
                    " instant."
                ),
                title=_(
                    "You are looking at {instant}, not at the present",
                    instant=formats.second(views.moment()),
                ),
                icon=":material/history:",
            )
            st.button(_("Back to now"), on_click=_back_to_now, key="now", icon=":material/undo:")
    elif st.session_state["as_of"]:
        st.warning(
            _("Write it like 2026-03-01T12:00:00Z; without an offset it is UTC."),
            title=_("That is not an instant, so the page shows the present"),
            icon=":material/event_busy:",
        )


def closed_page() -> None:
    """The page that is shown in place of one that the reader's role does not open."""
    elements.empty(
        _("This page is not open to your role"),
        _("Ask whoever runs Prazo for a role: see *Who may look* in the guide *Operations*."),
    )
