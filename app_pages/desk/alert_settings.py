"""Changes who is notified of what: one table of the alerts' file at a time, by a form."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import streamlit as st

from app_pages.desk import people
from app_pages.door import access
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import acting, elements, folds, views
from pipeline import alert_rules, conditions, instants
from pipeline.alert import changing, hours
from pipeline.alert.changing import Sent
from pipeline.alert_rules import AlertRules, editing
from pipeline.alert_rules.editing import HOURS, RECIPIENTS, ROUTES, Overtaken, Place
from pipeline.alert_rules.recipients import ASSIGNEE, GROUPS, ROLE, Route, WorkingHours
from pipeline.alert_rules.references import KINDS
from pipeline.continuity import service
from pipeline.contract.review_types import NAMES
from pipeline.errors import PrazoError, WrongUsage
from pipeline.language import codes
from pipeline.log.kinds.alert_settings import ALERT_SETTINGS, alert_settings
from pipeline.serve.due_alerts import VIEW, due_in
from pipeline.serve.roles import Permission, Role
from pipeline.written import read_small

CHOSEN: Final = "alerts_change"
WAS: Final = "alerts file as it was"
HANDED_OUT: Final = "text of the alerts file"
CHANGES: Final = "how the alerts file was changed, in words"
DIFFERENCE: Final = "difference of the alerts file"
SAVED: Final = "how often the alerts file was saved"
WARNED: Final = "said of the alerts that a change sends"
MOST_PILLS: Final = 20  # more are chosen from a list
MOST_ROUTES_APART: Final = 20
NEW_RECIPIENT, NEW_ROUTE = "+ recipient", "+ route"


class Field(NamedTuple):
    """A key of a table, and how it is shown."""

    label: str
    options: tuple[str, ...] = ()
    """To choose from; none: it is typed."""
    is_many: bool = False
    is_flag: bool = False
    default: tuple[str, ...] = ()
    """What holds where the file does not say it, of one of many."""


OF_ROLES: Final[Mapping[str, str]] = {
    "officer": N_("reviews and their deadlines"),
    "admin": N_("how Prazo runs"),
}
"""What alerts are about that are meant for a role."""
_ROLES: Final = get_args(conditions.Role)
_GROUPS: Final[Mapping[str, str]] = {
    ASSIGNEE: N_("who has the review"),
    ROLE: N_("all who see to such alerts"),
}
_FIELDS: Final[Mapping[str, Mapping[str, Field]]] = {
    RECIPIENTS: {
        "email": Field(N_("E-mail address")),
        "webhook": Field(N_("Address of a webhook")),
        "role": Field(N_("Sees to"), _ROLES),
        "language": Field(N_("Language"), ("pt", "en")),
        "zone": Field(N_("Time zone")),
        "digest_at": Field(N_("Digest at, such as 08:00")),
        "info_at_once": Field(N_("Each info at once"), is_flag=True),
        "stand_in": Field(N_("Stand-in")),
        "away": Field(N_("Away, such as 2026-12-21/2027-01-04")),
        "assigned_as": Field(N_("Also assigned as, with commas between")),
    },
    ROUTES: {
        "to": Field(N_("Notified"), is_many=True),
        "severities": Field(
            N_("Only of these severities (empty: all)"), tuple(codes.SEVERITIES), True
        ),
        "review_types": Field(
            N_("Only of these types of review (empty: all)"), tuple(sorted(NAMES)), True
        ),
        "roles": Field(N_("Only alerts about (empty: all)"), _ROLES, True),
        "kinds": Field(N_("Only these alerts (empty: all)"), KINDS, True),
        "at_any_hour": Field(
            N_("At night and on days off, too"),
            tuple(codes.SEVERITIES),
            is_many=True,
            default=("breach",),
        ),
        "escalate": Field(N_("Then, if nobody takes it, such as 4h: bruno, eva; 8h: ops")),
    },
    HOURS: {
        "zone": Field(N_("Time zone")),
        "days": Field(N_("Days"), hours.DAYS, True, default=WorkingHours().days),
        "start": Field(N_("From, such as 08:00")),
        "end": Field(N_("Until, such as 18:00")),
        "holidays": Field(N_("Holidays of, such as BR-SP")),
    },
}


def change() -> None:
    """The form by which an admin changes who is notified; for others nothing."""
    if not _is_admin():
        return
    path = changed_here()
    if path is None:
        st.caption(_("Nothing can be changed here yet: see *Settings* in the guide *Alerts*."))
        return
    _hand_out(path)
    try:
        said = editing.tables(read_small(path))
    except PrazoError as error:
        elements.say(error)
        return
    known = [f"{RECIPIENTS}.{it}" for it in said.get(RECIPIENTS, {})]
    known += [f"{ROUTES}.{n}" for n, _route in enumerate(said.get(ROUTES, []), 1)]
    chosen = st.pills(
        _("Change recipients, when a route applies, or the hours"),
        [*known, NEW_RECIPIENT, NEW_ROUTE, HOURS],
        format_func=_named,
        key=CHOSEN,
        on_change=partial(_begin, path),
    )
    if chosen is not None and WAS in st.session_state:
        _form(path, chosen, said)


def changed_here() -> Path | None:
    """The file of alerts, where there is one and the reader may change it."""
    return service.current().settings.alerts_file if _is_admin() else None


def are_routes_apart(said: Mapping[str, Any], rules: AlertRules) -> bool:
    """Whether whom a route notifies is chosen where the routes stand, by what the file says and the
    rules in force: if not, the form of a route asks it."""
    n = len(said.get(ROUTES, []))
    return bool(rules.recipients) and 0 < n == len(rules.routes) <= MOST_ROUTES_APART


def look(at: str) -> None:
    """Leads back to what was changed, once it is saved: without the form, which is gone, the page
    had other parts in sight. For the end of the page. `at`: the name of a header."""
    if SAVED in st.session_state:
        st.html(f'<i class="prazo-look" data-at="{at}" data-n="{st.session_state[SAVED]}"></i>')


def alerts_of(route: Route) -> str:
    """Which alerts a route takes, in words."""
    severities = code_texts.by_code(codes.SEVERITIES)
    said = [severities[it] for it in route.severities or ()]
    said += [occurrences.alert_name(it) for it in route.kinds or ()]
    said += [_(OF_ROLES[it]) for it in route.roles or ()]
    said += route.review_types or ()
    return ", ".join(said) or _("all")


def _is_admin() -> bool:
    person = access.person()
    return person is not None and Role.ADMIN in person.roles


def _named(option: str) -> str:
    words = {
        NEW_RECIPIENT: _("New recipient"),
        NEW_ROUTE: _("New route"),
        HOURS: _("Working hours"),
    }
    name = option.removeprefix(f"{RECIPIENTS}.")
    if option.startswith(f"{ROUTES}."):
        n, routes = int(option.partition(".")[2]), people.rules().routes
        if n > len(routes):  # the file has more since it was read
            return _("Route {n}", n=n)
        return _("Route {n}: {alerts}", n=n, alerts=formats.plain(alerts_of(routes[n - 1])))
    return words.get(option) or formats.plain(name)


def _begin(path: Path) -> None:
    """Notes what the file says as somebody begins to change it: whoever changed it since is not
    overwritten."""
    try:
        st.session_state[WAS] = read_small(path)
    except PrazoError:
        st.session_state.pop(WAS, None)


def _form(path: Path, chosen: str, said: Mapping[str, Any]) -> None:
    was: str = st.session_state[WAS]
    place = _place(chosen, editing.tables(was))
    values, own = editing.table(editing.tables(was), place), f"alerts {chosen}"
    with st.form(own, border=True):
        if chosen == NEW_RECIPIENT:
            st.text_input(_("Name"), key=f"{own} name", max_chars=acting.MAX_NAME_CHARACTERS)
        sides = st.columns(2)
        fields = _fields(chosen, place, said)
        for n, (key, field) in enumerate(fields.items()):
            if key == "kinds":  # the rungs before a deadline are the file's own
                rungs = service.current().alert_rules.get().rungs()
                field = field._replace(options=(*dict.fromkeys((*rungs, *field.options)),))
            with sides[n % 2]:
                _input(f"{own} {key}", field, _shown(key, values.get(key), field), said)
        press, icon = partial(_save, path, was, chosen, own, fields), ":material/save:"
        with st.container(key="saving"):
            acting.submit(
                f"{own} save",
                _("Save"),
                press,
                icon=icon,
                may=Permission.ANNOTATE,
                actor=f"{own} actor",
            )
    if values and place[0] != HOURS:
        _ask_to_remove(path, was, chosen, f"{own} removal")


def _ask_to_remove(path: Path, was: str, chosen: str, own: str) -> None:
    """Apart from what saves, since it saves nothing of what was typed."""
    label = _("Remove {name}", name=_named(chosen))
    place = folds.popover(label, icon=":material/delete:", type="tertiary", key=own)
    if place is None:
        return
    with place, st.form(f"{own} form", border=False):
        press = partial(_remove, path, was, chosen, own)
        acting.submit(
            f"{own} now", _("Remove it"), press, may=Permission.ANNOTATE, actor=f"{own} actor"
        )


def _fields(chosen: str, place: Place, said: Mapping[str, Any]) -> dict[str, Field]:
    """What the form of a table asks."""
    asked = dict(_FIELDS[place[0]])
    if place[0] == ROUTES and chosen != NEW_ROUTE and are_routes_apart(said, people.rules()):
        del asked["to"]
    return asked


def _place(chosen: str, said: Mapping[str, Any], name: str = "") -> Place:
    if chosen == HOURS:
        return (HOURS,)
    if chosen == NEW_RECIPIENT:
        return (RECIPIENTS, name)
    if chosen == NEW_ROUTE:
        return (ROUTES, len(said.get(ROUTES, [])))
    table, _dot, which = chosen.partition(".")
    return (table, int(which) - 1) if table == ROUTES else (table, which)


def _input(key: str, field: Field, shown: Any, said: Mapping[str, Any]) -> None:
    label = _(field.label)
    if field.is_flag:
        st.checkbox(label, value=bool(shown), key=key)
    elif field.is_many:
        options = field.options or (*GROUPS, *said.get(RECIPIENTS, {}))
        every, named = [*dict.fromkeys([*options, *shown])], partial(option, options)
        if len(every) > MOST_PILLS:
            chosen_from = _("Any")
            st.multiselect(label, every, shown, format_func=named, key=key, placeholder=chosen_from)
        else:
            st.pills(
                label, every, default=shown, selection_mode="multi", format_func=named, key=key
            )
    elif field.options:
        options, words = field.options, ["", *field.options]
        at = words.index(shown) if shown in words else 0
        st.selectbox(label, words, index=at, format_func=partial(option, options), key=key)
    else:
        st.text_input(label, value=shown, key=key)


def option(options: Sequence[str], code: str) -> str:
    """One of the options in words; a name as it is."""
    if {*KINDS} <= {*options}:
        return occurrences.alert_name(code)
    for words in (codes.SEVERITIES, OF_ROLES, _GROUPS):
        if code in words and words.keys() <= {*options}:
            return _(words[code])
    return formats.plain(code)


def _shown(key: str, value: Any, field: Field) -> Any:
    """What an input shows of a value of the file."""
    if field.is_flag:
        return value is True
    if field.is_many:
        return [str(it) for it in (field.default if value is None else value)]
    if value is None:
        return ""
    if key == "away":
        return ", ".join(f"{it.get('first')}/{it.get('last')}" for it in value)
    if key == "escalate":
        return "; ".join(f"{it.get('after')}: {', '.join(it.get('to', []))}" for it in value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _typed(key: str, own: str, field: Field) -> Any:
    """What the file is to say; None: nothing. Raises `WrongUsage` for what cannot be read."""
    given = st.session_state.get(f"{own} {key}")
    if field.is_flag:
        return given or None
    if field.is_many:
        return list(given or []) or ([] if field.default else None)
    text = (given or "").strip()
    if not text:
        return None
    if key in _LISTS:
        return _LISTS[key](text)
    return text


def _words(text: str) -> list[str]:
    return [it.strip() for it in text.split(",") if it.strip()]


def _absences(text: str) -> list[dict[str, date]]:
    try:
        spans = [it.split("/") for it in _words(text)]
        return [
            {"first": date.fromisoformat(first), "last": date.fromisoformat(last)}
            for first, last in spans
        ]
    except ValueError:
        raise WrongUsage(_("Write absences like 2026-12-21/2027-01-04.")) from None


def _steps(text: str) -> list[dict[str, Any]]:
    steps = [it.partition(":") for it in text.split(";") if it.strip()]
    return [{"after": after.strip(), "to": _words(to)} for after, _colon, to in steps]


_LISTS: Final[Mapping[str, Callable[[str], list[Any]]]] = {
    "assigned_as": _words,
    "away": _absences,
    "escalate": _steps,
}


def _save(
    path: Path, was: str, chosen: str, own: str, fields: Mapping[str, Field]
) -> acting.Feedback:
    """Saves what the form asked: of what it did not ask, nothing was typed."""
    name = acting.typed(f"{own} name")
    if chosen == NEW_RECIPIENT and not name:
        return acting.Feedback(_("A recipient needs a name."))
    said = editing.tables(was)
    place = _place(chosen, said, name)
    if chosen == NEW_RECIPIENT and name in said.get(RECIPIENTS, {}):
        return acting.Feedback(_("There is a recipient of that name."))
    if place[0] == ROUTES and "to" in fields and not _typed("to", own, fields["to"]):
        return acting.Feedback(choose_one())
    known = editing.table(said, place)

    def changed() -> tuple[str, list[str]]:
        given = {key: _typed(key, own, field) for key, field in fields.items()}
        new = {
            key: value
            for key, value in given.items()
            if _shown(key, value, fields[key]) != _shown(key, known.get(key), fields[key])
        }
        return editing.changed(was, place, new)

    return put(path, was, changed, own, formats.plain(name) if name else _named(chosen))


def choose_one() -> str:
    """What a route lacks that notifies nobody: the file's own reader refuses it in words of its
    own."""
    return _("Choose at least one recipient.")


def _remove(path: Path, was: str, chosen: str, own: str) -> acting.Feedback:
    place = _place(chosen, editing.tables(was))
    return put(path, was, partial(editing.removed, was, place), own, _named(chosen))


def sent_by(path: Path, was: str, after: AlertRules) -> dict[str, Sent]:
    """Who gets which open alerts by other settings than the file's. Raises `PrazoError`."""
    held = service.current()
    try:
        before = alert_rules.read_text(was, path)
    except PrazoError:  # what was read before is in force until the file is corrected
        before = people.rules()
    dues = due_in(held.reader.read(VIEW))  # not shared: thousands would displace what readers share
    return changing.sent_by(held.inbox, dues, before, after, held.now())


def words_of(sent: Mapping[str, Sent]) -> list[str]:
    """A sentence for each who gets open alerts by a change."""
    said = []
    for name, share in sent.items():
        names, parts = {"name": formats.plain(name)}, []
        if share.at_once:
            at_once = ngettext(
                "{n} open alert goes to {name} at once",
                "{n} open alerts go to {name} at once",
                share.at_once,
                n=formats.number(share.at_once),
                **names,
            )
            parts.append(at_once)
        if share.later:
            later = ngettext(
                "{n} open alert goes to {name} in working hours or with the digest",
                "{n} open alerts go to {name} in working hours or with the digest",
                share.later,
                n=formats.number(share.later),
                **names,
            )
            parts.append(later)
        said.append(_("Once this is saved, {alerts}.", alerts="; ".join(parts)))
    return said


def who_changed(since: int) -> str:
    """Who changed the file last since an instant, in microseconds, and when, as a sentence."""
    found = views.read(
        "log_entries",
        where={"kind": ALERT_SETTINGS, "step": "changed"},
        between={"occurred_at": (instants.naive(since), None)},
    )
    if not found:  # by an editor
        return _("Somebody has changed it meanwhile.")
    last = found[-1]
    who, at = last["actor"] or _("Somebody"), formats.minute(last["occurred_at"])
    return _("{who} has changed it meanwhile, {instant}.", who=formats.plain(who), instant=at)


def put(
    path: Path,
    was: str,
    changed: Callable[[], tuple[str, list[str]]],
    own: str,
    whose: str,
    said_of: Set[str] | None = None,
) -> acting.Feedback:
    """Checks the new text by the code that reads the file, and writes it, or hands it out.
    `whose`: the table in words. `said_of`: who the page has said gets open alerts by it; of others,
    it is said first, and the next press writes."""
    if not _is_admin():
        return acting.Feedback(_("Nothing was recorded: your role does not allow it any more."))
    actor = acting.actor_of(f"{own} actor")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    try:
        text, parts = changed()
        if not parts:
            return acting.Feedback(_("Nothing was changed."))
        rules = alert_rules.read_text(text, path)
        if editing.tables(was).get(RECIPIENTS):
            alert_rules.with_recipients(rules)
        sent = sent_by(path, was, rules)
    except PrazoError as error:
        return acting.Feedback("", error=error)
    warned = st.session_state.pop(WARNED, None)
    if not sent.keys() <= {*(said_of or ())} and warned != text:
        st.session_state[WARNED] = text  # what was said of another change says nothing of this one
        words = [*words_of(sent), _("Nothing is saved yet: press again to save it.")]
        return acting.Feedback("  \n".join(words), is_question=True)
    if (why := editing.cannot_write(path)) is not None:
        acting.own()[HANDED_OUT] = text
        return acting.Feedback(_("It was not written: {why}. The new text is above.", why=why))

    def note(step: Any) -> None:
        by = {"actor": actor, "recorded_by": acting.RECORDED_BY}
        service.current().inbox.append([alert_settings(step, parts, **by)])

    fault = acting.tried(partial(editing.write, path, was, text, note), actor)
    if fault is not None:
        if isinstance(fault, Overtaken):
            if said_of is not None:  # the page keeps the choice, beside what the file says now
                acting.remember_name(actor)  # it was typed for this, and is not asked for twice
                return acting.Feedback(
                    _(
                        "It is not saved yet: somebody has changed who is notified meanwhile. Look"
                        " at what they chose, and save again."
                    )
                )
            acting.own()[CHANGES] = "  \n".join(_changes(was, fault.now))
            acting.own()[DIFFERENCE] = fault.difference
            st.session_state[CHOSEN] = None  # its inputs show what was before
        return acting.Feedback("", error=fault)
    st.session_state[CHOSEN] = None
    st.session_state[SAVED] = st.session_state.get(SAVED, 0) + 1
    # Said at the foot: the form is gone, and `look` leads to what was changed.
    said = _("Saved: {name}. Whoever sends alerts goes by it within seconds.", name=whose)
    return acting.Feedback(said, is_done=True)


def lost(rules: AlertRules) -> Iterable[str]:
    """Which alerts would reach nobody, in one sentence; nothing where each reaches somebody."""
    found = rules.untold() if rules.recipients else []
    if found:
        alerts = ", ".join(map(formats.code, found))
        yield _("Nobody would be notified of {alerts}: no route takes them.", alerts=alerts)


def _hand_out(path: Path) -> None:
    """What was made for whoever has to write the file, or showed how it was changed meanwhile."""
    own = acting.own()
    if DIFFERENCE in own:
        st.markdown(_("How somebody changed the file meanwhile:"))
        st.markdown(own[CHANGES])
        with st.expander(_("The file, line by line")):
            st.code(own[DIFFERENCE], language="diff")
    if HANDED_OUT in own:
        st.markdown(_("The new text of {file}:", file=formats.code(str(path.name))))
        st.code(own[HANDED_OUT], language="toml")
    if DIFFERENCE in own or HANDED_OUT in own:
        st.button(_("I have seen it"), icon=":material/check:", on_click=_seen)


def _changes(was: str, now: str) -> Iterator[str]:
    """How two texts of the file differ in what the forms ask, a line for each value, as Markdown;
    of all else, that there is more."""
    before, after = editing.tables(was), editing.tables(now)
    for place in _places(before, after):
        old, new = editing.table(before, place), editing.table(after, place)
        name = _name_of(place)
        if not new and old:
            yield _("{name}: removed", name=name)
        for key, field in _FIELDS[place[0]].items() if new else ():
            one, other = (_said(key, it.get(key), field) for it in (old, new))
            if one != other:
                label = _(field.label)
                yield _("{name}, {what}: {old} → {new}", name=name, what=label, old=one, new=other)
    asked = {RECIPIENTS, ROUTES, HOURS}
    left, left_now = (
        {key: it for key, it in said.items() if key not in asked} for said in (before, after)
    )
    if left != left_now:
        yield _("Other settings: see the file, line by line.")


def _places(*said: Mapping[str, Any]) -> Sequence[Place]:
    """The tables of which forms ask, in any of these texts."""
    names = dict.fromkeys(name for it in said for name in it.get(RECIPIENTS, {}))
    routes = max(len(it.get(ROUTES, [])) for it in said)
    return [*((RECIPIENTS, it) for it in names), *((ROUTES, n) for n in range(routes)), (HOURS,)]


def _name_of(place: Place) -> str:
    if len(place) == 1:
        return _("Working hours")
    table, which = place
    return _("Route {n}", n=int(which) + 1) if table == ROUTES else formats.plain(which)


def _said(key: str, value: Any, field: Field) -> str:
    """A value of the file in words; a dash for none."""
    shown = _shown(key, value, field)
    if isinstance(shown, bool):
        return _("yes") if shown else _("no")
    if isinstance(shown, str):
        return formats.plain(shown) or "–"
    options = field.options or (*GROUPS,)
    return ", ".join(option(options, it) for it in shown) or "–"


def _seen() -> None:
    for name in (CHANGES, DIFFERENCE, HANDED_OUT):
        acting.own().pop(name, None)
