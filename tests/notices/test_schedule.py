"""Which rung is due when: over histories with crashes at each step, none is missed, none doubled
but those marked uncertain, and none goes out for what is over."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.kinds.ticket import TICKET
from pipeline.notices.rules import RUNGS, News, Rung
from pipeline.notices.schedule import APART, CLAIM, Decision, Said, Times, due, ended_channels
from pipeline.notices.unanswered import UNANSWERED
from tests import depth

HOUR, DAY = instants.HOUR, instants.DAY
OPENED = 1_780_000_000_000_000
ACI = Times(OPENED, OPENED + 30 * DAY, is_asked=True)


def claimed(rung: str, at: int) -> Said:
    return Said(NOTICE_SCHEDULE, at, {"step": "claimed", "rung": rung})


def notice(message: str, rung: str | None, at: int) -> Said:
    return Said(SELLER_NOTICE, at, {"message_id": message, "rung": rung})


def result(message: str, what: str, at: int, **more: Any) -> Said:
    return Said(SELLER_NOTICE_RESULT, at, {"message_id": message, "result": what, **more})


def at(days: float) -> int:
    return OPENED + round(days * DAY)


def rung_due(entries: list[Said], now: int, times: Times = ACI) -> str | None:
    found = due(times, entries, now, RUNGS).rung
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0, "after_0d"),
        (6.9, "after_0d"),
        (7, "after_7d"),
        (24.99, "after_14d"),
        (29, "after_28d"),
        (32.9, "after_28d"),
        (33, "late_3d"),
        (40, "late_3d"),
        (40.1, None),
    ],
)
def test_the_latest_rung_whose_time_has_come_is_due(days: float, expected: str | None) -> None:
    assert rung_due([], at(days)) == expected


def test_a_message_of_the_rung_or_any_since_its_time_is_enough() -> None:
    sent = [notice("m1", "after_0d", at(0)), result("m1", "accepted", at(0))]
    assert rung_due(sent, at(3)) is None
    assert due(ACI, sent, at(3), RUNGS) == Decision(look_at=at(7))
    assert rung_due(sent, at(7)) == "after_7d"
    by_hand = [*sent, notice("m2", None, at(7.5)), result("m2", "accepted", at(7.5))]
    assert rung_due(by_hand, at(8)) is None
    just_before = [*sent, notice("m2", None, at(6.9)), result("m2", "accepted", at(6.9))]
    assert rung_due(just_before, at(7)) is None, "nobody gets two on a day"
    assert rung_due(just_before, at(6.9) + APART) == "after_7d"


def test_what_was_not_taken_is_tried_again_and_what_never_will_be_is_not() -> None:
    failed = [notice("m1", "after_0d", at(0)), result("m1", "failed", at(0))]
    assert rung_due(failed, at(0) + HOUR - 1) is None
    assert rung_due(failed, at(0) + HOUR) == "after_0d"
    failed += [notice("m2", "after_0d", at(0.1)), result("m2", "failed", at(0.1))]
    assert rung_due(failed, at(0.1) + HOUR) is None
    assert rung_due(failed, at(0.1) + 6 * HOUR) == "after_0d"
    failed += [notice("m3", "after_0d", at(1)), result("m3", "failed", at(1))]
    assert rung_due(failed, at(6)) is None
    assert rung_due(failed, at(7)) == "after_7d"
    refused = [
        notice("m1", "after_0d", at(0)),
        result("m1", "failed", at(0), is_refused=True),
    ]
    assert rung_due(refused, at(2)) is None


def test_an_uncertain_message_goes_again_under_its_own_id_alone() -> None:
    said = [notice("m1", "after_0d", at(0)), result("m1", "uncertain", at(0.01))]
    assert due(ACI, said, at(1), RUNGS) == Decision(again="m1", look_at=at(7))
    heard = [*said, result("m1", "accepted", at(0.02))]
    assert due(ACI, heard, at(1), RUNGS) == Decision(look_at=at(7))
    repeated = Said(NOTICE_SCHEDULE, at(0.02), {"step": "claimed", "message_id": "m1"})
    assert due(ACI, [*said, repeated], at(1), RUNGS) == Decision(look_at=at(7))


@pytest.mark.parametrize(
    ("said", "is_due"),
    [
        ([Said(NOTICE_SCHEDULE, at(0), {"step": "held"})], False),
        (
            [
                Said(NOTICE_SCHEDULE, at(0), {"step": "held"}),
                Said(NOTICE_SCHEDULE, at(0), {"step": "released"}),
            ],
            True,
        ),
        ([Said(NOTICE_SCHEDULE, at(0), {"step": "stopped", "reason": "not_me"})], False),
        (
            [  # a file brought what is older
                Said(NOTICE_SCHEDULE, at(0), {"step": "stopped", "reason": "not_me"}),
                Said(NOTICE_SCHEDULE, at(-300), {"step": "released"}),
            ],
            False,
        ),
        (
            [  # a file says what was decided elsewhere
                Said(NOTICE_SCHEDULE, at(0), {"step": "stopped", "reason": "not_me"}),
                Said(NOTICE_SCHEDULE, at(0.5), {"step": "released"}, is_live=False),
            ],
            False,
        ),
        ([Said(TICKET, at(0), {"step": "opened"})], False),
        (
            [
                Said(TICKET, at(0), {"step": "opened"}),
                Said(TICKET, at(0), {"step": "closed"}),
            ],
            True,
        ),
        ([claimed("after_0d", at(0.001))], False),
        ([claimed("after_0d", at(1) - CLAIM)], True),
        ([notice("m1", "after_0d", at(0))], False),
    ],
)
def test_a_person_a_ticket_a_claim_or_a_message_under_way_keeps_it_back(
    said: list[Said], *, is_due: bool
) -> None:
    now = at(1) if is_due else at(0.002)
    assert (rung_due(said, now) == "after_0d") is is_due


def test_nothing_is_due_once_all_is_answered_or_without_a_deadline_after_it() -> None:
    assert due(ACI._replace(is_asked=False), [], at(1), RUNGS) == Decision()
    endless = ACI._replace(deadline_at=None)
    assert rung_due([], at(33), endless) == "after_28d"
    early = Rung.model_validate({"before": "60d"})
    assert due(ACI, [], at(1), [early]) == Decision()


STEPS = [
    Rung.model_validate(said)
    for said in (
        {"after": "0d"},
        {"after": "2d", "channel": "sms", "if_silent": True},
        {"after": "5d", "channel": "phone"},
        {"after": "9d"},
    )
]


def test_a_call_is_asked_for_once_and_keeps_no_message_back() -> None:
    found = due(ACI, [], at(5), STEPS)
    assert (found.call and found.call.name, found.rung and found.rung.name) == (
        "after_5d",
        "after_2d",
    )
    task = {"step": "claimed", "rung": "after_5d", "channel": "phone"}
    asked = [Said(NOTICE_SCHEDULE, at(5), task)]
    assert due(ACI, asked, at(6), STEPS).call is None
    called = [Said(SELLER_NOTICE, at(5.1), {"message_id": "m1", "channel": "phone"})]
    assert due(ACI, called, at(6), STEPS).call is None
    later = due(ACI, asked, at(9), STEPS)
    assert (later.call, later.rung and later.rung.name) == (None, "after_9d")
    assert due(ACI, [Said(TICKET, at(1), {"step": "opened"})], at(6), STEPS) == Decision()


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        (result("m1", "accepted", at(0)), "after_2d"),
        (result("m1", "delivered", at(1)), None),
        (result("m1", "opened", at(1)), None),
        (Said(COLLECTION, at(1), {"step": "opened", "source": "seller"}), None),
        (Said(COLLECTION, at(1), {"step": "invited", "source": "seller"}), "after_2d"),
        (Said(COLLECTION, at(1), {"step": "answered", "source": "bureau"}), "after_2d"),
    ],
)
def test_another_channel_is_tried_where_one_stays_silent(heard: Said, expected: str | None) -> None:
    said = [notice("m1", "after_0d", at(0)), result("m1", "accepted", at(0)), heard]
    found = due(ACI, said, at(2), STEPS).rung
    assert (found and found.name) == expected


@pytest.mark.parametrize(
    ("said", "is_ended"),
    [
        ([], False),
        ([result("m1", "accepted", at(1))], False),
        ([result("m1", "accepted", at(1)), result("m1", "bounced", at(2))], True),
        ([result("m1", "failed", at(1))], False),
        ([result("m1", "failed", at(1))] * 2, False),  # a message about two reviews
        ([result("m1", "failed", at(1), is_refused=True)], True),
        ([result("m1", "accepted", at(1)), result("m1", "failed", at(2))], True),
        ([result("m1", "bounced", at(2)), result("m1", "accepted", at(3))], True),
        ([result("m1", "bounced", at(2)), result("m2", "accepted", at(3))], False),
        ([result("elsewhere", "bounced", at(2))], False),
    ],
)
def test_a_channel_ends_with_a_message_to_the_address_that_came_back(
    said: list[Said], *, is_ended: bool
) -> None:
    def sent(message: str, address: str) -> Said:
        parts = {"message_id": message, "channel": "sms", "address": address}
        return Said(SELLER_NOTICE, at(0), parts)

    notices = [sent("m1", "here"), sent("m2", "here"), sent("elsewhere", "there")]
    found = ended_channels([*notices, *said], lambda channel: "here")
    assert found == ({"sms"} if is_ended else set())


def test_news_goes_before_a_rung_that_came_since_and_stands_for_it() -> None:
    first = [notice("m1", "after_0d", at(0)), result("m1", "accepted", at(0))]
    came = News.of("correct_2026", "email", "correct")

    def found(said: list[Said], days: float) -> Decision:
        return due(ACI, [*first, *said], at(days), RUNGS, [(at(6), came)])

    assert found([], 7.5).rung == came
    failed = [notice("m2", came.name, at(7.5)), result("m2", "failed", at(7.5))]
    assert found(failed, 7.51).rung is None
    assert found(failed, 7.6).rung == came
    refused = [*failed, result("m2", "failed", at(7.5), is_refused=True)]
    assert found(refused, 7.6).rung == RUNGS[1]
    said = [notice("m2", came.name, at(7.5)), result("m2", "accepted", at(7.5))]
    assert found(said, 7.6).rung is None


# --- over histories -------------------------------------------------------------------------------

ACTIONS = (
    *("turn", "turn", "turn", "no claim", "claim", "entry", "taken", "refused", "failed"),
    *("hold", "release", "ticket", "closed", "by hand", "answer"),
)


@dataclass
class World:
    """One review, one log, one service; whoever sends may die at any step."""

    now: int = OPENED
    log: list[Said] = field(default_factory=list)
    taken: list[tuple[str, str | None]] = field(default_factory=list)  # (message, rung)
    is_asked: bool = True
    is_kept: set[str] = field(default_factory=set)
    messages: int = 0

    @property
    def times(self) -> Times:
        return ACI._replace(is_asked=self.is_asked)

    def sweep(self) -> None:
        ended = {it.content["message_id"] for it in self.log if it.kind == SELLER_NOTICE_RESULT}
        for each in [it for it in self.log if it.kind == SELLER_NOTICE]:
            message = each.content["message_id"]
            if message not in ended and each.at + UNANSWERED <= self.now:
                self.log.append(result(message, "uncertain", self.now))

    def turn(self, dies_after: str) -> None:
        """`dies_after`: the step after which whoever sends is gone; "turn": none."""
        self.sweep()
        rung = due(self.times, self.log, self.now, RUNGS).rung
        if rung is None or dies_after == "no claim":
            return
        assert self.is_asked, "nothing goes out for what is over"
        assert not self.is_kept
        self.log.append(claimed(rung.name, self.now))
        if dies_after == "claim":
            return
        self.hand_over(rung.name, dies_after)

    def hand_over(self, rung: str | None, dies_after: str) -> None:
        self.messages += 1
        message = f"m{self.messages}"
        self.log.append(notice(message, rung, self.now))
        if dies_after == "entry":
            return
        if dies_after in ("failed", "refused"):
            is_final = {"is_refused": True} if dies_after == "refused" else {}
            self.log.append(result(message, "failed", self.now, **is_final))
            return
        self.taken.append((message, rung))
        if dies_after != "taken":
            self.log.append(result(message, "accepted", self.now))

    def act(self, action: str) -> None:
        match action:
            case "hold" | "release":
                step = {"hold": "held", "release": "released"}[action]
                self.log.append(Said(NOTICE_SCHEDULE, self.now, {"step": step}))
                self.keep("hold", is_kept=action == "hold")
            case "ticket" | "closed":
                step = {"ticket": "opened", "closed": "closed"}[action]
                self.log.append(Said(TICKET, self.now, {"step": step}))
                self.keep("ticket", is_kept=action == "ticket")
            case "by hand":
                self.hand_over(None, "turn")
            case "answer":
                self.is_asked = False
            case _:
                self.turn(action)

    def keep(self, why: str, *, is_kept: bool) -> None:
        (self.is_kept.add if is_kept else self.is_kept.discard)(why)


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(ACTIONS)), max_size=60))
@settings(max_examples=depth.rounds(100, 5000), deadline=None)
def test_over_any_history_no_rung_is_doubled_and_none_to_come_is_missed(
    history: list[tuple[int, str]],
) -> None:
    world = World()
    for hours, action in history:
        world.now += hours * HOUR
        world.act(action)
    # From here on nobody dies: each rung to come goes out, exactly once.
    began = world.now
    while world.now < at(45):
        world.now += HOUR
        world.turn("turn")
    rungs = [it for _, it in world.taken if it is not None]
    assert len(rungs) == len(set(rungs)), "doubled"
    if world.is_kept or not world.is_asked:
        return
    for days, name in ((7, "after_7d"), (14, "after_14d"), (25, "after_25d"), (33, "late_3d")):
        if at(days) >= began + APART:
            assert name in rungs, "missed"
