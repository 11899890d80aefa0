"""The ladder of a review, and the conditions beside it: each due and, an instant off, not due."""

import json
from datetime import timedelta

import pytest

from pipeline.alert_rules import AlertRules
from pipeline.ledger.views.reader import Reader
from tests.support.histories.moments import DAY, HOUR, TICK, in_zulu
from tests.support.ledgers import World, _shared, asked, ledger_of, rows
from tests.support.lines import (
    aci,
    acp,
    action,
    at,
    finished,
    invited,
    live,
    seller,
    started,
    webhook,
)

WORLD = World()


def due(history, as_of):
    """What is due, as (kind, severity, since, next action), and whether it was raised."""
    return [
        (row["kind"], row["severity"], row["since"].isoformat(), row["next_action"])
        for row in asked(history, "alerts", at(as_of))
    ]


def kinds(history, as_of):
    return [kind for kind, *_ in due(history, as_of)]


inconsistent, periodic = WORLD.add(aci()), WORLD.add(acp())

RUNGS = [
    # How long ago a review of thirty days was opened; its rung, how grave it is, and the age at it.
    (0 * DAY, ("opened", "notice", 0 * DAY)),
    (15 * DAY, ("before_15d", "notice", 15 * DAY)),
    (23 * DAY, ("before_7d", "notice", 23 * DAY)),
    (27 * DAY - TICK, ("before_7d", "notice", 23 * DAY)),
    (27 * DAY, ("before_3d", "notice", 27 * DAY)),
    (27 * DAY + TICK, ("before_3d", "risk", 27 * DAY)),
    (29 * DAY, ("before_1d", "risk", 29 * DAY)),
    (30 * DAY - 4 * HOUR, ("before_4h", "risk", 30 * DAY - 4 * HOUR)),
    (30 * DAY, ("expired", "breach", 30 * DAY)),
    (37 * DAY - TICK, ("expired", "breach", 30 * DAY)),
    # Nothing before the opening, nor once a rung is long past.
    (-TICK, None),
    (7 * DAY, None),
    (37 * DAY, None),
]


def test_an_inconsistency_climbs_the_ladder_rung_by_rung():
    now = at("2026-03-31T12:00:00")
    opened = {f"p{number}": now - age for number, (age, _) in enumerate(RUNGS)}
    reviews = [
        aci(
            f"e-{name}",
            in_zulu(instant),
            process_id=name,
            deadline_at=in_zulu(instant + 30 * DAY),
        )
        for name, instant in opened.items()
    ]
    listed = asked(reviews, "alerts", now)
    found = {row["process_id"]: row for row in listed}
    assert len(found) == len(listed), "each stands on one rung"
    for (name, instant), (age, expected) in zip(opened.items(), RUNGS, strict=True):
        row = found.get(name)
        stands_on = row and (row["kind"], row["severity"], row["since"] - instant)
        assert stands_on == expected, age
    assert {row["next_action"] for row in found.values()} == {"start_collection"}


def test_a_periodic_review_is_an_alert_when_it_becomes_overdue():
    assert kinds(periodic, "2026-03-31T11:59:59.999999") == []
    assert due(periodic, "2026-03-31T12:00:00") == [
        ("overdue", "notice", "2026-03-31T12:00:00", "start_collection")
    ]


@WORLD.given(
    aci(), started("a1", "2026-03-30T11:59:59Z"), finished("a1", 200, "2026-03-30T12:00:00Z")
)
def test_what_is_finished_is_not_an_alert(history):
    assert "before_1d" in kinds(inconsistent, "2026-03-30T12:00:00")
    assert "before_1d" not in kinds(history, "2026-03-30T12:00:00")


@WORLD.given(aci(), invited("2026-03-24T00:00:00Z"), invited("2026-03-26T00:00:00Z"))
def test_the_sellers_turn_is_not_an_alert_until_three_days_before_the_deadline(history):
    assert kinds(history, "2026-03-24T12:00:00") == []
    assert kinds(history, "2026-03-28T12:00:00") == []
    assert due(history, "2026-03-28T12:00:00.000001") == [
        ("before_3d", "risk", "2026-03-28T12:00:00", "await_seller")
    ]


@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(acp(), news)
        for news in (
            acp("e2", "2026-03-20T12:00:00Z", deadline_at="2026-03-10T12:00:00Z"),  # moved
            acp("e2", "2026-03-10T12:00:00Z", "2026-03-20T12:00:00Z", status="EXPIRED"),  # late
        )
    ],
)
def test_what_expired_long_before_we_knew_is_an_alert_once_we_know(history):
    """A deadline that was moved back, or a report that came after a long outage, told nobody."""
    assert "expired" not in kinds(history, "2026-03-20T11:59:59.999999")
    assert due(history, "2026-03-20T12:00:00") == [
        ("expired", "breach", "2026-03-20T12:00:00", "start_collection")
    ]
    assert kinds(history, "2026-03-27T12:00:00") == []


NEAR = {"deadline_at": "2026-03-17T18:00:00Z"}


@pytest.mark.parametrize(
    ("history", "again"),
    [
        (
            WORLD.add(review(), review("e2", "2026-03-10T12:00:00Z", **NEAR)),
            WORLD.add(
                review(),
                review("e2", "2026-03-10T12:00:00Z", **NEAR),
                review("e3", "2026-03-10T17:00:00Z", **NEAR),
            ),
        )
        for review in (acp, aci)
    ],
)
def test_a_rung_that_was_reached_long_before_its_deadline_came_is_one_from_then_on(history, again):
    """A deadline that was moved forward, between two rungs, told nobody before the next one."""
    assert due(history, "2026-03-10T12:00:00") == [
        ("before_15d", "notice", "2026-03-10T12:00:00", "start_collection")
    ]
    [(_, _, since, _)] = due(again, "2026-03-10T17:59:59")
    assert since == "2026-03-10T12:00:00"


AWAY = [acp(), acp("e2", "2026-04-30T11:00:00Z", deadline_at="2026-06-30T12:00:00Z")]
BACK = [*AWAY, acp("e3", "2026-05-10T12:00:00Z")]


@WORLD.given(away=AWAY, back=BACK, back_again=[*BACK, acp("e4", "2026-05-11T12:00:00Z")])
def test_a_deadline_that_comes_back_once_it_has_passed_is_an_alert_from_then_on(
    away, back, back_again
):
    """It was moved away an hour before it passed, and back ten days after: that it had expired
    counted as known since its first report, which was too long ago to raise anything."""
    assert kinds(away, "2026-05-10T11:59:59.999999") == []
    assert due(back, "2026-05-10T12:00:00") == [
        ("expired", "breach", "2026-05-10T12:00:00", "start_collection")
    ]
    # The same deadline: nothing new.
    [(_, _, since, _)] = due(back_again, "2026-05-12T12:00:00")
    assert since == "2026-05-10T12:00:00"


@WORLD.given(acp(), acp("e2", "2026-03-05T12:00:00Z", "2026-03-20T12:00:00Z", status="OVERDUE"))
def test_what_became_overdue_long_before_we_knew_is_an_alert_once_we_know(history):
    assert due(history, "2026-03-20T12:00:00") == [
        ("overdue", "notice", "2026-03-20T12:00:00", "start_collection")
    ]


AHEAD = "2026-05-30T12:00:00Z"


@WORLD.given(
    {**aci(created_at=AHEAD), "occurred_at": "2026-03-05T00:00:00Z"},
    acp("e2", process_id="p2"),
    acp("e3", AHEAD, "2026-03-05T00:00:00Z", status="OVERDUE", process_id="p2"),
    acp("e4", process_id="p3"),
    acp("e5", AHEAD, "2026-03-05T00:00:00Z", status="EXPIRED", process_id="p3"),
)
def test_a_platform_whose_clock_is_ahead_hides_no_deadline(history):
    """A review created in two months' time, by its event, stood on its opening until it expired."""
    known = asked(history, "alerts", at("2026-03-05T00:00:00"))
    assert {it["since"] for it in known} == {at("2026-03-05T00:00:00")}
    assert {it["kind"] for it in known} == {"expired", "opened", "overdue"}
    later = asked(history, "alerts", at("2026-03-30T12:00:00"))
    assert [it["kind"] for it in later] == ["before_1d"]


@WORLD.given(
    aci(),
    aci("e2", "2026-03-10T12:00:00Z", status="EXPIRED"),
    action("ticket", "2026-03-05T12:00:00Z", process_id="p1", step="opened", number="7"),
)
def test_what_is_expired_is_an_alert_whoever_has_to_act(history):
    """Reported early, it was held back while others had to act, and was too old after that."""
    assert due(history, "2026-03-10T12:00:00") == [
        ("expired", "breach", "2026-03-10T12:00:00", "await_platform")
    ]


@WORLD.given(aci(), aci("e2", "2026-03-28T18:00:00Z", deadline_at="2026-04-07T12:00:00Z"))
def test_another_deadline_is_another_ladder(history):
    [first] = asked(history, "alerts", at("2026-03-24T12:00:00"))
    [second] = asked(history, "alerts", at("2026-03-31T12:00:00"))
    assert (first["kind"], second["kind"]) == ("before_7d", "before_7d")
    assert first["alert_id"] != second["alert_id"]


# --- what was done about one that was raised ---


def step(name, second, to=None, **more):
    said = {"about": "before_7d", "severity": "notice", "step": name, **more}
    way = {} if to is None else {"to": to, "via": "email" if to == "ana" else "webhook"}
    return action("alert", f"2026-03-24T12:00:{second:02}Z", **said, **way)


def repeated(end):
    return [step("tried", 10, "ana"), step(end, 11, "ana")]


FAILED_WITH_A_LINK = [
    step("raised", 0),
    step("tried", 1, "ana"),
    invited("2026-03-24T12:00:02Z"),
    step("failed", 3, "ana", answer="451"),
]
# She has it then. The link in it is what asked the seller, and nobody sees to it yet.
REACHED = [*FAILED_WITH_A_LINK, step("tried", 4, "ana"), step("sent", 5, "ana")]
FAILED = [step("raised", 0), step("tried", 1, "ana"), step("failed", 2, "ana", answer="451")]
WITH_LINK = [
    *(*FAILED, step("tried", 3, "desk")),
    *(invited("2026-03-24T12:00:04Z"), step("sent", 5, "desk")),
]
BY_HAND = [
    *(*FAILED, step("tried", 3, "desk")),
    *(step("sent", 4, "desk"), invited("2026-03-24T12:00:06Z")),
]
# With a ticket open it is the platform's turn, no matter who has a link.
TICKET = action("ticket", "2026-03-24T12:00:20Z", step="opened", number="7")
STORIES = {
    "raised": [step("raised", 30)],
    "failed": FAILED_WITH_A_LINK,
    "reached": REACHED,
    "reached_and_seen_to": [*REACHED, step("acknowledged", 6)],
    "reached_and_invited_by_hand": [*REACHED, invited("2026-03-24T12:00:06Z")],
    "with_link": WITH_LINK,
    "by_hand": BY_HAND,
    "with_link_sent": [*WITH_LINK, *repeated("sent")],
    "with_link_undelivered": [*WITH_LINK, *repeated("undelivered")],
    "by_hand_sent": [*BY_HAND, *repeated("sent")],
    "by_hand_undelivered": [*BY_HAND, *repeated("undelivered")],
    "with_ticket": [*WITH_LINK, *repeated("sent"), TICKET],
}
"""What was done about an alert: each story is that of a process of its name."""


@pytest.fixture(scope="module")
def a_minute_later():
    """What is due of each story, a minute after an inconsistency reached its seventh day before the
    deadline."""
    opened = [aci(f"e-{it}", process_id=it, customer_id=f"s-{it}") for it in STORIES]
    alerts = {
        row["process_id"]: row["alert_id"]
        for row in asked(opened, "alerts", at("2026-03-24T12:00:00"))
    }
    lines = [
        {**line, "process_id": name, "alert": alerts[name], "journey_id": f"j-{name}"}
        for name, story in STORIES.items()
        for line in story
    ]
    found = asked([*opened, *lines], "alerts", at("2026-03-24T12:01:00"))
    return {name: [row for row in found if row["process_id"] == name] for name in STORIES}


def assert_due(rows):
    [row] = rows
    due = (row["kind"], row["severity"], row["since"], row["next_action"])
    assert due == ("before_7d", "notice", at("2026-03-24T12:00:00"), "await_seller")


def test_an_alert_that_reached_nobody_stays_one_though_the_seller_was_asked(a_minute_later):
    """The link for the seller was made for a message that failed: nobody had it, the seller was not
    asked, and the alert was over."""
    assert_due(a_minute_later["failed"])
    assert_due(a_minute_later["reached"])
    assert a_minute_later["reached_and_seen_to"] == []
    assert a_minute_later["reached_and_invited_by_hand"] == []


def test_a_message_with_the_sellers_link_ends_nothing_for_those_who_were_not_reached(
    a_minute_later,
):
    """The desk had it, with a link for the seller: Ana's failed message was not repeated, and
    nobody who came after the desk heard of it."""
    for story in ("with_link", "by_hand", "with_link_sent", "with_link_undelivered"):
        assert_due(a_minute_later[story])
    for story in ("by_hand_sent", "by_hand_undelivered", "with_ticket"):
        assert a_minute_later[story] == []


def test_an_alert_that_was_raised_says_when(a_minute_later):
    [row] = a_minute_later["raised"]
    assert row["raised_at"] == at("2026-03-24T12:00:30")


# --- conditions ---


REFUSED = [
    started("a1", "2026-03-03T11:59:59Z"),
    finished("a1", None, "2026-03-03T12:00:00Z", error="tls_refused"),
]
BAD = [webhook(f"not json {it}", f"2026-03-0{it}T12:00:00Z") for it in (2, 2, 3)]
BAD.append(webhook("not json at all", "2026-03-02T13:00:00Z"))


def test_a_refused_certificate_is_an_alert_for_the_engineer_and_bad_deliveries_of_one_day_are_one():
    alerts = asked([aci(), *REFUSED, *BAD], "alerts", at("2026-03-03T12:00:00"))
    found = {it["kind"]: it for it in alerts}
    assert found["tls_refused"]["role"] == "admin"
    assert found["tls_refused"]["process_id"] is None
    quarantined = [it for it in alerts if it["kind"] == "quarantined"]
    assert [(it["severity"], it["since"], it["next_action"]) for it in quarantined] == [
        ("risk", at("2026-03-02T12:00:00"), None),
        ("risk", at("2026-03-03T12:00:00"), None),
    ]


def deliveries(*hours):
    """Live deliveries so many hours after the opening."""
    start = at("2026-03-01T12:00:00")
    return [
        live(seller("updated", f"v{number}", in_zulu(start + timedelta(hours=hour))))
        for number, hour in enumerate(hours)
    ]


# Pauses of 50, 10 and 4 hours, the others of one: silence after 6 hours.
USUAL = (0, 1, 2, 52, 53, 63, 64, 68, 69, 70, 71)


def test_silence_is_half_as_long_again_as_the_third_longest_pause_and_one_delivery_ends_it():
    one_more = deliveries(*USUAL, 78)
    assert kinds(one_more, "2026-03-04T16:59:59.999999") == []
    assert due(one_more, "2026-03-04T17:00:00") == [
        ("silence", "risk", "2026-03-04T17:00:00", None)
    ]
    assert kinds(one_more, "2026-03-04T18:00:00") == []


def test_what_is_hardly_used_is_never_silent():
    assert kinds(deliveries(0, 1, 2, 3, 4, 5, 6, 7, 8), "2026-03-05T00:00:00") == []


def wish(step, occurred_at, **more):
    line = action("notice_schedule", occurred_at, process_id=None, seller_id="s1", step=step)
    return {**line, **more}


NOT_ME = wish("stopped", "2026-03-05T12:00:00Z", reason="not_me")


def test_whoever_says_that_they_are_not_the_seller_becomes_a_task_until_messages_go_on():
    """It is about the review that is open for longest, and due while there is one."""
    later = aci("e2", "2026-03-04T12:00:00Z", process_id="p2")
    history = [aci(), later, NOT_ME, wish("released", "2026-03-07T12:00:00Z")]
    assert "not_me" not in kinds(history, "2026-03-05T11:59:59.999999")
    alerts = {it["kind"]: it for it in asked(history, "alerts", at("2026-03-05T12:00:00"))}
    found = alerts["not_me"]
    assert (found["severity"], found["role"]) == ("risk", "officer")
    assert (found["process_id"], found["seller_id"]) == ("p1", "s1")
    held = [*history, wish("held", "2026-03-06T12:00:00Z")]
    alerts = {it["kind"]: it for it in asked(held, "alerts", at("2026-03-06T12:00:00"))}
    assert alerts["not_me"]["alert_id"] == found["alert_id"], "a hold is no answer to it"
    assert "not_me" not in kinds(history, "2026-03-07T12:00:00")
    other = {**NOT_ME, "reason": "stop_writing"}
    assert "not_me" not in kinds([aci(), other], "2026-03-05T12:00:00")
    assert "not_me" not in kinds([NOT_ME], "2026-03-05T12:00:00")
    review = aci("e3", "2026-03-20T12:00:00Z")
    assert ("not_me", "risk", "2026-03-20T12:00:00", "start_collection") in due(
        [NOT_ME, review], "2026-03-20T12:00:00"
    )


def test_settings_decide_what_is_due():
    rules = AlertRules(
        silence_hours=5, ladder={"opened": ["ACI"], "before": ["10d"], "expired": False}
    )
    with ledger_of([acp(), *deliveries(0)]):
        told = Reader(_shared()[0], alert_rules=rules.for_views)
        found = {
            day: [row["kind"] for row in rows(told, "alerts", at(day))]
            for day in ("2026-03-01T17:00:00", "2026-04-20T12:00:00", "2026-04-30T12:00:00")
        }
    assert found == {
        "2026-03-01T17:00:00": ["silence"],
        "2026-04-20T12:00:00": ["before_10d"],
        "2026-04-30T12:00:00": [],
    }


def test_the_views_own_defaults_are_those_of_the_settings():
    with ledger_of([]):
        [(said,)] = _shared()[0].cursor().execute("select to_json(alert_rules())").fetchall()
    of_views, of_settings = json.loads(said), json.loads(AlertRules().for_views())
    assert of_views == of_settings, "write what the settings have into alert_rules of macros.sql"
