"""What was forecast thirty days ago, beside what came."""

import pytest

from pipeline import instants
from pipeline.serve.forecast_score import score
from tests.queries.trends.test_forecast import HISTORY, NOW, opened_with
from tests.support.ledgers import ledger_of
from tests.support.lines import acp

MADE_AT = instants.parse(f"{NOW}Z")


def test_forecasts_are_judged_by_the_deadline_as_it_stood_once_it_has_passed():
    """All have a chance of a half. `kept` is finished after two days, `moved` gets a later deadline
    and is not; `later` still has time when they are judged."""
    history = [
        *HISTORY,
        *opened_with(20, "kept", finished_on=12),
        *opened_with(20, "moved"),
        acp(
            "e-more", "2026-05-10T00:00:00Z", process_id="moved", deadline_at="2027-01-01T00:00:00Z"
        ),
        *opened_with(22, "later"),
    ]
    assert MADE_AT is not None
    with ledger_of(history) as reader:
        early = score(reader, made_at=MADE_AT, as_of=MADE_AT + 19 * instants.DAY)
        found = score(reader, made_at=MADE_AT, as_of=MADE_AT + 20 * instants.DAY)
    assert (early.forecasts, early.brier) == (0, None)
    assert (found.forecasts, found.brier) == (2, 0.25)
    [band] = [band for band in found.bands if band.forecasts]
    assert tuple(band) == pytest.approx((0.5, 2, 0.5, 0.5))
