"""Which rungs come next is known before they are reached: a ledger that nobody holds any more says
nothing, and the deadlines of its processes go on to pass."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.alert import dispatcher, watch
from pipeline.alert.away import last_said
from pipeline.alert.away.kept import KeptAnswers
from pipeline.alert.decision import Message
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.messages import transport
from pipeline.alert.source import Coming
from pipeline.alert.watch import Watch, name_of
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.ladder import Ladder
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery
from pipeline.log.kinds.seller_notice import by_hand
from pipeline.serve.due_alerts import DueByLedger, _Asked
from pipeline.serve.ledger_access import OwnLedger
from tests import depth
from tests.alert.away.test_processes import ACI
from tests.alert.away.test_turns import ALWAYS
from tests.alert.test_decision import MAIL
from tests.support.events import review
from tests.support.stores import settings_in

HOUR = instants.HOUR


class Leaving(DueByLedger):
    """A ledger that somebody holds, until they do not."""

    is_gone = False
    built_again: LedgerService | None = None
    """One that is built again, and lacks an entry yet."""

    def __init__(self, service: LedgerService, inbox: Inbox) -> None:
        super().__init__(OwnLedger(service), inbox)
        self._keeps = KeptAnswers(service.settings.ledger, inbox.log)
        self.before_looks_ahead: Callable[[], object] = lambda: None

    def coming(self, after: int, ahead: Iterable[int]) -> list[Coming]:
        self.before_looks_ahead()
        return super().coming(after, ahead)

    def _asking(self) -> AbstractContextManager[Any]:
        if self.is_gone:
            raise OperatorError("Nobody holds the ledger", "no process answers for it")
        if self.built_again is not None:
            return nullcontext(_Asked(OwnLedger(self.built_again), True, lacking=1))
        return super()._asking()

    def status(self) -> Any:
        numbers = {"inbox_seq": 1, "last_seq": 1, "lag_seconds": 0.0}
        return None if self.is_gone else {"problem": None, "is_verified": True, **numbers}


class Office:
    """An office at all hours, whose clock the tests set."""

    def __init__(
        self, inbox: Inbox, service: LedgerService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.inbox, self.began, self.shift = inbox, instants.now(), 0
        monkeypatch.setattr(inbox, "clock", lambda: self.began + self.shift)
        for module, name in ((watch, "GRACE_SECONDS"), (dispatcher, "LOOK_SECONDS")):
            monkeypatch.setattr(module, name, 0.0)
        monkeypatch.setattr(transport, "send", self.send)
        self.fault: str | None = None
        self.got: list[tuple[str, str | None, bool]] = []
        """(kind, process, whether it says of when the ledger is) of what an officer was told."""
        people = {"ana": {"email": "a@market.example", "info_at_once": True}}
        people |= {"eva": {"email": "e@market.example", "role": "admin"}}
        said = {"mail": MAIL, "recipients": people, "hours": ALWAYS, "watch": {"receivers": []}}
        ladder = service.alert_rules.get().ladder
        self.rules = AlertRules.model_validate(said).model_copy(update={"ladder": ladder})
        self.service = service
        self.start()

    def start(self, *, is_gone: bool = False) -> None:
        """Another process that sends; `is_gone`: nobody holds the ledger."""
        self.source = Leaving(self.service, self.inbox)
        self.source.is_gone = is_gone
        watch_ = Watch(self.service.settings, self.inbox)
        self.sends = Dispatcher(self.inbox, self.source, lambda: self.rules, watch_)

    def send(self, message: Message, *_: object) -> str | None:
        if message.to == "ana" and self.fault is None:
            dues = [it.due for it in message.items]
            self.got += [(it.kind, it.process_id, it.ledger_at is not None) for it in dues]
        return self.fault

    def report(self, process_id: str, deadline_at: int, **more: str) -> None:
        """Delivers a report of an ACI that was opened two days ago."""
        opened = instants.canonical(self.began - 48 * HOUR)
        event = review(
            process_id=process_id,
            type=ACI,
            created_at=opened,
            deadline_at=instants.canonical(deadline_at),
            **more,
        )
        draft = delivery(event, occurred_at=self.inbox.now(), recorded_by="webhook")
        self.inbox.append([draft])

    def told(self, *, after_hours: float) -> list[tuple[str, str | None, bool]]:
        """What an officer is told of so many hours after the beginning."""
        self.shift, self.got = round(after_hours * HOUR), []
        self.sends._turn_safely(self.sends._deliver_safely)
        return sorted(self.got)


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    settings = settings_in(tmp_path)
    with closing(open_inbox(settings.inbox)) as inbox, closing(LedgerService(settings)) as service:
        yield Office(inbox, service, monkeypatch)


def test_a_ledger_says_which_rungs_come_within_three_days(office: Office) -> None:
    """A deadline in 26 hours: a day before it is in two, four hours before it in 22. Another is in
    100 hours: of its rungs three days before and a day before, the first is in 28 hours. A third is
    finished."""
    soon, later = office.began + 26 * HOUR, office.began + 100 * HOUR
    office.report("p1", soon, status="OVERDUE")
    office.report("p2", later, status="OVERDUE")
    office.report("p3", soon, status="FINISHED")
    office.told(after_hours=0)
    coming = office.source.coming(office.began, Ladder().ahead())
    assert {(it.due.kind, it.due.process_id, it.at, it.due.alert) for it in coming} == {
        ("before_1d", "p1", soon - 24 * HOUR, name_of("before_1d", f"{soon}:p1")),
        ("before_4h", "p1", soon - 4 * HOUR, name_of("before_4h", f"{soon}:p1")),
        ("expired", "p1", soon, name_of("expired", f"{soon}:p1")),
        ("before_3d", "p2", later - 72 * HOUR, name_of("before_3d", f"{later}:p2")),
    }
    assert all(it.at == it.due.since for it in coming)


def test_people_hear_of_deadlines_that_come_while_nobody_holds_the_ledger(office: Office) -> None:
    """Before: until somebody held it again, of no rung that a process reached meanwhile."""
    deadline = office.began + 26 * HOUR
    for process_id in ("p1", "p2"):
        office.report(process_id, deadline, status="OVERDUE")
    assert office.told(after_hours=0) == [("before_3d", "p1", False), ("before_3d", "p2", False)]
    office.source.is_gone = True
    assert office.told(after_hours=1) == []
    assert office.told(after_hours=3) == [("before_1d", "p1", True), ("before_1d", "p2", True)]
    office.report("p2", deadline, status="FINISHED")
    assert office.told(after_hours=21) == []
    assert office.told(after_hours=23) == [("before_4h", "p1", True)]
    assert office.told(after_hours=27) == [("expired", "p1", True)]
    office.source.is_gone = False
    assert office.told(after_hours=28) == []


@pytest.mark.long
def test_who_is_started_while_nobody_holds_the_ledger_goes_on_by_what_it_said(
    office: Office,
) -> None:
    """Before: of no deadline until somebody held it again, and not of what had failed."""
    deadline = office.began + 26 * HOUR
    for process_id in ("p1", "p2"):
        office.report(process_id, deadline, status="OVERDUE")
    office.fault = "it refuses"
    office.told(after_hours=0)
    office.report("p2", deadline, status="FINISHED")
    office.start(is_gone=True)
    office.fault = None
    assert office.told(after_hours=1) == [("before_3d", "p1", True)]
    assert office.told(after_hours=3) == [("before_1d", "p1", True)]
    office.start(is_gone=True)
    assert office.told(after_hours=4) == []
    assert office.told(after_hours=27) == [("expired", "p1", True)]
    office.start()
    assert office.told(after_hours=28) == []


def test_what_another_ledger_said_or_nobody_can_read_tells_nobody_anything(office: Office) -> None:
    office.report("p1", office.began + 26 * HOUR, status="OVERDUE")
    office.told(after_hours=0)
    kept = office.service.settings.ledger.with_name("ledger.duckdb.due")
    assert kept.stat().st_mode & 0o777 == 0o600
    said = kept.read_text()
    for changed in (
        said[:-1],  # cut
        said.replace('"form": 1', '"form": 2'),
        said.replace('"log": "', '"log": "another'),
        said.replace('"role"', '"rank"'),
    ):
        assert changed != said
        kept.write_text(changed)
        office.start(is_gone=True)
        assert office.told(after_hours=3) == []
    kept.write_text(said)
    office.start(is_gone=True)
    assert office.told(after_hours=3) == [("before_1d", "p1", True)]


@pytest.mark.long
def test_what_a_ledger_said_three_days_ago_tells_nobody_anything(office: Office) -> None:
    office.report("p1", office.began + 26 * HOUR, status="OVERDUE")
    office.told(after_hours=0)
    office.shift = 72 * HOUR
    office.start(is_gone=True)
    assert office.told(after_hours=72) == []


@pytest.mark.long
def test_people_hear_of_a_rung_once_it_is_no_longer_the_sellers_turn(office: Office) -> None:
    """A seller who was written to 62 hours ago has ten left. One process reached the rung an hour
    ago, another reaches it in two. Before: of the first nobody heard, of the second too soon."""
    office.shift = -62 * HOUR
    for process_id, hours in (("p1", 167), ("p2", 170)):
        office.report(process_id, office.began + hours * HOUR, status="OVERDUE")
        office.inbox.append(
            [
                by_hand(
                    f"letter about {process_id}",
                    "letter",
                    actor="ana",
                    recorded_by="ana",
                    process_id=process_id,
                    seller_id=None,
                )
            ]
        )
    assert office.told(after_hours=0) == []
    office.source.is_gone = True
    assert office.told(after_hours=9) == []
    assert office.told(after_hours=13) == [("before_7d", "p1", True), ("before_7d", "p2", True)]


@pytest.mark.long
def test_people_hear_of_what_is_due_before_the_ledger_is_asked_what_comes(office: Office) -> None:
    """A holder that hangs while it is asked ahead kept people waiting for five minutes."""
    told = []
    office.report("p1", office.began + 26 * HOUR, status="OVERDUE")
    office.source.before_looks_ahead = lambda: told.extend(office.got)
    office.told(after_hours=0)
    assert told == [("before_3d", "p1", False)]


@pytest.mark.long
def test_people_hear_of_a_rung_that_is_reached_while_the_ledger_is_asked(office: Office) -> None:
    """Before: it was in neither answer, that of what was due and that of what was to come."""

    def go_on() -> None:
        office.shift = instants.HOUR // 30

    office.report("p1", office.began + 24 * HOUR + instants.MINUTE, status="OVERDUE")
    office.source.before_looks_ahead = go_on
    assert office.told(after_hours=0) == [("before_3d", "p1", False)]
    office.source.is_gone = True
    assert office.told(after_hours=1) == [("before_1d", "p1", True)]


@pytest.mark.parametrize(
    ("ladder", "hours"),
    [
        ('before = ["1d", "4h"]\nexpired = false', 57),  # of the default ladder, on the third day
        pytest.param('before = ["1d", "1h"]', 21.5, marks=pytest.mark.long),
    ],
)
def test_people_hear_of_a_last_rung_that_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ladder: str, hours: float
) -> None:
    """The ledger is gone all the time. Before: of a rung that was over before it was asked for
    nobody heard, nor of the deadline where the settings say so."""
    (tmp_path / "alerts.toml").write_text(f"[ladder]\n{ladder}\n")
    settings = settings_in(tmp_path, alerts_file=tmp_path / "alerts.toml")
    with closing(open_inbox(settings.inbox)) as inbox, closing(LedgerService(settings)) as service:
        office = Office(inbox, service, monkeypatch)
        span = int(ladder.split('"')[3].removesuffix("h"))
        office.report("p1", office.began + round((hours + span) * HOUR), status="OVERDUE")
        office.told(after_hours=0)
        office.source.is_gone = True
        office.told(after_hours=hours - 0.25)
        assert office.told(after_hours=hours + 0.25) == [(f"before_{span}h", "p1", True)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, (4, 8, 12, 16, 20, 24, 36, 48, 60, 72)),
        ({"before": [], "expired": False}, (4, 8, 12, 16, 20, 24, 36, 48, 60, 72)),
        ({"before": ["15d", "20h"], "expired": False}, (4, 8, 12, 16, 20, 24, 36, 48, 60, 72)),
        ({"before": ["10h", "7h"]}, (*range(3, 25, 3), 36, 48, 60, 72)),
        ({"before": ["1d", "5h"], "expired": False}, (*range(4, 25, 4), *range(28, 73, 4))),
        ({"before": ["1d", "1h"], "expired": False}, tuple(range(1, 73))),
    ],
)
def test_no_two_instants_that_are_asked_for_have_a_whole_last_rung_between_them(
    said: dict[str, Any], expected: tuple[int, ...]
) -> None:
    assert Ladder.model_validate(said).ahead() == expected


@pytest.mark.parametrize("error", depth.few([OperatorError, CallerError], 2))
def test_nobody_hears_of_what_was_finished_before_the_last_answer_by_an_earlier_look_ahead(
    office: Office, error: type[OperatorError | CallerError]
) -> None:
    """The holder dies between both. Before: what was finished was looked for after the last answer
    alone, and people were told that its deadline came; and a refusal ended whoever sends."""

    def die() -> None:
        raise error("It is gone")

    deadline = office.began + 26 * HOUR
    for process_id in ("p1", "p2"):
        office.report(process_id, deadline, status="OVERDUE")
    office.told(after_hours=0)
    office.report("p1", deadline, status="FINISHED")
    office.source.before_looks_ahead = die
    office.sends._whole_look_at = 0.0
    assert office.told(after_hours=1) == []
    office.source.is_gone = True
    assert office.told(after_hours=3) == [("before_1d", "p2", True)]


@pytest.mark.long
def test_a_ledger_that_is_built_again_does_not_replace_what_it_said_when_it_had_more(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lacks `p2` yet, perhaps for hours. Before: of that nobody heard meanwhile."""
    monotonic = time.monotonic
    monkeypatch.setattr(
        last_said.time, "monotonic", lambda: monotonic() + office.shift / instants.SECOND
    )
    deadline = office.began + 26 * HOUR
    office.report("p1", deadline, status="OVERDUE")
    settings = settings_in(tmp_path, ledger=tmp_path / "again.duckdb")
    with closing(LedgerService(settings)) as again:
        again.catch_up()
        office.report("p2", deadline, status="OVERDUE")
        assert office.told(after_hours=0) == [
            ("before_3d", "p1", False),
            ("before_3d", "p2", False),
        ]
        office.report("p1", deadline, status="FINISHED")
        office.source.built_again = again
        assert office.told(after_hours=0.1) == []
        assert office.told(after_hours=3) == [("before_1d", "p2", True)]
        assert office.told(after_hours=27) == [("expired", "p2", True)]
        office.source.built_again = None
        assert office.told(after_hours=28) == []


def test_what_was_due_by_a_clock_that_was_ahead_waits_for_its_time(office: Office) -> None:
    """Before: people heard a day too soon that the deadline had passed, and nothing once it had."""
    office.report("p1", office.began + 26 * HOUR, status="OVERDUE")
    assert office.told(after_hours=27) == [("expired", "p1", False)]
    office.source.is_gone = True
    assert office.told(after_hours=1) == office.told(after_hours=25) == []
    assert office.told(after_hours=26.5) == [("expired", "p1", True)]
