"""Says which alerts would reach no one, before one of them is raised."""

from collections.abc import Iterable, Iterator
from typing import Final

from pipeline import findings
from pipeline.alert_rules.ladder import RISK_HOURS, Ladder
from pipeline.alert_rules.recipients import Route, Severity
from pipeline.conditions import BESIDE_THE_LOG, BREACH, Role, of_log
from pipeline.contract.review_types import REVIEW_TYPES, UNLISTED

_TYPES: Final = sorted(REVIEW_TYPES)


def untold(routes: Iterable[Route], ladder: Ladder, conditions: Iterable[str]) -> list[str]:
    """The alerts that no route takes: kind, type where it is one alone, severity, role."""
    types_of = {
        "opened": ladder.opened,
        "overdue": [it.name for it in _TYPES if it.pending_days],
        **{
            code: [it.name for it in _TYPES if it.is_partial is rule.of_partial]
            for code, rule in findings.rules().items()
            if rule.of_partial is not None
        },
        "officer": [it.name for it in _TYPES],
    }
    found = []
    for kind, severity, role in possible(ladder, conditions):
        types = types_of.get(kind) or types_of.get(role, [UNLISTED.name])
        lost = [
            review_type
            for review_type in types
            if not any(route.takes(kind, severity, role, review_type) for route in routes)
        ]
        if lost:
            of_type = f" {lost[0]}" if len(lost) < len(types) else ""
            found.append(f"{kind}{of_type} ({severity}, {role})")
    return found


def possible(ladder: Ladder, conditions: Iterable[str]) -> Iterator[tuple[str, Severity, Role]]:
    """Kind, severity and role of each alert that there can be, as the view `alerts` and the watch
    beside the log give them."""
    until = dict(zip(ladder.before, (*ladder.before[1:], 0), strict=False))
    for rung, hours in ladder.rungs().items():
        if rung == "expired":
            yield rung, "breach", "officer"
            continue
        if hours is None or hours > RISK_HOURS:
            yield rung, "notice", "officer"
        if hours is None or until[hours] < RISK_HOURS:  # else the next rung comes before
            yield rung, "risk", "officer"
    for condition in conditions:
        known = of_log()[condition]
        for kind in findings.breaches() if condition == BREACH else (condition,):
            yield kind, known.severity, known.role
    for kind, known in BESIDE_THE_LOG.items():
        yield kind, known.severity, known.role
