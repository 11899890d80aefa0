"""What waits to be sent again, what is due, and what nobody sends."""

import pytest

from tests.support.ledgers import asked
from tests.support.lines import acp, at, finished, started

FAILED = [
    acp(),
    {**started("a1", "2026-03-02T00:00:00Z"), "origin": "live"},
    # Retry-After decides when the retry is due: 2 March, 01:00.
    {
        **finished("a1", 503, "2026-03-02T00:00:01Z"),
        "origin": "live",
        "retry_after_at": "2026-03-02T01:00:00.000000Z",
    },
]


@pytest.mark.parametrize(
    ("as_of", "waiting", "due", "overdue"),
    [
        ("2026-03-02T00:00:00", 0, 0, 0),  # in flight
        ("2026-03-02T00:59:59.999999", 1, 0, 0),
        ("2026-03-02T01:00:00", 1, 1, 0),
        ("2026-03-02T01:04:59.999999", 1, 1, 0),
        ("2026-03-02T01:05:00", 1, 1, 1),
        ("2026-03-03T00:00:00", 0, 0, 0),  # given up after 24 hours
    ],
)
def test_a_retry_waits_is_due_and_then_overdue(as_of, waiting, due, overdue):
    [row] = asked(FAILED, "retry_queue", at(as_of))
    assert (row["waiting"], row["due"], row["overdue"]) == (waiting, due, overdue)


def test_what_a_gateways_caller_sends_again_is_not_ours_to_send():
    by_gateway = [FAILED[0], {**FAILED[1], "via": "gateway"}, FAILED[2]]
    [row] = asked(by_gateway, "retry_queue", at("2026-03-02T12:00:00"))
    assert (row["waiting"], row["next_due_at"]) == (0, None)
