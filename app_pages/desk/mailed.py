"""Subscribes a recipient to a list that is sent by mail at set times, and ends it again."""

from urllib.parse import urlencode

import streamlit as st

from app_pages.desk import people
from app_pages.language import formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, address, compared, views
from pipeline.alert import hours
from pipeline.alert.reports import is_reachable, subscription
from pipeline.alert_rules.reports import Report
from pipeline.ledger import service
from pipeline.log.actions import report_step

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
    with st.form("subscribe", border=True, clear_on_submit=True):
        name = st.text_input(
            _("Send this list by mail as"), key="report_name", max_chars=acting.MAX_NAME_CHARACTERS
        )
        to = st.selectbox(_("To"), reached, key="report_to")
        days = st.selectbox(_("When"), list(DAYS), format_func=_day_name, key="report_days")
        weekday = st.selectbox(
            _("Day of a weekly one"),
            hours.DAYS,
            format_func=lambda day: formats.weekday(hours.DAYS.index(day)),
            key="report_weekday",
        )
        time = st.selectbox(_("At"), TIMES, index=TIMES.index("08:00"), key="report_at")
        actor = acting.name_of_reader("report_actor")
        if not st.form_submit_button(_("Schedule it")):
            return
        if not name.strip() or not actor.strip():
            st.warning(_("A text and a name are needed: both go into the log."))
            return
        asked = [it for it in address.filters() if it[0] != compared.WITH]
        said = {"days": days, "weekday": weekday, "at": time, "filters": urlencode(asked)}
        by = {"actor": actor.strip(), "recorded_by": acting.RECORDED_BY}
        if acting.done(
            lambda: service.current().inbox.append([subscription(rules, name, to, **by, **said)]),
            actor,
        ):
            st.rerun()


def _day_name(code: str) -> str:
    return _(DAYS[code])


def end() -> None:
    """The form that ends a report to which somebody subscribed; nothing where there is none."""
    names = [row["report_name"] for row in views.read("report_subscriptions")]
    if not names:
        return
    with (
        st.popover(_("End a report"), icon=":material/unsubscribe:"),
        st.form("end_report", border=False),
    ):
        chosen = st.selectbox(_("Report"), names, key="report_to_end")
        actor = acting.name_of_reader("report_ender")
        if st.form_submit_button(_("It is not sent any more")):
            draft = report_step(
                "ended", chosen, actor=actor.strip(), recorded_by=acting.RECORDED_BY
            )
            if acting.done(lambda: service.current().inbox.append([draft]), actor):
                st.rerun()
