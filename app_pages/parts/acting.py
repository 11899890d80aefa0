"""Records what a reader does: notes, assignments, tickets, reminders, personal data shown.

Each is an entry of the log under a name, most also with a reason; nothing is shown or done before
it stands there.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Any, Final

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, occurrences, words
from app_pages.language.i18n import _
from app_pages.parts import elements, views
from pipeline.errors import PrazoError
from pipeline.ledger import service
from pipeline.log.actions import MAX_REASON_CHARACTERS, action, reminder, ticket
from pipeline.log.entries import UNMASK, Draft
from pipeline.serve.roles import Permission

NOTE: Final = "note"
ASSIGNMENT: Final = "assignment"
RECORDED_BY: Final = "dashboard"
WATCH_SECONDS: Final = 11
"""Between two looks at whether that time is over; no multiple of other fragments' pauses."""
MAX_NAME_CHARACTERS: Final = 200
NOTES: Final = 10

_UNMASKED: Final = "unmasked until"
_WRITTEN: Final = "notes written"


def name_of_reader(key: str) -> str:
    """Who acts: whoever is logged in; on a dashboard without login, the name that they give."""
    known = access.person()
    if known is not None and known.name is not None:
        return known.name
    return st.text_input(_("Your name"), key=key, max_chars=MAX_NAME_CHARACTERS)


def is_complete(reason: str, actor: str) -> bool:
    """Whether there is a reason of bearable length, and a name; says so where there is not. An
    input with a limit of its own would hand over nothing of a text that is too long."""
    if not reason.strip() or not actor.strip():
        st.warning(_("A text and a name are needed: both go into the log."))
    elif len(reason) > MAX_REASON_CHARACTERS:
        st.warning(
            _(
                "At most {n} characters go into the log: this text has {total}.",
                n=formats.number(MAX_REASON_CHARACTERS),
                total=formats.number(len(reason)),
            )
        )
    else:
        return True
    return False


Act = Callable[[], object]
"""Records something in the inbox; raises `PrazoError` where it cannot."""


def record(draft: Draft) -> bool:
    """Appends an entry and waits until the pages see it; says so where it was not recorded."""
    return done(lambda: service.current().inbox.append([draft]))


def done(act: Act) -> bool:
    """Does what appends entries, and waits until the pages see them; says so where it failed."""
    held = service.current()
    try:
        act()
    except PrazoError as error:
        elements.say(error)
        return False
    with contextlib.suppress(PrazoError):  # it stands in the log; every page says how far it lags
        held.reach(held.inbox.last()[0])
    views.forget_answers()
    return True


def _recorded(
    kind: str,
    *,
    reason: str,
    actor: str,
    process_id: str | None,
    seller_id: str | None,
    **more: str,
) -> bool:
    """Records an action of the reader; says what is missing where it is not complete."""
    if not is_complete(reason, actor):
        return False
    try:
        draft = action(
            kind,
            reason=reason.strip(),
            actor=actor.strip(),
            recorded_by=RECORDED_BY,
            process_id=process_id,
            seller_id=seller_id,
            **more,
        )
    except PrazoError as error:
        elements.say(error)
        return False
    return record(draft)


# --- notes and assignment ------------------------------------------------------------------------


def notes(process_id: str, seller_id: str | None) -> None:
    """Who sees to a process and what was noted on it, with the forms to add to that."""
    st.header(_("Notes"), anchor=False)
    assigned = views.read_one("assignments", where={"process_id": process_id})
    if assigned is None:
        st.markdown(_("Nobody is assigned."))
    else:
        st.markdown(
            _(
                "Assigned to **{name}** since {instant}",
                name=formats.plain(assigned["assignee"]),
                instant=formats.minute(assigned["assigned_at"]),
            )
        )
    this = {"process_id": process_id}
    written = views.read("notes", where=this, limit=NOTES)
    for note in written:
        signed = f"{formats.minute(note['noted_at'])} · {formats.plain(note['actor'])}"
        st.markdown(f"{formats.plain(note['note'])}  \n{formats.muted(signed)}")
    elements.say_if_cut("notes", written, NOTES, where=this)
    if views.as_of() is not None or not access.may(Permission.ANNOTATE):
        return
    with st.container(horizontal=True, gap="small"):
        with (
            st.popover(_("Write a note"), icon=":material/sticky_note_2:"),
            st.form("note", border=False),
        ):
            # Under another key it is empty: what was refused stays, to be corrected.
            written = st.session_state.setdefault(_WRITTEN, 0)
            text = st.text_area(_("Note"), key=f"note_text_{written}")
            writer = name_of_reader("note_actor")
            if st.form_submit_button(_("Record the note")) and _recorded(
                NOTE, reason=text, actor=writer, process_id=process_id, seller_id=seller_id
            ):
                st.session_state[_WRITTEN] += 1
                st.rerun()
        with (
            st.popover(_("Assign"), icon=":material/person_add:"),
            st.form("assignment", border=False),
        ):
            assignee = st.text_input(
                _("Who will take care of it?"), max_chars=MAX_NAME_CHARACTERS, key="assignee"
            )
            why = st.text_input(_("Why?"), key="assignment_text")
            assigner = name_of_reader("assignment_actor")
            if st.form_submit_button(_("Record the assignment")):
                if not assignee.strip():
                    st.warning(_("A text and a name are needed: both go into the log."))
                elif _recorded(
                    ASSIGNMENT,
                    reason=why,
                    actor=assigner,
                    process_id=process_id,
                    seller_id=seller_id,
                    assignee=assignee.strip(),
                ):
                    st.rerun()


# --- the platform's support, and the seller ------------------------------------------------------


def contacts(process: views.Row) -> None:
    """Whether a support ticket is due or open for an unfinished process, with the forms that record
    tickets and reminders."""
    st.header(_("Support and reminders"), anchor=False)
    latest = views.read_one("tickets", where={"process_id": process["process_id"]})
    is_open = latest is not None and latest["step"] == "opened"
    if latest is not None and is_open:
        st.markdown(
            _(
                "Ticket **{number}** has been open since {instant}, by {name}.",
                number=formats.plain(latest["number"] or "–"),
                instant=formats.minute(latest["recorded_at"]),
                name=formats.plain(latest["actor"] or "–"),
            )
        )
    elif process["ticket_due"]:
        due = formats.badge(_("A support ticket is due"), "red", ":material/support_agent:")
        st.markdown(f"{due} **{formats.time_left(process['seconds_to_deadline'])}**")
    else:
        st.markdown(_("No support ticket is due or open."))
    if views.as_of() is not None or not access.may(Permission.ANNOTATE):
        return
    with st.container(horizontal=True, gap="small"):
        if is_open:
            _close_ticket(process)
        else:
            _open_ticket(process)
        _remind(process)


def _open_ticket(process: views.Row) -> None:
    with (
        st.popover(_("Record a ticket"), icon=":material/support_agent:"),
        st.form("ticket_opened", border=False),
    ):
        number = st.text_input(
            _("Number of the ticket"), max_chars=MAX_NAME_CHARACTERS, key="ticket_number"
        )
        actor = name_of_reader("ticket_actor")
        if st.form_submit_button(_("Record it as opened")):
            if not number.strip():
                st.warning(_("A number and a name are needed: both go into the log."))
            elif _signed(ticket, process, actor, "opened", number=number):
                st.rerun()


def _close_ticket(process: views.Row) -> None:
    with (
        st.popover(_("Close the ticket"), icon=":material/support_agent:"),
        st.form("ticket_closed", border=False),
    ):
        actor = name_of_reader("ticket_actor")
        if st.form_submit_button(_("Record it as closed")) and _signed(
            ticket, process, actor, "closed"
        ):
            st.rerun()


def _remind(process: views.Row) -> None:
    with (
        st.popover(_("Record a reminder"), icon=":material/notifications_active:"),
        st.form("reminder", border=False),
    ):
        channel = st.selectbox(
            _("How was the seller reminded?"),
            list(occurrences.CHANNELS),
            format_func=lambda code: words.word(occurrences.CHANNELS, code),
            key="reminder_channel",
        )
        actor = name_of_reader("reminder_actor")
        if st.form_submit_button(_("Record the reminder")) and _signed(
            reminder, process, actor, channel
        ):
            st.rerun()


def _signed(
    draft: Callable[..., Draft], process: views.Row, actor: str, *said: str, **more: Any
) -> bool:
    """Records what a reader did about a process under their name; says so where none is given."""
    if not actor.strip():
        st.warning(_("A name is needed: it goes into the log."))
        return False
    return record(
        draft(
            *said,
            actor=actor.strip(),
            recorded_by=RECORDED_BY,
            process_id=process["process_id"],
            seller_id=process["seller_id"],
            **more,
        )
    )


# --- personal data -------------------------------------------------------------------------------


def may_see_personal_data(view: str, subject: str) -> bool:
    """Whether this session has said why it needs the subject's personal data, not long ago."""
    until = st.session_state.get(_UNMASKED, {}).get((view, subject), 0)
    return access.may(Permission.UNMASK) and time.monotonic() < until


def ask_for_personal_data(
    view: str, subject: str, *, process_id: str | None = None, seller_id: str | None = None
) -> None:
    """The form that shows personal data once a reason and a name stand in the log."""
    if not access.may(Permission.UNMASK):
        return
    shown: dict[tuple[str, str], float] = st.session_state.setdefault(_UNMASKED, {})
    if may_see_personal_data(view, subject):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(_("Personal data is shown; the log says to whom and why."))
            if st.button(_("Mask it again"), icon=":material/visibility_off:", key=f"mask_{view}"):
                shown.pop((view, subject))
                st.rerun()
        _mask_in_time(view, subject)
        return
    with (
        st.popover(_("Show personal data"), icon=":material/visibility:"),
        st.form(f"unmask_{view}", border=False),
    ):
        shown_for = formats.seconds(service.current().settings.unmask_seconds)
        st.markdown(
            _(
                "The log will say who saw it and why. It is masked again after {time}.",
                time=shown_for,
            )
        )
        reason = st.text_input(_("Why is it needed?"), key=f"unmask_{view}_reason")
        actor = name_of_reader(f"unmask_{view}_actor")
        if st.form_submit_button(_("Record the reason and show it")) and _recorded(
            UNMASK,
            reason=reason,
            actor=actor,
            process_id=process_id,
            seller_id=seller_id,
            view=view,
        ):
            until = time.monotonic() + service.current().settings.unmask_seconds
            shown[(view, subject)] = until
            st.rerun()


@st.fragment(run_every=WATCH_SECONDS)
def _mask_in_time(view: str, subject: str) -> None:
    """Draws the page again once the time is over: personal data must not stay on an open page."""
    if not may_see_personal_data(view, subject):
        st.rerun()
