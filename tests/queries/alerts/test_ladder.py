"""The ladder of a review, and the conditions beside it: each due and, an instant off, not due."""

import json
from datetime import timedelta

import pytest

from pipeline.alert_rules import AlertRules
from pipeline.ledger.reader import Reader
from tests.support.ledgers import _shared, asked, ledger_of, rows
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


def due(history, as_of):
    """What is due, as (kind, severity, since, next action), and whether it was raised."""
    return [
        (row["kind"], row["severity"], row["since"].isoformat(), row["next_action"])
        for row in asked(history, "alerts", at(as_of))
    ]


def kinds(history, as_of):
    return [kind for kind, *_ in due(history, as_of)]


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2026-03-01T12:00:00", ("opened", "notice", "2026-03-01T12:00:00")),
        ("2026-03-16T12:00:00", ("before_15d", "notice", "2026-03-16T12:00:00")),
        ("2026-03-24T12:00:00", ("before_7d", "notice", "2026-03-24T12:00:00")),
        ("2026-03-28T11:59:59.999999", ("before_7d", "notice", "2026-03-24T12:00:00")),
        ("2026-03-28T12:00:00", ("before_3d", "notice", "2026-03-28T12:00:00")),
        ("2026-03-28T12:00:00.000001", ("before_3d", "risk", "2026-03-28T12:00:00")),
        ("2026-03-30T12:00:00", ("before_1d", "risk", "2026-03-30T12:00:00")),
        ("2026-03-31T08:00:00", ("before_4h", "risk", "2026-03-31T08:00:00")),
        ("2026-03-31T12:00:00", ("expired", "breach", "2026-03-31T12:00:00")),
        ("2026-04-07T11:59:59.999999", ("expired", "breach", "2026-03-31T12:00:00")),
    ],
)
def test_an_inconsistency_climbs_the_ladder_rung_by_rung(as_of, expected):
    assert due([aci()], as_of) == [(*expected, "start_collection")]


@pytest.mark.parametrize("as_of", ["2026-03-01T11:59:59.999999", "2026-03-08T12:00:00"])
def test_nothing_is_due_before_the_opening_nor_once_it_is_long_past(as_of):
    assert due([aci()], as_of) == []


def test_a_periodic_review_is_an_alert_when_it_becomes_overdue():
    assert kinds([acp()], "2026-03-31T11:59:59.999999") == []
    assert due([acp()], "2026-03-31T12:00:00") == [
        ("overdue", "notice", "2026-03-31T12:00:00", "start_collection")
    ]


def test_what_is_finished_is_no_alert():
    done = [started("a1", "2026-03-30T12:00:00Z"), finished("a1", 200, "2026-03-30T12:00:01Z")]
    assert "before_1d" in kinds([aci()], "2026-03-30T12:00:01")
    assert "before_1d" not in kinds([aci(), *done], "2026-03-30T12:00:01")


def test_the_sellers_turn_is_no_alert_until_three_days_before_the_deadline():
    asked = [aci(), invited("2026-03-24T00:00:00Z"), invited("2026-03-26T00:00:00Z")]
    assert kinds(asked, "2026-03-24T12:00:00") == []
    assert kinds(asked, "2026-03-28T12:00:00") == []
    assert due(asked, "2026-03-28T12:00:00.000001") == [
        ("before_3d", "risk", "2026-03-28T12:00:00", "await_seller")
    ]


def test_what_expired_long_before_we_knew_is_an_alert_once_we_know():
    """A deadline that was moved back, or a report that came after a long outage, told nobody."""
    moved = acp("e2", "2026-03-20T12:00:00Z", deadline_at="2026-03-10T12:00:00Z")
    late = acp("e2", "2026-03-10T12:00:00Z", "2026-03-20T12:00:00Z", status="EXPIRED")
    for news in (moved, late):
        assert "expired" not in kinds([acp(), news], "2026-03-20T11:59:59.999999")
        assert due([acp(), news], "2026-03-20T12:00:00") == [
            ("expired", "breach", "2026-03-20T12:00:00", "start_collection")
        ]
        assert kinds([acp(), news], "2026-03-27T12:00:00") == []


@pytest.mark.parametrize("opened", [acp, aci])
def test_a_rung_that_was_reached_long_before_its_deadline_came_is_one_from_then_on(opened):
    """A deadline that was moved forward, between two rungs, told nobody before the next one."""
    near = opened("e2", "2026-03-10T12:00:00Z", deadline_at="2026-03-17T18:00:00Z")
    assert due([opened(), near], "2026-03-10T12:00:00") == [
        ("before_15d", "notice", "2026-03-10T12:00:00", "start_collection")
    ]
    again = opened("e3", "2026-03-11T12:00:00Z", deadline_at="2026-03-17T18:00:00Z")
    [(_, _, since, _)] = due([opened(), near, again], "2026-03-10T17:59:59")
    assert since == "2026-03-10T12:00:00"


def test_a_deadline_that_comes_back_once_it_has_passed_is_an_alert_from_then_on():
    """It was moved away an hour before it passed, and back ten days after: that it had expired
    counted as known since its first report, which was too long ago to raise anything."""
    away = acp("e2", "2026-04-30T11:00:00Z", deadline_at="2026-06-30T12:00:00Z")
    back = acp("e3", "2026-05-10T12:00:00Z")
    assert kinds([acp(), away], "2026-05-10T11:59:59.999999") == []
    assert due([acp(), away, back], "2026-05-10T12:00:00") == [
        ("expired", "breach", "2026-05-10T12:00:00", "start_collection")
    ]
    again = acp("e4", "2026-05-11T12:00:00Z")  # the same deadline: nothing new
    [(_, _, since, _)] = due([acp(), away, back, again], "2026-05-12T12:00:00")
    assert since == "2026-05-10T12:00:00"


def test_what_became_overdue_long_before_we_knew_is_an_alert_once_we_know():
    late = acp("e2", "2026-03-05T12:00:00Z", "2026-03-20T12:00:00Z", status="OVERDUE")
    assert due([acp(), late], "2026-03-20T12:00:00") == [
        ("overdue", "notice", "2026-03-20T12:00:00", "start_collection")
    ]


def test_a_platform_whose_clock_is_ahead_hides_no_deadline():
    """A review created in two months' time, by its event, stood on its opening until it expired."""
    ahead = "2026-05-30T12:00:00Z"
    p2, p3 = {"process_id": "p2"}, {"process_id": "p3"}
    history = [
        {**aci(created_at=ahead), "occurred_at": "2026-03-05T00:00:00Z"},
        acp("e2", **p2),
        acp("e3", ahead, "2026-03-05T00:00:00Z", status="OVERDUE", **p2),
        acp("e4", **p3),
        acp("e5", ahead, "2026-03-05T00:00:00Z", status="EXPIRED", **p3),
    ]
    with ledger_of(history) as reader:
        known = rows(reader, "alerts", at("2026-03-05T00:00:00"))
        assert {it["since"] for it in known} == {at("2026-03-05T00:00:00")}
        assert [it["kind"] for it in known] == ["expired", "opened", "overdue"]
        later = rows(reader, "alerts", at("2026-03-30T12:00:00"))
        assert [it["kind"] for it in later] == ["before_1d"]


def test_what_is_expired_is_an_alert_whoever_has_to_act():
    """Reported early, it was held back while others had to act, and was too old after that."""
    history = [
        aci(),
        aci("e2", "2026-03-10T12:00:00Z", status="EXPIRED"),
        action("ticket", "2026-03-05T12:00:00Z", process_id="p1", step="opened", number="7"),
    ]
    assert due(history, "2026-03-10T12:00:00") == [
        ("expired", "breach", "2026-03-10T12:00:00", "await_platform")
    ]


def test_an_alert_that_reached_nobody_stays_one_though_the_seller_was_asked():
    """The link for the seller was made for a message that failed: nobody had it, the seller was not
    asked, and the alert was over."""
    [alert] = [row["alert_id"] for row in asked([aci()], "alerts", at("2026-03-24T12:00:00"))]

    def step(name, second, **more):
        said = {"alert": alert, "about": "before_7d", "severity": "notice", "step": name, **more}
        return action("alert", f"2026-03-24T12:00:0{second}Z", process_id="p1", **said)

    ana = {"to": "ana", "via": "email"}
    history = [
        aci(),
        step("raised", 0),
        step("tried", 1, **ana),
        invited("2026-03-24T12:00:02Z"),
        step("failed", 3, answer="451", **ana),
    ]
    still_due = [("before_7d", "notice", "2026-03-24T12:00:00", "await_seller")]
    assert due(history, "2026-03-24T12:01:00") == still_due
    # She has it now. The link in it is what asked the seller, and nobody sees to it yet.
    history += [step("tried", 4, **ana), step("sent", 5, **ana)]
    assert due(history, "2026-03-24T12:01:00") == still_due
    seen_to = step("acknowledged", 6)
    assert due([*history, seen_to], "2026-03-24T12:01:00") == []
    by_hand = invited("2026-03-24T12:00:06Z")
    assert due([*history, by_hand], "2026-03-24T12:01:00") == []


def test_a_message_with_the_sellers_link_ends_nothing_for_those_who_were_not_reached():
    """The desk had it, with a link for the seller: Ana's failed message was not repeated, and
    nobody who came after the desk heard of it."""
    [alert] = [row["alert_id"] for row in asked([aci()], "alerts", at("2026-03-24T12:00:00"))]

    def step(name, second, to=None, **more):
        said = {"alert": alert, "about": "before_7d", "severity": "notice", "step": name, **more}
        way = {} if to is None else {"to": to, "via": "email" if to == "ana" else "webhook"}
        return action("alert", f"2026-03-24T12:00:{second:02}Z", process_id="p1", **said, **way)

    failed = [
        *(aci(), step("raised", 0)),
        *(step("tried", 1, "ana"), step("failed", 2, "ana", answer="451")),
    ]
    with_link = [step("tried", 3, "desk"), invited("2026-03-24T12:00:04Z"), step("sent", 5, "desk")]
    by_hand = [step("tried", 3, "desk"), step("sent", 4, "desk"), invited("2026-03-24T12:00:06Z")]
    still_due = [("before_7d", "notice", "2026-03-24T12:00:00", "await_seller")]
    for others in (with_link, by_hand):
        assert due([*failed, *others], "2026-03-24T12:01:00") == still_due
    for end in ("sent", "undelivered"):
        repeated = [step("tried", 10, "ana"), step(end, 11, "ana")]
        assert due([*failed, *with_link, *repeated], "2026-03-24T12:01:00") == still_due
        assert due([*failed, *by_hand, *repeated], "2026-03-24T12:01:00") == []
    # With a ticket open it is the platform's turn, whoever has a link.
    ticket = action("ticket", "2026-03-24T12:00:20Z", process_id="p1", step="opened", number="7")
    everybody = [*failed, *with_link, step("tried", 10, "ana"), step("sent", 11, "ana")]
    assert due([*everybody, ticket], "2026-03-24T12:01:00") == []


def test_another_deadline_is_another_ladder():
    later = aci("e2", "2026-03-28T18:00:00Z", deadline_at="2026-04-10T12:00:00Z")
    with ledger_of([aci(), later]) as reader:
        [first] = rows(reader, "alerts", at("2026-03-26T12:00:00"))
        [second] = rows(reader, "alerts", at("2026-04-03T12:00:00"))
    assert (first["kind"], second["kind"]) == ("before_7d", "before_7d")
    assert first["alert_id"] != second["alert_id"]


def test_an_alert_that_was_raised_says_when():
    with ledger_of([aci()]) as reader:
        [row] = rows(reader, "alerts", at("2026-03-24T13:00:00"))
    raised = action(
        "alert", "2026-03-24T12:30:00Z", step="raised", alert=row["alert_id"], channels=["c"]
    )
    with ledger_of([aci(), raised]) as reader:
        [row] = rows(reader, "alerts", at("2026-03-24T13:00:00"))
    assert row["raised_at"] == at("2026-03-24T12:30:00")


# --- conditions ---


def test_a_refused_certificate_is_an_alert_for_the_engineer():
    refused = [started("a1"), finished("a1", None, "2026-03-02T00:00:01Z", error="tls_refused")]
    with ledger_of([aci(), *refused]) as reader:
        found = {it["kind"]: it for it in rows(reader, "alerts", at("2026-03-02T00:00:01"))}
    assert found["tls_refused"]["role"] == "admin"
    assert found["tls_refused"]["process_id"] is None


def test_bad_deliveries_of_one_day_are_one_alert():
    bad = [webhook(f"not json {it}", f"2026-03-0{it}T12:00:00Z") for it in (2, 2, 3)]
    bad.append(webhook("not json at all", "2026-03-02T13:00:00Z"))
    assert due(bad, "2026-03-03T12:00:00") == [
        ("quarantined", "risk", "2026-03-02T12:00:00", None),
        ("quarantined", "risk", "2026-03-03T12:00:00", None),
    ]


def deliveries(*hours):
    """Live deliveries so many hours after the opening."""
    start = at("2026-03-01T12:00:00")
    return [
        live(seller("updated", f"v{number}", f"{(start + timedelta(hours=hour)).isoformat()}Z"))
        for number, hour in enumerate(hours)
    ]


def test_silence_is_half_as_long_again_as_the_third_longest_pause():
    # Pauses of 50, 10 and 4 hours, the others of one: silence after 6 hours.
    usual = deliveries(0, 1, 2, 52, 53, 63, 64, 68, 69, 70, 71)
    assert kinds(usual, "2026-03-04T16:59:59.999999") == []
    assert due(usual, "2026-03-04T17:00:00") == [("silence", "risk", "2026-03-04T17:00:00", None)]


def test_one_delivery_ends_the_silence():
    usual = deliveries(0, 1, 2, 52, 53, 63, 64, 68, 69, 70, 71)
    assert kinds([*usual, *deliveries(*[0] * 11, 78)[-1:]], "2026-03-04T18:00:00") == []


def test_what_is_hardly_used_is_never_silent():
    assert kinds(deliveries(0, 1, 2, 3, 4, 5, 6, 7, 8), "2026-03-05T00:00:00") == []


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
    assert json.loads(said) == json.loads(AlertRules().for_views())
