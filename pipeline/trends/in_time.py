"""Says how many of the reviews due in a month or week were finished in time, of all kinds together:
a kind alone, such as the one of which most were due, can hide which way it goes."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pipeline.language import figures
from pipeline.language.catalogue import N_, Language, said_in

_BETTER: Final = N_("Better: {share} in time {period}, after {before}")
_WORSE: Final = N_("Worse: {share} in time {period}, after {before}")
_OF_BOTH: Final = N_("{said}, of the types that were due in both")
_OF_ALL: Final = N_("{said}, of all types")
_UNCLEAR: Final = N_("No clear change from the period before: {share} in time {period}")
_ALONE: Final = N_("{share} in time {period}")
_SO_FAR: Final = N_("{n} in time, of {due} due so far")


_DEVIATIONS: Final = 1.959963984540054
"""Of a normal distribution, between which 95 % lie; `denial_changes.sql` has the same."""


class Whole(NamedTuple):
    """All that was due in a month or week that is over."""

    in_time: int
    due: int

    @property
    def share(self) -> float:
        """Of those due."""
        return self.in_time / self.due


class Compared(NamedTuple):
    """All that was due in a month or week, and like with like: what was due in it and in the one
    before of the types that were due in both; None where no type was."""

    last: Whole
    like: Whole | None
    before: Whole | None


def compared(
    last: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> Compared | None:
    """The rows of a month or week beside those of the one before; None where nothing was due."""
    rows, earlier = ([row for row in some if row["due_so_far"]] for some in (last, before))
    in_all = whole(rows)
    if in_all is None:
        return None
    both = {row.get("review_type") for row in rows} & {row.get("review_type") for row in earlier}
    like, like_before = (
        whole(row for row in some if row.get("review_type") in both) for some in (rows, earlier)
    )
    return Compared(in_all, like, like_before)


def is_clear(last: Whole, before: Whole) -> bool:
    """Whether two shares differ by more than chance: 0 is not in Newcombe's interval of 95 % of
    their difference, which follows from Wilson's interval of each (docs/rules.md#over-time)."""
    more, less = sorted((last, before), key=lambda of: of.share, reverse=True)
    low, high = _wilson(more)[0], _wilson(less)[1]
    return more.share - less.share > math.hypot(more.share - low, high - less.share)


def _wilson(of: Whole) -> tuple[float, float]:
    """Both ends of Wilson's interval of a share."""
    spread = _DEVIATIONS * _DEVIATIONS / of.due
    middle = (of.share + spread / 2) / (1 + spread)
    root = math.sqrt((of.share * (1 - of.share) + spread / 4) / of.due)
    half = _DEVIATIONS * root / (1 + spread)
    return middle - half, middle + half


def whole(rows: Iterable[Mapping[str, Any]]) -> Whole | None:
    """The rows of one month or week, such as those of `on_time_by_month`; None where nothing was
    due."""
    found = list(rows)
    due = sum(row["due_so_far"] for row in found)
    return Whole(sum(row["finished_in_time"] for row in found), due) if due else None


def headline(found: Compared, period: str, into: Language) -> str:
    """The share, and which way it went, where that is clear and can be seen; of which types, where
    these are not all that were due in both. `period`: `in Oct 2026`."""
    like, before = found.like, found.before
    if like is None or before is None:
        return said_in(into, _ALONE, share=figures.share(found.last.share, into), period=period)
    share, share_before = (figures.share(it.share, into) for it in (like, before))
    # Of very many a change too small to be seen may be clear: "better: 50 %, after 50 %".
    if share == share_before or not is_clear(like, before):
        share = figures.share(found.last.share, into)
        said = said_in(into, _UNCLEAR, share=share, period=period)
        return said if like == found.last else said_in(into, _OF_ALL, said=said)
    said = said_in(
        into,
        _BETTER if like.share > before.share else _WORSE,
        share=share,
        period=period,
        before=share_before,
    )
    return said if like == found.last else said_in(into, _OF_BOTH, said=said)


def so_far(rows: Iterable[Mapping[str, Any]], into: Language) -> str:
    """Of a month or week that is not over, how many of those due so far were finished in time."""
    counted = [(row["on_time_share"] or 0, row["due_so_far"]) for row in rows]
    numbers = sum(round(share * due) for share, due in counted), sum(due for _, due in counted)
    n, due = (figures.number(it, into) for it in numbers)
    return said_in(into, _SO_FAR, n=n, due=due)
