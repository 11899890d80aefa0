"""What findings say of a seller who was not notified raises no second alert of a deadline."""

import pytest

from tests.queries.notices.builders import FIRST
from tests.support.ledgers import World, asked
from tests.support.lines import aci, at, finished, started

WORLD = World()
AFTER = "2026-04-02T00:00:00"
ANSWERED_LATE = [
    started("a1", "2026-04-01T00:00:00Z"),
    finished("a1", 200, "2026-04-01T00:00:01Z"),
]


@pytest.mark.parametrize(
    ("history", "alerted"),
    [
        pytest.param(WORLD.add(FIRST, aci()), "expired", id="expired"),
        pytest.param(WORLD.add(FIRST, aci(), *ANSWERED_LATE), "finished_late", id="late"),
    ],
)
def test_a_process_has_one_alert_of_a_deadline_that_was_missed(history, alerted) -> None:
    said = {"never_notified", "notified_late"}
    assert said <= {it["rule"] for it in asked(history, "findings", at(AFTER))}
    kinds = [it["kind"] for it in asked(history, "alerts", at(AFTER))]
    assert kinds.count(alerted) == 1
    assert not said & {*kinds}
