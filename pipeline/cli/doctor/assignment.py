"""Examines assignment by rule: its file, and whether anybody knows when its people are away."""

from collections.abc import Iterator

from pipeline import alert_rules
from pipeline.assign import rules
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.settings import Settings
from pipeline.texts import counted


def assignment(settings: Settings) -> Iterator[Diagnosis]:
    """Nothing where reviews are assigned by people alone."""
    if settings.assign_file is None:
        return
    assigned = rules.load(settings.assign_file)
    known = alert_rules.load(settings.alerts_file)
    if strangers := [name for name in assigned.people if not known.assigned(name)]:
        yield Diagnosis(
            "assignment",
            "warning",
            f"nobody knows when they are away: {', '.join(strangers)}",
            "name them as recipients, or in assigned_as of one, in the file of PRAZO_ALERTS_FILE"
            " (docs/alerts.md#settings)",
        )
        return
    people = counted(len(assigned.people), "person", "people")
    yield Diagnosis("assignment", "ok", f"new reviews go to {people}, by {assigned.by}")
