"""Who was told of what: by hand from docs/alerts.md#what-is-recorded."""

from typing import Any

from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.references import CONDITIONS
from pipeline.alert_rules.untold import possible
from tests.support.ledgers import asked
from tests.support.lines import aci, action, at, finished, live, started, webhook
from tests.support.rich import RICH

ALERT = "f39949756edc6f39c7f796c29e7e306c"
"""The rung of one day before the deadline, of the process that `aci` opens."""
END = at("2026-03-30T20:00:00")


def step(name: str, when: str, **more: Any) -> dict[str, Any]:
    return action("alert", f"2026-03-30T{when}Z", process_id="p1", step=name, alert=ALERT, **more)


RAISED = step(
    *("raised", "12:00:01"),
    about="before_1d",
    severity="risk",
    role="officer",
    since="2026-03-30T12:00:00Z",
)


def try_of(to: str, name: str, when: str, number: int, **more: Any) -> dict[str, Any]:
    return step(name, when, to=to, via="email", level=0, **{"try": number}, **more)


def rows(history: list[dict[str, Any]], view: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in asked(history, view, END)]


def test_a_try_and_its_end_are_two() -> None:
    history = [
        aci(),
        RAISED,
        try_of("ana", "tried", "12:00:02", 1),
        try_of("ana", "failed", "12:00:03", 1, answer="550 no"),
        try_of("ana", "tried", "12:01:03", 2),
        try_of("ana", "sent", "12:01:04", 2),
        try_of("bruno", "tried", "12:00:02", 1),
        try_of("bruno", "tried", "12:05:02", 2),
        try_of("bruno", "sent", "12:05:03", 2),
        try_of("carla", "tried", "12:00:02", 1),
        try_of("carla", "failed", "12:00:03", 1, answer="550 no"),
        # The server kept silent once it had the message: it may have taken it.
        try_of("dora", "tried", "12:00:02", 1),
        try_of("dora", "failed", "12:00:22", 1, answer="timed out", may_have_it=True),
        try_of("dora", "tried", "12:01:22", 2),
        try_of("dora", "sent", "12:01:23", 2),
    ]
    found = rows(
        history, "alerts_sent", "recipient", "tries", "sent_at", "answer", "may_be_doubled"
    )
    assert sorted(found) == [
        ("ana", 2, at("2026-03-30T12:01:04"), None, False),
        ("bruno", 2, at("2026-03-30T12:05:03"), None, True),
        ("carla", 1, None, "550 no", False),
        ("dora", 2, at("2026-03-30T12:01:23"), None, True),
    ]
    [alert] = rows(history, "alerts", "alert_id", "told", "undelivered", "raised_at")
    assert alert == (ALERT, 3, 0, at("2026-03-30T12:00:01"))
    # Given up, carla hears nothing; ana does after all.
    gone = {"via": "email", "level": 0, "answer": "given up after 8 tries"}
    history += [step("undelivered", "12:02:00", to=name, **gone) for name in ("ana", "carla")]
    history.append(try_of("ana", "sent", "12:03:00", 3))
    assert rows(history, "alerts", "told", "undelivered") == [(3, 1)]


def test_two_messages_are_doubled_unless_somebody_put_the_alert_off_between() -> None:
    """Two processes told while neither could record it; and what is put off is sent again."""

    def is_doubled(*steps: dict[str, Any]) -> list[tuple[Any, ...]]:
        return rows([aci(), RAISED, *steps], "alerts_sent", "tries", "may_be_doubled")

    once = [try_of("ana", "tried", "12:00:02", 1), try_of("ana", "sent", "12:00:03", 1)]
    beside = [try_of("ana", "tried", "12:00:04", 1), try_of("ana", "sent", "12:00:05", 1)]
    after = [try_of("ana", "tried", "12:30:02", 2), try_of("ana", "sent", "12:30:03", 2)]
    put_off = step("snoozed", "12:10:00", until="2026-03-30T12:30:00Z", actor="Ana", reason="ill")
    assert is_doubled(*once) == [(1, False)]
    assert is_doubled(*once, *beside) == [(2, True)]
    assert is_doubled(*once, *after) == [(2, True)]
    assert is_doubled(*once, put_off, *after) == [(2, False)]
    assert is_doubled(*once, put_off, *after, *beside) == [(3, True)]
    # Put off for longer before it was sent again: one message of the two at first is one too many.
    longer = step("snoozed", "12:20:00", until="2026-03-30T12:30:00Z", actor="Ana", reason="ill")
    assert is_doubled(*once, put_off, longer, *after) == [(2, False)]
    assert is_doubled(*once, *beside, put_off, longer, *after) == [(3, True)]


def test_an_alert_of_which_nobody_knows_is_a_breach_and_else_a_risk() -> None:
    given_up = step(
        "undelivered", "13:00:00", to="ana", via="email", level=0, answer="given up after 8 tries"
    )
    found = ("rule", "severity", "process_id", "detail", "found_at")
    missed = ("alert_undelivered", "p1", "ana", at("2026-03-30T13:00:00"))

    def undelivered(*more: dict[str, Any]) -> list[tuple[Any, ...]]:
        every = rows([aci(), RAISED, given_up, *more], "findings", *found)
        return [row for row in every if row[0] == "alert_undelivered"]

    assert undelivered() == [(missed[0], "breach", *missed[1:])]
    assert undelivered(try_of("bruno", "sent", "13:00:01", 1)) == [(missed[0], "risk", *missed[1:])]
    assert undelivered(try_of("ana", "sent", "13:00:01", 1)) == []


def test_who_sees_to_it_and_until_when_it_waits_is_said() -> None:
    history = [
        aci(),
        RAISED,
        step("snoozed", "13:00:00", until="2026-03-30T21:00:00Z", actor="Ana", reason="ill"),
        step("acknowledged", "14:00:00", actor="Ana"),
        step("acknowledged", "15:00:00", actor="Bruno"),
    ]
    columns = ("acknowledged_at", "acknowledged_by", "snoozed_until")
    assert rows(history, "alerts", *columns) == [
        (at("2026-03-30T14:00:00"), "Ana", at("2026-03-30T21:00:00"))
    ]


def test_a_step_that_was_taken_back_is_not_there_from_then_on_and_others_stand() -> None:
    undone = {"actor": "Ana", "reason": "undone"}
    history = [
        aci(),
        RAISED,
        step("snoozed", "13:00:00", until="2026-03-30T21:00:00Z", actor="Ana", reason="ill"),
        step("acknowledged", "14:00:00", actor="Ana"),
        step("acknowledged", "14:00:05", actor="Bruno"),
        step("taken_back", "14:00:06", of="acknowledged", at="2026-03-30T14:00:00Z", **undone),
    ]
    columns = ("acknowledged_at", "acknowledged_by", "snoozed_until")
    bruno, until = (at("2026-03-30T14:00:05"), "Bruno"), at("2026-03-30T21:00:00")
    assert rows(history, "alerts", *columns) == [(*bruno, until)]
    again = step("taken_back", "14:00:07", of="snoozed", at="2026-03-30T13:00:00Z", **undone)
    assert rows([*history, again], "alerts", *columns) == [(*bruno, None)]


def test_what_the_log_cannot_show_lasts_until_an_entry_ends_it() -> None:
    down = action(
        *("alert", "2026-03-30T12:00:00Z"),
        step="raised",
        alert="d0",
        about="receiver_down",
        severity="breach",
        role="admin",
        since="2026-03-30T11:58:00Z",
    )
    over = action("alert", "2026-03-30T13:00:00Z", step="cleared", alert="d0")
    columns = ("kind", "severity", "role", "since", "process_id")
    # A file tells of another log's: people were told of it, and of one without a severity nobody
    # was told of anything any more.
    theirs = {**down, "alert": "d9", "severity": None, "since": "2026-03-30T11:59:00Z"}
    history = [theirs, live(down), {**over, "occurred_at": "2026-03-30T12:30:00Z"}]
    assert rows(history, "alerts", *columns) == [
        ("receiver_down", "breach", "admin", at("2026-03-30T11:58:00"), None)
    ]
    assert rows([live(down), live(over)], "alerts", *columns) == []


def test_of_what_began_and_was_never_ended_the_last_counts() -> None:
    """A process that was away for weeks knows nothing of the first any more."""

    def down(alert: str, when: str) -> dict[str, Any]:
        return action(
            *("alert", when),
            step="raised",
            alert=alert,
            about="receiver_down",
            severity="breach",
            role="admin",
            since=when,
        )

    first, second = down("d0", "2026-03-01T12:00:00Z"), down("d1", "2026-03-30T12:00:00Z")
    over = action("alert", "2026-03-30T13:00:00Z", step="cleared", alert="d1")
    began = [live(first), live(second)]
    assert rows(began, "alerts", "alert_id") == [("d1",)]
    assert rows([*began, live(over)], "alerts", "alert_id") == []


def test_what_was_raised_is_no_longer_new_whatever_its_kind() -> None:
    """`new_alerts` works out by itself which alerts nobody has raised; it has to agree with
    `alerts`."""
    # Besides the ladder, conditions of every kind: a platform that failed for more than an hour.
    failing = [started("f1", "2026-05-27T00:00:00Z", process_id="p10", body={})]
    failing += [finished("f1", 503, "2026-05-27T00:00:01Z", process_id="p10")]
    for number in range(2, 7):
        name, when = f"f{number}", f"2026-05-27T0{number}:00:00Z"
        failing.append(started(name, when, process_id="p10", body={}))
        failing.append(finished(name, 503, when, process_id="p10"))
    failing.append(started("t1", "2026-05-28T07:00:00Z", process_id="p11", body={}))
    refused = finished("t1", None, "2026-05-28T07:00:01Z", process_id="p11", error="tls_refused")
    unread = webhook("no JSON", "2026-05-27T08:00:00Z")
    history, as_of = [*RICH, *failing, refused, unread], at("2026-05-31T00:00:00")
    every = asked(history, "alerts", as_of)
    kinds = {row["kind"] for row in every}
    missing = {*CONDITIONS} - kinds
    assert missing == set(), (
        f"have queries/model/alerts/ find {missing}, and add lines that show it to this history."
        " If you did not add a condition, lines that you added to RICH end one: date answers before"
        " the 401 of 28 May"
    )
    known = {*possible(AlertRules().ladder, AlertRules().conditions)}
    assert {(row["kind"], row["severity"], row["role"]) for row in every} < known
    assert asked(history, "new_alerts", as_of) == without_steps(every)
    raised = [
        action("alert", "2026-05-30T23:00:00Z", step="raised", alert=row["alert_id"])
        for row in every[::2]
    ]
    found = asked([*history, *raised], "new_alerts", as_of)
    assert found == without_steps(every[1::2])


def without_steps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `alerts` as `new_alerts` has them: without what was done about them."""
    steps = {
        *("raised_at", "told", "undelivered", "acknowledged_at", "acknowledged_by", "recipients"),
        *("is_open", "snoozed_until"),
    }
    return [{name: row[name] for name in row if name not in steps} for row in rows]
