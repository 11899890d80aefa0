"""Says how many of the reviews due in a month or week were finished in time, of all kinds together:
a kind alone, such as the one of which most were due, can hide which way it goes."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pipeline.language import figures
from pipeline.language.catalogue import N_, Language, said_in

_BETTER: Final = N_("Better: {share} in time {period}, after {before}")
_WORSE: Final = N_("Worse: {share} in time {period}, after {before}")
_SAME: Final = N_("As before: {share} in time {period}")
_ALONE: Final = N_("{share} in time {period}")
_SO_FAR: Final = N_("{n} in time, of {due} due so far")


class Whole(NamedTuple):
    """All that was due in a month or week that is over."""

    in_time: int
    due: int

    @property
    def share(self) -> float:
        """Of those due."""
        return self.in_time / self.due


def whole(rows: Iterable[Mapping[str, Any]]) -> Whole | None:
    """The rows of one month or week, such as those of `on_time_by_month`; None where nothing was
    due."""
    found = list(rows)
    due = sum(row["due_so_far"] for row in found)
    return Whole(sum(row["finished_in_time"] for row in found), due) if due else None


def headline(last: Whole, before: Whole | None, period: str, into: Language) -> str:
    """The share, and which way it went as far as its digits show. `period`: `in Oct 2026`."""
    share = figures.share(last.share, into)
    earlier = None if before is None else figures.share(before.share, into)
    if before is None or earlier is None:
        return said_in(into, _ALONE, share=share, period=period)
    if earlier == share:
        return said_in(into, _SAME, share=share, period=period)
    said = _BETTER if last.share > before.share else _WORSE
    return said_in(into, said, share=share, period=period, before=earlier)


def so_far(row: Mapping[str, Any], into: Language) -> str:
    """Of a month or week that is not over, how many of those due so far were finished in time."""
    in_time = round((row["on_time_share"] or 0) * row["due_so_far"])
    n, due = (figures.number(it, into) for it in (in_time, row["due_so_far"]))
    return said_in(into, _SO_FAR, n=n, due=due)
