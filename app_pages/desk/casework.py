"""What people do about processes, one or many at a time: assign, note, remind, tickets, alerts.

Each is an entry of the log under a name. Nothing of it is written into the past: the forms are gone
while a page looks at another instant.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from app_pages.desk import journeys, messages, people
from app_pages.door import access
from app_pages.language import formats, occurrences, words
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, elements, lists, views
from pipeline.alert.acting import acknowledge
from pipeline.ledger import service
from pipeline.log.actions import action, reminder, ticket
from pipeline.log.entries import Draft
from pipeline.serve.roles import Permission

NOTES: Final = 10

_WRITTEN: Final = "notes written"
_ACTS: Final[Mapping[str, str]] = {
    "assign": N_("Assign"),
    "note": N_("Note"),
    "remind": N_("Seller reminded"),
    "ticket": N_("Ticket opened"),
    "acknowledge": N_("I see to their alerts"),
}
_LANGUAGES: Final[Mapping[str, str]] = {"pt": "Português", "en": "English"}


def is_open() -> bool:
    """Whether whoever looks may do something about what they see."""
    return views.as_of() is None and access.may(Permission.ANNOTATE)


# --- the drafts ----------------------------------------------------------------------------------


def _assignment(row: views.Row, assignee: str, why: str, actor: str) -> Draft:
    return action(
        "assignment",
        reason=why.strip() or _("assigned on the dashboard"),
        assignee=assignee.strip(),
        **_signed(row, actor),
    )


def _note(row: views.Row, text: str, actor: str) -> Draft:
    return action("note", reason=text.strip(), **_signed(row, actor))


def _signed(row: views.Row, actor: str) -> dict[str, Any]:
    return {
        "actor": actor.strip(),
        "recorded_by": acting.RECORDED_BY,
        "process_id": row["process_id"],
        "seller_id": row["seller_id"],
    }


def _record(drafts: Callable[[], Sequence[Draft]], actor: str) -> None:
    """Appends the entries and draws the page again; says what is wrong where they are refused."""
    if not actor.strip():
        st.warning(_("A name is needed: it goes into the log."))
    elif acting.done(lambda: service.current().inbox.append(drafts()), actor):
        st.rerun()


# --- one process ---------------------------------------------------------------------------------


def buttons(process: views.Row) -> None:
    """All that can be done about a process, side by side."""
    if not is_open():
        return
    with st.container(horizontal=True, gap="xsmall"):
        _take(process)
        assign(process)
        note(process)
        if process["state"] != "FINISHED":
            remind(process)
            journeys.make_link(process)
            open_or_close_ticket(process)
            _acknowledge([process])


def _take(process: views.Row) -> None:
    """Assigns a process to the reader with one click, once their name is known."""
    me = acting.reader_name()
    if me is None or process.get("assignee") == me:
        return
    if st.button(
        _("Assign to me"), icon=":material/person_add:", key=f"take {process['process_id']}"
    ):
        _record(lambda: [_assignment(process, me, "", me)], me)


def assign(process: views.Row) -> None:
    """The form that gives a process to somebody."""
    own = process["process_id"]
    with (
        st.popover(_("Assign"), icon=":material/group_add:", key=f"assign {own}"),
        st.form(f"assignment {own}", border=False),
    ):
        assignee, why = _whom(own), st.text_input(_("Why?"), key=f"assignment_text {own}")
        actor = acting.name_of_reader(f"assignment_actor {own}")
        if st.form_submit_button(_("Record the assignment")):
            if not assignee:
                st.warning(_("Say who will take care of it."))
            else:
                _record(lambda: [_assignment(process, assignee, why, actor)], actor)


def _whom(key: str) -> str:
    """Whoever is chosen, or typed, to take care of something."""
    chosen = st.selectbox(
        _("Who will take care of it?"),
        people.known(),
        index=None,
        accept_new_options=True,
        placeholder=_("Choose or type a name"),
        key=f"assignee {key}",
    )
    return (chosen or "").strip()[: acting.MAX_NAME_CHARACTERS]


def note(process: views.Row) -> None:
    """The form that writes a note on a process."""
    own = process["process_id"]
    with (
        st.popover(_("Write a note"), icon=":material/sticky_note_2:", key=f"write {own}"),
        st.form(f"note {own}", border=False),
    ):
        # Under another key it is empty: what was refused stays, to be corrected.
        written = st.session_state.setdefault(_WRITTEN, 0)
        text = st.text_area(_("Note"), key=f"note_text {own} {written}")
        actor = acting.name_of_reader(f"note_actor {own}")
        if st.form_submit_button(_("Record the note")) and acting.is_complete(text, actor):
            st.session_state[_WRITTEN] += 1
            _record(lambda: [_note(process, text, actor)], actor)


def remind(process: views.Row) -> None:
    """The message that reminds a seller, to copy, and the form that records that it was sent."""
    own = process["process_id"]
    with st.popover(_("Remind the seller"), icon=":material/notifications_active:", key=f"r {own}"):
        for tab, code in zip(st.tabs(list(_LANGUAGES.values())), _LANGUAGES, strict=True):
            text = messages.reminder(
                process["requested_fields"] or (),
                process["deadline_at"],
                is_late=(process["seconds_to_deadline"] or 0) <= 0,
                into=code,
                link=journeys.link_of(own) or messages.LINK,
            )
            tab.code(text, language=None, wrap_lines=True)
        st.markdown(
            formats.muted(
                _("Copy it, put the address of the journey in place of the link, and send it.")
            )
        )
        with st.form(f"reminder {own}", border=False):
            channel = _channel(own)
            actor = acting.name_of_reader(f"reminder_actor {own}")
            if st.form_submit_button(_("Record the reminder")):
                _record(lambda: [reminder(channel, **_signed(process, actor))], actor)


def _channel(key: str) -> str:
    return st.selectbox(
        _("How was the seller reminded?"),
        list(occurrences.CHANNELS),
        format_func=lambda code: words.word(occurrences.CHANNELS, code),
        key=f"reminder_channel {key}",
    )


def open_or_close_ticket(process: views.Row) -> None:
    """The form that records a support ticket as opened; as closed, while one is open."""
    own = process["process_id"]
    latest = views.read_one("tickets", where={"process_id": own})
    if latest is not None and latest["step"] == "opened":
        with (
            st.popover(_("Close the ticket"), icon=":material/support_agent:", key=f"t {own}"),
            st.form(f"ticket_closed {own}", border=False),
        ):
            actor = acting.name_of_reader(f"ticket_actor {own}")
            if st.form_submit_button(_("Record it as closed")):
                _record(lambda: [ticket("closed", **_signed(process, actor))], actor)
        return
    with (
        st.popover(_("Record a ticket"), icon=":material/support_agent:", key=f"t {own}"),
        st.form(f"ticket_opened {own}", border=False),
    ):
        number = _ticket_number(own)
        actor = acting.name_of_reader(f"ticket_actor {own}")
        if st.form_submit_button(_("Record it as opened")):
            if not number.strip():
                st.warning(_("A number and a name are needed: both go into the log."))
            else:
                _record(lambda: [ticket("opened", number=number, **_signed(process, actor))], actor)


def _ticket_number(key: str) -> str:
    return st.text_input(
        _("Number of the ticket"), max_chars=acting.MAX_NAME_CHARACTERS, key=f"ticket_number {key}"
    )


def notes(process: views.Row) -> None:
    """Who sees to a process and what was noted on it, with the forms to add to that."""
    st.header(_("Notes"), anchor=False)
    this = {"process_id": process["process_id"]}
    assigned = views.read_one("assignments", where=this)
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
        say_if_away(assigned["assignee"])
    latest_notes(process)
    if is_open():
        with st.container(horizontal=True, gap="small"):
            _take({**process, "assignee": assigned and assigned["assignee"]})
            note(process)
            assign(process)


def latest_notes(process: views.Row) -> None:
    """The newest notes on a process, each with who wrote it and when."""
    this = {"process_id": process["process_id"]}
    written = views.read("notes", where=this, limit=NOTES)
    for row in written:
        signed = f"{formats.minute(row['noted_at'])} · {formats.plain(row['actor'])}"
        st.markdown(f"{formats.plain(row['note'])}  \n{formats.muted(signed)}")
    elements.say_if_cut("notes", written, NOTES, where=this)


def say_if_away(assignee: str) -> None:
    """Says who stands in for somebody who is away today."""
    instead = people.stand_in(assignee)
    if instead is not None:
        st.markdown(
            formats.muted(
                _(
                    "{name} is away; {stand_in} stands in.",
                    name=formats.plain(assignee),
                    stand_in=formats.plain(instead),
                )
            )
        )


def contacts(process: views.Row) -> None:
    """Whether a support ticket is due or open for an unfinished process, with the forms that record
    tickets and reminders."""
    st.header(_("Support and reminders"), anchor=False)
    latest = views.read_one("tickets", where={"process_id": process["process_id"]})
    if latest is not None and latest["step"] == "opened":
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
    if is_open():
        with st.container(horizontal=True, gap="small"):
            open_or_close_ticket(process)
            remind(process)
            journeys.make_link(process)


# --- alerts --------------------------------------------------------------------------------------


def _acknowledge(processes: Sequence[views.Row]) -> None:
    """Takes the alerts that nobody has taken yet, where there are any."""
    alerts = _open_alerts(processes)
    me = acting.reader_name()
    if not alerts or me is None:
        return
    label = ngettext(
        "I see to {n} alert", "I see to {n} alerts", len(alerts), n=formats.number(len(alerts))
    )
    if st.button(label, icon=":material/check:", key=f"acknowledge {processes[0]['process_id']}"):
        _take_alerts(alerts, me)


def _open_alerts(processes: Sequence[views.Row]) -> list[str]:
    """The alerts on these processes that somebody was told of and nobody has taken. All such alerts
    are asked for, which is one question for every row and every reader."""
    ids = {row["process_id"] for row in processes}
    columns = ["alert_id", "process_id", "raised_at"]
    found = views.groups("alerts", columns, where={"is_open": True}, is_shown=False)
    raised = (row for row in found if row["raised_at"] is not None)
    return [row["alert_id"] for row in raised if row["process_id"] in ids]


def _take_alerts(alerts: Sequence[str], actor: str) -> None:
    inbox = service.current().inbox

    def take() -> None:
        for alert in alerts:
            acknowledge(inbox, alert, actor=actor, recorded_by=acting.RECORDED_BY)

    if acting.done(take, actor):
        st.rerun()


# --- many processes ------------------------------------------------------------------------------


def for_many(rows: Sequence[views.Row]) -> None:
    """What can be done about all processes that were ticked, in one step."""
    if not is_open():
        return
    label = (
        ngettext("{n} ticked", "{n} ticked", len(rows), n=formats.number(len(rows)))
        if rows
        else _("None ticked")
    )
    with st.popover(
        label, icon=":material/checklist:", disabled=not rows, key=f"many {lists.unticked()}"
    ):
        what = st.segmented_control(
            _("What to do"),
            list(_ACTS),
            format_func=lambda code: _(_ACTS[code]),
            default="assign",
            required=True,
            key="many_what",
        )
        with st.form("many_form", border=False):
            drafts = _asked_of_many(what or "assign")
            actor = acting.name_of_reader("many_actor")
            if not st.form_submit_button(_("Record it")) or not rows:
                return
            if what == "acknowledge":
                lists.untick()
                if actor.strip():
                    _take_alerts(_open_alerts(rows), actor.strip())
                return
            if drafts is None:
                st.warning(_("Something is still missing: what is recorded goes into the log."))
                return
            made = drafts
            lists.untick()
            _record(lambda: [made(row, actor) for row in rows], actor)


def _asked_of_many(what: str) -> Callable[[views.Row, str], Draft] | None:
    """The inputs of a form for many processes; what drafts one of them, None while that cannot be
    said yet."""
    if what == "assign":
        assignee, why = _whom("many"), st.text_input(_("Why?"), key="many_why")
        return (lambda row, actor: _assignment(row, assignee, why, actor)) if assignee else None
    if what == "note":
        text = st.text_area(_("Note"), key="many_note")
        return (lambda row, actor: _note(row, text, actor)) if text.strip() else None
    if what == "remind":
        channel = _channel("many")
        return lambda row, actor: reminder(channel, **_signed(row, actor))
    if what == "ticket":
        number = _ticket_number("many")
        if not number.strip():
            return None
        return lambda row, actor: ticket("opened", number=number, **_signed(row, actor))
    st.markdown(_("Nobody else is told of the alerts on these processes."))
    return None
