"""Says when to try again, and when no more. Pure: `now` and a random number are passed in.

Instants and spans are in microseconds.
"""

from typing import Final

from pipeline import instants

FIRST_PAUSE: Final = instants.SECOND
LONGEST_PAUSE: Final = instants.HOUR
"""Between two tries of a message, also where the endpoint asks for more."""
LONGEST_PAUSE_OF_ENDPOINT: Final = instants.MINUTE
"""Between two tries of whatever message, while an endpoint takes none."""
DOWN_AFTER: Final = 3
"""Failures without a success between them, after which an endpoint is down: it gets one message at
a time, until it takes one."""
FEWEST_TRIES: Final = 5
"""Before a message is given up, whatever its time: we may have been stopped meanwhile."""


def pause(failures: int, longest: int, random: float) -> int:
    """After so many failures: twice as long each time, of which up to half is left to chance, so
    that what failed together does not come back together. `random`: from 0 to 1."""
    span = min(FIRST_PAUSE << min(failures - 1, 40), longest)
    return round(span * (0.5 + random / 2))


def due_at(failures: int, now: int, asked: int | None, random: float) -> int:
    """When to try a message again. `asked`: the instant that a `Retry-After` named."""
    due = now + pause(failures, LONGEST_PAUSE, random)
    return due if asked is None else max(due, min(asked, now + LONGEST_PAUSE))


def is_due(due: int, now: int) -> bool:
    """Whether a message may be tried. An instant beyond any pause was said by another clock."""
    return not now < due <= now + LONGEST_PAUSE


def is_over(tries: int, first_tried_at: int, now: int, give_up_hours: float) -> bool:
    """Whether a message that has failed once more is given up."""
    return tries >= FEWEST_TRIES and now - first_tried_at >= give_up_hours * instants.HOUR
