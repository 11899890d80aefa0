"""What was forecast thirty days ago, beside what came."""

import json

import pytest

from pipeline import instants
from pipeline.errors import WrongUsage
from pipeline.trends.forecast_score import in_numbers, plain, read, score, scores
from tests.queries.trends.test_forecast import HISTORY, NOW, opened_with
from tests.support.commands import here
from tests.support.ledgers import ledger_of
from tests.support.lines import acp
from tests.support.stores import environment_in

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
    assert (found.forecasts, found.brier, found.brier_of_share) == (2, 0.25, 0.25)
    assert in_numbers(found, "en") == "Judged: 2; expected to expire: 1; expired: 1."
    assert in_numbers(early, "en") == ""
    [band] = [band for band in found.bands if band.forecasts]
    assert tuple(band) == pytest.approx((0.5, 2, 0.5, 0.5))


def test_before_the_calendar_nothing_can_be_judged():
    """As of the year 1 the forecasts of sixty days before have no date."""
    with ledger_of([]) as reader, pytest.raises(WrongUsage, match="No forecast can be judged"):
        scores(reader, as_of=instants.parse("0001-03-01T00:00:00Z"))


def test_scores_come_through_json_as_they_were():
    with ledger_of([*HISTORY, *opened_with(20, "kept", finished_on=12)]) as reader:
        found = scores(reader, as_of=MADE_AT + 30 * instants.DAY)
    assert [it.days for it in found] == [30, 60]
    assert found[0].forecasts == 1
    assert read(json.loads(json.dumps(plain(found)))) == found


def test_the_command_says_it(folder):
    """Thirty days before 31 May two were open, with a chance of a half and of none; neither was
    finished."""

    def said(*more):
        asked = ("trends", "score", "--as-of", "2026-05-31T00:00:00Z", *more)
        return here(*asked, environment=environment_in(folder), folder=folder).stdout

    of_thirty, of_sixty = json.loads(said("--format", "json"))
    assert (of_thirty["made_at"], of_thirty["forecasts"]) == ("2026-05-01T00:00:00Z", 2)
    assert (of_sixty["days"], of_sixty["brier"]) == (60, None)
    assert (
        "30 days ago: 2 forecasts whose deadline has passed\n"
        "  Judged: 2; expected to expire: 2; expired: 2.\n"
        "  Brier score 0.125 (0 is perfect, 0.000 is what the average scores)"
    ) in said()
