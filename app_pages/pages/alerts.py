"""Alerts: what is due, who was notified, who sees to it; what was not delivered, in red."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

import streamlit as st

from app_pages.desk import (
    alert_routes,
    alert_settings,
    casework,
    clearances,
    mailed,
    people,
    recording,
    saved,
)
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, formats, next_actions, occurrences, rulebook
from app_pages.language.i18n import N_, _, language, ngettext
from app_pages.parts import (
    acting,
    address,
    contents,
    elements,
    folds,
    links,
    lists,
    seller_names,
    views,
)
from pipeline import alert_rules, conditions, instants
from pipeline.alert import hours
from pipeline.alert.acting import snooze
from pipeline.alert.messages.trial import try_channels
from pipeline.alert.summaries import reports as scheduled_reports
from pipeline.alert_rules import AlertRules
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.language import codes
from pipeline.log.kinds.calendar import calendar_revoked
from pipeline.serve import calendar
from pipeline.serve.roles import Permission

PAGE = Page(
    title=N_("Alerts"),
    icon="notifications",
    section=Section.DAILY,
    place=40,
    for_analysts=False,
)

MONDAY = "monday"
SNOOZES: dict[str, int] = {MONDAY: 0, "1": 1, "4": 4, "24": 24, "72": 72}  # hours
OPEN, TAKEN = "open", "taken"
IS_OPEN = {OPEN: True, TAKEN: False}
ALL, MINE = "all", "mine"
SENT = 50
WHO = "who"  # as an address has it, behind a `#`
NAME_CHARACTERS, STANDING_CHARACTERS = 36, 20  # in their columns; the card has the whole of both
NEW_CALENDAR = "address of the new calendar"


def standing(row: views.Row) -> str:
    """How far telling somebody of it has come, in a few words."""
    taken = []
    if row["acknowledged_at"] is not None:
        taken.append(_("{name} sees to it", name=row["acknowledged_by"] or "–"))
    if row["snoozed_until"] is not None:
        taken.append(_("waits until {instant}", instant=formats.minute(row["snoozed_until"])))
    if taken:
        return " · ".join(taken)
    if row["undelivered"]:
        return _("not delivered")
    return ", ".join(row["recipients"]) or _("nobody yet")


def _short_standing(row: views.Row) -> str:
    """The same where a column has room for some words: until when it was snoozed, and of who sees
    to it the name."""
    if (until := row["snoozed_until"]) is not None:
        is_today = formats.local(until).date() == formats.local(views.moment()).date()
        end = formats.clock_time(until) if is_today else formats.local_short_day(until)
        return _("snoozed to {end}", end=end)
    if row["acknowledged_at"] is not None:
        return row["acknowledged_by"] or "–"
    return standing(row)


def listed() -> lists.Listed:
    """What the list shows of each row."""
    severities = code_texts.by_code(codes.SEVERITIES)

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "severity": [severities[row["severity"]]],
            "kind": lists.cut(occurrences.alert_name(row["kind"]), NAME_CHARACTERS),
            "standing": lists.cut(_short_standing(row), STANDING_CHARACTERS),
            "assignee": row["assignee"] or "",
        }

    return lists.Listed(
        cells,
        {
            "severity": lists.coded(_("Severity"), codes.SEVERITIES, rulebook.SEVERITY_COLOURS, 82),
            "kind": lists.text(_("Alert"), 204),
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 100),
            "since": lists.instant(_("Due since"), 134),
            "standing": lists.text(_("Notified"), 114),
            "assignee": lists.text(_("Assigned to"), 88),
        },
        alt=_("Alerts, most severe first, taken and snoozed ones last"),
    )


def card(row: views.Row) -> None:
    """What an alert is about, who was told, and the forms by which somebody takes it."""
    since = _("Due since {instant}", instant=formats.minute(row["since"]))
    chips = [rulebook.chip(row["severity"])]
    if row["undelivered"]:
        chips.append(formats.badge(_("not delivered"), "red"))
    if row["process_id"] is not None:
        chips.append(elements.cell(row, "process_id"))
    st.markdown(" ".join([*chips, formats.muted(since)]))
    st.header(formats.plain(occurrences.alert_name(row["kind"])), anchor=False)
    if row["seconds_to_deadline"] is not None:
        left = formats.time_left(row["seconds_to_deadline"])
        st.container(key="deadline").metric(
            _("Deadline"),
            left,
            formats.minute(row["deadline_at"]),
            delta_arrow="off",
            delta_color=code_texts.STATE_COLOURS[row["state"]],
        )
    condition = conditions.of_log().get(row["kind"])
    if condition is not None and condition.advice is not None:
        st.markdown(f":material/arrow_forward: **{formats.plain(_(condition.advice))}**")
    elif row["next_action"] is not None:
        st.markdown(f":material/arrow_forward: **{_next_step(row)}**")
    if row["raised_at"] is not None and casework.is_open():
        _take(row)
    if row["undelivered"]:
        st.error(
            _("Somebody should have been notified of it and was not: a deadline may pass unseen."),
            icon=":material/notification_important:",
        )
    said = formats.plain(standing(row))
    if not row["is_open"]:
        st.markdown(said)
    elif not row["undelivered"]:
        st.markdown(_("Notified: {names}", names=said))
    links.to_process(row["process_id"])
    seller = row["seller_id"]
    links.to_seller(seller, is_named=True, name=seller_names.in_clear(seller))
    if row["raised_at"] is not None:
        _who_knows(row["alert_id"])


def _next_step(row: views.Row) -> str:
    """What to do next about an alert's process: to wait, or what stands in for that."""
    process = views.read_one("next_actions", where={"process_id": row["process_id"]})
    if process is None:  # an alert of another instant than its process
        return next_actions.either(row["next_action"])
    return _(next_actions.of(process).name)


def _who_knows(alert: str) -> None:
    """Who was told of it, by which channel and when."""
    sent = views.read("alerts_sent", where={"alert_id": alert})
    for row in sent:
        via = code_texts.word(codes.CHANNELS, row["via"])
        who = f"{formats.plain(row['recipient'] or _('nobody'))} · {formats.plain(via)}"
        if row["sent_at"] is not None:
            said = _("notified {instant}", instant=formats.minute(row["sent_at"]))
        else:
            said = formats.plain(row["answer"] or _("on its way"))
        st.markdown(formats.muted(f"{who} · {said}"))


def _take(row: views.Row) -> None:
    own = views.shown("alert_id", row["alert_id"])
    deadline_at = row["deadline_at"] if (row["seconds_to_deadline"] or 0) > 0 else None
    in_time = [it for it in SNOOZES if not _is_too_late(it, deadline_at)]
    first = in_time[0] if in_time else min(SNOOZES, key=_until)
    # Not in a popover: from the bell it is the row, and this button, which a laptop's window shows.
    with st.form(f"snooze {own}", border=False):
        st.selectbox(
            _("Until when?"),
            list(SNOOZES),
            index=list(SNOOZES).index(first),
            format_func=partial(_snooze_end, deadline_at=deadline_at),
            key=f"snooze_hours {own}",
            label_visibility="collapsed",
        )
        st.text_input(_("Why can it wait?"), key=f"snooze_reason {own}")
        acting.say_at(f"snooze_reason {own}")
        _submit("snooze", _("Snooze"), _snooze, row, own, icon=":material/snooze:")
    if row["acknowledged_at"] is None:
        place = folds.popover(_("Take it"), icon=":material/check:", key=f"see {own}")
        if place is not None:
            label = _("Record it: nobody else is notified")
            with place, st.form(f"acknowledge {own}", border=False):
                _submit("acknowledge", label, _acknowledge, row, own)


def _until(code: str) -> int:
    now = service.current().now()
    if code == MONDAY:
        return hours.next_monday(people.rules().hours, now)
    return now + SNOOZES[code] * instants.HOUR


def _is_too_late(code: str, deadline_at: datetime | None) -> bool:
    """Whether a deadline that is ahead, naive UTC, passes before an alert comes back."""
    return deadline_at is not None and instants.naive(_until(code)) > deadline_at


def _snooze_end(code: str, deadline_at: datetime | None) -> str:
    if code == MONDAY:
        at = instants.naive(_until(code))
        said = _("until {day}, {instant}", day=formats.weekday(0), instant=formats.minute(at))
    else:
        said = _("for {time}", time=formats.seconds(SNOOZES[code] * 3600))
    if _is_too_late(code, deadline_at):
        return _("{when}: the deadline passes before that", when=said)
    return said


def _submit(
    what: str,
    label: str,
    act: Callable[[views.Row, str], acting.Feedback],
    row: views.Row,
    own: str,
    icon: str | None = None,
) -> None:
    press, actor = partial(act, row, own), f"{what}_actor {own}"
    acting.submit(f"{what} {own}", label, press, icon=icon, may=Permission.ANNOTATE, actor=actor)


def _acknowledge(row: views.Row, own: str) -> acting.Feedback:
    actor = acting.actor_of(f"acknowledge_actor {own}")
    return recording.take_alerts([row["alert_id"]], actor, _recorded(row, None, ""))


def _snooze(row: views.Row, own: str) -> acting.Feedback:
    if (lacking := acting.missing(f"snooze_reason {own}", f"snooze_actor {own}")) is not None:
        return lacking
    actor, why = acting.actor_of(f"snooze_actor {own}"), acting.typed(f"snooze_reason {own}")
    until = _until(acting.typed(f"snooze_hours {own}"))
    taken_at: dict[str, int] = {}

    def act() -> None:
        taken_at[row["alert_id"]] = snooze(
            service.current().inbox,
            row["alert_id"],
            until=until,
            reason=why,
            actor=actor,
            recorded_by=acting.RECORDED_BY,
        )

    recorded = _recorded(row, acting.tried(act, actor), why)
    at = instants.of(until)
    if recorded.is_done:
        said = _(
            "Snoozed until {day}, {instant}: {what}.",
            day=formats.weekday(at.astimezone(formats.zone()).weekday()),
            instant=formats.minute(at.replace(tzinfo=None)),
            what=_named(row),
        )
        recorded = recorded._replace(text=said)
    return recorded._replace(
        empties=(f"snooze_reason {own}",),
        undo=partial(recording.take_back, "snoozed", taken_at, actor),
    )


def _recorded(row: views.Row, error: PrazoError | None, typed: str) -> acting.Feedback:
    if error is not None:
        return acting.Feedback("", error=error, kept=typed)
    return acting.Feedback(_("Recorded for {processes}.", processes=_named(row)), is_done=True)


def _named(row: views.Row) -> str:
    """An alert by its condition and its process, as Markdown."""
    process = row["process_id"] or ""
    about = [occurrences.alert_name(row["kind"]), views.shown("process_id", process)]
    return " ".join(formats.plain(it) for it in about if it)


def sent() -> None:
    """Who was told of what: the newest messages, with what the channel answered."""
    st.header(_("Messages sent"), anchor=False)
    rows = views.read("alerts_sent", limit=SENT)
    if not rows:
        st.markdown(_("Nobody has been notified of anything yet."))
        return
    lists.grid(
        [
            row
            | {
                "kind": occurrences.alert_name(row["kind"]) if row["kind"] else "",
                "recipient": row["recipient"] or _("nobody"),
                "via": code_texts.word(codes.CHANNELS, row["via"]),
                "answer": row["answer"] or (_("may have come twice") * row["may_be_doubled"]),
            }
            for row in rows
        ],
        {
            "first_tried_at": lists.instant(_("Tried first")),
            "sent_at": lists.instant(_("Accepted")),
            "recipient": lists.text(_("Recipient"), 120),
            "via": lists.text(_("Channel"), 90),
            "kind": lists.text(_("Alert"), 340),
            "process_id": lists.subject_id(_("Process")),
            "tries": lists.number(_("Tries"), 70),
            "answer": lists.text(_("Not accepted because")),
        },
        alt=_("Who was notified of what, the newest first"),
    )
    elements.say_if_cut("alerts_sent", rows, SENT, where={})


def settings(rules: AlertRules) -> None:
    """What is alarming and who is told, as the file says it."""
    with st.expander(_("The settings in force"), icon=":material/tune:"):
        st.table(
            {
                formats.plain(name): ", ".join(map(formats.code, values)) or "–"
                for name, values in rules.described().items()
            }
        )


def recipients(rules: AlertRules) -> None:
    """Who can be told, by which channels, with a way to try them."""
    contents.header(_("Who is notified"), WHO, None)
    if not rules.recipients:
        elements.empty(
            _("Nobody is notified of anything"),
            _(
                "Ask whoever runs Prazo to name recipients: see *The first alert* in the guide"
                " *Alerts*."
            ),
        )
        alert_settings.change()
        return
    seen_to = [_(alert_settings.OF_ROLES[it.role]) for it in rules.recipients.values()]
    st.table(
        {
            _("Recipient"): [formats.plain(it) for it in rules.recipients],
            _("Channels"): [_channels(it.channels) for it in rules.recipients.values()],
            **({_("Sees to"): seen_to} if alert_routes.go_by_roles(rules) else {}),
            _("Stand-in"): [formats.plain(it.stand_in or "–") for it in rules.recipients.values()],
        }
    )
    alert_routes.show(rules, may_act=casework.is_open())
    for sentence in alert_settings.lost(rules):
        st.warning(sentence, icon=":material/notification_important:")
    if not casework.is_open():
        return
    alert_settings.change()
    with st.form("trial", border=False):
        st.selectbox(_("Send a test message to"), list(rules.recipients), key="trial_to")
        press, icon = partial(_try, rules), ":material/send:"
        acting.submit("trial", _("Send it"), press, icon=icon, may=Permission.ANNOTATE)


def _channels(vias: Iterable[str]) -> str:
    return formats.plain(", ".join(code_texts.word(codes.CHANNELS, it) for it in vias))


def _try(rules: AlertRules) -> acting.Feedback:
    """Sends the test message; what became of it, channel by channel."""
    became = try_channels(rules, acting.typed("trial_to"))
    said = []
    for via, fault in became.items():
        channel = _channels([via])
        said.append(
            _("{channel}: sent", channel=channel)
            if fault is None
            else _("{channel}: {fault}", channel=channel, fault=formats.plain(fault))
        )
    is_done = not any(became.values())
    return acting.Feedback("  \n".join(said), is_done=is_done, is_shown=False)


def scheduled(rules: AlertRules) -> None:
    """The lists that are sent at set times: which, to whom and when."""
    subscribed = views.read("report_subscriptions")
    rules = scheduled_reports.with_subscriptions(rules, subscribed)
    if not rules.reports:
        return
    st.header(_("Scheduled reports"), anchor=False)
    reports = rules.reports.values()
    lists_of = [formats.code(it.filters or "–") for it in reports]
    saved_as = [it.saved and formats.plain(code_texts.masked(it.saved)) for it in reports]
    st.table(
        {
            _("Report"): [formats.plain(it) for it in rules.reports],
            _("List"): [name or listed for name, listed in zip(saved_as, lists_of, strict=True)],
            _("When"): [mailed.occasions(it) for it in reports],
            _("Recipient"): [formats.plain(", ".join(it.to)) for it in reports],
        }
    )
    if casework.is_open():
        mailed.end()


def calendars(rules: AlertRules) -> None:
    """Feeds of deadlines: who made which, with the forms that make and revoke one."""
    st.header(_("Calendars"), anchor=False)
    feeds = [it for it in views.read("calendar_feeds") if it["revoked_at"] is None]
    st.markdown(
        _("A program for calendars subscribes to a feed of deadlines: of one assignee, or of all.")
    )
    if feeds:
        st.table(
            {
                _("Calendar"): [formats.code(it["feed_id"]) for it in feeds],
                _("Deadlines of"): [formats.plain(it["assignee"] or _("all")) for it in feeds],
                _("Made"): [formats.minute(it["made_at"]) for it in feeds],
                _("By"): [formats.plain(it["actor"] or "–") for it in feeds],
            }
        )
    if not casework.is_open():
        return
    if NEW_CALENDAR in acting.own():
        st.warning(_("Whoever has this address reads the calendar. It is shown this once."))
        st.code(acting.own()[NEW_CALENDAR], language=None, wrap_lines=True)
        st.button(
            _("I have copied it"),
            icon=":material/check:",
            on_click=_forget_address,
        )
    with st.container(horizontal=True, gap="small"):
        _make_calendar(rules)
        if feeds:
            _revoke_calendar([it["feed_id"] for it in feeds])


def _forget_address() -> None:
    acting.own().pop(NEW_CALENDAR, None)


def _make_calendar(rules: AlertRules) -> None:
    icon = ":material/calendar_add_on:"
    place = folds.popover(_("New calendar"), icon=icon, key="calendar_making")
    if place is None:
        return
    with place, st.form("calendar_made", border=False):
        st.text_input(
            _("Deadlines of whom? Empty: of all"),
            max_chars=acting.MAX_NAME_CHARACTERS,
            key="calendar_assignee",
        )
        label, press = _("Make it and show its address"), partial(_made, rules)
        acting.submit(
            "calendar_made", label, press, may=Permission.ANNOTATE, actor="calendar_actor"
        )


def _made(rules: AlertRules) -> acting.Feedback:
    assignee, actor = acting.typed("calendar_assignee"), acting.actor_of("calendar_actor")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."), kept=assignee)
    held = service.current()

    def make() -> None:
        by = {"actor": actor, "recorded_by": acting.RECORDED_BY}
        secret = calendar.make(held.inbox, assignee=assignee or None, **by)
        address = calendar.address(held.settings, rules, secret.token, language())
        acting.own()[NEW_CALENDAR] = address

    if (error := acting.tried(make, actor)) is not None:
        return acting.Feedback("", error=error, kept=assignee)
    return acting.Feedback("", is_done=True, empties=("calendar_assignee",))


def _revoke_calendar(feeds: Sequence[str]) -> None:
    icon = ":material/event_busy:"
    place = folds.popover(_("Revoke a calendar"), icon=icon, key="calendar_revoking")
    if place is None:
        return
    with place, st.form("calendar_revoked", border=False):
        st.selectbox(_("Calendar"), feeds, key="calendar_chosen")
        label = _("Revoke it: its address is wrong from then on")
        acting.submit(
            "calendar_revoked", label, _revoked, may=Permission.ANNOTATE, actor="calendar_revoker"
        )


def _revoked() -> acting.Feedback:
    feed, actor = acting.typed("calendar_chosen"), acting.actor_of("calendar_revoker")
    said = _("Recorded for {processes}.", processes=formats.code(feed))
    by = {"actor": actor, "recorded_by": acting.RECORDED_BY}
    return acting.record(
        lambda: [calendar_revoked(feed, **by)], actor, acting.Feedback(said, is_done=True)
    )


def _counted(found: views.Facets, total: int) -> str:
    """How many alerts the list has, and how many of them the bell counts."""
    said = ngettext("{n} alert", "{n} alerts", total, n=formats.number(total))
    asked = address.asked_for("severity", codes.SEVERITIES) or codes.SEVERITIES
    pressing = sum(found.rows(severity=[it]) for it in codes.PRESSING if it in asked)
    info = total - pressing
    if not pressing or not info:
        return said
    to_act = _("{n} to act on", n=formats.number(pressing))
    rest = _("{n} only to know", n=formats.number(info))
    return f"{said}: {to_act}, {rest}"


clearances.show()
with lists.filters():
    with st.container(width="content"):
        saved.show("alerts")
    by_severity, by_taken = st.container(width="content"), st.container(width="content")
    with st.container(width="content"):
        whose = address.choice(_("Assigned to"), {ALL: _("Anybody"), MINE: _("Mine")}, "whose")
    with st.container(width=230):
        assignee = address.text(
            _("Assignee"), "assignee", placeholder=_("Assignee: part of the name"), width="stretch"
        )
names: Sequence[object] = people.mine() if whose == MINE else []
where: dict[str, Sequence[object]] = {
    "severity": address.asked_for("severity", codes.SEVERITIES),
    "is_open": [IS_OPEN[it] for it in address.asked_for("shown", IS_OPEN)],
    "assignee": names,
}
facets = views.Facets("alerts", where, views.filtered(contains={"assignee": assignee}))
# Only now is it known among which alerts each of these counts.
with by_severity:
    address.choices(
        _("Severity"),
        facets.numbered("severity", code_texts.by_code(codes.SEVERITIES)),
        "severity",
    )
with by_taken:
    address.choices(
        _("Shown"),
        facets.numbered("is_open", {OPEN: _("Not taken"), TAKEN: _("Taken or snoozed")}, IS_OPEN),
        "shown",
    )
if whose == MINE and not names:
    acting.ask_for_name("list")
else:
    lists.with_card(
        facets,
        listed(),
        card,
        counted=partial(_counted, facets),
        nothing_matches=_("No alert matches these filters"),
        when_empty=lambda: elements.empty_of_processes(
            _("Nothing is alarming"),
            _("Alerts appear here by themselves: deadlines that come near, breaches and silence."),
        ),
        beside_count=lambda: contents.link(_("Who is notified"), WHO),
    )
lists.about(
    _(
        "Most severe first, taken and snoozed ones last; each is sent once to those who must know"
        " in time."
    )
)
try:
    in_force = alert_rules.load(service.current().settings.alerts_file)
    recipients(in_force)
    sent()
    scheduled(in_force)
    settings(in_force)
    calendars(in_force)
    alert_settings.look(WHO)
except PrazoError as error:
    elements.say(error)
