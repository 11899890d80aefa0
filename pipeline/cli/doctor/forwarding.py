"""Examines passing on: the endpoints' file, whether a forwarder is well, and what it cannot do."""

from collections.abc import Iterator
from typing import Final

from pipeline import instants
from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.stores import beaten_ahead, owners_alone
from pipeline.forward import endpoints, operating
from pipeline.forward.operating import State
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.settings import Settings
from pipeline.texts import counted, typed

LONGEST_BEAT: Final = instants.MINUTE


def forwarding(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Nothing where there are no endpoints."""
    if settings.forward_file is None:
        return
    given = endpoints.load(settings.forward_file)
    yield from map(owners_alone, dict.fromkeys(it.secret_file for it in given))
    inbox = at_hand()
    beat, now = heartbeats(inbox).get(Part.FORWARDER), inbox.now()
    states = operating.states(inbox, given)
    last = operating.readable(beat)
    if beat is None or now - beat > LONGEST_BEAT:
        said = "no forwarder has run yet" if beat is None else f"the forwarder was last well {last}"
        yield Diagnosis("forwarding", "fault", said, advice.run(settings, "forward", "run"))
    elif ahead := beaten_ahead(beat, now):
        found = f"the forwarder was last well {last}{ahead}"
        remedy = f"see whether it runs; else {advice.run(settings, 'forward', 'run')}"
        yield Diagnosis("forwarding", "warning", found, remedy)
    else:
        yield Diagnosis("forwarding", "ok", f"the forwarder was last well {last}")
    for state in states:
        if state.is_set:
            yield _endpoint(settings, state, now)


def _endpoint(settings: Settings, state: State, now: int) -> Diagnosis:
    row, name = state.row, state.name
    if row is None:
        remedy = advice.run(settings, "forward", "run")
        return Diagnosis("forwarding", "warning", f"{name} is not known yet", remedy)
    if row.paused_at:
        since = instants.readable(row.paused_at)
        return Diagnosis(
            "forwarding", "warning", f"{name} is paused since {since}", "`prazo forward resume`"
        )
    if row.failing_since:
        since = instants.readable(row.failing_since)
        why = next((it.error for it in state.waiting if it.error), "")
        found = f"{name} has taken nothing since {since}: {why}"
        return Diagnosis("forwarding", "warning", found, "look at that endpoint")
    if state.dead:
        found = f"{counted(len(state.dead), 'delivery was', 'deliveries were')} given up for {name}"
        remedy = f"{typed('prazo', 'forward', 'dead', name)}; then `prazo forward replay`"
        return Diagnosis("forwarding", "warning", found, remedy)
    if state.behind_since is not None and now - state.behind_since > operating.LONGEST_LAG:
        found = f"{counted(state.behind, 'delivery waits', 'deliveries wait')} for {name}"
        return Diagnosis("forwarding", "warning", found, "look at the forwarder's log")
    return Diagnosis("forwarding", "ok", f"{name} is at entry {row.position}")
