"""Lists the rules of findings, as the headers under `queries/findings/rules/` name them. No I/O but
reading these files.

A rule's part of a header begins with `rule:` and its code, and says what people read of it:

    place       where it stands among the others in a choice
    severity    breach, risk or notice, or which of them it can be
    name        in a few words
    fault       who can be penalised for it, the seller or the marketplace; or else
    means       what it means, and what it may cost
    remedy      what to do about it
    types       partial or whole: only of reviews that take the requested fields, or all
    alarms      no: it is a breach, and another alert says it, or none can

All texts are English, and have their Portuguese in the catalogue.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from pipeline import headers

LABELS: Final = frozenset(
    {"rule", "place", "severity", "name", "fault", "means", "remedy", "types", "alarms"}
)
PENALTIES: Final[Mapping[str, str]] = {
    "seller": (
        "The seller can be exposed to regulatory penalties, up to a block of cash-in and cash-out."
    ),
    "marketplace": (
        "Data not collected from the seller for this review can expose the marketplace to"
        " penalties."
    ),
}
"""What a breach means, by whose fault it is."""


class Rule(NamedTuple):
    """What is said of the findings of a rule."""

    place: int
    severities: tuple[str, ...]
    name: str
    meaning: str
    remedy: str
    is_alarming: bool  # as a breach
    of_partial: bool | None  # of types of review that are partial, or are not; None: of any

    @property
    def is_breach(self) -> bool:
        """Whether a finding of it can be one."""
        return "breach" in self.severities


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its code, in the order in which they are offered. Raises `OperatorError` where
    a header says too little of one."""
    return headers.listed("findings/rules", "rule", LABELS, _rule, "pipeline/findings.py")


@cache
def breaches() -> tuple[str, ...]:
    """The rules of which each breach is an alert."""
    return tuple(code for code, rule in rules().items() if rule.is_breach and rule.is_alarming)


def _rule(said: Mapping[str, str]) -> Rule:
    return Rule(
        place=int(said["place"]),
        severities=tuple(said["severity"].split(", ")),
        name=said["name"],
        meaning=PENALTIES[said["fault"]] if "fault" in said else said["means"],
        remedy=said["remedy"],
        is_alarming=said.get("alarms") != "no",
        of_partial={"partial": True, "whole": False}[said["types"]] if "types" in said else None,
    )
