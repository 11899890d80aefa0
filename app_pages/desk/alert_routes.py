"""Says who is notified of what, route by route, and lets an admin change that where it stands."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import streamlit as st

from app_pages.desk import alert_settings
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import acting, elements
from pipeline import alert_rules, conditions
from pipeline.alert_rules import AlertRules, editing
from pipeline.alert_rules.editing import RECIPIENTS, ROUTES, Place
from pipeline.alert_rules.recipients import ASSIGNEE, GROUPS, ROLE, Route
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.serve.roles import Permission
from pipeline.written import read_small

_DRAWN: Final = "routes as they were drawn"  # by their number
_OVERTAKEN: Final = "route that others changed meanwhile"  # key of what is chosen, drawn before at


class _Drawn(NamedTuple):
    """A route as the page showed it."""

    key: str  # of what is chosen
    to: list[str]  # as the file said
    conditions: dict[str, Any]  # all else that it said
    at: int  # in microseconds


def show(rules: AlertRules, *, may_act: bool) -> None:
    """The routes. For an admin each has its recipients to choose from, and once others are chosen,
    what saves that; for others, and where a page cannot change the file, it is a table.
    """
    path = alert_settings.changed_here() if may_act else None
    text = "" if path is None else _text(path)
    if path is None or not alert_settings.are_routes_apart(editing.tables(text), rules):
        _table(rules)
        return
    for n, route in enumerate(rules.routes):
        _line(path, text, n, route, rules)


def go_by_roles(rules: AlertRules) -> bool:
    """Whether what a recipient sees to decides what they get: where all routes name their
    recipients, it would seem to say what it does not."""
    named = [it.to for it in rules.routes]
    named += [step.to for it in rules.routes for step in it.escalate]
    return not rules.routes or any(not {*GROUPS}.isdisjoint(it) for it in named)


def _text(path: Path) -> str:
    try:
        return read_small(path)
    except PrazoError:
        return ""  # what changes the other tables says why


def _table(rules: AlertRules) -> None:
    st.table(
        {
            _("Route"): [str(n) for n, _route in enumerate(rules.routes, 1)],
            _("Alerts"): [formats.plain(alert_settings.alerts_of(it)) for it in rules.routes],
            _("Notified"): [_whom(rules, it, it.to) for it in rules.routes],
            _("Then, if nobody takes it"): [_escalation(rules, it) or "–" for it in rules.routes],
        }
    )


def _line(path: Path, text: str, n: int, route: Route, rules: AlertRules) -> None:
    """One route: whom it notifies. A choice that is not saved yet is said with what it would do."""
    place, said = (ROUTES, n), editing.tables(text)
    conditions = editing.table(said, place)
    was = [str(it) for it in conditions.pop("to", [])]
    options = [*dict.fromkeys([*GROUPS, *said.get(RECIPIENTS, {}), *was])]
    own = f"route {n} {elements.edition(f'route {n}', [repr(conditions), *was])}"
    alerts = formats.plain(alert_settings.alerts_of(route))
    named = _("Route {n}: {alerts}", n=n + 1, alerts=alerts)
    key = f"{own} to"
    if key not in st.session_state:
        st.session_state[key] = _begun(n, key, was, conditions)
    now = service.current().now()
    st.session_state.setdefault(_DRAWN, {})[n] = _Drawn(key, was, conditions, now)
    chosen = st.pills(
        named,
        options,
        selection_mode="multi",
        format_func=partial(alert_settings.option, options),
        key=key,
    )
    if steps := _escalation(rules, route):
        st.markdown(formats.muted(_("Then, if nobody takes it: {steps}", steps=steps)))
    if {*chosen} != {*was}:
        overtaken, drawn_at = st.session_state.get(_OVERTAKEN, ("", 0))
        if overtaken == key:
            others = alert_settings.who_changed(drawn_at)
            named_by_them = [alert_settings.option(options, it) for it in was]
            is_kept = _(
                "{others} Now: {names}. Marked here is that with your own choice: look at both, and"
                " save.",
                others=others,
                names=", ".join(named_by_them) or _("nobody"),
            )
            st.warning(is_kept, icon=":material/group:")
        to = [it for it in was if it in chosen] + [it for it in chosen if it not in was]
        if gone := [alert_settings.option(options, it) for it in was if it not in to]:
            st.markdown(
                _("Once saved, no longer notified by this route: {names}.", names=", ".join(gone))
            )
        if to:
            _ask_to_save(path, text, place, to, own, named)
        else:  # the first half of a swap
            st.info(alert_settings.choose_one(), icon=":material/person_add:")


def _begun(n: int, key: str, was: list[str], conditions: dict[str, Any]) -> list[str]:
    """What is chosen of a route at first: what the file says; where somebody has changed that while
    the reader was choosing, with what the reader has added, and without what they have left out.
    A choice is of one route: another that has its number since begins with what the file says."""
    drawn: _Drawn | None = st.session_state.get(_DRAWN, {}).get(n)
    if drawn is None or drawn.conditions != conditions:
        return was
    chosen = st.session_state.get(drawn.key, drawn.to)
    left_out = {*drawn.to} - {*chosen}
    added = [it for it in chosen if it not in drawn.to and it not in was]
    begun = [it for it in was if it not in left_out] + added
    if begun != was:  # after the reader's own change it is what they chose
        st.session_state[_OVERTAKEN] = (key, drawn.at)
    return begun


def _ask_to_save(path: Path, text: str, place: Place, to: list[str], own: str, named: str) -> None:
    changed = partial(editing.changed, text, place, {"to": to})
    try:
        sent = alert_settings.sent_by(path, text, alert_rules.read_text(changed()[0], path))
    except PrazoError as error:
        elements.say(error)
        return
    with st.form(f"{own} form", border=True):
        for sentence in alert_settings.words_of(sent):
            st.warning(sentence, icon=":material/outgoing_mail:")
        press = partial(alert_settings.put, path, text, changed, own, named, frozenset(sent))
        about = elements.edition(own, to)
        icon, may = ":material/save:", Permission.ANNOTATE
        acting.submit(
            f"{own} save", _("Save"), press, about=about, icon=icon, may=may, actor=f"{own} actor"
        )


def _whom(rules: AlertRules, route: Route, to: Iterable[str]) -> str:
    """Whom a route leads to, by name: of a role, all who have it."""
    said = []
    for name in to:
        if name == ROLE:
            of = route.roles or get_args(conditions.Role)
            said += [it for it, who in rules.recipients.items() if who.role in of]
        else:
            said.append(_("who has the review") if name == ASSIGNEE else name)
    return formats.plain(", ".join(dict.fromkeys(said)) or _("nobody"))


def _escalation(rules: AlertRules, route: Route) -> str:
    return "; ".join(
        _(
            "after {time}: {names}",
            time=formats.seconds(step.after * 3600),
            names=_whom(rules, route, step.to),
        )
        for step in route.escalate
    )
