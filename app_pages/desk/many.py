"""Does about many processes at once what can be done about one: those that were ticked."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import streamlit as st

from app_pages.desk import casework, recording
from app_pages.language import formats
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, elements, folds, lists, views

_ACTS: Final[Mapping[str, str]] = {
    "assign": N_("Assign"),
    "note": N_("Note"),
    "contact": N_("Call or letter"),
    "ticket": N_("Ticket opened"),
    "acknowledge": N_("Take their alerts"),
}


def for_many(rows: Sequence[views.Row]) -> None:
    """What can be done about all processes that were ticked, in one step."""
    if not casework.is_open():
        return
    label = (
        ngettext("{n} ticked", "{n} ticked", len(rows), n=formats.number(len(rows)))
        if rows
        else _("None ticked")
    )
    place = folds.popover(
        label, icon=":material/checklist:", disabled=not rows, key=f"many {lists.unticked()}"
    )
    if place is None:
        return
    with place:
        what = st.segmented_control(
            _("What to do"),
            list(_ACTS),
            format_func=lambda code: _(_ACTS[code]),
            default="assign",
            required=True,
            key="many_what",
        )
        with st.form("many_form", border=False):
            _ask_of_many(what or "assign")
            ticked = elements.edition("many", [row["process_id"] for row in rows])
            press = partial(_do_to_many, rows, what or "assign")
            recording.submit("many", _("Record it"), press, about=ticked, actor="many_actor")


def _do_to_many(rows: Sequence[views.Row], what: str) -> acting.Feedback:
    """Records it for exactly the processes that were ticked when it was pressed. What is refused
    leaves ticks and text as they are."""
    actor = acting.actor_of("many_actor")
    if not rows:
        return acting.Feedback(_("None ticked"))
    if what == "acknowledge":
        feedback = recording.take_alerts(
            recording.open_alerts(rows), actor, recording.recorded(rows)
        )
    else:
        feedback = _draft_for_many(rows, what, actor)
    if feedback.is_done:
        lists.untick()
        return feedback._replace(empties=("many_why", "many_note", recording.number_key("many")))
    return feedback


def _draft_for_many(rows: Sequence[views.Row], what: str, actor: str) -> acting.Feedback:
    text = acting.typed(
        {"note": "many_note", "ticket": recording.number_key("many")}.get(what, "many_why")
    )
    assignee = recording.assignee_of("many", actor)
    if what == "ticket" and not text:
        wanted = _("Something is still missing: what is recorded goes into the log.")
        return acting.Feedback(wanted, kept=text)
    if what == "assign":
        return recording.assign(rows, assignee, text, actor)
    if what == "ticket":
        return recording.open_tickets(rows, text, actor)
    if what == "note":
        return recording.write_notes(rows, "many_note", "many_actor")
    return recording.record_contact("many", rows, actor)


def _ask_of_many(what: str) -> None:
    """The inputs of a form for many processes."""
    if what == "assign":
        recording.ask_whom("many")
        st.text_input(_("Why?"), key="many_why")
    elif what == "note":
        st.text_area(_("Note"), key="many_note")
        acting.say_at("many_note")
    elif what == "contact":
        recording.ask_contact("many")
    elif what == "ticket":
        recording.ask_number("many")
    else:
        st.markdown(_("Nobody else is notified of the alerts on these processes."))
