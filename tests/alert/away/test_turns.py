"""What whoever sends does while the inbox fails, turn by turn: a real inbox that tests cut off or
fill, a ledger that says what it is given, and channels that only note what they get."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.alert import decision, dispatcher, entries, recording
from pipeline.alert.away import unrecorded
from pipeline.alert.away.unrecorded import Unrecorded
from pipeline.alert.decision import Message
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages import transport
from pipeline.alert.messages.transport import Unsure
from pipeline.alert_rules import AlertRules
from pipeline.errors import InboxUnavailable
from pipeline.inbox import copies, open_inbox
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.log.actions import By
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from tests.alert.asked import Bare
from tests.alert.test_decision import MAIL
from tests.support.events import review
from tests.support.machine import wait_until
from tests.support.sqlite import opened

ALWAYS = {
    "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    "start": "00:00",
    "end": "23:59",
    "holidays": "",
}
TAX_ID, MASK = "52998224725", "529***25"


class Office(Bare):
    """Ana, an officer, and Eva, an admin; what is due; and an inbox that takes or gives nothing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **rules: Any) -> None:
        self.inbox: Any = open_inbox(str(folder / "inbox.db"))
        self.deliver("p1")
        self.takes = self.gives = True
        self.got: list[tuple[str, str]] = []  # (recipient, kind)
        self.dues: list[Due] = []
        self.shift = 0  # of the clock, in microseconds
        for name, flag in (("_exclusively", "takes"), ("_reading", "gives")):
            monkeypatch.setattr(self.inbox, name, self._cut(getattr(self.inbox, name), flag))
        monkeypatch.setattr(self.inbox, "clock", lambda: instants.now() + self.shift)
        monkeypatch.setattr(transport, "send", self.send)
        monkeypatch.setattr(unrecorded, "GRACE_SECONDS", 0.0)
        monkeypatch.setattr(dispatcher, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(dispatcher, "BEAT_SECONDS", 0.0)
        people = {
            "ana": {"email": "ana@market.example"},
            "eva": {"email": "eva@market.example", "role": "admin"},
        }
        said = {"mail": MAIL, "recipients": people, "hours": ALWAYS} | rules
        self.rules = AlertRules.model_validate(said)
        self.sends = Dispatcher(self.inbox, self, lambda: self.rules)

    def _cut(self, real: Callable[..., Any], flag: str) -> Callable[..., Any]:
        def asked(*given: object) -> Any:
            if not getattr(self, flag):
                raise InboxUnavailable("The inbox cannot be used", "it is away")
            return real(*given)

        return asked

    def deliver(self, process_id: str) -> None:
        event = review(process_id=process_id)
        self.inbox.append([delivery(event, occurred_at=instants.now(), recorded_by="webhook")])

    def turn(self, sends: Dispatcher | None = None) -> None:
        """One turn, with all that it sends."""
        sends = sends or self.sends
        sends._turn_safely(sends._deliver_safely)
        wait_until(lambda: not sends._unrecorded._under_way)

    def said(self) -> list[tuple[str, str | None, str | None]]:
        """(step, recipient, process) of each entry about an alert of a process."""
        found = self.inbox.query(
            "select body, process_id from entries where kind = 'alert' order by seq"
        )
        rows = [(json.loads(body), process_id) for body, process_id in found]
        return [(it["step"], it.get("to"), process) for it, process in rows if process]

    def expired(self, alert: str = "a1", **more: Any) -> Due:
        """The alert about a deadline that passed an hour ago, of the process of the first entry."""
        since = instants.now() - instants.HOUR
        said = {"process_id": "p1", "state": "EXPIRED", "deadline_at": since, "seq": 1}
        return Due(alert, "expired", "breach", "officer", since, **(said | more))

    # --- a ledger, and channels ---

    def due(self) -> list[Due]:
        return self.dues

    def new(self) -> list[Due]:
        return [it for it in self.dues if it.raised_at is None]

    def is_mask(self, shown: str, recorded: str) -> bool:
        return (shown, recorded) == (MASK, TAX_ID)

    def send(self, message: Message, *_: object) -> str | None:
        self.got += [(message.to, it.due.kind) for it in message.items]
        return None


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    made = Office(tmp_path, monkeypatch)
    yield made
    made.sends._unrecorded.end(made.inbox, made.sends._recording.subject)
    made.inbox.close()


HEARD = {("ana", "expired"), ("eva", "inbox_down")}


@pytest.mark.parametrize("left", [0, 16_384, 65_536])
def test_on_a_full_disk_people_hear_of_it_whatever_small_things_there_is_room_for(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """A heartbeat and a probe found room where no entry did: each turn called the inbox back, and
    it was never away for long enough."""
    office = Office(small_disk, monkeypatch)
    office.turn()
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free - left))
    office.dues = [office.expired(f"a{number}") for number in range(40)]
    until = time.monotonic() + 30
    while len(office.got) < 40 and time.monotonic() < until:
        office.turn()
    assert [it for it in office.got if it[1] == "expired"] == [("ana", "expired")] * 40
    (small_disk / "ballast").unlink()
    office.turn()
    steps = [step for step, *_ in office.said()]
    assert [steps.count(it) for it in ("raised", "tried", "sent")] == [40, 40, 40]
    office.turn()
    assert office.got.count(("ana", "expired")) == 40
    office.inbox.close()


def test_an_inbox_of_another_release_is_one_that_takes_no_entries(
    office: Office, tmp_path: Path
) -> None:
    """Anyone who looked at its tables alone called it well."""
    office.turn()
    office.dues = [office.expired()]
    with closing(opened(tmp_path / "inbox.db")) as connection:
        [(version,)] = connection.execute("pragma user_version")
        connection.execute(f"pragma user_version = {version + 1}")
        office.turn()
        office.turn()
        assert {*office.got} == HEARD
        connection.execute(f"pragma user_version = {version}")


def test_a_copy_tells_nobody_that_its_inbox_is_away(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: people heard of an inbox that nobody uses, and of what the other one had told."""
    monkeypatch.setattr(dispatcher, "HELD_SECONDS", 0.0)
    office.turn()
    copies.hold(office.inbox)
    office.dues = [office.expired()]
    for office.gives, office.takes in ((True, True), (False, False), (True, False)):
        office.turn()
        office.turn()
    assert office.got == []
    office.takes = True
    copies.confirm(office.inbox, By("it is the one", "Ana", "user:ana"))
    office.turn()
    office.turn()
    assert office.got == [("ana", "expired")]
    office.gives = office.takes = False
    office.turn()
    office.turn()
    assert ("eva", "inbox_down") in office.got


def test_one_failure_among_turns_that_go_well_alarms_nobody(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unrecorded, "GRACE_SECONDS", 0.05)
    for _ in range(3):
        office.gives = False
        office.turn()
        office.gives = True
        office.turn()
        time.sleep(0.06)
    office.sends._unrecorded.end(office.inbox, office.sends._recording.subject)
    assert office.got == []
    assert "step" not in caplog.text


def test_entries_that_nobody_wants_to_write_any_longer_alarm_nobody(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage that only they could end would last, and the next failure seem its hundredth."""
    monkeypatch.setattr(unrecorded, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(unrecorded, "UNTRIED_SECONDS", 0.02)
    office.turn()
    office.dues = [office.expired()]
    office.takes = False
    office.turn()
    office.takes, office.dues = True, []
    time.sleep(0.06)
    office.turn()
    office.gives = False
    office.turn()
    office.gives = True
    office.sends._unrecorded.end(office.inbox, office.sends._recording.subject)
    assert office.got == []  # nor once all that was on its way has left


def test_an_inbox_that_comes_back_for_one_commit_has_nobody_hear_twice(office: Office) -> None:
    office.turn()
    office.dues = [office.expired()]
    office.takes = office.gives = False
    office.turn()
    append = office.inbox.append

    def for_once(drafts: list[Draft]) -> Any:
        done = append(drafts)
        office.takes = office.gives = False
        return done

    office.inbox.append, office.takes, office.gives = for_once, True, True
    office.turn()
    office.inbox.append = append
    office.turn()
    assert sorted(office.got) == [*sorted(HEARD)]
    office.takes = office.gives = True
    office.turn()
    assert [step for step, *_ in office.said()] == ["raised", "tried", "sent"]


@pytest.mark.parametrize(
    ("first", "second", "recorded"),
    [
        (None, None, ["tried", "sent", "tried", "sent"]),
        ("it answered 500", None, ["tried", "failed", "tried", "sent"]),
        (None, "it answered 500", ["tried", "sent"]),
        (None, Unsure("it was not done in time"), ["tried", "sent", "tried", "failed"]),
    ],
)
def test_what_two_processes_sent_at_once_is_two_messages_in_the_log(
    office: Office,
    monkeypatch: pytest.MonkeyPatch,
    first: str | None,
    second: str | None,
    recorded: list[str],
) -> None:
    """It had the first that was recorded, so that two messages seemed one; and where that one had
    failed, anyone who had heard by the other was written to once more."""
    other = Dispatcher(office.inbox, office, lambda: office.rules)
    office.turn()
    office.turn(other)
    office.dues = [office.expired()]
    office.takes = office.gives = False
    for sends, fault in ((office.sends, first), (other, second)):
        monkeypatch.setattr(transport, "send", lambda *sent, why=fault: office.send(*sent) or why)
        office.turn(sends)
    office.takes = office.gives = True
    for sends in (office.sends, other, office.sends, other):
        office.turn(sends)
    assert [step for step, *_ in office.said()] == ["raised", *recorded]
    office.shift = instants.HOUR
    office.turn()
    assert office.got.count(("ana", "expired")) == 2


def test_a_commit_of_which_nobody_knows_the_outcome_makes_no_second_message(
    office: Office,
) -> None:
    office.turn()
    office.dues = [office.expired()]
    office.takes = office.gives = False
    office.turn()
    append = office.inbox.append

    def unheard(drafts: list[Draft]) -> Any:
        append(drafts)
        office.inbox.append = append
        raise InboxUnavailable("The inbox does not answer", "it was cut off")

    office.takes = office.gives = True
    office.inbox.append = unheard
    office.turn()
    office.turn()
    assert [step for step, *_ in office.said()] == ["raised", "tried", "sent"]


@pytest.mark.parametrize(("stands_there", "recorded"), [(TAX_ID, TAX_ID), ("11144477735", None)])
def test_a_step_is_recorded_in_no_stream_but_that_of_the_id_whose_mask_was_shown(
    office: Office, stands_there: str, recorded: str | None
) -> None:
    """Where an older copy was put back meanwhile, another person's entry may stand in its place."""
    office.deliver(stands_there)
    office.turn()
    office.dues = [office.expired(process_id=MASK, seq=2)]
    office.takes = office.gives = False
    office.turn()
    office.takes = office.gives = True
    office.turn()
    found = office.inbox.query("select process_id, body from entries where kind = 'alert'")
    streams = {process for process, body in found if json.loads(body).get("about") == "expired"}
    assert streams == {recorded}


def test_what_others_record_meanwhile_counts_where_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone who could read and not write escalated what somebody had acknowledged."""
    routes = [
        {"to": ["ana"], "kinds": ["expired"], "escalate": [{"after": "4h", "to": ["eva"]}]},
    ]
    office = Office(tmp_path, monkeypatch, routes=routes)
    office.dues = [office.expired()]
    office.turn()
    office.takes = False
    office.turn()
    assert ("ana", "expired") in office.got
    with closing(open_inbox(str(tmp_path / "inbox.db"))) as other:
        seen = entries.acknowledged("a1", Subject("p1"), actor="ana", recorded_by="user:ana")
        other.append([seen])
    office.shift = 5 * instants.HOUR
    office.turn()
    assert ("eva", "expired") not in office.got
    office.inbox.close()


def test_an_error_of_ours_in_one_message_is_that_messages_alone(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(message: Message, *more: object) -> str | None:
        if message.to == "eva":
            raise RuntimeError("an error of ours")
        return office.send(message, *more)

    office.turn()
    monkeypatch.setattr(transport, "send", send)
    office.dues = [office.expired()]
    office.takes = False
    office.turn()
    assert office.got == [("ana", "expired")]


def test_nobody_waits_for_a_channel_that_hangs_nor_does_the_inbox_that_is_back(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, began = threading.Event(), threading.Event()

    def send(message: Message, *more: object) -> str | None:
        if message.to == "eva":
            began.set()
            gate.wait(60)
        return office.send(message, *more)

    office.turn()
    monkeypatch.setattr(transport, "send", send)
    office.takes = False
    office.sends._turn_safely(office.sends._deliver_safely)
    assert began.wait(60)
    office.dues = [office.expired()]
    office.sends._turn_safely(office.sends._deliver_safely)
    wait_until(lambda: office.got == [("ana", "expired")])
    wait_until(lambda: len(office.sends._unrecorded._under_way) == 1)
    office.takes = True
    office.sends._turn_safely(office.sends._deliver_safely)
    assert ("sent", "ana", "p1") in office.said()
    gate.set()
    office.turn()
    office.turn()  # what the channel answered later is recorded, too
    assert sorted(office.got) == [*sorted(HEARD)]
    sent = office.inbox.query("select body from entries where kind = 'alert'")
    assert [json.loads(it)["to"] for (it,) in sent if b'"sent"' in it] == ["ana", "eva"]


def test_what_would_leave_late_is_looked_at_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "MAX_ITEMS", 1)
    passed = [0]
    monkeypatch.setattr(instants, "since_boot", lambda: passed[0])

    def send(message: Message, *more: object) -> str | None:
        passed[0] += 190 * instants.SECOND
        office.dues = []  # it is over meanwhile
        return office.send(message, *more)

    office.turn()
    monkeypatch.setattr(transport, "send", send)
    office.dues = [office.expired(f"a{number}") for number in range(5)]
    office.takes = False
    office.turn()
    assert office.got.count(("ana", "expired")) == 1


def test_a_message_that_was_on_its_way_when_the_inbox_went_away_comes_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "PAUSES", (0.05,))
    gate, stop = threading.Event(), threading.Event()

    def slowly(message: Message, *more: object) -> str | None:
        office.send(message, *more)
        gate.wait(60)
        return None

    office.turn()
    office.sends._stop, office.sends._runs_on = stop, True
    office.dues = [office.expired()]
    monkeypatch.setattr(transport, "send", slowly)
    on_its_way = threading.Thread(target=office.turn)
    on_its_way.start()
    wait_until(lambda: office.got == [("ana", "expired")])
    monkeypatch.setattr(transport, "send", office.send)
    office.takes = office.gives = False
    office.turn()
    gate.set()
    wait_until(lambda: any(b'"sent"' in it.body for it in office.sends._unrecorded._own.values()))  # type: ignore[operator]
    office.shift = 6 * instants.MINUTE
    office.turn()
    assert office.got.count(("ana", "expired")) == 1
    stop.set()
    on_its_way.join()


def test_an_inbox_that_never_could_be_opened_leaves_a_word_of_what_is_lost(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unrecorded, "OPEN_AGAIN_SECONDS", 0.05)
    stop, done = threading.Event(), Unrecorded()

    def away() -> Any:
        if office.got:
            wait_until(lambda: not done._under_way)
            stop.set()
        raise InboxUnavailable("The inbox cannot be opened", "it is gone")

    rules = lambda: office.rules  # noqa: E731
    assert unrecorded.opened(away, done, rules, instants.now, stop) is None
    assert office.got == [("eva", "inbox_down")]
    assert "3 steps about alerts could not be recorded" in caplog.text
    assert "The inbox cannot be opened: it is gone" in caplog.text


def test_only_a_turn_that_ended_well_says_that_alerts_are_sent(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender that failed in each of its turns beat as it began them, so nobody knew."""

    def beat_after_failing() -> int | None:
        with monkeypatch.context() as patch:
            patch.setattr(office, "due", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                office.sends.run_once()
        return heartbeats(office.inbox).get(Part.ALERTS)

    assert beat_after_failing() is None
    office.sends.run_once()
    sent = heartbeats(office.inbox)[Part.ALERTS]
    began = beat_after_failing()
    assert began is not None
    assert began > sent  # its beginning still says how the turn before it ended
    assert beat_after_failing() == began
