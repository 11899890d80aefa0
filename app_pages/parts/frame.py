"""Draws what is around every page: the bell, the menus of instant and of whoever reads, and a
banner on a page that shows the past."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, moments
from app_pages.language.i18n import LANGUAGES, _, look_up_language, preferred
from app_pages.parts import acting, elements, links, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.language import codes
from pipeline.serve.roles import Person

ZONES: Final = (
    "America/Sao_Paulo",
    "America/Manaus",
    "America/Rio_Branco",
    "America/Noronha",
    "Europe/Lisbon",
    "UTC",
)


def bell(names: Callable[[], Sequence[str]]) -> None:
    """Links with the number of alerts that nobody has taken yet and that are more than to be known,
    of those among them that wait for the reader under any of these names, and of requests that wait
    for a second person. A number that is zero is left out."""
    if not access.may_open("alerts"):
        return
    # As the page of alerts counts them, so that both have one answer.
    counted = views.Facets("alerts", {"severity": [], "is_open": [True], "assignee": []})
    waiting = counted.rows(severity=codes.PRESSING)
    to_approve = _to_approve()
    if not waiting and not to_approve:
        return
    label = _("{n} to act on", n=formats.number(waiting))
    if to_approve:
        label += " · " + _("{n} to approve", n=formats.number(to_approve))
    own = names()
    theirs = counted.rows(severity=codes.PRESSING, assignee=own) if own else 0
    # What it counts is what it opens: a filter that leaves nothing out is left out.
    severities = [] if waiting == counted.rows() else [*codes.PRESSING]
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key="bell"):
        links.to_alerts(label, severity=severities)
        if theirs:
            own_label = _("{n} on processes of yours", n=formats.number(theirs))
            links.to_alerts(own_label, severity=severities, whose="mine")


def _to_approve() -> int:
    """How many requests wait for a second person; asked only where an act can wait for one."""
    if not service.current().settings.acts_of_two:
        return 0
    return views.count("clearances", where={"state": "requested"})


# --- the reader's choices ------------------------------------------------------------------------


def choose_view(whoever: Person | None) -> None:
    """The menus of the instant and of whoever reads: their name, time zone and language.

    They fold away as parts that a browser keeps, and not in popovers, because Streamlit carries an
    input that the URL holds to the next page only while the browser has it.
    """
    with _menu("instant", _("View as of"), "history"):
        _pick_instant()
    links.copy_this()
    with _menu("you", access.name_of(whoever) or acting.name_or_question(), "account_circle"):
        who = st.container()
        st.segmented_control(
            "Language · Idioma",
            list(LANGUAGES),
            default=preferred(st.context.locale),
            required=True,
            key="lang",
            bind="query-params",
        )
        look_up_language()  # after Back or Forward the control alone knows it
        st.selectbox(_("Time zone"), _zones(), key="tz", bind="query-params")
        if whoever is not None:
            with who:
                acting.name_yourself()
                access.leave(whoever)


def hold_choices() -> None:
    """Draws the same inputs out of sight, where nobody is logged in. Without them Streamlit would
    take their values out of the URL, and the page would show the present after the login."""
    with st.container(key="choices_held"):
        choose_view(None)


def _menu(key: str, label: str, icon: str) -> Any:
    """A part that folds away; style and script make a menu of it."""
    with st.container(key=f"menu_{key}", width="content"):
        return st.expander(label, icon=f":material/{icon}:")


def _pick_instant() -> None:
    """A line for those who write ISO 8601, a calendar for others, and the way back."""
    st.text_input(
        _("Instant (UTC), typed"),
        key="as_of",
        bind="query-params",
        placeholder=_("now, or 2026-03-01T09:00Z"),
    )
    for name, label in moments.ENDS.items():
        st.button(_(label), on_click=_look_at, args=(name,), key=f"as_of {name}", width="stretch")
    st.datetime_input(
        _("Day and hour"),
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
    now = instants.naive(service.current().now())
    there = moments.end_of(name, now, formats.zone())
    st.session_state["as_of"] = instants.readable(instants.from_datetime(there))
    st.session_state["picked"] = None  # what stays there cannot be picked again


def _back_to_now() -> None:
    st.session_state["as_of"] = ""
    st.session_state["picked"] = None


# --- what every page says ------------------------------------------------------------------------


def skips() -> None:
    """For whoever comes by the keyboard: the way past the filters to the rows of the list, on pages
    that begin with one. Our script takes it there, and has Streamlit's own link past the navigation
    speak the reader's language."""
    main, rows = escape(_("Skip to the content")), escape(_("Skip to the list"))
    st.html(f'<button class="prazo-skip" type="button" data-main="{main}">{rows}</button>')


def working() -> None:
    """What a browser shows, by our style and script, while it waits for what was asked for, and
    while it has no server to ask."""
    with st.container(key="working"):
        st.markdown(f":material/progress_activity: {_('Working …')}", width="content")
    with st.container(key="away"):
        st.markdown(
            _(
                "**No connection to Prazo.** What stands here is from before, and nothing that you"
                " press is recorded. It is tried again by itself."
            )
        )


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
