"""Tests which of several denials counts when they disagree and the seller comes back."""

import pytest

from tests.support.ledgers import ledger_of, rows
from tests.support.lines import at, seller

BEFORE, AFTER = "2026-03-02T00:00:00Z", "2026-03-20T00:00:00Z"
SUCCESSOR = seller("created", "v9", "2026-03-10T00:00:00Z", "s2", taxpayer_id="1-2-3")


def denied(event_id: str, instant: str, retry: bool | None) -> dict:
    record = {} if retry is None else {"retry": retry}
    return seller("denied", event_id, instant, taxpayer_id="123", **record)


@pytest.mark.parametrize("as_of", ["2026-03-15T00:00:00", "2026-04-01T00:00:00"])
@pytest.mark.parametrize(
    ("retries", "wasted"),
    [
        ([False], 1),
        ([True], 0),
        ([False, True], 0),
        ([True, False], 1),
        ([False, None], 0),
        ([None, False], 1),
    ],
)
def test_the_last_denial_before_a_successor_says_whether_it_was_wasted(retries, wasted, as_of):
    denials = [
        denied(f"v{number}", BEFORE.replace("02T", f"0{number + 2}T"), retry)
        for number, retry in enumerate(retries)
    ]
    history = [*denials, SUCCESSOR, denied("v8", AFTER, not retries[-1])]
    with ledger_of(history) as reader:
        [row] = rows(reader, "denial_retries", at(as_of))
        assert (row["reonboarded"], row["wasted_retries"]) == (1, wasted)
