"""`open_counts` and `alert_figures`: what those who watch count of deadlines and alerts."""

from tests.support.ledgers import asked, ledger_of, rows
from tests.support.lines import aci, acp, action, at, finished, started

HISTORY = [
    acp("e1", process_id="p1"),  # due on 30 April at noon
    acp("e2", process_id="p2", deadline_at="2026-04-07T23:59:59Z"),
    acp("e8", process_id="p8", deadline_at="2026-04-08T00:00:00Z"),
    aci("e3", process_id="p3", deadline_at="2026-04-01T00:00:00Z"),
    aci("e4", process_id="p4", deadline_at="2026-04-01T00:00:01Z"),
    aci("e5", process_id="p5", type="SOMETHING_NEW", deadline_at="2026-04-20T00:00:00Z"),
    aci("e6", process_id="p6"),
    started("a1", "2026-03-02T00:00:00Z", process_id="p6"),
    finished("a1", 200, "2026-03-02T00:00:01Z", process_id="p6"),
    started("a2", "2026-03-02T00:00:00Z", process_id="p7"),
]


def test_unfinished_processes_are_counted_by_state_and_type():
    names = ("state", "review_type", "processes", "due_within_7_days", "late")
    found = asked(HISTORY, "open_counts", at("2026-04-01T00:00:00"))
    assert [tuple(row[name] for name in names) for row in found] == [
        ("EXPIRED", "ACI", 1, 1, 1),  # due at this very moment
        ("OVERDUE", "ACI", 1, 1, 0),
        ("OVERDUE", "ACP", 3, 1, 0),
        ("OVERDUE", None, 1, 0, 0),
        ("UNKNOWN", None, 1, 0, 0),
    ]


def test_of_an_empty_log_there_is_nothing_to_count():
    assert asked([], "open_counts", at("2026-04-01T00:00:00")) == []
    assert [tuple(it.values()) for it in asked([], "alert_figures", at("2026-04-01T00:00:00"))] == [
        ("breach", 0, 0, None),
        ("risk", 0, 0, None),
        ("notice", 0, 0, None),
    ]


def test_an_alert_counts_until_it_is_over_and_is_waited_for_until_it_is_acknowledged():
    history = [
        aci("e1", process_id="p1", deadline_at="2026-03-31T12:00:00Z"),
        aci("e2", process_id="p2", deadline_at="2026-03-31T18:00:00Z"),
        aci("e3", process_id="p3", deadline_at="2026-04-01T12:00:00Z"),
    ]
    now = at("2026-04-01T00:00:00")
    found = {it["process_id"]: it for it in asked(history, "alerts", now)}
    assert [found[it]["kind"] for it in ("p1", "p2", "p3")] == ["expired", "expired", "before_1d"]
    figures = [tuple(it.values()) for it in asked(history, "alert_figures", now)]
    assert figures == [
        ("breach", 2, 2, at("2026-03-31T12:00:00")),
        ("risk", 1, 1, at("2026-03-31T12:00:00")),
        ("notice", 0, 0, None),
    ]

    def step(name, process_id, when, **said):
        alert = found[process_id]["alert_id"]
        return action("alert", when, process_id=process_id, step=name, alert=alert, **said)

    history += [
        step("acknowledged", "p1", "2026-03-31T20:00:00Z"),
        step("raised", "p2", "2026-03-31T20:00:00Z"),
        step("acknowledged", "p3", "2026-04-01T00:00:01Z"),
    ]
    history.append(step("snoozed", "p2", "2026-03-31T23:00:00Z", until="2026-04-01T00:00:00Z"))
    with ledger_of(history) as reader:
        figures = [tuple(it.values()) for it in rows(reader, "alert_figures", now)]
        [put_off, *_] = rows(reader, "alert_figures", at("2026-03-31T23:59:59"))
    assert figures == [
        ("breach", 2, 1, at("2026-03-31T18:00:00")),
        ("risk", 1, 1, at("2026-03-31T12:00:00")),
        ("notice", 0, 0, None),
    ]
    assert tuple(put_off.values()) == ("breach", 2, 1, None)  # as the bell counts none either
