"""Says which rungs a type of review has: by a settings file, and by the entry of a start.

What was started counts until somebody starts it again: so nobody is written to by a rung that no
person has seen, and the views know from the log which rungs are to come.
"""

from collections.abc import Mapping
from typing import Any, Final

from pipeline.contract.body import JsonValue
from pipeline.notices.rules import RUNGS, NoticeRules, Rung

Ladders = Mapping[str | None, tuple[Rung, ...]]
"""Type of review -> its rungs; None: of each type that is not named."""

OURS: Final[Ladders] = {None: RUNGS}
_PARTS: Final = ("after", "before", "late", "channel", "template")


def of_rules(rules: NoticeRules) -> Ladders:
    """The rungs of a settings file."""
    return {**{name: it.rungs for name, it in rules.schedule.items()}, **OURS}


def rungs_of(ladders: Ladders, review_type: str | None) -> tuple[Rung, ...]:
    """The rungs of a type of review."""
    return ladders.get(review_type, ladders[None])


def said(ladders: Ladders) -> list[JsonValue]:
    """The rungs as an entry has them; spans are in hours."""
    return [
        {"review_type": review_type, "rungs": [_said(it) for it in rungs]}
        for review_type, rungs in ladders.items()
    ]


def _said(rung: Rung) -> JsonValue:
    known = {name: getattr(rung, name) for name in _PARTS}
    found = {name: it for name, it in known.items() if it is not None}
    return {**found, "if_silent": True} if rung.if_silent else found


def read(found: Any) -> Ladders:
    """The rungs that an entry of ours has; our own where it has none."""
    if not found:
        return OURS
    return {
        each["review_type"]: tuple(Rung.model_construct(**it) for it in each["rungs"])
        for each in found
    }
