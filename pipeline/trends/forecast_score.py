"""Says how good the forecast was: what it said once, beside what came (docs/rules.md#forecast)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import floor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pipeline import instants
from pipeline.errors import WrongUsage
from pipeline.language import figures
from pipeline.language.catalogue import N_, Language, said_in

if TYPE_CHECKING:  # a command that asks the ledger's holder needs no DuckDB
    from pipeline.ledger.views.reader import Reader

BANDS: Final = 10
JUDGED_AFTER: Final = (30, 60)
"""Days between a forecast and what it is judged by."""
_ASKED_AT_ONCE: Final = 2_000
"""Ids in one question."""
_JUDGED: Final = N_("Judged: {n}; expected to expire: {said}; expired: {came}.")


class Band(NamedTuple):
    """Forecasts of about one chance."""

    low: float  # it ends before a tenth above that; the last one has 1 itself, too
    forecasts: int
    mean_chance: float | None  # None without any
    in_time_share: float | None


class Score(NamedTuple):
    """The forecasts of one instant whose deadline, as it stood then, has passed since."""

    days: int  # between them and what they are judged by
    made_at: datetime  # naive UTC
    forecasts: int
    brier: float | None  # mean of (chance - what came)^2: 0 is perfect; None without any
    bands: tuple[Band, ...]
    mean_chance: float | None = None  # None without any
    in_time_share: float | None = None
    brier_of_share: float | None = None  # of whoever had said that share of each


def scores(reader: "Reader", *, as_of: int) -> tuple[Score, ...]:
    """Those of the forecasts of each of `JUDGED_AFTER`, at an instant in microseconds. Raises
    `WrongUsage` where the calendar has no instant so many days earlier."""
    try:
        instants.of(as_of - max(JUDGED_AFTER) * instants.DAY)
    except OverflowError:
        raise WrongUsage(
            "No forecast can be judged",
            f"the calendar begins less than {max(JUDGED_AFTER)} days before that instant",
            "ask about a later one",
        ) from None
    made = (as_of - days * instants.DAY for days in JUDGED_AFTER)
    return tuple(score(reader, made_at=it, as_of=as_of) for it in made)


def in_numbers(of: Score, into: Language) -> str:
    """What some forecasts said and what came, in whole reviews, of how many: of few, a number of a
    hundred would say more than is known. Nothing where there was none."""
    if of.mean_chance is None or of.in_time_share is None:
        return ""
    numbers = {
        "n": of.forecasts,
        "said": floor(of.forecasts * (1 - of.mean_chance) + 0.5),
        "came": round(of.forecasts * (1 - of.in_time_share)),
    }
    said = {name: figures.number(it, into) for name, it in numbers.items()}
    return said_in(into, _JUDGED, **said)


def plain(found: Sequence[Score]) -> list[dict[str, Any]]:
    """Scores as JSON has them."""
    return [
        {
            **each._asdict(),
            "made_at": instants.readable(instants.from_datetime(each.made_at)),
            "bands": [band._asdict() for band in each.bands],
        }
        for each in found
    ]


def read(found: Sequence[dict[str, Any]]) -> tuple[Score, ...]:
    """Scores by what `plain` made of them."""
    return tuple(
        Score(
            **{
                **each,
                "made_at": datetime.fromisoformat(each["made_at"]).replace(tzinfo=None),
                "bands": tuple(Band(**band) for band in each["bands"]),
            }
        )
        for each in found
    )


def score(reader: "Reader", *, made_at: int, as_of: int) -> Score:
    """What the view `forecast` said at `made_at`, judged at `as_of`, both in microseconds."""
    now = instants.naive(as_of)
    said = [
        row
        for row in reader.read("forecast", as_of=made_at).to_pylist()
        if row["chance"] is not None and row["deadline_at"] <= now
    ]
    finished_at = dict(_finishes(reader, as_of, [row["process_id"] for row in said]))
    pairs = [(row["chance"], _is_in_time(finished_at, row)) for row in said]
    share = _mean([float(came) for _, came in pairs])
    return Score(
        days=(as_of - made_at) // instants.DAY,
        made_at=instants.naive(made_at),
        forecasts=len(pairs),
        brier=_mean([(chance - came) ** 2 for chance, came in pairs]),
        bands=tuple(_band(number, pairs) for number in range(BANDS)),
        mean_chance=_mean([chance for chance, _ in pairs]),
        in_time_share=share,
        brier_of_share=None if share is None else share * (1 - share),
    )


def _finishes(
    reader: "Reader", as_of: int, process_ids: Sequence[str]
) -> Iterator[tuple[str, datetime | None]]:
    for first in range(0, len(process_ids), _ASKED_AT_ONCE):
        some = process_ids[first : first + _ASKED_AT_ONCE]
        rows = reader.read("process_state", as_of=as_of, where={"process_id": some})
        for row in rows.select(["process_id", "finished_at"]).to_pylist():
            yield row["process_id"], row["finished_at"]


def _is_in_time(finished_at: dict[str, datetime | None], row: dict[str, Any]) -> bool:
    """By the deadline that the forecast was about."""
    finish = finished_at.get(row["process_id"])
    return finish is not None and finish < row["deadline_at"]


def _band(number: int, pairs: Sequence[tuple[float, bool]]) -> Band:
    inside = [pair for pair in pairs if min(int(pair[0] * BANDS), BANDS - 1) == number]
    return Band(
        number / BANDS,
        len(inside),
        _mean([chance for chance, _ in inside]),
        _mean([float(came) for _, came in inside]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
