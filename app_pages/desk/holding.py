"""Stops what the schedule sends to one seller, as in a dispute, and lets it go on."""

from functools import partial
from typing import Final, get_args

import streamlit as st

from app_pages.desk import casework
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, elements, folds, links, views
from pipeline.continuity import service
from pipeline.log.kinds.notice_schedule import Wish
from pipeline.notices.started import hold, undo_hold
from pipeline.serve.roles import Permission

LISTED: Final = 20
_TO_SELLER: Final = ("start_collection", "remind_seller", "await_seller", "correct_payload")
WISHES: Final[tuple[Wish, ...]] = get_args(Wish)


def say(seller_id: str) -> views.Row | None:
    """Says since when, and at whose word, no messages go to a seller; that row of `held_sellers`,
    None where they go."""
    held = views.read_one("held_sellers", where={"seller_id": seller_id})
    if held is not None:
        by = [] if held["wish"] is not None else [held["held_by"], held["reason"]]
        said = ": ".join(formats.plain(code_texts.masked(it)) for it in by if it)
        st.markdown(f"{_badge(held)} {said}".rstrip(), width="content")
    return held


def say_first(seller_id: str, next_action: str) -> None:
    """Says what comes before a next action that turns to the seller, where they ended the messages
    themselves: the log's rule for it does not go by that (docs/rules.md#next-actions)."""
    if next_action not in _TO_SELLER:
        return
    held = views.read_one("held_sellers", where={"seller_id": seller_id})
    if held is None or held["wish"] is None:
        return
    said = (
        _(
            "**First find out who the messages go to.** Whoever got them said that they are not"
            " the seller: reach the seller by another way, have the address corrected, and"
            " resume messages on the seller's page."
        )
        if held["wish"] == "not_me"
        else _("**Call, do not write.** The seller wants no more messages.")
    )
    st.warning(said, icon=":material/person_alert:")


def say_wishes() -> None:
    """The sellers who ended the messages themselves while a review of theirs is open: each is a
    person's task until somebody lets messages go on."""
    wished = views.read("held_sellers", where={"wish": list(WISHES)}, order_by="held_at")
    if not wished:
        return
    of = {"seller_id": [it["seller_id"] for it in wished]}
    open_ones = {it["seller_id"] for it in views.read("seller_watchlist", where=of)}
    found = [it for it in wished if it["seller_id"] in open_ones]
    if not found:
        return
    with st.container(border=True, gap="xsmall"):
        text = ngettext(
            "{n} seller ended the messages: call them.",
            "{n} sellers ended the messages: call them.",
            len(found),
            n=formats.number(len(found)),
        )
        st.markdown(f"**{text}**")
        for row in found[:LISTED]:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                links.to_seller(row["seller_id"], is_named=True)
                st.markdown(_badge(row), width="content")


def _badge(held: views.Row) -> str:
    at = formats.minute(held["held_at"])
    if held["wish"] == "not_me":
        said = _(
            "Whoever got the messages is not the seller, they say. Since {instant}.", instant=at
        )
        return formats.badge(said, "red", ":material/person_off:")
    if held["wish"] == "stop_writing":
        said = _("The seller wants no more messages since {instant}.", instant=at)
    else:
        said = _("No messages go to this seller by themselves since {instant}.", instant=at)
    return formats.badge(said, "orange", ":material/notifications_off:")


def show(seller_id: str) -> None:
    """Whether messages to a seller are stopped, with the button that stops them, or lets them go
    on. Neither sends anything, so for a moment it can be taken back."""
    held = say(seller_id)
    if not casework.is_open():
        return
    # By the seller, so that a press on one page stops nobody else's messages.
    key = f"hold {elements.edition('hold', [seller_id])}"
    label, icon = (
        (_("Stop messages"), ":material/notifications_off:")
        if held is None
        else (_("Resume messages"), ":material/notifications_active:")
    )
    place = folds.popover(label, icon=icon, key=key)
    if place is None:
        return
    with place, st.form(f"{key} form", border=False):
        st.markdown(
            _(
                "No messages go to this seller by themselves until somebody resumes them. Who"
                " writes by hand is warned first."
            )
            if held is None
            else _(
                "From now on the schedule writes to this seller again, whenever something is due."
            )
        )
        st.text_input(_("Why?"), key=f"{key} why")
        acting.say_at(f"{key} why")

        def press() -> acting.Feedback:
            if (lacking := acting.missing(f"{key} why", f"{key} actor")) is not None:
                return lacking
            actor, why = acting.actor_of(f"{key} actor"), acting.typed(f"{key} why")
            done = _record(seller_id, actor, why, is_held=held is None)
            return done._replace(empties=(f"{key} why",))

        acting.submit(
            f"{key} now",
            label,
            press,
            about=held is None,
            may=Permission.ANNOTATE,
            actor=f"{key} actor",
        )


def _record(seller_id: str, actor: str, why: str, *, is_held: bool) -> acting.Feedback:
    inbox, by = service.current().inbox, {"actor": actor, "recorded_by": acting.RECORDED_BY}
    made: list[int] = []
    error = acting.tried(
        lambda: made.append(hold(inbox, seller_id, is_held=is_held, reason=why, **by)), actor
    )
    if error is not None:
        return acting.Feedback("", error=error, kept=why)
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
        return acting.Feedback(_("Not undone: it was changed meanwhile."))
    return acting.taken_back()
