"""Subscribes a recipient to a list that is sent by mail at set times, and ends it again."""

from urllib.parse import urlencode

import streamlit as st

from app_pages.desk import people
from app_pages.language import formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, address, compared, folds, views
from pipeline.alert import hours
from pipeline.alert.summaries.reports import is_reachable, subscription
from pipeline.alert_rules.reports import Report
from pipeline.log.kinds.report import report_step
from pipeline.serve.roles import Permission

DAYS = {
    "business": N_("every working day"),
    "weekly": N_("every week"),
    "month_end": N_("on a month's last working day"),
}
TIMES = tuple(f"{hour:02}:{minute}" for hour in range(6, 20) for minute in ("00", "30"))


def occasions(report: Report) -> str:
    """When a report is sent, in words."""
    if report.days != "weekly":
        return f"{_(DAYS[report.days])}, {report.at:%H:%M}"
    day = formats.weekday(hours.DAYS.index(report.weekday))
    return f"{_(DAYS['weekly'])} ({day}), {report.at:%H:%M}"


def subscribe() -> None:
    """The form that has what the Watchlist shows now sent by mail; nothing where nobody can get
    mail."""
    rules = people.rules()
    reached = [it for it in rules.recipients if is_reachable(rules, it)]
    if not reached:
        return
    with st.form("subscribe", border=True):
        st.text_input(
            _("Send this list by mail as"), key="report_name", max_chars=acting.MAX_NAME_CHARACTERS
        )
        acting.say_at("report_name")
        st.selectbox(_("Recipient"), reached, key="report_to")
        st.selectbox(_("When"), list(DAYS), format_func=_day_name, key="report_days")
        st.selectbox(
            _("Day of a weekly one"),
            hours.DAYS,
            format_func=lambda day: formats.weekday(hours.DAYS.index(day)),
            key="report_weekday",
        )
        st.selectbox(_("At"), TIMES, index=TIMES.index("08:00"), key="report_at")
        acting.submit(
            "subscribe", _("Schedule it"), _subscribe, may=Permission.ANNOTATE, actor="report_actor"
        )


def _subscribe() -> acting.Feedback:
    """Schedules what the page shows: its filters are in the address that it was pressed on."""
    name, actor = acting.typed("report_name"), acting.actor_of("report_actor")
    if (lacking := acting.missing("report_name", "report_actor")) is not None:
        return lacking
    asked = [it for it in address.filters() if it[0] != compared.WITH]
    said = {it: acting.typed(f"report_{it}") for it in ("days", "weekday", "at")}
    said["filters"] = urlencode(asked)
    to, by = acting.typed("report_to"), {"actor": actor, "recorded_by": acting.RECORDED_BY}
    # The page Alerts lists it: here nothing else would say that it is scheduled.
    text = _("Recorded for {processes}.", processes=formats.plain(name))
    done = acting.Feedback(text, is_done=True, is_shown=False, empties=("report_name",))
    return acting.record(
        lambda: [subscription(people.rules(), name, to, **by, **said)], actor, done, kept=name
    )


def _day_name(code: str) -> str:
    return _(DAYS[code])


def end() -> None:
    """The form that ends a report to which somebody subscribed; nothing where there is none."""
    names = _names()
    if not names:
        return
    place = folds.popover(_("End a report"), icon=":material/unsubscribe:", key="report_ending")
    if place is None:
        return
    with place, st.form("end_report", border=False):
        st.selectbox(_("Report"), names, key="report_to_end")
        acting.submit(
            "end_report",
            _("It is not sent any more"),
            _end,
            may=Permission.ANNOTATE,
            actor="report_ender",
        )


def _names() -> list[str]:
    return [row["report_name"] for row in views.read("report_subscriptions")]


def _end() -> acting.Feedback:
    name, actor = acting.typed("report_to_end"), acting.actor_of("report_ender")
    if not actor:
        return acting.Feedback(_("A name is needed: it goes into the log."))
    acting.catch_up()
    said = _("Not sent any more: {report}.", report=formats.plain(name))
    done = acting.Feedback(said, is_done=True)
    if name not in _names():  # somebody else has ended it
        return done
    by = {"actor": actor, "recorded_by": acting.RECORDED_BY}
    return acting.record(lambda: [report_step("ended", name, **by)], actor, done)
