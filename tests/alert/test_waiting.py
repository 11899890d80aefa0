"""What waits is sent in the end: over a real log and its views, with a clock that tests move."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline import instants
from pipeline.alert import acting, decision, entries, recording
from pipeline.alert.alarms import Alarm
from pipeline.alert.decision import Message
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages import transport
from pipeline.alert.summaries.digest import Process
from pipeline.alert_rules import AlertRules
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, InboxUnavailable
from pipeline.inbox.store import Receipt
from pipeline.ledger.views.reader import Reader
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from pipeline.log.ndjson import read_line
from pipeline.serve.due_alerts import OPEN_VIEW, due_in, processes_in
from tests.alert.asked import Bare
from tests.alert.test_decision import ANA, MAIL, at
from tests.support.events import review
from tests.support.stores import in_use, settings_in

DEADLINE = "2026-04-03T20:00:00Z"
"""On a Friday, at five in the afternoon of São Paulo."""
OPENED = at(DEADLINE) - 30 * instants.DAY


class Desk(Bare):
    """One inconsistency, a ledger that is asked for any instant, and what recipients got."""

    def __init__(self, folder: Path, rules: AlertRules) -> None:
        self.service = LedgerService(settings_in(folder))
        self.rules = rules
        self.now = OPENED
        self.got: list[tuple[str, str]] = []  # (recipient, kind)
        self.fault: str | None = None
        self.start()

    @property
    def inbox(self) -> Any:
        return self.service.inbox

    def start(self) -> None:
        """Another process: it knows what the log says."""
        self.dispatcher = Dispatcher(self.inbox, self, lambda: self.rules, now=lambda: self.now)

    def look(self, when: str) -> None:
        self.now = at(when)
        self.dispatcher.run_once()

    def look_beside_another(self, when: str) -> list[tuple[str, str]]:
        """What another process would send that was started just now; then this one looks."""
        self.now, messages = at(when), list[Message]()
        another = Dispatcher(self.inbox, self, lambda: self.rules, now=lambda: self.now)
        another.turn(lambda some, *_: messages.extend(some))
        self.dispatcher.run_once()
        return [(it.to, item.due.kind) for it in messages for item in it.items]

    def send(self, message: Message, *_: object) -> str | None:
        self.got += [(message.to, item.due.kind) for item in message.items]
        return self.fault

    def known(self) -> list[Alarm]:
        """What the log says of each alert."""
        self.dispatcher._read_on()
        return [*self.dispatcher._alarms.values()]

    # --- its ledger ---

    def due(self) -> list[Due]:
        return self._rows("alerts")

    def new(self) -> list[Due]:
        return self._rows("new_alerts")

    def open_processes(self) -> list[Process]:
        return processes_in(self._read(OPEN_VIEW))

    def _rows(self, view: str) -> list[Due]:
        return due_in(self._read(view))

    def _read(self, view: str) -> pa.Table:
        self.service.catch_up()
        reader = Reader(self.service.reader._ledger, alert_rules=self.rules.for_views)
        return reader.read(view, as_of=self.now)


@pytest.fixture(scope="module")
def once_followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores with the one inconsistency."""
    folder = tmp_path_factory.mktemp("stores")
    event = review(process_id="p1", customer_id="s1", status="OVERDUE", deadline_at=DEADLINE)
    with closing(LedgerService(settings_in(folder))) as service:
        service.inbox.append([delivery(event, occurred_at=OPENED, recorded_by="webhook")])
        service.catch_up()
    return folder


@pytest.fixture
def desk(once_followed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    rules = AlertRules.model_validate(
        {
            "mail": MAIL,
            "recipients": {"ana": ANA | {"info_at_once": True}},
            "look_back_days": 1,
            "ladder": {"opened": [], "before": ["7d"], "expired": True},
        }
    )
    shutil.copytree(once_followed, tmp_path, dirs_exist_ok=True)
    in_use(tmp_path / "inbox.db")
    made = Desk(tmp_path, rules)
    monkeypatch.setattr(transport, "send", made.send)
    with closing(made.service):
        yield made


def test_what_is_raised_on_friday_evening_is_sent_on_monday_morning_also_after_a_restart(
    desk: Desk,
) -> None:
    """With a look-back of a day it was lost on Saturday evening, without a word."""
    desk.look("2026-03-27T22:00:00Z")
    assert desk.got == []
    for when in ("2026-03-29T20:00:00Z", "2026-03-30T10:59:59Z"):
        desk.look(when)
    assert desk.got == []
    after_a_restart = desk.look_beside_another("2026-03-30T11:00:00Z")
    assert after_a_restart == desk.got == [("ana", "before_7d")]


def test_what_is_put_off_beyond_the_look_back_is_sent_after_that_also_after_a_restart(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk.inbox, "clock", lambda: desk.now)
    desk.look("2026-04-03T20:00:00Z")
    assert desk.got == [("ana", "expired")]
    [expired] = desk.due()
    who = {"actor": "ana", "recorded_by": "user:ana"}
    until = at("2026-04-22T12:00:00Z")
    acting.snooze(desk.inbox, expired.alert, until=until, reason="a court says so", **who)
    for when in ("2026-04-04T21:00:00Z", "2026-04-22T11:59:59Z"):
        desk.look(when)
    assert len(desk.got) == 1
    after_a_restart = desk.look_beside_another("2026-04-22T12:00:00Z")
    assert after_a_restart == [("ana", "expired")]
    assert desk.got == [("ana", "expired")] * 2


def test_nobody_puts_an_alert_off_for_longer_than_it_is_remembered(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk.inbox, "clock", lambda: desk.now)
    desk.look("2026-04-03T20:00:00Z")
    [expired] = desk.due()
    who = {"actor": "ana", "recorded_by": "user:ana", "reason": "why not"}
    desk.now = at("2026-04-10T20:00:00Z")
    with pytest.raises(CallerError) as refused:
        acting.snooze(desk.inbox, expired.alert, until=at("2026-06-02T20:00:01Z"), **who)
    assert refused.value.why == (
        "it can be put off for 60 days from when it was raised, which is until 2026-06-02T20:00:00Z"
    )
    acting.snooze(desk.inbox, expired.alert, until=at("2026-06-02T20:00:00Z"), **who)


@pytest.mark.parametrize("were_alerts_sent_before", [True, False])
def test_who_begins_to_send_again_says_which_deadlines_passed_however_long_ago(
    desk: Desk, were_alerts_sent_before: bool
) -> None:
    """Longer than the look-back, it was never told. What is older than all alerts is history."""
    if were_alerts_sent_before:
        desk.look("2026-03-27T20:00:00Z")
        assert desk.got == [("ana", "before_7d")]
    desk.start()
    desk.look("2026-04-20T12:00:00Z")
    desk.look("2026-04-20T13:00:00Z")
    expired = [("ana", "expired")] if were_alerts_sent_before else []
    assert desk.got[were_alerts_sent_before:] == expired


def test_who_can_send_again_says_which_deadline_passed_however_long_ago_it_was_raised(
    desk: Desk,
) -> None:
    """The mail server was dead for longer than an alert is held, and nobody was told when it was
    back; nor where the process that sends died just after the entry."""
    desk.fault = "dead"
    desk.look(DEADLINE)
    desk.got, desk.fault = [], None
    desk.start()
    desk.look("2026-05-20T12:00:00Z")
    assert desk.got == [("ana", "expired")]
    assert desk.due() == []  # she knows of it


def test_waiting_is_no_longer_safe_however_long_ago_the_rung_was_reached(desk: Desk) -> None:
    """Nothing was said while it was the seller's turn, and then the look-back was over."""
    first = Due("another", "expired", "breach", "officer", at("2026-03-27T12:00:00Z"))
    desk.inbox.append([entries.raised(first, Subject(), first.since)])
    for when in ("2026-03-27T19:00:00Z", "2026-03-29T19:00:00Z", "2026-03-31T12:00:00Z"):
        said = f'{{"kind":"collection","occurred_at":"{when}","process_id":"p1","seller_id":"s1",'
        said += '"journey_id":"j1","step":"invited","channel":"email","source":"seller"}'
        desk.inbox.append([read_line(said.encode(), recorded_by="file")])
        desk.look(when)
    desk.look("2026-03-31T19:59:59Z")
    assert desk.got == []
    desk.look("2026-03-31T20:00:01Z")
    assert desk.got == [("ana", "before_7d")]


def test_what_a_file_says_was_raised_is_not_raised_by_that(desk: Desk) -> None:
    """Anyone who ingests an old log is not written to about all of it."""
    desk.now = at("2026-04-03T20:00:00Z")
    [expired] = desk.due()
    said = f'{{"kind":"alert","occurred_at":"2026-04-03T20:00:00Z","alert":"{expired.alert}",'
    line = said + '"step":"raised","about":"expired","since":"2026-04-03T20:00:00Z"}'
    desk.inbox.append([read_line(line.encode(), recorded_by="file")])
    desk.look("2026-04-06T20:00:00Z")
    assert [it.alert for it in desk.due()] == [expired.alert]
    assert desk.got == []


def test_what_came_of_a_message_is_recorded_however_long_the_inbox_was_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was given up after half a minute, and the message came twice."""
    desk.now = at("2026-04-03T20:00:00Z")
    monkeypatch.setattr(recording, "PAUSES", (0.0, 0.3))
    stop, append, left = threading.Event(), desk.inbox.append, [0]

    def appended(drafts: list[Draft]) -> list[Receipt]:
        if left[0]:
            left[0] -= 1
            raise InboxUnavailable("The inbox cannot be written", "its server is away")
        done: list[Receipt] = append(drafts)
        if desk.got:
            stop.set()
        return done

    def send(*message: Any) -> str | None:
        left[0] = 6
        return desk.send(*message)

    monkeypatch.setattr(transport, "send", send)
    monkeypatch.setattr(desk.inbox, "append", appended)
    patience = threading.Timer(15.0, stop.set)
    patience.start()
    desk.dispatcher.run(stop)
    patience.cancel()
    [alarm] = desk.known()
    [(_, delivery)] = alarm.deliveries.items()
    assert (desk.got, delivery.is_sent) == ([("ana", "expired")], True)
    # It left when it did, and not when that could be written down.
    assert delivery.ended_at is not None
    assert delivery.ended_at < desk.now - instants.SECOND


def test_what_waited_for_long_is_looked_at_again_before_it_leaves(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow channels or a pause lie between the look and the message, and it may be over by then."""
    desk.rules = desk.rules.model_copy(
        update={"recipients": dict.fromkeys(("ana", "bruno"), desk.rules.recipients["ana"])}
    )
    desk.now, passed, waiting = at("2026-04-03T20:00:00Z"), [0], []
    monkeypatch.setattr(instants, "since_boot", lambda: passed[0])
    desk.dispatcher.turn(lambda *sent: waiting.append(sent))
    passed[0] += 61 * instants.SECOND
    for sent in waiting:
        desk.dispatcher._deliver(*sent)
    assert (len(waiting), desk.got) == (2, [])

    def slowly(*message: Any) -> str | None:
        passed[0] += 61 * instants.SECOND
        return desk.send(*message)

    monkeypatch.setattr(transport, "send", slowly)
    desk.dispatcher.run_once()
    assert desk.got == [("ana", "expired"), ("bruno", "expired")]


# --- many at once --------------------------------------------------------------------------------


@pytest.fixture
def crowded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Five reviews that expire in one moment, two of which fit into a message."""
    monkeypatch.setattr(decision, "MAX_ITEMS", 2)
    for number in range(2, 6):
        of = {"process_id": f"p{number}", "customer_id": f"s{number}", "id": f"evt_{number}"}
        event = review(**of, status="OVERDUE", deadline_at=DEADLINE)
        desk.inbox.append([delivery(event, occurred_at=OPENED, recorded_by="webhook")])
    desk.now = at("2026-04-03T20:00:00Z")
    return desk


def turn(desk: Desk) -> None:
    """One turn as a process has it that runs on: messages leave on threads of their own."""
    with ThreadPoolExecutor(8) as pool:
        desk.dispatcher.turn(lambda *sent: pool.submit(desk.dispatcher._deliver, *sent))


def test_of_many_alerts_one_message_follows_the_other_in_one_turn(crowded: Desk) -> None:
    """Each waited for a turn of its own, five seconds at least: of 20,000 deadlines in one minute
    the last was told of after twenty."""
    turn(crowded)
    assert crowded.got == [("ana", "expired")] * 5
    turn(crowded)
    assert len(crowded.got) == 5


def test_after_one_that_is_not_taken_no_other_is_tried_in_that_turn(crowded: Desk) -> None:
    crowded.fault = "451 later"
    turn(crowded)
    assert len(crowded.got) == 2
    crowded.fault = None
    turn(crowded)  # what failed was as urgent: for a minute nothing less urgent goes before it
    assert len(crowded.got) == 2
    crowded.now += decision.HELD + instants.SECOND
    crowded.start()
    turn(crowded)
    assert len(crowded.got) == 2 + 5


def test_what_is_seen_to_meanwhile_is_in_no_later_message(
    crowded: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acknowledged(message: Message, *how: object) -> str | None:
        told = {item.due.alert for item in message.items}
        said = {"actor": "ana", "recorded_by": "user:ana"}
        others = {it for it in crowded.dispatcher._alarms if it not in told}
        drafts = [entries.acknowledged(it, Subject(), **said) for it in others]
        crowded.inbox.append([it._replace(occurred_at=crowded.now) for it in drafts])
        crowded.dispatcher._read_on()  # as the next turn does
        return crowded.send(message, *how)

    monkeypatch.setattr(transport, "send", acknowledged)
    turn(crowded)
    assert len(crowded.got) == 2


def test_a_row_of_messages_ends_for_others_that_may_be_more_urgent(
    crowded: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0]
    monkeypatch.setattr(instants, "since_boot", lambda: passed[0])

    def slowly(*message: Any) -> str | None:
        passed[0] += 10 * instants.SECOND
        return crowded.send(*message)

    monkeypatch.setattr(transport, "send", slowly)
    turn(crowded)
    assert len(crowded.got) == 4  # the third would begin 20 s after the look
    turn(crowded)
    assert len(crowded.got) == 5
