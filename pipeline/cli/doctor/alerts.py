"""Examines alerts: their file, its secrets, whether anybody is told, and whether anybody tells."""

import os
from collections.abc import Iterator

from pipeline import alert_rules, instants
from pipeline.alert.messages import transport
from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.stores import beaten, owners_alone
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.settings import Settings


def alerts(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """A file of alerts that cannot be used is a fault of this check, and of no other."""
    rules = alert_rules.load(settings.alerts_file)
    for path in rules.secret_files():
        if os.access(path, os.R_OK):
            yield owners_alone(path)
    for place, fault in transport.Files().unusable(rules).items():
        found = f"nobody is told by {place}: {fault}"
        yield Diagnosis("alerts", "fault", found, "write it, or give us the right to read it")
    if not rules.recipients:
        yield Diagnosis(
            "alerts",
            "warning",
            "nobody is told of what is alarming: the settings name no recipient",
            "name recipients in the file of PRAZO_ALERTS_FILE (docs/alerts.md#who-is-told)",
        )
        return
    if lost := rules.untold():
        yield Diagnosis(
            "routes",
            "warning",
            f"nobody would be told of {', '.join(lost)}",
            "add a route that takes them (docs/alerts.md#who-is-told)",
        )
    if settings.keeper_url is not None and len(rules.watch.receivers or ()) < 2:
        yield Diagnosis(
            "watch",
            "warning",
            "several machines share this log, and alerts look at the receiver of one alone: where"
            " another machine ends, nobody hears of it",
            "name the receivers of all machines in [watch] of the file of PRAZO_ALERTS_FILE"
            " (docs/alerts.md#settings)",
        )
    inbox = at_hand()
    beat = heartbeats(inbox).get(Part.ALERTS)
    yield beaten(
        "alerts", beat, inbox.now(), instants.MINUTE, advice.run(settings, "alerts", "run")
    )
