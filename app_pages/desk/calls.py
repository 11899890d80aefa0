"""Records calls and letters to a seller, lists those that stand, and takes back what was recorded
by mistake."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from app_pages.desk import recording
from app_pages.door import access
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import _
from app_pages.parts import acting, elements, folds, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.language import codes
from pipeline.log.kinds.seller_notice import BY_HAND, REACHED
from pipeline.notices.sellers import MOST_PROCESSES
from pipeline.serve.roles import Role

LISTED: Final = 10
"""Calls and letters; of each, the view has a row for every review that it was about."""
MOST_ROWS: Final = LISTED * MOST_PROCESSES
NOTE_SHOWN: Final = 140
"""Characters of what was said, which may be thousands, in a card with more in it."""


def record(key: str, processes: Sequence[views.Row]) -> None:
    """The form that records a call or letter about these processes of one seller."""

    def press() -> acting.Feedback:
        return recording.record_contact(key, processes, acting.actor_of(f"contact_actor {key}"))

    with st.form(f"contact {key}", border=False):
        recording.ask_contact(key)
        recording.submit(
            f"contact {key}", _("Record the call or letter"), press, actor=f"contact_actor {key}"
        )


def to_seller(seller_id: str, processes: Sequence[views.Row]) -> None:
    """The same for all open reviews of a seller, which are one conversation."""
    key = views.shown("seller_id", seller_id)
    place = folds.popover(_("Call or letter"), icon=":material/call:", key=f"call {key}")
    if place is not None:
        with place:
            record(key, processes)


def notices(about: Mapping[str, object]) -> Sequence[views.Row]:
    """The newest notices to a seller, or about a process, of every channel: rows of
    `seller_notices`."""
    return views.read("seller_notices", where=about, limit=MOST_ROWS)


def standing(about: Mapping[str, object], *, may_act: bool) -> None:
    """Calls and letters about a process or a seller that stand, newest first, each with the form
    that takes it back, for whoever recorded it and for administrators."""
    where = {**about, "channel": list(BY_HAND), "retracted_at": None}
    found = notices(about)
    if len(found) < MOST_ROWS:  # all there are: no further question
        found = [it for it in found if it["channel"] in BY_HAND and it["retracted_at"] is None]
    else:
        found = views.read("seller_notices", where=where, limit=MOST_ROWS)
    one_each = {row["message_id"]: row for row in found}
    shown = list(one_each.values())[:LISTED]
    for row in shown:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(formats.plain(_in_words(row)), width="content")
            if may_act and _may_retract(row, acting.reader_name()):
                _offer_retraction(row)
        if row["note"]:
            _say_note(row)
    if len(one_each) > LISTED:
        in_all = len(views.groups("seller_notices", ["message_id"], where=where))
        elements.say_cut(len(shown), in_all)


def _say_note(row: views.Row) -> None:
    """What was said in a call or letter; where that is long, behind how it begins."""
    said = views.shown("note", row["note"])
    if len(said) <= NOTE_SHOWN:
        st.markdown(formats.muted(formats.plain(said)))
        return
    label = formats.plain(f"{said[:NOTE_SHOWN]} …")
    key = f"note {elements.edition('note', [row['message_id']])}"
    if place := folds.expander(label, key=key):
        place.markdown(formats.plain(said))


def say_latest(process: views.Row, notices: Sequence[views.Row]) -> None:
    """What the latest call that reached the seller came to, where the next step is to wait for
    them, or to call them: else the next person calls again. `notices`: rows of `seller_notices`,
    newest first."""
    if process["next_action"] != "await_seller":
        return
    about = process["process_id"]
    for row in notices:
        if (row["process_id"], row["outcome"]) == (about, REACHED) and row["retracted_at"] is None:
            said = _in_words(row, process["deadline_at"])
            st.markdown(f":material/call: {formats.plain(said)}")
            return


def _in_words(row: views.Row, deadline_at: datetime | None = None) -> str:
    """A call or letter, what came of it, when and by whom."""
    said = [code_texts.word(codes.SELLER_CHANNELS, row["channel"])]
    if row["outcome"]:
        said.append(code_texts.word(codes.CALL_OUTCOMES, row["outcome"]))
    if row["promised_for"]:
        said.append(occurrences.promised(row["promised_for"], deadline_at))
    return " · ".join([*said, formats.minute(row["sent_at"]), row["actor"] or "–"])


def _may_retract(row: views.Row, name: str | None) -> bool:
    person = access.person()
    is_admin = person is not None and Role.ADMIN in person.roles
    return is_admin or (name is not None and row["actor"] == name)


def _offer_retraction(row: views.Row) -> None:
    if _is_just_recorded(row):
        _offer_it_in_a_moment(row)
    else:
        _retract(row)


@st.fragment(run_every=acting.UNDO_SECONDS + 1)
@elements.failures_said()
def _offer_it_in_a_moment(row: views.Row) -> None:
    """Nothing for as long as it is undone by one click, with no reason to give. Then the page draws
    the form: of a form that this part drew, no press would draw what stands around it."""
    if not _is_just_recorded(row):
        st.rerun()


def _is_just_recorded(row: views.Row) -> bool:
    happened = instants.from_datetime(row["sent_at"].replace(tzinfo=UTC))
    return service.current().now() - happened < acting.UNDO_SECONDS * instants.SECOND


def _retract(row: views.Row) -> None:
    key = elements.edition("retract", [row["message_id"]])

    def press() -> acting.Feedback:
        return _recorded(row, f"why {key}", f"retract_actor {key}")

    place = folds.popover(_("Undo"), icon=":material/undo:", key=f"retract {key}")
    if place is None:
        return
    with place, st.form(f"retraction {key}", border=False):
        st.text_input(_("Why?"), key=f"why {key}")
        acting.say_at(f"why {key}")
        recording.submit(
            f"retraction {key}",
            _("Record the reason and undo"),
            press,
            actor=f"retract_actor {key}",
        )


def _recorded(row: views.Row, why_key: str, actor_key: str) -> acting.Feedback:
    """Records that a call or letter was recorded by mistake, for each process of it."""
    if (lacking := acting.missing(why_key, actor_key)) is not None:
        return lacking
    why, actor = acting.typed(why_key), acting.actor_of(actor_key)
    if not _may_retract(row, actor):
        return acting.Feedback(
            _("Only who recorded it, or an administrator, may undo it."), kept=why
        )
    rows = views.read("seller_notices", where={"message_id": row["message_id"]})
    return recording.retract(rows, why, actor, kept=why)
