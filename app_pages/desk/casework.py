"""What people do about processes, one or many at a time: assign, note, remind, tickets, alerts.

Each act is an entry of the log under a name. Nobody acts in the past: while a page looks at another
instant, it has no forms.
"""

from datetime import UTC
from functools import partial
from typing import Final

import streamlit as st

from app_pages.desk import calls, journeys, people, recording
from app_pages.door import access
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, elements, folds, views
from pipeline import instants
from pipeline.notices import texts
from pipeline.serve.roles import Permission

NOTES: Final = 10
GIVEN_AT_ONCE: Final = 2
"""Others to whom a process is given with one click; the form of an assignment takes any name."""


def is_open() -> bool:
    """Whether whoever looks may do something about what they see."""
    return views.as_of() is None and access.may(Permission.ANNOTATE)


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
            _acknowledge(process)


def _take(process: views.Row) -> None:
    """Assigns a process to the reader, to one of a few others, or to nobody, with one click, once
    the reader's name is known."""
    me, now = acting.reader_name(), process.get("assignee")
    if me is None:
        return
    others = [it for it in people.known() if it != me][:GIVEN_AT_ONCE]
    offered: dict[str | None, tuple[str, str]] = {me: (_("Assign to me"), "person_add")}
    offered |= {it: (_("Assign to {name}", name=formats.plain(it)), "person") for it in others}
    offered[None] = (_("Unassign"), "person_remove")
    for name, (label, icon) in offered.items():
        # By its place: a key goes to the browser, and must name nobody.
        place = "nobody" if name is None else [me, *others].index(name)
        key = f"take {recording.key_of(process)} {place}"
        press = partial(recording.assign, [process], name, "", me)
        icon = f":material/{icon}:"
        is_so = name == now  # it keeps its place, so that none comes to lie under a second click
        acting.button(key, label, press, icon=icon, may=Permission.ANNOTATE, disabled=is_so)


def assign(process: views.Row) -> None:
    """The form that gives a process to somebody."""
    own = recording.key_of(process)

    def record() -> acting.Feedback:
        actor = acting.actor_of(f"assignment_actor {own}")
        assignee, why = recording.assignee_of(own, actor), acting.typed(f"assignment_text {own}")
        feedback = recording.assign([process], assignee, why, actor)
        return feedback._replace(empties=(f"assignment_text {own}",))

    place = folds.popover(_("Assign"), icon=":material/group_add:", key=f"assign {own}")
    if place is None:
        return
    with place, st.form(f"assignment {own}", border=False):
        recording.ask_whom(own)
        st.text_input(_("Why?"), key=f"assignment_text {own}")
        recording.submit(
            f"assignment {own}", _("Record the assignment"), record, actor=f"assignment_actor {own}"
        )


def note(process: views.Row) -> None:
    """The form that writes a note on a process."""
    own = recording.key_of(process)

    def record() -> acting.Feedback:
        feedback = recording.write_notes([process], f"note_text {own}", f"note_actor {own}")
        return feedback._replace(empties=(f"note_text {own}",))

    place = folds.popover(_("Write a note"), icon=":material/sticky_note_2:", key=f"write {own}")
    if place is None:
        return
    with place, st.form(f"note {own}", border=False):
        st.text_area(_("Note"), key=f"note_text {own}")
        acting.say_at(f"note_text {own}")
        recording.submit(f"note {own}", _("Record the note"), record, actor=f"note_actor {own}")


def remind(process: views.Row) -> None:
    """The form that records a call or letter, and a message to copy that asks the seller again."""
    own = recording.key_of(process)
    place = folds.popover(_("Call or letter"), icon=":material/call:", key=f"r {own}")
    if place is None:
        return
    with place:
        calls.record(own, [process])
        undone = _(
            "Recorded by mistake? After the first seconds, *Undo* stands on the pages of the"
            " process and of its seller."
        )
        st.markdown(formats.muted(undone))
        _message_to_copy(process, own)


def _message_to_copy(process: views.Row, own: str) -> None:
    label = _("A message to copy")
    place = folds.expander(label, icon=":material/content_copy:", key=f"message {own}")
    if place is None:
        return
    with place:
        link = journeys.link_of(process["process_id"])
        names = code_texts.OF_SELLERS
        for tab, code in zip(st.tabs(list(names.values())), names, strict=True):
            deadline = process["deadline_at"]
            asked = texts.Asked(
                process["review_type"],
                None if deadline is None else instants.from_datetime(deadline.replace(tzinfo=UTC)),
                is_late=(process["seconds_to_deadline"] or 0) <= 0,
                missing=process["requested_fields"] or ("",),
                link=link or texts.LINK,
            )
            text = texts.to_copy(asked, code, formats.zone())
            tab.code(text, language=None, wrap_lines=True)
        st.markdown(
            formats.muted(
                _("Copy it, and send it.")
                if link
                else _("Copy it, put the address of the journey in place of the link, and send it.")
            )
        )


def open_or_close_ticket(process: views.Row) -> None:
    """The form that records a support ticket as opened; while one is open, the form that records it
    as closed."""
    own = recording.key_of(process)
    latest = views.read_one("tickets", where={"process_id": process["process_id"]})
    opened = latest if latest is not None and latest["step"] == "opened" else None
    label = _("Record a ticket") if opened is None else _("Close the ticket")
    place = folds.popover(label, icon=":material/support_agent:", key=f"t {own}")
    if place is None:
        return
    if opened is not None:
        with place, st.form(f"ticket_closed {own}", border=False):
            # The number shows what is closed: a moment ago this button recorded a ticket as opened.
            label = _("Record {number} as closed", number=recording.number_of(opened))

            def close() -> acting.Feedback:
                actor = acting.actor_of(f"ticket_actor {own}")
                return recording.close_ticket(process, opened, actor)

            recording.submit(
                f"ticket_closed {own}",
                label,
                close,
                about=opened["seq"],
                actor=f"ticket_actor {own}",
            )
        return
    with place, st.form(f"ticket_opened {own}", border=False):
        recording.ask_number(own)
        recording.submit(
            f"ticket_opened {own}",
            _("Record it as opened"),
            partial(_open, process),
            actor=f"ticket_actor {own}",
        )


def _open(process: views.Row) -> acting.Feedback:
    """Records a ticket as opened, unless somebody else has opened one since the form was drawn."""
    own = recording.key_of(process)
    number, actor = acting.typed(recording.number_key(own)), acting.actor_of(f"ticket_actor {own}")
    if not number or not actor:
        wanted = _("A number and a name are needed: both go into the log.")
        return acting.Feedback(wanted, kept=number)
    feedback = recording.open_tickets([process], number, actor)
    return feedback._replace(empties=(recording.number_key(own),))


def notes(process: views.Row) -> None:
    """Who sees to a process and what was noted on it, with the forms for both. Messages of alerts
    lead here, so the button that takes these alerts is here, too."""
    st.header(_("Notes"), anchor=False)
    this = {"process_id": process["process_id"]}
    assigned = views.read_one("assignments", where=this)
    if assigned is None or assigned["assignee"] is None:
        st.markdown(_("Unassigned"))
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
            held = {**process, "assignee": assigned and assigned["assignee"]}
            _take(held)
            _acknowledge(process)
            note(process)
            assign(held)


def latest_notes(process: views.Row) -> None:
    """The newest notes on a process, each with who wrote it and when."""
    this = {"process_id": process["process_id"]}
    written = views.read("notes", where=this, limit=NOTES)
    for row in written:
        signed = f"{formats.minute(row['noted_at'])} · {formats.plain(row['actor'])}"
        text = formats.muted(_("Erased, as the audit trail says."))
        if row["note"] is not None:
            text = formats.plain(views.shown("note", row["note"]))
        st.markdown(f"{text}  \n{formats.muted(signed)}")
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
    tickets, calls and letters."""
    st.header(_("Support and seller notices"), anchor=False)
    latest = views.read_one("tickets", where={"process_id": process["process_id"]})
    if latest is not None and latest["step"] == "opened":
        st.markdown(
            _(
                "Ticket **{number}** has been open since {instant}, by {name}.",
                number=recording.number_of(latest),
                instant=formats.minute(latest["recorded_at"]),
                name=formats.plain(latest["actor"] or "–"),
            )
        )
    elif process["ticket_due"]:
        due = formats.badge(_("A support ticket is due"), "red", ":material/support_agent:")
        st.markdown(f"{due} **{formats.time_left(process['seconds_to_deadline'])}**")
    else:
        st.markdown(_("No support ticket is due or open."))
    calls.standing({"process_id": process["process_id"]}, may_act=is_open())
    if is_open():
        with st.container(horizontal=True, gap="small"):
            open_or_close_ticket(process)
            remind(process)
            journeys.make_link(process)


# --- alerts --------------------------------------------------------------------------------------


def _acknowledge(process: views.Row) -> None:
    """The button that acknowledges the process's alerts, where nobody has acknowledged them."""
    me = acting.reader_name()
    if me is None or not (alerts := recording.open_alerts([process])):
        return
    label = ngettext(
        "Take {n} alert", "Take {n} alerts", len(alerts), n=formats.number(len(alerts))
    )
    key = f"acknowledge {recording.key_of(process)}"
    take = partial(recording.take_alerts, alerts, me, recording.recorded([process]))
    acting.button(key, label, take, icon=":material/check:", may=Permission.ANNOTATE)
