"""Sends notices to sellers: to those that were ticked, to all that a list has, or to one; and shows
what becomes of them while it does."""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence, Set
from functools import partial
from typing import Final

import streamlit as st

from app_pages.desk import casework, holding
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, elements, folds, links, lists, seller_names, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.journey.page_texts import LANGUAGES, Language
from pipeline.language import codes
from pipeline.notices import batches, texts
from pipeline.notices.batches import Batch
from pipeline.notices.rules import CORRECT, FIRST, MOVED, REMINDER
from pipeline.notices.sellers import REFUSALS, Refused, Seller
from pipeline.notices.sending import TAKEN, Done, Order, Preview, Sending
from pipeline.serve.roles import Permission

AT_ONCE: Final = 500
"""Sellers to whom one press sends."""
PATIENCE: Final = 3.0
"""Seconds for which a press waits for its end: a few messages take no longer."""
LOOKED_AT: Final = 10
"""Sellers of a list whose messages can be looked at, and who are checked for what keeps messages
back, before it is pressed."""
WATCH_SECONDS: Final = 3
SHOWN_FOR: Final = instants.HOUR
NAMED: Final = 5

Which = Callable[[int], Sequence[str]]
"""Gives the ids of at most so many sellers: asked when the form is drawn, they are whom a press is
for, whatever comes afterwards."""


def sellers(rows: Sequence[views.Row], total: int, listed: Which) -> None:
    """The form that asks every ticked seller again; where none is ticked, all that the list has,
    `listed`, which are `total`."""
    if not casework.is_open():
        return
    key = f"ask {lists.unticked()}"
    if rows:
        label, of_all = _("Ask again ({n})", n=formats.number(len(rows))), False
    else:
        label, of_all = _("Ask all again ({n})", n=formats.number(min(total, AT_ONCE))), True
    place = folds.popover(label, icon=":material/outgoing_mail:", disabled=not total, key=key)
    if place is None:
        return
    with place:
        if of_all and total > AT_ONCE:
            st.markdown(_("The first {n} of this list.", n=formats.number(AT_ONCE)))
        drawn = _all_of(listed, total) if of_all else [row["seller_id"] for row in rows]
        _form(key, drawn)


def _all_of(listed: Which, total: int) -> Sequence[str]:
    """All that the list has, at most `AT_ONCE`: they are whom the form is for. Where they are not
    as many as the list says, it was read before, and the page is drawn again once; where they still
    are not, it is said for how many the form is. One who left while another came is not noticed."""
    drawn = listed(AT_ONCE)
    if len(drawn) == min(total, AT_ONCE):
        st.session_state.pop(_DRAWN_AGAIN, None)
    elif st.session_state.pop(_DRAWN_AGAIN, None) is None:
        st.session_state[_DRAWN_AGAIN] = True
        views.forget_answers()
        st.rerun()
    else:
        changed = ngettext(
            "The list changes while it is read: this is for the {n} seller who is on it now.",
            "The list changes while it is read: this is for the {n} sellers who are on it now.",
            len(drawn),
            n=formats.number(len(drawn)),
        )
        st.warning(changed, icon=":material/sync:")
    return drawn


def seller(seller_id: str) -> None:
    """The form that asks one seller again about all of their open reviews."""
    if casework.is_open():
        key = f"ask {views.shown('seller_id', seller_id)}"
        place = folds.popover(_("Ask again"), icon=":material/outgoing_mail:", key=key)
        if place is not None:
            with place:
                _form(key, [seller_id])


def _form(key: str, drawn: Sequence[str]) -> None:
    """The channel, the message that goes, to whom nothing goes, and the button that sends."""
    total = len(drawn)
    if not total:
        return
    if total == 1:  # it covers the card that says who is chosen
        st.markdown(f"**{_who(drawn[0])}**")
    try:
        sending = Sending(service.current().settings, service.current().inbox)
        ways = sending.ways()
        # Without a way nobody has to be looked at, which takes longer than the rest of the form.
        with st.spinner(_("Reading what there is to ask")):
            first = [sending.sellers.look(it) for it in drawn[:LOOKED_AT]] if ways else []
            way = sending.way_to(first)
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
        default=way,
        required=True,
        format_func=lambda code: code_texts.word(codes.SELLER_CHANNELS, code),
        key=f"ask_channel {key}",
    )
    if channel == way != ways[0]:
        reach = ngettext(
            "Chosen since it reaches this seller.",
            "Chosen since it reaches most of these sellers.",
            total,
        )
        st.markdown(formats.muted(reach))
    with st.container(horizontal=True):
        language, template = _words(key, sending)
    order = Order(channel or way or ways[0], acting.RECORDED_BY, None, language, template)
    try:
        refused = sending.refusals(first, order) if total > 1 else {}
        _say_refused(refused, total)
        looked_at = _looked_at(key, first, refused) if total > 1 else first[0]
        shown = sending.preview(looked_at, order)
    except PrazoError as error:
        elements.say(error)
        return
    _show(shown)
    if total == 1 and shown.refused == "held":  # by whom and why
        holding.say(drawn[0])
    # Who sees of one seller what keeps messages back may send all the same; of many nobody may.
    warned = shown.warned if total == 1 and shown.refused == shown.warned else None
    is_refused = shown.refused is not None and warned is None
    if is_refused if total == 1 else len(refused) == total:
        return  # no button where nobody is written to: what keeps them back stands above
    with st.form(f"ask_form {key}", border=False):
        label = _label(drawn, total - len(refused))
        if warned is not None:
            label = _("Send to {seller} all the same: cannot be undone", seller=_who(drawn[0]))
            order = order._replace(despite={warned})
        press = partial(_send, key, drawn, order)
        chosen = [channel or "", language, template or "", warned or ""]
        about = elements.edition("ask", [*chosen, *drawn])
        acting.submit(
            f"send {key}",
            label,
            press,
            about=about,
            may=Permission.ANNOTATE,
            actor=f"ask_actor {key}",
        )


def _words(key: str, sending: Sending) -> tuple[Language, str | None]:
    """Asks for the language and the template of the message; None: the one that fits."""
    languages = [sending.rules.language, *(it for it in LANGUAGES if it != sending.rules.language)]
    language = st.selectbox(
        _("Language of the message"),
        languages,
        format_func=lambda code: code_texts.OF_SELLERS[code],
        key=f"ask_language {key}",
    )
    template = st.selectbox(
        _("Template"),
        ["", *texts.templates(sending.rules)],
        format_func=lambda name: _(_TEMPLATES[name]) if name in _TEMPLATES else name,
        key=f"ask_template {key}",
    )
    return language or languages[0], template or None


def _looked_at(key: str, first: Sequence[Seller], refused: Container[str]) -> Seller:
    """Whose message is shown, of the first of the list: at first of one to whom something goes."""
    ids = [it.seller_id for it in first]
    names = seller_names.all_in_clear([{"seller_id": it} for it in ids])
    place = st.selectbox(
        _("Preview for"),
        range(len(first)),
        index=next((at for at, it in enumerate(ids) if it not in refused), 0),
        # With its number: two masked ids may look the same.
        format_func=lambda at: (
            f"{at + 1}. {names.get(ids[at]) or views.shown('seller_id', ids[at])}"
        ),
        key=f"ask_looked_at {key}",
    )
    return first[min(place or 0, len(first) - 1)]


def _show(shown: Preview) -> None:
    """The message to a seller, or why nothing goes to them."""
    if shown.refused is not None:
        st.warning(_(REFUSALS[shown.refused]), icon=":material/block:")
    if shown.message is not None:
        st.markdown(f"**{formats.plain(shown.message.subject)}**")
        st.code(shown.message.text, language=None, wrap_lines=True)


def _say_refused(refused: Mapping[str, Refused], total: int) -> None:
    """Who of those that were checked gets nothing, and why."""
    if refused:
        n, of_them = formats.number(min(total, LOOKED_AT)), formats.number(len(refused))
        several = (
            _("Of the first {n}, nothing goes to {refused}:", n=n, refused=of_them)
            if total > LOOKED_AT
            else _("Of these {n}, nothing goes to {refused}:", n=n, refused=of_them)
        )
        lines = [_refusal(seller_id, why) for seller_id, why in refused.items()]
        st.warning("  \n".join([several, *lines]), icon=":material/block:")


def _label(drawn: Sequence[str], reached: int) -> str:
    """What the button says: to whom, or to how many messages go, where each was checked."""
    total = len(drawn)
    if total == 1:
        return _("Send to {seller}: cannot be undone", seller=_who(drawn[0]))
    if total > LOOKED_AT:
        return _("Send to {n} sellers at most: cannot be undone", n=formats.number(total))
    return ngettext(
        "Send to {n} seller: cannot be undone",
        "Send to {n} sellers: cannot be undone",
        reached,
        n=formats.number(reached),
    )


def _send(key: str, drawn: Sequence[str], order: Order) -> acting.Feedback:
    """Sends to those for whom the form was drawn, and says what became of each message; of many,
    that they are on their way."""
    actor = acting.actor_of(f"ask_actor {key}")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    held = service.current()
    begun: list[Batch] = []

    def send() -> None:
        by = order._replace(actor=actor)
        begun.append(batches.start(held.settings, held.inbox, drawn, by))
        begun[0].wait(PATIENCE)
        if begun[0].error is not None:
            raise begun[0].error

    with st.spinner(_("Sending")):
        error = acting.tried(send, actor)
    done = begun[0].done if begun else []
    if begun:  # who is written to is not to be written to by a second press
        lists.untick()
    if error is not None:
        return acting.Feedback(came_of(done), error=error)
    if not begun[0].is_over:
        # Of many, `watch` says how far it is, and goes on saying it.
        of_one = _(
            "On its way. You can go on meanwhile: *Latest notice*, on Sellers, says what becomes of"
            " it."
        )
        said = "" if len(drawn) > 1 else of_one
        return acting.Feedback(said, is_done=True, is_shown=False)
    # Of one alone nothing else says why it did not go, so the form stays open; of many, `watch`.
    if len(drawn) > 1:
        went = [it for it in done if it.result == "accepted"]
        return acting.Feedback(came_of(went), is_done=True, is_shown=False)
    is_done = all(it.result == "accepted" for it in done)
    return acting.Feedback(came_of(done), is_done=is_done, is_shown=False)


# --- while it is sent, and afterwards ------------------------------------------------------------


def watch() -> None:
    """How far the reader's latest press is, and what its sellers have done since; nothing where
    there is none, it was about one seller, or an hour is over."""
    name = acting.reader_name()
    batch = batches.latest(service.current().inbox, name) if name else None
    if batch is None or len(batch.seller_ids) == 1 or views.as_of() is not None:
        return
    if batch.is_over and st.session_state.get(_READ) is not batch:
        st.session_state[_READ] = batch
        acting.catch_up()  # what stands below the line is read as it is after the last message
    is_hidden = st.session_state.get(_HIDDEN) is batch
    if not is_hidden and service.current().now() - batch.began_at < SHOWN_FOR:
        _watch(batch)


@st.fragment(run_every=WATCH_SECONDS)
@elements.failures_said()
def _watch(batch: Batch) -> None:
    if batch.is_over and st.session_state.get(_READ) is not batch:
        st.rerun()
    done, total = batch.done, len(batch.seller_ids)
    notices = _notices(done)
    at_steps = _at_steps(batch, done, notices)
    with st.container(border=True, key="asked"):
        said = _("Done: {n} of {total}", n=formats.number(len(done)), total=formats.number(total))
        if not batch.is_over:
            st.progress(len(done) / total)
        if batch.error is not None:
            elements.say(batch.error)
        parts = [said]
        if not batch.is_over:
            parts.append(_("you can go on meanwhile"))
        parts += [
            f"{_(label)} **{formats.number(len(who))}**"
            for label, who in zip(_STEPS, at_steps, strict=True)
            if who
        ]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(" · ".join(parts), width="content")
            if batch.is_over:
                st.button(
                    _("Hide"), type="tertiary", on_click=_hide, args=(batch,), key="asked_hidden"
                )
        _lead_to(set().union(*at_steps[OF_THE_SELLER:]))
        if any(it.result != "accepted" for it in done):
            st.markdown(came_of([it for it in done if it.result != "accepted"]))
        _say_bounced(done, notices)


_TEMPLATES: Final = {
    "": N_("The one that fits"),
    FIRST: N_("First message"),
    REMINDER: N_("Another message"),
    CORRECT: N_("Something to correct"),
    MOVED: N_("Another deadline"),
}
_DRAWN_AGAIN: Final = "a list was drawn again before all of it are asked"
_HIDDEN: Final = "a press that is not shown any more"
_READ: Final = "a press whose list was read after its end"
_STEPS: Final = (
    N_("sent"),
    N_("unknown whether it went out"),
    N_("not sent"),
    N_("delivered"),
    N_("opened"),
    N_("answered"),
    N_("confirmed"),
)
OF_THE_SELLER: Final = 4  # from here on, what sellers did


def _lead_to(sellers: Set[str]) -> None:
    """The way to the first of those who did something."""
    if sellers:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(_("Opened or answered:"), width="content")
            for seller_id in sorted(sellers)[:NAMED]:
                links.to_seller(seller_id, is_named=True, name=seller_names.in_clear(seller_id))
            if (more := len(sellers) - NAMED) > 0:
                st.markdown(_("and {n} more", n=formats.number(more)), width="content")


def _at_steps(
    batch: Batch, done: Sequence[Done], notices: Sequence[views.Row]
) -> tuple[Set[str], ...]:
    """The sellers who are at each of `_STEPS`, since the press, by the reviews that their message
    names: of others, the platform may have asked them meanwhile."""
    unknown = {it.seller_id for it in done if it.result == "uncertain"}
    sent = _sent(done)
    named = sorted({process for it in sent.values() for process in it.process_ids})
    since = instants.naive(batch.began_at)
    steps = (
        views.read(
            "collections",
            where={"process_id": named, "source": "seller"},
            between={"occurred_at": (since, None)},
        )
        if sent
        else ()
    )

    def who(step: str) -> set[str]:
        return {row["seller_id"] for row in steps if row["step"] == step}

    delivered = {row["seller_id"] for row in notices if row["delivered_at"] is not None}
    opened = {row["seller_id"] for row in notices if row["opened_at"] is not None} | who("opened")
    return (
        sent.keys() - unknown,
        unknown,
        {it.seller_id for it in done} - sent.keys(),
        delivered,
        opened,
        who("answered"),
        who("confirmed"),
    )


def _sent(done: Sequence[Done]) -> dict[str, Done]:
    """The sellers to whom a message went out, or may have."""
    return {it.seller_id: it for it in done if it.result in TAKEN or it.result == "uncertain"}


def _notices(done: Sequence[Done]) -> list[views.Row]:
    """What the log has of these messages."""
    sent = _sent(done)
    messages = {it.message_id for it in sent.values()}
    rows = views.read("seller_notices", where={"seller_id": sorted(sent)}) if sent else ()
    return [row for row in rows if row["message_id"] in messages]


def _say_bounced(done: Sequence[Done], notices: Sequence[views.Row]) -> None:
    """Whose message came back: somebody has to reach them by another way."""
    back = {row["seller_id"] for row in notices if row["bounced_at"] is not None}
    if n := len(back):
        said = ngettext("{n} bounced:", "{n} bounced:", n, n=formats.number(n))
        st.markdown(f"{said} {_named([it.seller_id for it in done if it.seller_id in back])}")


def _hide(batch: Batch) -> None:
    st.session_state[_HIDDEN] = batch


def came_of(done: Sequence[Done]) -> str:
    """What became of messages to sellers, in words: how many went, and why others did not."""
    counted = Counter(it.result for it in done)
    parts = []
    if n := counted["accepted"]:
        parts.append(
            ngettext("Sent to {n} seller.", "Sent to {n} sellers.", n, n=formats.number(n))
        )
    if n := counted["failed"]:
        said = ngettext("{n} was not accepted:", "{n} were not accepted:", n, n=formats.number(n))
        parts.append(f"{said} {_named([it.seller_id for it in done if it.result == 'failed'])}")
    if n := counted["uncertain"]:
        said = ngettext(
            "Of {n} nobody knows whether it went out:",
            "Of {n} nobody knows whether they went out:",
            n,
            n=formats.number(n),
        )
        unknown = [it.seller_id for it in done if it.result == "uncertain"]
        parts.append(f"{said} {_named(unknown)}")
    refused = [it for it in done if it.result == "refused"]
    parts += [_refusal(it.seller_id, it.why) for it in refused[:NAMED]]
    if len(refused) > NAMED:
        more = len(refused) - NAMED
        unnamed = ngettext(
            "{n} more got nothing and is not named here.",
            "{n} more got nothing and are not named here.",
            more,
            n=formats.number(more),
        )
        parts.append(unnamed)
    return "  \n".join(parts)


def _named(seller_ids: Sequence[str]) -> str:
    """The first of these sellers."""
    return ", ".join(map(_who, seller_ids[:NAMED])) + (", …" if len(seller_ids) > NAMED else "")


def _refusal(seller_id: str, why: str | None) -> str:
    """To whom nothing goes, and why."""
    said = _(REFUSALS[why]) if why else ""
    return f"{_who(seller_id)}: {said}"


def _who(seller_id: str) -> str:
    """A seller by name, where names are shown in clear, else by the id."""
    name = seller_names.in_clear(seller_id)
    return formats.plain(name or views.shown("seller_id", seller_id))
