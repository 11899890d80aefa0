"""Process-years of alerts: a simulated clock, crashes at every step, snoozes, dead channels.

The dispatcher is the real one. The inbox is a list that keeps what an inbox promises (an ingest key
counts once); what is due is worked out here, in plain Python, from docs/alerts.md#the-ladder.
"""

import json
import random
from collections import Counter
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.decision import BACKOFF, Message
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages import transport
from pipeline.alert.summaries.digest import Process
from pipeline.alert.watch import name_of
from pipeline.alert_rules import AlertRules
from pipeline.inbox.store import Outcome, Receipt
from pipeline.log.entries import Draft
from tests import depth
from tests.alert.asked import Bare

HOUR, DAY = instants.HOUR, 24 * instants.HOUR
REVIEWS = depth.rounds(30, 60)
WORLDS = depth.rounds(1, 1200)
"""A world is some 8 process-years: the long form simulates 10,000."""
LOOK_BACK = DAY
"""Shorter than a week-end: what was raised has to outlast it."""
HELD = 14 * DAY
LONGEST_STEP = 3 * HOUR
"""Between two looks."""
LONGEST_WEEK = 9 * DAY
"""Between two openings of who works on one day a week, with a try that failed before."""
LONGEST_NIGHT = 5 * DAY
"""From the morning before a long week-end, after the digest, to the morning after it."""
START = instants.parse("2026-02-20T00:00:00Z")  # the clocks of Lisbon change in March
assert START is not None

RULES = AlertRules.model_validate(
    {
        "look_back_days": 1,
        "mail": {"host": "mail.market.example", "sender": "prazo@market.example"},
        "recipients": {
            "ana": {"email": "ana@market.example"},
            "bruno": {"email": "bruno@market.example", "zone": "Europe/Lisbon"},
            "eva": {"email": "eva@market.example"},
        },
        "routes": [
            {"to": ["ana", "bruno"], "escalate": [{"after": "6h", "to": ["eva"]}]},
        ],
    }
)


class Crash(BaseException):
    """The process is gone, as after SIGKILL: no handler of ours sees it."""


class Review(NamedTuple):
    """A process, as the platform sees it."""

    name: str
    is_acp: bool
    opened_at: int
    deadline_at: int
    finished_at: int

    def rung(self, now: int) -> tuple[str, int] | None:
        """The rung on which it stands and since when; None where it stands on none."""
        if not self.opened_at <= now < self.finished_at:
            return None
        rungs = [("opened", self.opened_at)]
        if self.is_acp:
            overdue = min(self.opened_at + 30 * DAY, self.deadline_at - 30 * DAY)
            rungs.append(("overdue", overdue))
        for name, span in (("15d", 360), ("7d", 168), ("3d", 72), ("1d", 24), ("4h", 4)):
            rungs.append((f"before_{name}", self.deadline_at - span * HOUR))
        rungs.append(("expired", self.deadline_at))
        reached = [rung for rung in rungs if rung[1] <= now]
        return max(reached, key=lambda rung: (rung[1], rungs.index(rung)))

    def alarming(self, now: int) -> Due | None:
        """The alert of the rung on which it stands, however long it has stood there."""
        stands = self.rung(now)
        if stands is None:
            return None
        kind, since = stands
        return Due(
            alert=name_of(kind, f"{self.deadline_at}:{self.name}"),
            kind=kind,
            severity=self._severity(now),
            role="officer",
            assignee=None,
            process_id=self.name,
            seller_id=None,
            review_type="ACP" if self.is_acp else "ACI",
            state="OVERDUE",
            since=since,
            deadline_at=self.deadline_at,
            next_action="submit",
            seq=None,
        )

    def _severity(self, now: int) -> str:
        if now >= self.deadline_at:
            return "breach"
        return "risk" if self.deadline_at - now < 72 * HOUR else "notice"


class World(Bare):
    """Reviews, a clock, an inbox and channels; crashes come where `fate` says so."""

    def __init__(self, seed: int, rules: AlertRules = RULES) -> None:
        self.fate, self.rules = random.Random(seed), rules
        self.clock = START
        self.reviews = [self._review(number) for number in range(REVIEWS)]
        self.entries: list[tuple[int, int, str | None, bytes | None, bytes]] = []
        self.keys: set[bytes] = set()
        self.sent: Counter[tuple[str, str]] = Counter()  # (alert, recipient)
        self.sent_at: dict[tuple[str, str], list[int]] = {}
        self.raised_at: dict[str, int] = {}
        self.snoozes: list[tuple[str, int, int]] = []  # (alert, from, until)
        self.lost_answers: Counter[tuple[str, str]] = Counter()
        self.late: list[str] = []
        self.dead_until = dict.fromkeys(rules.recipients, 0)
        self.snooze_rate = 0.01
        self.dead: list[tuple[str, int, int]] = []
        self.log_key = b"key"
        self.crash_rate = self.fate.choice([0.0, 0.01, 0.05])

    def _review(self, number: int) -> Review:
        is_acp = self.fate.random() < 0.5
        opened_at = START + self.fate.randrange(20 * DAY)
        deadline_at = opened_at + (60 if is_acp else 30) * DAY
        finished_at = opened_at + self.fate.randrange(70 * DAY)
        return Review(f"p{number}", is_acp, opened_at, deadline_at, finished_at)

    def may_crash(self) -> None:
        if self.fate.random() < self.crash_rate:
            raise Crash

    # --- an inbox ---

    def now(self) -> int:
        return self.clock

    now_or_believed = now

    def append(self, drafts: list[Draft]) -> list[Receipt]:
        try:
            self.may_crash()
        except Crash:
            self._lose(drafts)
            raise
        receipts = []
        for draft in drafts:
            if draft.ingest_key in self.keys:
                receipts.append(Receipt(Outcome.DUPLICATE, None))
                continue
            if draft.ingest_key is not None:
                self.keys.add(draft.ingest_key)
            seq = len(self.entries) + 1
            said = json.loads(draft.body or b"")
            if said["step"] == "raised":
                self.raised_at[said["alert"]] = draft.occurred_at
            leaf = b"%d" % seq
            self.entries.append((seq, draft.occurred_at, draft.process_id, draft.body, leaf))
            receipts.append(Receipt(Outcome.RECORDED, None))
        self.may_crash()
        return receipts

    def _lose(self, drafts: list[Draft]) -> None:
        """Whatever the log does not hear of the end of a try is tried again."""
        for draft in drafts:
            said = json.loads(draft.body or b"")
            if said["step"] == "sent":
                self.lost_answers[said["alert"], said["to"]] += 1

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        if "from meta" in sql:  # of an inbox that does not say where it stands
            return []
        if not values:
            return [(at,) for _, at, *_ in self.entries[:1]]
        if "body" in sql:
            return list(self.entries[values[0] :])
        return [(seq,) for seq, at, *_ in reversed(self.entries) if at < values[0]][:1]

    def leaf(self, seq: int) -> bytes:
        return self.entries[seq - 1][4]

    def execute(self, *_: object) -> int:
        return 1

    # --- a ledger ---

    def due(self) -> list[Due]:
        found = (review.alarming(self.clock) for review in self.reviews)
        return [it for it in found if it is not None and self._is_due(it)]

    def _is_due(self, due: Due) -> bool:
        held = [until for alert, _, until in self.snoozes if alert == due.alert]
        held += [self.raised_at[due.alert]] if due.alert in self.raised_at else []
        return self.clock - due.since < LOOK_BACK or self.clock < max(held, default=0) + HELD

    def open_processes(self) -> list[Process]:
        return []

    def new(self) -> list[Due]:
        return [it for it in self.due() if it.alert not in self.raised_at]

    def compare_clocks(self) -> None:
        return None

    # --- channels ---

    def send(self, message: Message, *_: object) -> str | None:
        self.may_crash()
        if self.clock < self.dead_until[message.to]:
            return "dead"
        for item in message.items:
            told = (item.due.alert, message.to)
            self.sent[told] += 1
            self.sent_at.setdefault(told, []).append(self.clock)
            review = self.reviews[int((item.due.process_id or "p")[1:])]
            if self.clock >= review.finished_at:
                self.late.append(review.name)
        try:
            self.may_crash()
        except Crash:
            self.lost_answers.update((item.due.alert, message.to) for item in message.items)
            raise
        return None

    def snooze(self) -> None:
        """Somebody puts off what was raised last, for up to three weeks."""
        alert = max(self.raised_at, key=self.raised_at.__getitem__)
        until = self.clock + self.fate.randrange(1, 21 * 24) * HOUR
        who = {"actor": "eva", "recorded_by": "user:eva"}
        draft = entries.snoozed(
            *(alert, Subject()), now=self.clock, until=until, reason="ill", **who
        )
        self.entries.append((len(self.entries) + 1, self.clock, None, draft.body, b"snoozed"))
        self.snoozes.append((alert, self.clock, until))

    def run(self) -> None:
        """Lives through all deadlines; a process that dies is started again at the next step."""
        dispatcher: Dispatcher | None = None
        while self.clock < START + 95 * DAY:
            self.clock += self.fate.randrange(5, 180) * instants.MINUTE
            for name, until in self.dead_until.items():
                if self.clock >= until and self.fate.random() < 0.0005:
                    self.dead_until[name] = self.clock + self.fate.randrange(60 * HOUR)
                    self.dead.append((name, self.clock, self.dead_until[name]))
            if self.raised_at and self.fate.random() < self.snooze_rate:
                self.snooze()
            try:
                dispatcher = dispatcher or Dispatcher(self, self, lambda: self.rules)  # type: ignore[arg-type]
                dispatcher.run_once()
            except Crash:
                dispatcher = None

    # --- what must be true ---

    def missed(self) -> list[tuple[str, str, str]]:
        """Alerts that stood long enough and of which a recipient, whose channel lived, did not
        hear; and those of which nobody heard."""
        found = []
        for review in self.reviews:
            now = review.opened_at
            while now < min(review.finished_at, START + 95 * DAY):
                due, later = review.alarming(now), review.alarming(now + LONGEST_NIGHT)
                if due is not None and later is not None and later.alert == due.alert:
                    put_off = [it for it in self.snoozes if it[0] == due.alert]
                    since = max((until for *_, until in put_off), default=due.since)
                    for name in ("ana", "bruno") if since <= now else ():
                        times = self.sent_at.get((due.alert, name), [])
                        has_heard = any(at >= since for at in times)
                        if not has_heard and self._lived(name, due.since, now + LONGEST_NIGHT):
                            found.append((review.name, due.kind, name))
                now += 6 * HOUR
        return found

    def untold(self) -> list[str]:
        """Reviews whose deadline passed though nobody had heard of it in its last three days, and
        still had not once a channel that was dead then could be believed to work; and those of
        which the log does not say that somebody was not reached."""
        failed = {
            json.loads(body or b"")["alert"]
            for *_, body, _leaf in self.entries
            if json.loads(body or b"")["step"] in ("failed", "undelivered")
        }
        found = []
        for review in self.reviews:
            near, passes = review.deadline_at - 3 * DAY, review.deadline_at
            if review.finished_at <= passes or passes > START + 80 * DAY:
                continue
            alerts = {name_of(rung, f"{passes}:{review.name}") for rung in self.rules.rungs()}
            heard = [
                at
                for (alert, _), times in self.sent_at.items()
                for at in times
                if alert in alerts and at >= near - LONGEST_STEP
            ]
            if heard and min(heard) <= passes + LONGEST_STEP:
                continue
            ends = [end for _, start, end in self.dead if start < passes and end > near]
            is_late = not heard or min(heard) > max(ends, default=0) + LONGEST_WEEK
            was_over = review.finished_at < max(ends, default=0) + LONGEST_WEEK
            if (is_late and not (ends and was_over)) or not alerts & failed:
                found.append(review.name)
        return found

    def disturbed(self) -> list[tuple[str, int]]:
        """Messages about what was put off just then."""
        return [
            (alert, at)
            for alert, start, until in self.snoozes
            for (told, _), times in self.sent_at.items()
            for at in times
            if told == alert and start <= at < until and self._is_last(alert, start, at)
        ]

    def _is_last(self, alert: str, start: int, at: int) -> bool:
        return not any(it == alert and start < again <= at for it, again, _ in self.snoozes)

    def _lived(self, name: str, since: int, until: int) -> bool:
        """Whether a channel worked all the time, and an earlier outage cannot delay it now."""
        reach = sum(BACKOFF)
        return not any(
            who == name and start < until and end + reach > since for who, start, end in self.dead
        )


@settings(max_examples=WORLDS)
@given(seed=st.integers(0, 2**32))
def test_no_alert_is_missed_none_is_doubled_and_none_comes_after_the_finish(seed: int) -> None:
    world = World(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", world.send)
        world.run()
    assert sum(world.sent.values()) > REVIEWS
    assert world.missed() == []
    assert world.late == []
    assert world.disturbed() == []
    doubled = {told: number - 1 for told, number in world.sent.items() if number > 1}
    # One more for each crash between a message and the entry of its end, and for each snooze.
    snoozes = Counter(alert for alert, *_ in world.snoozes)
    assert all(
        number <= world.lost_answers[told] + snoozes[told[0]] for told, number in doubled.items()
    ), doubled


def drawn(fate: random.Random) -> AlertRules:
    """Rules as a person might write them, to their harm: odd hours, absences without a stand-in,
    digests at any time or none, routes by severity, escalation."""

    def person(name: str) -> dict[str, Any]:
        first = instants.of(START).date() + timedelta(days=fate.randrange(80))
        away = {"first": first, "last": first + timedelta(days=fate.randrange(30))}
        said: dict[str, Any] = {"email": f"{name}@market.example"}
        if fate.random() < 0.6:
            said["digest_at"] = fate.choice(["00:00", "08:00", "23:59"])
        if fate.random() < 0.5:
            said |= {"away": [away]}
        if fate.random() < 0.3:
            said["stand_in"] = fate.choice([it for it in ("ana", "bruno", "eva") if it != name])
        zone = fate.choice([None, "Asia/Tokyo", "America/Noronha"])
        return said | ({} if zone is None else {"zone": zone})

    start, end = fate.choice([("08:00", "18:00"), ("00:00", "00:30"), ("23:00", "23:59")])
    days = fate.choice([["mon", "tue", "wed", "thu", "fri"], ["mon"], ["sat"], ["wed", "sun"]])
    urgent = fate.choice([[], ["breach"], ["breach", "risk"], ["notice"]])
    routes: list[dict[str, Any]] = fate.choice(
        [
            [{"to": ["ana"], "escalate": [{"after": "2d", "to": ["eva"]}]}],
            [{"to": ["ana"], "severities": ["notice"]}, {"to": ["bruno"]}],
            [{"to": ["assignee"]}],
        ]
    )
    return AlertRules.model_validate(
        {
            "look_back_days": 1,
            "mail": {"host": "mail.market.example", "sender": "prazo@market.example"},
            "hours": {"days": days, "start": start, "end": end},
            "recipients": {it: person(it) for it in ("ana", "bruno", "eva")},
            "routes": [it | {"at_any_hour": urgent} for it in routes],
        }
    )


@settings(max_examples=depth.rounds(2, 300))
@given(seed=st.integers(0, 2**32))
def test_whatever_the_settings_ask_no_deadline_passes_of_which_nobody_heard(seed: int) -> None:
    """Nor where their mail server is dead for days: then they hear once it lives, and the log has
    what failed."""
    world = World(seed, drawn(random.Random(seed)))
    world.snooze_rate = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", world.send)
        world.run()
    assert world.untold() == []
