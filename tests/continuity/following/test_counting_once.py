"""What counts once counts once after an inbox was put back, too: given back as it was where nothing
stands in its place, or recorded again behind what came since."""

import json
from contextlib import closing

import pytest

from pipeline.alert import acting, entries
from pipeline.alert.entries import Due, Subject
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery, replay, supply
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.supply import SUPPLY
from pipeline.log.kinds.unmask import UNMASK
from pipeline.serve.ledger_access import audit
from pipeline.settings import Settings
from tests import depth
from tests.clearance.test_clearances import begin, decide, settle, waits
from tests.ledger.conftest import entries_alone
from tests.ledger.older import (
    ON_SQLITE,
    SHARED,
    Past,
    copies,
    followed,
    in_inbox,
    past,
    reconciled,
    settings,
)
from tests.support.events import REVIEW

__all__ = ["copies", "past", "settings"]

OTHERS = pytest.mark.parametrize("others", depth.few([3, 0], 2))
"""How many entries came since the older inbox was put back."""


def put_back(settings: Settings, past: Past, others: int) -> None:
    """The older inbox takes the place of the present one, and what it lacks comes back."""
    followed(settings)
    past.put_back()
    in_inbox(settings, range(200, 200 + others))
    reconciled(settings)


@ON_SQLITE
@OTHERS
def test_what_an_approval_allowed_is_done_once(settings: Settings, past: Past, others: int):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    with closing(open_inbox(settings.inbox)) as inbox:
        request = waits(inbox)
        decide(inbox, request)
        begin(inbox, settle(inbox))
    put_back(settings, past, others)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert waits(inbox) != request


@ON_SQLITE
@OTHERS
def test_what_was_refused_stays_refused(settings: Settings, past: Past, others: int):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    with closing(open_inbox(settings.inbox)) as inbox:
        request = waits(inbox)
        decide(inbox, request, no=True)
    put_back(settings, past, others)
    with closing(open_inbox(settings.inbox)) as inbox:
        with pytest.raises(CallerError, match="somebody has decided about it already"):
            decide(inbox, request)
        assert waits(inbox) != request


@ON_SQLITE
@entries_alone
def test_what_was_done_in_both_pasts_stands_twice_and_nothing_is_left_out(
    settings: Settings, past: Past
):
    """Under one approval, which both pasts had: the log has both uses, and can show it."""
    with closing(open_inbox(settings.inbox)) as inbox:
        decide(inbox, waits(inbox))
    followed(settings)
    past.keep()
    with closing(open_inbox(settings.inbox)) as inbox:
        begin(inbox, settle(inbox))
    in_inbox(settings, range(3))
    followed(settings)
    past.put_back()
    with closing(open_inbox(settings.inbox)) as inbox:
        begin(inbox, settle(inbox))
    reconciled(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        found = inbox.read(0, 100)
        assert [it.kind for it in found].count(UNMASK) == 2
        # In the order of the past that was lost: the use first, then the three deliveries.
        assert [it.particulars["was_seq"] for it in found if "was_seq" in it.particulars] == [
            *range(3, 7)
        ]
        assert [it.kind for it in found].count("clearance") == 2
    assert audit(settings, None, lambda *_: None).faults == []


@ON_SQLITE
@OTHERS
@pytest.mark.parametrize("came", ["before", "after"])
def test_a_delivery_in_quarantine_becomes_one_process(
    settings: Settings, past: Past, others: int, came: str
):
    """Whether the older inbox has it, or it came back under another number."""
    about = {
        "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
        "customer_id": "s1",
        "status": "OVERDUE",
        "deadline_at": "2026-04-01T10:00:00Z",
        "requested_fields": ["revenue"],
    }
    lacking = {
        "id": "e1",
        "type": REVIEW,
        "created_at": "2026-03-01T10:00:00Z",
        "payload": {"object": about},
    }
    held = delivery(json.dumps(lacking).encode(), occurred_at=1, recorded_by="webhook")
    assert held.kind == QUARANTINE

    def supplied(process: str) -> list[bool]:
        """Whether each of the two entries was recorded."""
        with closing(open_inbox(settings.inbox)) as inbox:
            [quarantined] = inbox.find(kind=QUARANTINE)
            drafts = supply(
                quarantined,
                {"payload.object.process_id": process},
                reason="by telephone",
                actor="ana",
                recorded_by="user:ana",
            )
            return [it.entry is not None for it in inbox.append(drafts)]

    in_inbox(settings, range(SHARED))
    if came == "before":
        with closing(open_inbox(settings.inbox)) as inbox:
            inbox.append([held])
    followed(settings)
    past.keep()
    if came == "after":
        with closing(open_inbox(settings.inbox)) as inbox:
            inbox.append([held])
    assert supplied("right") == [True, True]
    put_back(settings, past, others)
    assert supplied("wrong") == [False, False]
    with closing(open_inbox(settings.inbox)) as inbox:
        [quarantined] = inbox.find(kind=QUARANTINE)
        assert replay(quarantined, recorded_by="user:ana") is None
        [said] = inbox.find(kind=SUPPLY)
        assert json.loads(said.body or b"")["of"] == SHARED + 1
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        rows = service.reader.read("process_state", contains={"process_id": "right"}).to_pylist()
        assert [it["process_id"] for it in rows] == ["right"]


@ON_SQLITE
@OTHERS
def test_an_alert_that_came_back_can_be_acknowledged(settings: Settings, past: Past, others: int):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    due = Due("a1", "before_3d", "risk", "officer", 1)
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([entries.raised(due, Subject(), inbox.now())])
    put_back(settings, past, others)
    with closing(open_inbox(settings.inbox)) as inbox:
        acting.acknowledge(inbox, "a1", actor="ana", recorded_by="user:ana")
