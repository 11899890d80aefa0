"""Makes links to the seller's page, and submits what sellers have answered, from the dashboard."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, occurrences, refusals, words
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, elements, links, views
from pipeline.errors import PrazoError
from pipeline.ledger import service
from pipeline.serve.roles import Permission
from pipeline.submit.ready import Ready

SHOWN: Final = 20
AT_ONCE: Final = 500
"""Reviews that one press submits."""
_MADE: Final = "links made"
_LOOKED: Final = "ready reviews"


# --- a link --------------------------------------------------------------------------------------


def link_of(process_id: str) -> str | None:
    """The link that this reader has just made for a process; nobody else can read it again."""
    made: dict[str, str] = st.session_state.get(_MADE, {})
    return made.get(process_id)


def make_link(process: views.Row) -> None:
    """The form that makes a link for an unfinished process, where sellers have a page."""
    if service.current().settings.journey_url is None:
        return
    own = process["process_id"]
    with st.popover(_("Make a link"), icon=":material/link:", key=f"link {own}"):
        st.markdown(_("The seller answers on a page of their own. The link is shown only here."))
        with st.form(f"link_form {own}", border=False):
            channel = st.selectbox(
                _("How will you send it?"),
                list(occurrences.CHANNELS),
                format_func=lambda code: words.word(occurrences.CHANNELS, code),
                key=f"link_channel {own}",
            )
            email = st.text_input(_("The seller's e-mail, for a code"), key=f"link_email {own}")
            actor = acting.name_of_reader(f"link_actor {own}")
            if st.form_submit_button(_("Record the invitation and make the link")):
                _make(own, channel, email.strip() or None, actor.strip())
        if (made := link_of(own)) is not None:
            st.code(made, language=None, wrap_lines=True)


def _make(process_id: str, channel: str, email: str | None, actor: str) -> None:
    from pipeline.journey import links as journeys

    if not actor:
        st.warning(_("A name is needed: it goes into the log."))
        return
    held = service.current()
    made: list[str] = []

    def mint() -> None:
        minted = journeys.mint(
            held.settings,
            held.inbox,
            process_id,
            recorded_by=acting.RECORDED_BY,
            made_by=actor,
            channel=channel,
            email=email,
        )
        made.append(minted.url)

    if acting.done(mint, actor):
        st.session_state.setdefault(_MADE, {})[process_id] = made[0]
        st.rerun()


# --- what is answered ----------------------------------------------------------------------------


def ready_to_send() -> None:
    """The reviews that are fully answered, and the buttons that check and submit those that were
    chosen, or all."""
    if not access.may_read("open_processes"):
        return
    where = {"next_action": "submit"}
    rows = views.read("open_processes", where=where, limit=SHOWN)
    if not rows:
        return
    st.header(_("Answered, ready to send"), anchor=False)
    is_open = views.as_of() is None and access.may(Permission.SUBMIT)
    may_send = is_open and service.current().settings.platform_url is not None
    chosen = [row["process_id"] for row in rows if _ready_row(row, may_choose=may_send)]
    elements.say_if_cut("open_processes", rows, SHOWN, where=where)
    if may_send:
        _check_and_send(chosen)


def _ready_row(row: views.Row, *, may_choose: bool) -> bool:
    """One review that is answered; whether it is chosen."""
    own, is_chosen = row["process_id"], False
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if may_choose:
            label = _("Choose {process}", process=formats.plain(views.shown("process_id", own)))
            is_chosen = st.checkbox(label, key=f"choose {own}", label_visibility="collapsed")
        with st.container():
            elements.action_row(
                row["next_action"],
                formats.badge(formats.time_left(row["seconds_to_deadline"]), "gray"),
                partial(links.to_process, own, is_named=True),
                key=f"ready_{own}",
            )
    return is_chosen


def _check_and_send(chosen: Sequence[str]) -> None:
    n = formats.number(len(chosen))
    check, send = _("Check all"), _("Send all")
    if chosen:
        check = ngettext("Check {n} chosen", "Check {n} chosen", len(chosen), n=n)
        send = ngettext("Send {n} chosen", "Send {n} chosen", len(chosen), n=n)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if st.button(check, icon=":material/fact_check:", key="ready_check"):
            st.session_state[_LOOKED] = (tuple(chosen), _looked(chosen or _all()))
        actor = acting.name_of_reader("ready_actor")
        if st.button(send, icon=":material/send:", key="ready_send"):
            _send(chosen, actor.strip())
    of, looked = st.session_state.get(_LOOKED, ((), None))
    if looked is None or of != tuple(chosen):  # what was said of others is of no use here
        return
    free = sum(not it.is_held for it in looked)
    held = len(looked) - free
    sent = ngettext("**{n}** would be sent", "**{n}** would be sent", free, n=formats.number(free))
    stopped = ngettext("{n} held", "{n} held", held, n=formats.number(held))
    st.markdown(f"{sent}, {stopped}.")
    for each in [it for it in looked if it.is_held][:SHOWN]:
        why = "; ".join(map(refusals.reason, each.held)) or _("another attempt is under way")
        st.markdown(f"{formats.code(each.process_id)}: {why}")


def _all() -> list[str]:
    rows = views.read("open_processes", where={"next_action": "submit"}, limit=AT_ONCE)
    return [row["process_id"] for row in rows]


def _looked(process_ids: Sequence[str]) -> list[Ready] | None:
    from pipeline.submit import ready

    try:
        return ready.look(service.current().settings, process_ids)
    except PrazoError as error:
        elements.say(error)
        return None


def _send(chosen: Sequence[str], actor: str) -> None:
    from pipeline.submit import ready

    if not actor:
        st.warning(_("A name is needed: it goes into the log."))
        return
    process_ids, settings = chosen or _all(), service.current().settings
    held: list[Ready] = []

    def send() -> None:
        sent_by = f"{acting.RECORDED_BY}:{actor}"
        held.extend(ready.send(settings, process_ids, via="api", recorded_by=sent_by))

    with st.spinner(_("Sending …")):
        is_done = acting.done(send, actor)
    if is_done:
        left = {it.process_id for it in held}
        st.session_state[_LOOKED] = (tuple(it for it in chosen if it in left), held or None)
        st.rerun()
