"""What stands around every page: instant, zone and language, and how fresh the figures are."""

import time
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from app_pages.language import formats
from app_pages.language.i18n import LANGUAGES, _, ngettext, preferred
from app_pages.parts import clocks, elements, views
from pipeline import instants
from pipeline.ledger import follower, service
from pipeline.ledger.follower import Status

ZONES: Final = (
    "America/Sao_Paulo",
    "America/Manaus",
    "America/Rio_Branco",
    "America/Noronha",
    "Europe/Lisbon",
    "UTC",
)
FRESHNESS_SECONDS: Final = 5  # between two looks at how far the log has come
BEHIND_SECONDS: Final = follower.BEHIND_SECONDS  # from here on the lag is shown in orange
FAR_BEHIND_SECONDS: Final = 60  # and from here on in red


# --- the reader's choices ------------------------------------------------------------------------


def choose_view() -> None:
    """Instant, time zone and language: each stands in the URL and stays from page to page.

    They are always in sight, and not in a popover, because Streamlit carries a bound input to the
    next page only while the browser shows it.
    """
    st.text_input(
        _("As of (UTC)"),
        key="as_of",
        bind="query-params",
        icon=":material/history:",
        placeholder=_("now, or 2026-03-01T09:00Z"),
        label_visibility="collapsed",
        width=232,
    )
    with st.popover(_("Earlier"), icon=":material/calendar_month:"):
        _pick_instant()
    st.selectbox(
        _("Time zone"),
        _zones(),
        key="tz",
        bind="query-params",
        label_visibility="collapsed",
        width=190,
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


def _pick_instant() -> None:
    """A calendar for those who do not write ISO 8601, and the way back."""
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
    """The one of the settings first, since it is the default, and the browser's own."""
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


def _back_to_now() -> None:
    st.session_state["as_of"] = ""
    st.session_state["picked"] = None


# --- what every page says ------------------------------------------------------------------------


def time_travel_banner() -> None:
    """Says that the page shows another instant than now; nothing when it shows now."""
    if views.as_of() is not None:
        st.warning(
            _("What happened later is left out, and every deadline is counted from that instant."),
            title=_(
                "You are looking at {instant}, not at the present",
                instant=formats.second(views.moment()),
            ),
            icon=":material/history:",
        )
    elif st.session_state["as_of"]:
        st.warning(
            _("Write it like 2026-03-01T12:00:00Z; without an offset it is UTC."),
            title=_("That is not an instant, so the page shows the present"),
            icon=":material/event_busy:",
        )


def freshness() -> None:
    """As of when, up to which entry, how far behind, and whether the ledger is verified; live."""
    _freshness(views.moment(), service.current().status().last_seq, time.monotonic())


@st.fragment(run_every=FRESHNESS_SECONDS)
def _freshness(drawn_at: datetime, drawn_seq: int, drew: float) -> None:
    """While a page stands open the log goes on: this line says by how much, and offers a redraw.

    It redraws nothing by itself: nothing may move under whoever is reading or writing there.
    """
    status = service.current().status()
    parts = [
        _("As of {instant}", instant=formats.second(drawn_at)),
        formats.plain(str(formats.zone())),
        _("up to entry {seq}", seq=formats.number(drawn_seq)),
    ]
    badges = [_verified_badge(status), _lag_badge(status.lag_seconds), *clocks.badges()]
    if service.current().settings.webhook_auth == "none":
        open_door = _("Deliveries are not authenticated")
        badges.append(formats.badge(open_door, "orange", ":material/no_encryption:"))
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(formats.muted(" · ".join(parts)), width="content")
            _offer_redraw(status.last_seq - drawn_seq, time.monotonic() - drew)
        st.markdown(" ".join(badges), width="content")
    if status.problem:
        st.error(
            elements.in_its_words(status.problem),
            title=_("The ledger does not follow its inbox: these pages may miss what came last"),
            icon=":material/error:",
        )


def _offer_redraw(new_entries: int, seconds: float) -> None:
    """How old the figures are, and the way to newer ones; those of an instant that is over stay."""
    if views.as_of() is not None:
        return
    if new_entries > 0:
        label = ngettext(
            "{n} new entry", "{n} new entries", new_entries, n=formats.number(new_entries)
        )
    else:
        label = _("updated {time} ago", time=formats.seconds(round(seconds)))
    if st.button(label, icon=":material/refresh:", type="tertiary", key="redraw"):
        views.forget_answers()
        st.rerun()


def _verified_badge(status: Status) -> str:
    if status.is_verified:
        return formats.badge(_("Ledger verified"), "green", ":material/verified:")
    if status.problem is None and status.inbox_seq == 0:
        return formats.badge(_("Nothing to verify yet"), "gray", ":material/verified:")
    if status.problem is None and status.lag_seconds >= BEHIND_SECONDS:
        catching_up = _("Verified once it has caught up")
        return formats.badge(catching_up, "orange", ":material/hourglass_top:")
    return formats.badge(_("Ledger not verified"), "red", ":material/gpp_maybe:")


def _lag_badge(lag_seconds: float) -> str:
    colour = "blue"
    if lag_seconds >= BEHIND_SECONDS:
        colour = "orange" if lag_seconds < FAR_BEHIND_SECONDS else "red"
    text = _("{duration} behind", duration=formats.seconds(lag_seconds))
    return formats.badge(text, colour, ":material/sync:")
