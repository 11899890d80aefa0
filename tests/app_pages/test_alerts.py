"""Alerts: what is due and who was told, and the forms by which somebody takes one."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.parts import acting, views
from pipeline import instants
from pipeline.alert import entries, hours
from pipeline.alert.entries import Due, Item, Subject, Try
from pipeline.continuity.service import LedgerService
from pipeline.ledger.views.reader import Reader
from pipeline.log.actions import action
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.answers import ask_again
from tests.app_pages.support.occurrences import Occurrence, before, review
from tests.app_pages.support.reading import BELL, all_links, links, page_text, press, table

# An inconsistency whose deadline is in two days, and one that expired a day ago.
SNOOZED = r"Snoozed until Monday, .*, 08:00: EXPIRED · deadline passed prc_late\."
HISTORY = [
    review("prc_soon", before(days=28)),
    review("prc_late", before(days=31)),
]


def test_what_is_due_is_listed_the_gravest_first_and_filtered_by_severity(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("alerts")
        graver = visit("alerts", severity="breach").dataframe[0].value
    grid = app.dataframe[0].value
    assert list(grid["process_id"]) == ["prc_late", "prc_soon"]
    assert list(grid["kind"]) == ["EXPIRED · deadline passed", "Less than 3 days left"]
    assert list(grid["standing"]) == ["nobody yet", "nobody yet"]
    assert "2 alerts" in page_text(app)
    assert list(graver["process_id"]) == ["prc_late"]
    [deadline] = app.metric
    assert deadline.value == "1 day late"
    assert deadline.proto.color == deadline.proto.RED  # as everywhere; it was green


def test_a_name_that_has_no_room_in_the_list_is_cut_with_a_sign_and_whole_on_the_card(
    open_log: OpenLog, visit: Visit
) -> None:
    elsewhere = review("prc_soon", before(days=28), status="FINISHED", at=before(days=1))
    with open_log([review("prc_soon", before(days=28)), elsewhere]):
        app = visit("alerts")
    assert list(app.dataframe[0].value["kind"]) == ["Finished without an accepted submis…"]
    assert "Finished without an accepted submission from us" in page_text(app)


@pytest.mark.long
def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("alerts", severity="breach")
    assert app.pills(key="severity").options == ["Breach (1)", "Risk (1)", "Info (0)"]
    assert app.pills(key="shown").options == ["Not taken (1)", "Taken or snoozed (0)"]


def test_two_filters_by_who_sees_to_an_alert_have_two_names(
    open_log: OpenLog, visit: Visit
) -> None:
    """In Portuguese both were "Responsável", side by side: anyone who hears them could not tell."""
    with open_log(HISTORY):
        app = visit("alerts", lang="pt")
    assert app.segmented_control(key="whose").label == "Responsável"
    assert app.text_input(key="assignee").label == "Nome do responsável"


def bell(app: AppTest) -> list[str]:
    return [label for label, query in all_links(app) if query.startswith(BELL)]


@pytest.mark.usefixtures("bell")
def test_the_bell_says_how_many_wait_for_the_reader(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """Bia is called otherwise in assignments; Caio has nothing to see to. What is Bia's led to all
    alerts, among which she had to look for it."""
    file = tmp_path / "alerts.toml"
    file.write_text(
        """
        [mail]
        host = "mail.market.example"
        sender = "prazo@market.example"
        [recipients.bia]
        email = "bia@market.example"
        assigned_as = ["Beatriz Lima"]
        """
    )
    hers = action(
        "assignment",
        reason="hers",
        actor="eva",
        recorded_by="test",
        process_id="prc_soon",
        assignee="beatriz lima",
    )
    with open_log(HISTORY, alerts_file=file) as service:
        service.inbox.append([hers._replace(occurred_at=instants.from_datetime(before(days=27)))])
        follow(service)
        app = visit("findings")
        assert bell(app) == ["2 to act on"]
        app.session_state[acting._NAME] = "bia"
        assert bell(app.run()) == ["2 to act on", "1 on processes of yours"]
        assert ("1 on processes of yours", "shown=open&whose=mine") in all_links(app)
        app.session_state[acting._NAME] = "Caio"
        assert bell(app.run()) == ["2 to act on"]

        page = visit("alerts", shown="open", whose="mine")
        assert "Your name" in page_text(page)
        assert all("process_id" not in it.value for it in page.dataframe)
        page.session_state[acting._NAME] = "bia"
        assert list(page.run().dataframe[0].value["process_id"]) == ["prc_soon"]
        assert "Not taken (1)" in page.pills(key="shown").options


@pytest.mark.usefixtures("bell")
def test_the_bell_counts_what_presses_and_leads_to_just_that(
    open_log: OpenLog, visit: Visit
) -> None:
    """What is only to be known is on the page, and in the digest."""
    with open_log([*HISTORY, review("prc_new", before(days=2))]):
        app = visit("findings")
        assert bell(app) == ["2 to act on"]
        [(_, query)] = [it for it in all_links(app) if it[0] == "2 to act on"]
        assert query == "shown=open&severity=breach&severity=risk"
        page = visit("alerts")
        assert "Info (1)" in page.pills(key="severity").options
        assert "3 alerts: 2 to act on, 1 only to know" in page_text(page)
        assert "only to know" not in page_text(visit("alerts", severity="notice"))


@pytest.mark.usefixtures("bell")
def test_the_bell_and_the_page_count_alerts_by_one_question(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asked the ledger once more for what the header had just counted."""
    asked, groups = list[str](), Reader.groups

    def noted(reader: Reader, view: str, *rest: Any, **named: Any) -> Any:
        asked.append(view)
        return groups(reader, view, *rest, **named)

    monkeypatch.setattr(Reader, "groups", noted)
    with open_log(HISTORY):
        ask_again()
        assert bell(visit("alerts")) == ["2 to act on"]
    assert asked == ["alerts"]


def test_without_recipients_the_page_says_that_nobody_hears_of_it(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("alerts", as_of="2026-05-14T12:00:00Z"))
    assert "Nothing is alarming" in shown
    assert "Nobody is notified of anything" in shown


def test_recipients_stand_on_the_page_with_their_channels(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(
        """
        [mail]
        host = "mail.market.example"
        sender = "prazo@market.example"
        [recipients.ana]
        email = "ana@market.example"
        """
    )
    with open_log(HISTORY, alerts_file=file):
        shown = page_text(visit("alerts"))
    assert "ana" in shown
    assert "e-mail" in shown  # in words, as in the list of what was sent
    for rule in ("before_15d", "watch.lag_minutes", "to: assignee", "Nobody has been notified"):
        assert rule in shown
    assert "Nobody is notified of anything" not in shown


def test_a_route_says_by_name_whom_it_reaches_and_of_what(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """ "officer" stood there, and "role"."""
    file = tmp_path / "alerts.toml"
    file.write_text(
        """
        [mail]
        host = "mail.market.example"
        sender = "prazo@market.example"
        [recipients.ana]
        email = "ana@market.example"
        [recipients.bia]
        email = "bia@market.example"
        [recipients.eva]
        email = "eva@market.example"
        role = "admin"
        [[routes]]
        to = ["assignee", "role"]
        roles = ["officer"]
        escalate = [{after = "4h", to = ["eva"]}]
        [[routes]]
        to = ["role"]
        """
    )
    with open_log(HISTORY, alerts_file=file):
        app = visit("alerts")
    assert [it[2] for it in table(app, "Recipient")] == [
        "reviews and their deadlines",
        "reviews and their deadlines",
        "how Prazo runs",
    ]
    assert table(app, "Route") == [
        ["1", "reviews and their deadlines", "who has the review, ana, bia", "after 4 h: eva"],
        ["2", "all", "ana, bia, eva", "–"],
    ]


def test_a_calendar_is_made_shown_once_and_revoked(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text('dashboard_url = "https://prazo.market.example"')

    with open_log(HISTORY, alerts_file=file) as service:
        app = visit("alerts", as_of=None)
        app.text_input(key="calendar_assignee").set_value(" Ana Lima ")
        app.text_input(key="calendar_actor").set_value("Eva")
        press(app, "Make it and show its address")
        [shown] = [it.value for it in app.code if "/calendar/" in it.value]
        [feed] = service.reader.read("calendar_feeds").to_pylist()
        token = shown.removeprefix("https://prazo.market.example/calendar/").removesuffix(".ics")
        assert hashlib.sha256(token.encode()).hexdigest() == feed["token_sha256"]
        assert (feed["assignee"], feed["actor"]) == ("Ana Lima", "Eva")
        press(app, "I have copied it")
        assert token not in page_text(app)
        assert feed["feed_id"] in page_text(app)

        app.text_input(key="calendar_assignee").set_value("")
        press(app, "Make it and show its address")
        [shown] = [it.value for it in app.code if "/calendar/" in it.value]
        press(app, "I am somebody else")
        assert shown not in page_text(app)  # nor once they say that they are the first again
        app.text_input(key="name header").set_value("Eva")
        press(app, "That is me")
        assert shown not in page_text(app)
        other = next(it for it in service.reader.read("calendar_feeds").to_pylist() if it != feed)
        app.selectbox(key="calendar_chosen").set_value(other["feed_id"])
        press(app, "Revoke it: its address is wrong from then on")

        press(app, "I am somebody else")
        press(app, "Revoke it: its address is wrong from then on")
        assert "A name is needed" in page_text(app)
        app.text_input(key="calendar_revoker").set_value("Bia")
        press(app, "Revoke it: its address is wrong from then on")
        feeds = service.reader.read("calendar_feeds").to_pylist()
        [feed] = [it for it in feeds if it["feed_id"] == feed["feed_id"]]
        assert feed["revoked_by"] == "Bia"
        assert f"Recorded for {feed['feed_id']}." in page_text(app)
        assert "Revoke it: its address is wrong from then on" not in [it.label for it in app.button]


def test_what_was_sent_stays_on_the_page_with_what_the_channel_answered(
    open_log: OpenLog, visit: Visit
) -> None:
    due = Due("a1", "before_3d", "risk", "officer", 0, process_id="prc_1")
    subject, now = Subject(process_id="prc_1"), instants.now()
    made = Try(Item(due, level=0, number=1), "ana", "email", "m")
    with open_log([]) as service:
        service.inbox.append(
            [
                entries.raised(due, subject, now),
                entries.tried(made, subject, now),
                entries.answered(made, subject, now, fault="550 mailbox full"),
            ]
        )
        follow(service)
        [grid] = [it.value for it in visit("alerts", as_of=None).dataframe]
    [row] = grid.to_dict("records")
    assert (row["recipient"], row["via"], row["kind"]) == ("ana", "e-mail", "Less than 3 days left")
    assert (row["answer"], row["tries"]) == ("550 mailbox full", 1)


def test_an_alert_is_put_off_by_its_card_though_somebody_has_taken_it_meanwhile(
    open_log: OpenLog, visit: Visit
) -> None:
    """What is refused keeps the text; what is recorded is said where the card is gone."""
    late_since = datetime.now(UTC) - timedelta(days=31)
    with open_log([review("prc_late", late_since)]) as service:
        at = instants.now()
        [late] = service.reader.read("alerts", as_of=at).to_pylist()
        subject = Subject(process_id=late["process_id"], seller_id="sel_ana")
        level = Due(late["alert_id"], late["kind"], late["severity"], "officer", 0)
        made = Try(Item(level, level=0, number=1), "eva", "email", "m")
        raised = [entries.raised(level, subject, at), entries.tried(made, subject, at)]
        service.inbox.append(raised)
        follow(service)
        views.forget_answers()
        app = visit("alerts", as_of=None, shown="open")
        own = late["alert_id"]
        there = visit("process", as_of=None, process="prc_late")  # to which a message leads
        assert "Take 1 alert" not in {it.label for it in there.button}
        there.session_state[acting._NAME] = "Bia"
        assert "Take 1 alert" in {it.label for it in there.run().button}
        # It said in English that the request cannot be met like this, on a Portuguese page, too.
        press(app, "Snooze")
        assert "Fill this in: it goes into the log." in page_text(app)
        app.text_input(key=f"snooze_reason {own}").set_value("the seller is ill")
        press(app, "Snooze")
        assert "A name is needed: it goes into the log." in page_text(app)
        assert app.text_input(key=f"snooze_reason {own}").value == "the seller is ill"
        taken = entries.acknowledged(own, subject, actor="Eva", recorded_by="test", reason=None)
        service.inbox.append([taken])
        follow(service)
        app.text_input(key=f"snooze_actor {own}").set_value("Bia")
        shown = page_text(visit("alerts", as_of=None, lang="pt"))
        assert "Em alerta desde" in shown
        assert "eva · e-mail · " in shown
        press(app, "Snooze")
        assert re.search(SNOOZED, page_text(app)), "it did not say until when"
        there.button(key="acknowledge prc_late").click().run()  # it thought that it was Bia's
        assert "Nothing was recorded: Eva has seen to it since" in page_text(there)
        assert len(service.inbox.find(kind="alert")) == 4
        # One who sees to it puts it off all the same, and the page had no trace of it.
        app = visit("alerts", as_of=None, shown="taken")
        [short] = app.dataframe[0].value["standing"]
        assert re.fullmatch(r"snoozed to (\d+ \w+|08:00)", short)
        assert "Eva sees to it · waits until " in page_text(app)
        steps = service.reader.read("timeline", where={"process_id": "prc_late"}).to_pylist()
        assert "Bia" in [row["actor"] for row in steps]


def test_an_alert_names_its_process_and_seller_and_is_not_put_off_past_a_deadline_unsaid(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two hours left, one was put off for six days: that was what the form began with."""
    app, until = _snoozing(timedelta(hours=6), open_log, visit, monkeypatch)
    [due] = [it.value for it in app.markdown if "Due since" in it.value]
    led = links(app)
    assert until.value == "1"
    assert [it.endswith(": the deadline passes before that") for it in until.options] == [
        True,  # until Monday
        False,  # for 1 hour
        False,  # for 4 hours
        True,  # for 24 hours
        True,  # for 72 hours
    ]
    assert "prc_soon" in due
    assert ("sel_ana", "seller_id=sel_ana") in led


def test_where_each_pause_ends_past_the_deadline_the_shortest_is_offered_first(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With half an hour left, the form began with Monday."""
    _app, until = _snoozing(timedelta(minutes=30), open_log, visit, monkeypatch)
    assert until.value == "1"
    assert all(it.endswith(": the deadline passes before that") for it in until.options)


@pytest.mark.long
def test_whoever_puts_an_alert_off_is_not_asked_for_their_name_again(
    open_log: OpenLog, visit: Visit
) -> None:
    """Every alert that was put off asked for it once more, and so did what was recorded next."""
    history = [
        review("prc_late", datetime.now(UTC) - timedelta(days=31)),
        review("prc_later", datetime.now(UTC) - timedelta(days=28)),
    ]
    with open_log(history) as service:
        late, _later = service.reader.read("alerts", as_of=instants.now()).to_pylist()
        raised = Due(late["alert_id"], late["kind"], late["severity"], "officer", 0)
        subject = Subject(process_id="prc_late", seller_id="sel_ana")
        service.inbox.append([entries.raised(raised, subject, instants.now())])
        follow(service)
        views.forget_answers()
        app, own = visit("alerts", as_of=None, shown="open"), late["alert_id"]
        app.text_input(key=f"snooze_reason {own}").set_value("the seller is ill")
        app.text_input(key=f"snooze_actor {own}").set_value("Bia")
        press(app, "Snooze")
        assert re.search(SNOOZED, page_text(app)), "it did not say until when"
        # Beside *Undo*, for as long as that is there: it stood in the card alone.
        assert re.search(SNOOZED, page_text(app.run()))
        assert app.session_state[acting._NAME] == "Bia"
        _later, both = service.reader.read("alerts").to_pylist()  # it stood first, as a breach
        until = both["snoozed_until"].replace(tzinfo=UTC)
        assert timedelta() < until - datetime.now(UTC) <= timedelta(days=7)
        assert until.astimezone(ZoneInfo("America/Sao_Paulo")).strftime("%a %H:%M") == "Mon 08:00"
        # A slip: it is taken back in a moment, and so is taking the alert.
        press(app, "Undo")
        both, _later = service.reader.read("alerts").to_pylist()
        assert (both["snoozed_until"], both["is_open"]) == (None, True)
        press(app, "Record it: nobody else is notified")
        _later, both = service.reader.read("alerts").to_pylist()
        assert both["acknowledged_by"] == "Bia"
        press(app, "Undo")
        both, _later = service.reader.read("alerts").to_pylist()
        assert (both["acknowledged_by"], both["is_open"]) == (None, True)


def _due_in(left: timedelta) -> Occurrence:
    """A review whose 30 days end so soon."""
    return review("prc_soon", datetime.now(UTC) - timedelta(days=30) + left)


def _snoozing(
    left: timedelta, open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> tuple[AppTest, Any]:
    """The page with the alert of a review whose deadline comes so soon, and for how long the alert
    can be put off there; until Monday are three days."""
    monkeypatch.setattr(hours, "next_monday", lambda _hours, now: now + 3 * instants.DAY)
    with open_log([_due_in(left)]) as service:
        own = _raise_the_alert(service)
        app = visit("alerts", as_of=None, shown="open")
        return app, app.selectbox(key=f"snooze_hours {own}")


def _raise_the_alert(service: LedgerService) -> str:
    """Has the one alert of the log raised; its id."""
    [soon] = service.reader.read("alerts", as_of=instants.now()).to_pylist()
    raised = Due(soon["alert_id"], soon["kind"], soon["severity"], "officer", 0)
    subject = Subject(process_id="prc_soon", seller_id="sel_ana")
    service.inbox.append([entries.raised(raised, subject, instants.now())])
    follow(service)
    views.forget_answers()
    return soon["alert_id"]
