"""How fresh the figures of a page are, how the ledger stands, and whether deliveries come in."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app_pages.language import formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import elements, links, views
from pipeline import instants
from pipeline.continuity import follower, service
from pipeline.continuity.follower import Status
from pipeline.inbox.clock import DATABASE
from pipeline.serve import intake

FRESHNESS_SECONDS: Final = 5  # between two looks at how far the log has come
BEHIND_SECONDS: Final = follower.BEHIND_SECONDS  # from here on the lag is shown in orange
FAR_BEHIND_SECONDS: Final = 60  # and from here on in red


def place(heading: DeltaGenerator) -> DeltaGenerator:
    """Where the line will stand: nothing moves when it comes, since the place is held open."""
    line = heading.container(gap=None, key="freshness_line")
    line.space(1)  # without anything in it, Streamlit shows no container at all
    return line


def show() -> None:
    """As of when, up to which entry, is the ledger verified, do deliveries come in; live.

    To be called once the page has read what it shows: its oldest answer counts.
    """
    _freshness(*views.rests_on())


@st.fragment(run_every=FRESHNESS_SECONDS)
@elements.failures_said()
def _freshness(drawn_at: datetime, drawn_seq: int) -> None:
    """While a page stands open the log goes on: this line says by how much, and offers a redraw.

    It redraws nothing by itself: nothing may move under whoever is reading or writing there. Only a
    page that counts no entry at all is drawn again with the first ones.
    """
    status = service.current().status()
    if not drawn_seq and status.last_seq:
        _redraw()
    parts = [
        _("As of {instant}", instant=formats.second(drawn_at)),
        formats.plain(str(formats.zone())),
        _included(drawn_seq),
    ]
    found = intake.current(service.current())
    badges = [
        _verified_badge(status),
        _lag_badge(status.lag_seconds),
        *_clock_badges(),
        *_intake_badges(found),
    ]
    badges.sort(key=lambda badge: not badge.startswith(":red-badge"))  # a phone shows few at once
    with st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="freshness",
    ):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(formats.muted(" · ".join(parts)), width="content")
            _offer_redraw(status.last_seq - drawn_seq, views.moment() - drawn_at)
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            st.markdown(" ".join(badges), width="content", help=_intake_help(found))
            links.to_ledger()
    if status.problem:
        st.error(
            elements.in_its_words(status.problem),
            title=_("The ledger does not follow its inbox: these pages may miss what came last"),
            icon=":material/error:",
        )


def _included(drawn_seq: int) -> str:
    """Which entries count. Of an instant that is over, those that had occurred by then, out of all
    that the log holds: what comes later, such as a file, may still tell of that time."""
    seq = formats.number(drawn_seq)
    if views.as_of() is not None:
        return _("what had occurred by then, in the log up to entry {seq}", seq=seq)
    return _("up to entry {seq}", seq=seq)


def _offer_redraw(new_entries: int, age: timedelta) -> None:
    """How old the figures are, and the way to newer ones; those of an instant that is over stay."""
    if views.as_of() is not None:
        return
    if new_entries > 0:
        label = ngettext(
            "{n} new entry", "{n} new entries", new_entries, n=formats.number(new_entries)
        )
    else:
        label = _("updated {time} ago", time=formats.seconds(max(round(age.total_seconds()), 0)))
    if st.button(label, icon=":material/refresh:", type="tertiary", key="redraw"):
        _redraw()


def _redraw() -> NoReturn:
    views.forget_answers()
    st.rerun()


def _verified_badge(status: Status) -> str:
    if service.current().faults_found is not None:
        found = _("Log integrity: faults were found")
        return formats.badge(found, "red", ":material/gpp_maybe:")
    if status.is_verified:
        return formats.badge(_("Log integrity: verified"), "green", ":material/verified:")
    if status.problem is None and status.inbox_seq == 0:
        return formats.badge(_("Nothing to verify yet"), "gray", ":material/verified:")
    if status.problem is None and status.lag_seconds >= BEHIND_SECONDS:
        catching_up = _("Verified once it has caught up")
        return formats.badge(catching_up, "orange", ":material/hourglass_top:")
    return formats.badge(_("Log integrity: not verified"), "red", ":material/gpp_maybe:")


def _lag_badge(lag_seconds: float) -> str:
    colour = "blue"
    if lag_seconds >= BEHIND_SECONDS:
        colour = "orange" if lag_seconds < FAR_BEHIND_SECONDS else "red"
    text = _("{duration} behind", duration=formats.seconds(lag_seconds))
    return formats.badge(text, colour, ":material/sync:")


def _clock_badges() -> Iterator[str]:
    """How far a clock is off, where those that are held against each other disagree."""
    inbox = service.current().inbox
    inbox.clock()  # a page may be the first to look after a jump
    machine = inbox.machine
    if machine.doubted == DATABASE:
        off = formats.number(round((machine.database_offset or 0) / instants.SECOND))
        text = _("The database's clock is {seconds} s off", seconds=off)
    elif machine.doubted is not None:
        off = formats.number(round(machine.offset / instants.SECOND))
        text = _("This machine's clock is {seconds} s off", seconds=off)
    else:
        return
    yield formats.badge(text, "red", ":material/schedule:")


# --- intake --------------------------------------------------------------------------------------


def _intake_badges(found: intake.Intake | None) -> Iterator[str]:
    """When the last delivery came, and what keeps the next one out; of now, whatever instant the
    page shows."""
    if found is None:
        yield formats.badge(_("Asking the receiver …"), "gray", ":material/move_to_inbox:")
    else:
        yield _delivery_badge(found)
        if not found.receiver.is_there:
            silent = _("The receiver does not answer")
            yield formats.badge(silent, "red", ":material/cloud_off:")
        elif not found.receiver.is_ready:
            unable = _("The receiver cannot record")
            yield formats.badge(unable, "red", ":material/cloud_off:")
        if found.why_held:
            yield formats.badge(_("A copy: nothing is sent"), "red", ":material/content_copy:")
    if service.current().settings.webhook_auth == "none":
        open_door = _("Deliveries are not authenticated")
        yield formats.badge(open_door, "orange", ":material/no_encryption:")


def _delivery_badge(found: intake.Intake) -> str:
    icon = ":material/move_to_inbox:"
    if found.last_at is None:
        return formats.badge(_("No delivery yet"), "gray", icon)
    now = instants.naive(service.current().now())
    pause = formats.seconds(max((now - found.last_at).total_seconds(), 0))
    if found.silent_since is not None:
        return formats.badge(_("No delivery for {time}", time=pause), "red", icon)
    colour = "green" if found.receiver.is_ready else "gray"
    return formats.badge(_("Last delivery {time} ago", time=pause), colour, icon)


def _intake_help(found: intake.Intake | None) -> str | None:
    """What to do about a red badge of the intake; None where there is none."""
    if found is None:
        return None
    if not found.receiver.is_ready:
        lost = _(
            "What the platform sends now is not recorded, and it sends it again. Ask whoever runs"
            " Prazo to look at the receiver: see *What to watch* in the guide *Operations*."
        )
        return f"{lost} {elements.in_its_words(found.receiver.why)}"
    if found.why_held:
        return _(
            "This log is a copy. It records, and sends neither submissions nor messages until"
            " somebody says that it is the one in use. Ask whoever runs Prazo: see *Backup and"
            " restore* in the guide *Operations*."
        )
    if found.silent_since is not None:
        return _(
            "Usually a delivery comes sooner. Ask the platform whether it sends, and whether"
            " anything between it and the receiver stands in the way."
        )
    return None
