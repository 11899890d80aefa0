"""Stops what the schedule sends to one seller, as in a dispute, and lets it go on."""

from functools import partial

import streamlit as st

from app_pages.desk import casework
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import acting, elements, views
from pipeline.continuity import service
from pipeline.notices.started import hold, undo_hold
from pipeline.serve.roles import Permission


def show(seller_id: str) -> None:
    """Whether messages to a seller are stopped, with the button that stops them, or lets them go
    on. Neither sends anything, so for a moment it can be taken back."""
    held = views.read_one("held_sellers", where={"seller_id": seller_id})
    if held is not None:
        at = formats.minute(held["held_at"])
        said = _("No messages go to this seller by themselves since {instant}.", instant=at)
        st.markdown(formats.badge(said, "orange", ":material/notifications_off:"))
    if not casework.is_open():
        return
    # By the seller, so that a press on one page stops nobody else's messages.
    key = f"hold {elements.edition('hold', [seller_id])}"
    label, icon = (
        (_("Stop messages"), ":material/notifications_off:")
        if held is None
        else (_("Let messages go on"), ":material/notifications_active:")
    )
    with st.popover(label, icon=icon, key=key), st.form(f"{key} form", border=False):
        st.markdown(
            _("The schedule sends this seller nothing until somebody lets it go on.")
            if held is None
            else _("The schedule sends this seller again what comes due.")
        )
        acting.name_of_reader(f"{key} actor")

        def press() -> acting.Feedback:
            return _record(seller_id, acting.actor_of(f"{key} actor"), is_held=held is None)

        acting.submit(f"{key} now", label, press, about=held is None, may=Permission.ANNOTATE)


def _record(seller_id: str, actor: str, *, is_held: bool) -> acting.Feedback:
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    inbox, by = service.current().inbox, {"actor": actor, "recorded_by": acting.RECORDED_BY}
    made: list[int] = []
    error = acting.tried(
        lambda: made.append(hold(inbox, seller_id, is_held=is_held, **by)),
        actor,
    )
    if error is not None:
        return acting.Feedback("", error=error)
    said = _("Messages are stopped.") if is_held else _("Messages go on.")
    return acting.Feedback(said, is_done=True, undo=partial(_undo, seller_id, actor, made[0]))


def _undo(seller_id: str, actor: str, seq: int) -> acting.Feedback:
    """Takes it back, but nothing that somebody else, or the seller, has said since."""
    inbox, by = service.current().inbox, {"actor": actor, "recorded_by": acting.RECORDED_BY}
    done: list[bool] = []
    error = acting.tried(lambda: done.append(undo_hold(inbox, seller_id, seq, **by)))
    if error is not None:
        return acting.Feedback("", error=error)
    if not done[0]:
        return acting.Feedback(_("Nothing was taken back: something was said about it since."))
    return acting.taken_back()
