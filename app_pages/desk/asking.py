"""Sends notices to sellers: to those that were ticked, or to the one whose card is open."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from app_pages.desk import casework
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, elements, lists, views
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.language import codes
from pipeline.notices.sellers import REFUSALS
from pipeline.notices.sending import Done, Order, Preview, Sending
from pipeline.serve.roles import Permission

AT_ONCE: Final = 500
"""Sellers to whom one press sends."""
NAMED: Final = 5


def sellers(rows: Sequence[views.Row]) -> None:
    """The form that asks every ticked seller again."""
    if casework.is_open():
        label = _("Ask again ({n})", n=formats.number(len(rows))) if rows else _("None ticked")
        key = f"ask {lists.unticked()}"
        with st.popover(label, icon=":material/outgoing_mail:", disabled=not rows, key=key):
            _form(key, [row["seller_id"] for row in rows][:AT_ONCE])


def seller(seller_id: str) -> None:
    """The form that asks one seller again about all of their open reviews."""
    if casework.is_open():
        key = f"ask {views.shown('seller_id', seller_id)}"
        with st.popover(_("Ask again"), icon=":material/outgoing_mail:", key=key):
            _form(key, [seller_id])


def _form(key: str, seller_ids: Sequence[str]) -> None:
    """The channel, the message that goes, to whom nothing goes, and the button that sends."""
    if not seller_ids:
        return
    try:
        sending = Sending(service.current().settings, service.current().inbox)
        ways = sending.ways()
    except PrazoError as error:
        elements.say(error)
        return
    if not ways:
        st.markdown(
            _(
                "Prazo has no way to write to sellers yet: see *Seller notices* in the operator's"
                " guide. Until then, call or write to them, and record that."
            )
        )
        return
    channel = st.segmented_control(
        _("Channel"),
        ways,
        default=ways[0],
        required=True,
        format_func=lambda code: code_texts.word(codes.SELLER_CHANNELS, code),
        key=f"ask_channel {key}",
    )
    try:
        shown = sending.preview(seller_ids[0], _order(channel or ways[0], None))
    except PrazoError as error:
        elements.say(error)
        return
    _show(shown)
    with st.form(f"ask_form {key}", border=False):
        acting.name_of_reader(f"ask_actor {key}")
        label = ngettext(
            "Send to {n} seller: cannot be undone",
            "Send to {n} sellers: cannot be undone",
            len(seller_ids),
            n=formats.number(len(seller_ids)),
        )
        press = partial(_send, key, seller_ids, channel or ways[0])
        about = elements.edition("ask", [channel or "", *seller_ids])
        acting.submit(f"send {key}", label, press, about=about, may=Permission.ANNOTATE)


def _order(channel: str, actor: str | None) -> Order:
    return Order(channel, acting.RECORDED_BY, actor)


def _show(shown: Preview) -> None:
    """The message to the first seller, or why nothing goes to them."""
    if shown.refused is not None:
        st.warning(_(REFUSALS[shown.refused]), icon=":material/block:")
    if shown.message is not None:
        st.markdown(f"**{formats.plain(shown.message.subject)}**")
        st.code(shown.message.text, language=None, wrap_lines=True)


def _send(key: str, seller_ids: Sequence[str], channel: str) -> acting.Feedback:
    """Sends, and says what became of each message."""
    actor = acting.actor_of(f"ask_actor {key}")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    held = service.current()
    done: list[Done] = []
    with st.spinner(_("Sending")):
        error = acting.tried(
            lambda: Sending(held.settings, held.inbox).send(
                seller_ids, _order(channel, actor), done.append
            ),
            actor,
        )
    if done:  # who was written to is not to be written to by a second press
        lists.untick()
    if error is not None:
        return acting.Feedback(came_of(done), error=error)
    return acting.Feedback(came_of(done), is_done=True, is_shown=False)


def came_of(done: Sequence[Done]) -> str:
    """What became of messages to sellers, in words: how many went, and why others did not."""
    counted = Counter(it.result for it in done)
    parts = []
    if n := counted["accepted"]:
        parts.append(
            ngettext("Sent to {n} seller.", "Sent to {n} sellers.", n, n=formats.number(n))
        )
    if n := counted["failed"]:
        parts.append(ngettext("{n} was not taken.", "{n} were not taken.", n, n=formats.number(n)))
    if n := counted["uncertain"]:
        parts.append(
            ngettext(
                "Of {n} nobody knows whether it went out.",
                "Of {n} nobody knows whether they went out.",
                n,
                n=formats.number(n),
            )
        )
    refused = [it for it in done if it.result == "refused"]
    parts += [_refusal(it) for it in refused[:NAMED]]
    if len(refused) > NAMED:
        parts.append(_("{n} more were left out.", n=formats.number(len(refused) - NAMED)))
    return "  \n".join(parts)


def _refusal(done: Done) -> str:
    """To whom nothing was sent, and why."""
    why = _(REFUSALS[done.why]) if done.why else ""
    return f"{formats.plain(views.shown('seller_id', done.seller_id))}: {why}"
