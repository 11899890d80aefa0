"""Makes links to the seller's page, and submits what sellers have answered, from the dashboard."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Final

import streamlit as st

from app_pages.door import access
from app_pages.language import code_texts, formats, refusals
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, address, elements, folds, links, lists, seller_names, views
from pipeline.continuity import service
from pipeline.errors import InboxUnavailable, PrazoError
from pipeline.language import codes
from pipeline.language.next_actions import ACTIONS
from pipeline.serve.roles import Permission
from pipeline.submit.ready import Ready

SHOWN: Final = 15
AT_ONCE: Final = 500
"""Reviews that one press submits."""
_CAME_OF: Final = "what became of answers that were sent"
_LOOKED: Final = "ready reviews"
_CHOSEN: Final = "ready reviews that were chosen"
_HELD: Final = "whether a review is held"
_SUBMIT: Final = "submit"
_READY: Final = {"next_action": _SUBMIT, "lacks_type": False}
_WITHOUT_TYPE: Final = {"next_action": _SUBMIT, "lacks_type": True}


# --- a link --------------------------------------------------------------------------------------


def link_of(process_id: str) -> str | None:
    """The link that this reader has made for a process, while it works; nobody else can read it
    again."""
    if (made := acting.own().get(f"link {process_id}")) is None:
        return None
    from pipeline.journey import links as journeys

    try:
        return made if journeys.still_works(service.current().inbox, made) else None
    except InboxUnavailable:  # nobody knows now, and the page goes on
        return None


def make_link(process: views.Row) -> None:
    """The form that makes a link for an unfinished process, where sellers have a page."""
    if service.current().settings.journey_url is None:
        return
    process_id = process["process_id"]
    own = views.shown("process_id", process_id)
    place = folds.popover(_("Make a link"), icon=":material/link:", key=f"link {own}")
    if place is None:
        return
    with place:
        st.markdown(_("The seller answers on a page of their own. The link is shown only here."))
        with st.form(f"link_form {own}", border=False):
            st.selectbox(
                _("How will you send it?"),
                list(codes.CHANNELS),
                format_func=lambda code: code_texts.word(codes.CHANNELS, code),
                key=f"link_channel {own}",
            )
            st.text_input(_("The seller's e-mail, for a code"), key=f"link_email {own}")
            acting.submit(
                f"link_form {own}",
                _("Record the invitation and make the link"),
                partial(_make, process_id, own),
                may=Permission.ANNOTATE,
                actor=f"link_actor {own}",
            )
        if (made := link_of(process_id)) is not None:
            st.code(made, language=None, wrap_lines=True)


def _make(process_id: str, own: str) -> acting.Feedback:
    from pipeline.journey import links as journeys

    actor = acting.actor_of(f"link_actor {own}")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    held = service.current()
    made: list[str] = []

    def mint() -> None:
        minted = journeys.mint(
            held.settings,
            held.inbox,
            process_id,
            recorded_by=acting.RECORDED_BY,
            made_by=actor,
            channel=acting.typed(f"link_channel {own}"),
            email=acting.typed(f"link_email {own}") or None,
        )
        made.append(minted.url)

    if (error := acting.tried(mint, actor)) is not None:
        return acting.Feedback("", error=error)
    acting.own()[f"link {process_id}"] = made[0]
    text = _("Recorded for {processes}.", processes=formats.code(own))
    return acting.Feedback(text, is_done=True, kept=made[0], empties=(f"link_email {own}",))


# --- what is answered ----------------------------------------------------------------------------


def how_many_ready() -> int | None:
    """How many reviews are answered so that they can be sent; None for a reader who may not see
    them."""
    if not access.may_read("open_processes"):
        return None
    return views.count("open_processes", where=_READY)


def is_any_answered() -> bool:
    """Whether any review is answered in full, be its seller's type known or not; false for a reader
    who may not see them."""
    answered = {"next_action": _SUBMIT}
    return access.may_read("open_processes") and views.count("open_processes", where=answered) > 0


def ready_to_send() -> None:
    """The reviews that are fully answered, and the buttons that check and submit those that were
    chosen, or all; and those of which somebody has to ask one thing more."""
    is_open = views.as_of() is None and access.may(Permission.SUBMIT)
    may_send = is_open and service.current().settings.platform_url is not None
    rows = views.read("open_processes", where=_READY, limit=AT_ONCE if may_send else SHOWN)
    if may_send and (came_of := st.session_state.get(_CAME_OF)):
        st.info(came_of, icon=":material/send:")
    if rows:
        _list_ready(rows, may_send=may_send)
    else:
        elements.empty(
            _("Nothing is ready to send"),
            _("A review appears here once its seller has answered all that was requested."),
        )
    _list_without_type()


def _list_ready(rows: Sequence[views.Row], *, may_send: bool) -> None:
    st.header(_("Answered, ready to send"), anchor=False)
    st.markdown(formats.muted(_(ACTIONS[_SUBMIT].how)))  # of each of them the same
    shown = rows[:SHOWN]
    names = seller_names.all_in_clear(shown)
    with st.container(border=True, gap="xsmall"):
        chosen = [row["process_id"] for row in shown if _ready_row(row, names, may_choose=may_send)]
    elements.say_if_cut("open_processes", shown, SHOWN, where=_READY)
    if may_send:
        _say_which_left(chosen, {row["process_id"] for row in rows})
        _check_and_send([row for row in rows if row["process_id"] in chosen] or rows, chosen)


def _list_without_type() -> None:
    """The reviews that are fully answered and cannot be sent, since nobody knows the type of their
    seller, each with the way to ask."""
    rows = views.read("open_processes", where=_WITHOUT_TYPE, limit=SHOWN)
    if not rows:
        return
    number = views.count("open_processes", where=_WITHOUT_TYPE) if len(rows) == SHOWN else len(rows)
    st.header(
        _("Answered, but of an unknown type of seller ({n})", n=formats.number(number)),
        anchor=False,
    )
    text = _(
        "Nothing says whether these sellers are individuals or businesses, and without that the"
        " platform takes no submission. Ask them: their page asks for it."
    )
    st.markdown(formats.muted(text))
    names = seller_names.all_in_clear(rows)
    with st.container(border=True, gap="xsmall"):
        for row in rows:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                lists.begin_line(row, names)
                st.markdown(formats.time_badge(row["seconds_to_deadline"]), width="content")
                if row["seller_id"] is not None:  # else nobody can be asked by name
                    own = formats.plain(views.shown("seller_id", row["seller_id"]))
                    label = _("Ask {seller}", seller=own)
                    links.to_named("sellers", label, **{address.CHOSEN: row["seller_id"]})
    elements.say_if_cut("open_processes", rows, SHOWN, where=_WITHOUT_TYPE)


def _ready_row(row: views.Row, names: Mapping[str, str], *, may_choose: bool) -> bool:
    """One review that is answered; whether it is chosen. `names`: as for `lists.begin_line`."""
    own, is_chosen = views.shown("process_id", row["process_id"]), False
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"ready_{own}"
    ):
        if may_choose:
            label = _("Choose {process}", process=formats.plain(own))
            is_chosen = st.checkbox(label, key=f"choose {own}", label_visibility="collapsed")
        lists.begin_line(row, names)
        badges = [formats.time_badge(row["seconds_to_deadline"])]
        if row["review_type"] is None:  # it is sent like an ACI
            badges.append(formats.badge(_("type of review unknown"), "orange"))
        st.markdown(" ".join(badges), width="content")
    return is_chosen


def _say_which_left(chosen: Sequence[str], ready: Set[str]) -> None:
    """Says which were chosen and are not ready any more: the buttons stand for fewer now."""
    left = [it for it in st.session_state.get(_CHOSEN, ()) if it not in ready]
    st.session_state[_CHOSEN] = tuple(chosen)
    if left:
        names = elements.paths([views.shown("process_id", it) for it in left])
        st.info(_("Chosen before, and not ready any more: {processes}.", processes=names))


def _check_and_send(rows: Sequence[views.Row], chosen: Sequence[str]) -> None:
    """The buttons, each for exactly those whom it names or counts: what was drawn goes with the
    press, and a press on a button that stood for others does nothing. `rows`: of those that were
    chosen, or of all."""
    process_ids = tuple(row["process_id"] for row in rows)
    number, n = len(process_ids), formats.number(len(process_ids))
    check, send = _("Validate all ({n}): sends nothing", n=n), _("Send all ({n})", n=n)
    if chosen:
        check = ngettext(
            "Validate {n} chosen: sends nothing", "Validate {n} chosen: sends nothing", number, n=n
        )
        send = ngettext("Send {n} chosen", "Send {n} chosen", number, n=n)
    elif number == AT_ONCE:
        check, send = _("Validate the first {n}: sends nothing", n=n), _("Send the first {n}", n=n)
    edition = elements.edition("ready", process_ids)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _button("check", edition, check, ":material/fact_check:", _look, process_ids)
        place = folds.popover(send, icon=":material/send:", key=f"ready_sending {edition}")
    if place is not None:
        with place:
            _confirm(rows, edition)
    # What was said of those that are gone is of no use here; others have come meanwhile.
    ready_now = set(process_ids)
    looked = [it for it in st.session_state.get(_LOOKED, ()) if it.process_id in ready_now]
    if not looked:
        return
    free = sum(not it.is_held for it in looked)
    held = len(looked) - free
    stopped = ngettext("{n} held", "{n} held", held, n=formats.number(held))
    if _CAME_OF in st.session_state:  # nothing was just looked at: what was sent stands above
        if held:
            st.markdown(_("{held}, not sent.", held=stopped))
    else:
        sent = ngettext(
            "**{n}** would be sent", "**{n}** would be sent", free, n=formats.number(free)
        )
        st.markdown(f"{sent}, {stopped}.")
    for each in [it for it in looked if it.is_held][:SHOWN]:
        why = _why_held(each) or _("another attempt is under way")
        st.markdown(f"{formats.code(views.shown('process_id', each.process_id))}: {why}")


def _confirm(rows: Sequence[views.Row], edition: int) -> None:
    """Whose answers go to the platform, and the button that sends them."""
    number, n = len(rows), formats.number(len(rows))
    of_each = {row["seller_id"]: row for row in rows}
    shown = [*of_each.values()][:SHOWN]
    names = seller_names.all_in_clear(shown)
    ids = [row["seller_id"] for row in shown]
    seen = seller_names.showing()
    who = [seller_names.shown(it, names.get(it), seen) or _("unknown") for it in ids]
    listed = ", ".join(who) + (", …" if len(of_each) > SHOWN else "")
    said = ngettext(
        "The answers of {n} review go to the platform, of {sellers}.",
        "The answers of {n} reviews go to the platform, of {sellers}.",
        number,
        n=n,
        sellers=formats.plain(listed),
    )
    st.markdown(said)
    acting.name_of_reader("ready_actor")
    send = ngettext(
        "Send {n} review: cannot be undone", "Send {n} reviews: cannot be undone", number, n=n
    )
    process_ids = tuple(row["process_id"] for row in rows)
    _button("send", edition, send, ":material/send:", _send, process_ids)


def _why_held(looked: Ready) -> str:
    """What our own rules name, as Markdown."""
    return "; ".join(map(refusals.reason, looked.held))


def say_if_held(process: views.Row) -> None:
    """Says of a review that is fully answered what keeps the answers from being sent, as *Check* on
    Submissions does. That takes as long as the rest of a page, so it is looked at again only once
    an entry names the process or its seller."""
    from pipeline.submit import ready

    if views.as_of() is not None:
        return
    held, process_id = service.current(), process["process_id"]
    named = [process[it] for it in views.SUBJECTS if process[it] is not None]
    standing = (process_id, *map(held.ledger.last_named.of, named))
    looked_at, looked = st.session_state.get(_HELD, ((), None))
    if looked_at != standing:
        try:
            [looked] = ready.look(held.settings, [process_id])
        except PrazoError:  # the page goes on: what sends the answers looks again
            return
        st.session_state[_HELD] = standing, looked
    if why := _why_held(looked):
        title = _("Held back: our own rules would not send these answers")
        st.warning(why, title=title, icon=":material/front_hand:")


def _button(
    what: str,
    edition: int,
    label: str,
    icon: str,
    act: Callable[[Sequence[str]], acting.Feedback],
    process_ids: Sequence[str],
) -> None:
    press = partial(act, process_ids)
    acting.button(f"ready_{what} {edition}", label, press, icon=icon, may=Permission.SUBMIT)


def _still_ready(process_ids: Sequence[str]) -> list[str]:
    """Those of them that are ready by all that stands in the log now."""
    acting.catch_up()
    rows = views.read("open_processes", where={**_READY, "process_id": list(process_ids)})
    ready = {row["process_id"] for row in rows}
    return [it for it in process_ids if it in ready]


def _look(process_ids: Sequence[str]) -> acting.Feedback:
    from pipeline.submit import ready

    st.session_state.pop(_CAME_OF, None)
    ready_now = _still_ready(process_ids)
    try:
        looked = ready.look(service.current().settings, ready_now)
    except PrazoError as error:
        return acting.Feedback("", error=error)
    st.session_state[_LOOKED] = tuple(looked)
    return _gone(process_ids, ready_now)


def _send(process_ids: Sequence[str]) -> acting.Feedback:
    from pipeline.submit import ready
    from pipeline.submit.attempt import Sent

    actor = acting.actor_of("ready_actor")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    settings, ready_now = service.current().settings, _still_ready(process_ids)
    step = acting.progressing(len(ready_now))
    held: list[Ready] = []
    ended: list[tuple[str, str]] = []

    def note(process_id: str, sent: Sent) -> None:
        step()
        ended.append((process_id, sent.outcome))

    def send() -> None:
        by = f"{acting.RECORDED_BY}:{actor}"
        held.extend(
            ready.send(settings, ready_now, via="api", recorded_by=by, is_listed=True, on_sent=note)
        )

    error = None
    if ready_now:
        st.toast(_("Sending …"), icon=":material/send:")
        error = acting.tried(send, actor)
    # The list says it until the next press: what was sent has left it, mostly with its button.
    st.session_state[_CAME_OF] = _how_it_ended(ended)
    st.session_state.pop(_LOOKED, None)  # what was held before says nothing of this
    if error is not None:
        return acting.Feedback("", error=error)
    over = {it.process_id for it in held if it.is_over}
    st.session_state[_LOOKED] = tuple(it for it in held if not it.is_over)
    st.session_state[_CHOSEN] = ()
    gone = _gone(process_ids, [it for it in ready_now if it not in over])
    is_done = {outcome for _id, outcome in ended} == {"accepted"} and not held
    return gone._replace(is_done=is_done)


def _how_it_ended(ended: Sequence[tuple[str, str]]) -> str:
    """How many attempts were sent, and how they ended, with whose they are: process id, outcome;
    nothing of none."""
    if not ended:
        return ""
    counted = Counter(outcome for _id, outcome in ended)
    said = ", ".join(
        f"{code_texts.word(codes.OUTCOMES, code)} ({formats.number(counted[code])})"
        for code in sorted(counted)
    )
    text = ngettext(
        "{n} attempt was sent: {outcomes}.",
        "{n} attempts were sent: {outcomes}.",
        len(ended),
        n=formats.number(len(ended)),
        outcomes=formats.plain(said),
    )
    ids = dict.fromkeys(process_id for process_id, _outcome in ended)
    named = elements.paths([views.shown("process_id", it) for it in ids])
    return f"{formats.minute(views.moment())} · {text} {named}"


def _gone(process_ids: Sequence[str], ready_now: Sequence[str]) -> acting.Feedback:
    """Says of which nothing was done since they are not ready any more."""
    left = [views.shown("process_id", it) for it in process_ids if it not in set(ready_now)]
    if not left:
        return acting.Feedback("")
    names = elements.paths(left)
    return acting.Feedback(
        _("Not ready any more, and so left alone: {processes}.", processes=names)
    )
