"""What changed, and when we came to know of it: by hand from the header of `changes`."""

from typing import Any

from tests.support.ledgers import asked
from tests.support.lines import ACI_DEADLINE, aci, acp, action, at, seller

HISTORY = [
    acp(),
    aci("e2", process_id="p2", customer_id="s2"),
    aci("e3", process_id="p3", customer_id="s2"),
    aci("e4", "2026-03-10T08:00:00Z", process_id="p3", customer_id="s2", status="FINISHED"),
    seller("denied", "e5", "2026-03-11T08:00:00Z", "s3", decision_reasons=[], retry=True),
    action(
        *("alert", "2026-03-30T12:00:01Z"),
        process_id="p2",
        step="raised",
        alert="a1",
        about="before_1d",
        severity="risk",
    ),
]


REPORTED = [
    acp(),
    acp("e2", "2026-03-31T12:00:00Z", "2026-03-31T12:00:05Z", status="OVERDUE"),
    acp("e3", process_id="p2"),
    acp("e4", "2026-03-20T08:00:00Z", "2026-03-20T09:30:00Z", process_id="p2", status="OVERDUE"),
    acp("e5", "2026-04-10T08:00:00Z", "2026-04-10T08:00:01Z", process_id="p2", status="EXPIRED"),
    aci("e6", process_id="p3"),
    aci("e7", "2026-03-31T12:00:00Z", process_id="p3", status="EXPIRED"),
    {**aci("e8", process_id="p4"), "occurred_at": "2026-04-02T00:00:00Z"},
    acp("e9", process_id="p5"),
    acp(
        *("e10", "2026-03-10T08:00:00Z", "2026-03-10T10:00:00Z"),
        process_id="p5",
        deadline_at="2026-03-05T00:00:00Z",
    ),
]
"""Reports at the clock's strike and before it, a review that came late, a deadline moved back."""


def changes(
    as_of: str, *kinds: str, history: list[dict[str, Any]] = HISTORY
) -> list[tuple[Any, ...]]:
    rows = asked(history, "changes", at(as_of))
    return [
        (row["change"], row["changed_at"], row["process_id"], row["seller_id"])
        for row in rows
        if not kinds or row["change"] in kinds
    ]


def test_each_change_stands_at_the_instant_it_came_to_be_known() -> None:
    found = changes("2026-05-01T00:00:00", "opened", "overdue", "expired", "finished", "denied")
    assert found == [
        ("expired", at("2026-04-30T12:00:00"), "p1", "s1"),
        ("expired", at("2026-03-31T12:00:00"), "p2", "s2"),
        ("overdue", at("2026-03-31T12:00:00"), "p1", "s1"),
        ("denied", at("2026-03-11T08:00:00"), None, "s3"),
        # What needs somebody comes before what does not, however new that is.
        ("opened", at("2026-03-01T12:00:00"), "p1", "s1"),
        ("opened", at("2026-03-01T12:00:00"), "p2", "s2"),
        ("opened", at("2026-03-01T12:00:00"), "p3", "s2"),
        ("finished", at("2026-03-10T08:00:00"), "p3", "s2"),
    ]


def test_the_clock_strikes_at_its_instant_and_no_sooner() -> None:
    assert changes("2026-03-31T11:59:59", "overdue", "expired") == []
    assert changes("2026-03-31T12:00:00", "overdue", "expired") == [
        ("expired", at(ACI_DEADLINE[:-1]), "p2", "s2"),
        ("overdue", at("2026-03-31T12:00:00"), "p1", "s1"),
    ]


def test_what_reports_or_late_receipts_tell_stands_where_we_came_to_know_it() -> None:
    """What the platform itself had reported stood at no instant, or not at all: the page of what
    changed never listed it, and the view could be written in no form but Parquet."""
    assert changes("2026-05-01T00:00:00", "overdue", "expired", history=REPORTED) == [
        ("expired", at("2026-04-30T12:00:00"), "p1", "s1"),
        ("expired", at("2026-04-10T08:00:01"), "p2", "s1"),
        ("expired", at("2026-04-02T00:00:00"), "p4", "s1"),
        ("expired", at("2026-03-31T12:00:00"), "p3", "s1"),
        ("expired", at("2026-03-10T10:00:00"), "p5", "s1"),
        ("overdue", at("2026-03-31T12:00:00"), "p1", "s1"),
        ("overdue", at("2026-03-20T09:30:00"), "p2", "s1"),
    ]


def test_what_was_not_received_yet_has_not_changed() -> None:
    assert changes("2026-03-20T09:29:59", "overdue", "expired", history=REPORTED) == [
        ("expired", at("2026-03-10T10:00:00"), "p5", "s1")
    ]
    assert changes("2026-03-10T09:59:59", "overdue", "expired", history=REPORTED) == []


def test_findings_and_alerts_say_what_they_are_about() -> None:
    rows = asked(HISTORY, "changes", at("2026-03-31T12:00:00"))
    found = [
        (row["change"], row["changed_at"], row["process_id"], row["code"], row["severity"])
        for row in rows
        if row["change"] == "alert" or row["code"] == "expired_unfinished"
    ]
    assert found == [
        ("finding", at("2026-03-31T12:00:00"), "p2", "expired_unfinished", "breach"),
        ("alert", at("2026-03-30T12:00:01"), "p2", "before_1d", "risk"),
    ]


def test_a_change_of_a_process_stands_with_who_sees_to_it() -> None:
    """Whoever looked on Monday at what had expired had to look each process up in another list."""
    held = [
        action("assignment", "2026-03-02T00:00:00Z", process_id="p1", assignee="Eva"),
        action("assignment", "2026-03-03T00:00:00Z", process_id="p1", assignee="Bia"),
        action("assignment", "2026-06-01T00:00:00Z", process_id="p2", assignee="Bia"),
    ]
    rows = asked([*HISTORY, *held], "changes", at("2026-05-01T00:00:00"))
    assert {(row["process_id"], row["assignee"]) for row in rows} == {
        ("p1", "Bia"),
        ("p2", None),
        ("p3", None),
        (None, None),
    }
    kinds = {row["change"] for row in rows if row["assignee"] is not None}
    assert kinds == {"opened", "overdue", "expired", "finding"}
