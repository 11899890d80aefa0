"""Finds names in `alerts.toml` that stand for nothing: recipients and kinds of alerts.

It reads the file's tables as they stand: a mistake elsewhere in the file hides none of these.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pipeline import findings
from pipeline.conditions import BESIDE_THE_LOG, BREACH, of_log

CONDITIONS: Final = tuple(it for it in of_log() if it != BREACH)
"""Each is a kind of its own; of breaches each finding is."""
RUNGS: Final = ("opened", "overdue", "expired")
KINDS: Final = (*RUNGS, *findings.breaches(), *CONDITIONS, *BESIDE_THE_LOG)
"""Of alerts that routes lead somewhere, beside the rungs before the deadline."""


def unknown_recipients(said: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    """What is wrong with names of recipients. `groups`: words that stand for several."""
    recipients, known = _table(said, "recipients"), set(groups)
    for name, recipient in recipients.items():
        if name in known:
            yield f"recipients.{name}: that word stands for others in routes"
        stand_in = _table(recipients, name).get("stand_in")
        if isinstance(stand_in, str) and stand_in not in recipients:
            yield f"recipients.{name}.stand_in: there is no recipient {stand_in!r}"
        if isinstance(recipient, Mapping) and stand_in == name:
            yield f"recipients.{name}.stand_in: nobody stands in for themselves; name another"
    for number, route in enumerate(_tables(said, "routes"), 1):
        named = [*_names(route, "to")]
        for step in _tables(route, "escalate"):
            named += _names(step, "to")
        for name in dict.fromkeys(named):
            if name not in known and name not in recipients:
                yield f"routes.{number}: there is no recipient {name!r}"
    for name, report in _table(said, "reports").items():
        if isinstance(report, Mapping):
            for to in _names(report, "to"):
                if to not in recipients:
                    yield f"reports.{name}: there is no recipient {to!r}"


def unknown_kinds(said: Mapping[str, Any], rungs: Iterable[str] | None) -> Iterator[str]:
    """The kinds in routes that no alert has. `rungs`: of the ladder, None where it has a fault."""
    known = set(KINDS)
    for number, route in enumerate(_tables(said, "routes"), 1):
        for kind in _names(route, "kinds"):
            if kind.startswith("before_"):
                if rungs is not None and kind not in rungs:
                    yield f"routes.{number}.kinds: the ladder has no rung {kind!r}"
            elif kind not in known:
                use = _nearest(kind)
                yield f"routes.{number}.kinds: no alert is of the kind {kind!r}: use {use}"


def _nearest(kind: str) -> str:
    import difflib  # only who mistypes needs it

    near = difflib.get_close_matches(kind, KINDS, n=1)
    return repr(near[0]) if near else f"a rung, a finding or one of {', '.join(CONDITIONS)}"


def _table(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, Mapping) else {}


def _tables(said: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = said.get(name)
    every = found if isinstance(found, list | tuple) else ()
    return [it if isinstance(it, Mapping) else {} for it in every]


def _names(said: Mapping[str, Any], name: str) -> list[str]:
    found = said.get(name)
    return [it for it in found if isinstance(it, str)] if isinstance(found, list | tuple) else []
