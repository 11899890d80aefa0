"""Ways in which somebody might not hear of a deadline, over a real log and its views, with a clock
that tests move."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.alert import acting
from pipeline.alert.messages import transport
from pipeline.alert_rules import AlertRules
from pipeline.erasure.forgetting import forget
from pipeline.log.deliveries import delivery
from tests.alert.test_decision import ANA, BRUNO, MAIL, at
from tests.alert.test_waiting import Desk
from tests.support.events import event, review

NEW_YEAR = "2026-01-01T12:00:00Z"
"""A holiday, a Thursday, at nine in the morning of São Paulo."""
ACI = {"type": "INCONSISTENT_DATA_UPDATE_REQUIRED", "status": "OVERDUE", "customer_id": "s1"}
WHO = {"actor": "Ana Lima", "recorded_by": "user:ana"}


def rules(**recipients: object) -> AlertRules:
    return AlertRules.model_validate(
        {
            "mail": MAIL,
            "recipients": recipients,
            "look_back_days": 1,
            "ladder": {"opened": [], "before": ["7d"], "expired": True},
        }
    )


def report(desk: Desk, process_id: str, when: str, deadline: str, **more: str) -> None:
    """Delivers an event about a process of the seller."""
    said = json.loads(review(**{**ACI, "process_id": process_id, "deadline_at": deadline, **more}))
    created = instants.canonical(at(deadline) - 30 * instants.DAY)
    body = json.dumps({**said, "created_at": created}).encode()
    desk.inbox.append([delivery(body, occurred_at=at(when), recorded_by="webhook")])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Two inconsistencies of one seller with the same deadline, on New Year's Day."""
    made = Desk(tmp_path, rules(ana=ANA))
    monkeypatch.setattr(transport, "send", made.send)
    monkeypatch.setattr(made.inbox, "clock", lambda: made.now)
    with closing(made.service):
        for process_id in ("p1", "p2"):
            report(made, process_id, "2025-12-02T12:00:00Z", NEW_YEAR)
        yield made


def test_who_saw_to_a_rung_and_left_and_one_that_is_put_off_keep_no_deadline_untold(
    desk: Desk,
) -> None:
    """Over Christmas and New Year, of two processes of one seller."""
    desk.look("2025-12-25T12:00:00Z")
    assert desk.got == []
    desk.look("2025-12-26T11:00:00Z")  # eight on the next working day
    assert desk.got == [("ana", "before_7d")] * 2
    first, second = desk.due()
    acting.acknowledge(desk.inbox, first.alert, **WHO)
    until = desk.now + 59 * instants.DAY
    acting.snooze(desk.inbox, second.alert, until=until, reason="whatever", **WHO)
    desk.rules = rules(bruno=BRUNO)  # she left
    desk.look("2026-01-01T11:59:59Z")
    assert len(desk.got) == 2
    desk.look(NEW_YEAR)
    assert desk.got[2:] == [("bruno", "expired")] * 2


@pytest.mark.parametrize(
    ("status", "deadline"),
    [
        ("OVERDUE", "2026-01-20T12:00:00Z"),  # delivered eleven days late
        ("EXPIRED", "2026-01-20T12:00:00Z"),
        ("EXPIRED", "2026-02-10T12:00:00Z"),  # by the platform, before its deadline
    ],
)
def test_of_what_is_expired_as_it_comes_they_hear_at_once(
    desk: Desk, status: str, deadline: str
) -> None:
    """On a Saturday, an hour before midnight in São Paulo."""
    desk.look(NEW_YEAR)
    desk.got.clear()
    report(desk, "p3", "2026-02-01T02:00:00Z", deadline, status=status)
    desk.look("2026-02-01T02:00:01Z")
    assert desk.got == [("ana", "expired")]


def test_they_hear_of_a_deadline_of_a_seller_who_was_forgotten(desk: Desk) -> None:
    """The platform had deleted them, and the review was open."""
    desk.look("2025-12-26T11:00:00Z")
    desk.got.clear()
    when = "2025-12-27T12:00:00Z"
    gone = event(type="seller.deleted", created_at=when, payload={"object": {"id": "s1"}})
    desk.inbox.append([delivery(gone, occurred_at=at(when), recorded_by="webhook")])
    forget(desk.service.settings, desk.inbox, "s1", reason="they asked", **WHO)
    desk.start()
    desk.look(NEW_YEAR)
    assert desk.got == [("ana", "expired")] * 2
