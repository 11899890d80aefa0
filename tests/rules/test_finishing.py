"""When a process is finished, and which reports and deadlines disagree.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import aci, found, process
from tests.support.lines import finished, started


def test_an_aci_deadline_is_measured_against_thirty_days():
    assert process([aci()], "2026-03-02T00:00:00")["deadline_mismatch"] is False
    row = process([aci(deadline_at="2026-04-30T12:00:00Z")], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is True


def platforms_finish(*attempts: dict) -> list[dict]:
    """An ACI that the platform reports as finished at 02:00 on 2 March."""
    report = aci("e2", created_at="2026-03-02T02:00:00Z", status="FINISHED")
    return [aci(), report, *attempts]


BOTH = ("finished_elsewhere", "answer_lost")


@pytest.mark.parametrize(
    ("started_at", "rule"),
    [
        ("2026-03-02T01:59:59.999999Z", "answer_lost"),
        ("2026-03-02T02:00:00Z", "finished_elsewhere"),
    ],
)
def test_only_an_attempt_that_started_before_the_finish_can_have_done_it(started_at, rule):
    lost = finished(status=None, error="timeout", occurred_at="2026-03-02T02:01:00Z")
    history = platforms_finish(started(occurred_at=started_at), lost)
    [(found_rule, *_)] = found(history, "2026-03-03T00:00:00", *BOTH)
    assert found_rule == rule
