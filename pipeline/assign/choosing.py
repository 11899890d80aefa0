"""Chooses by the rules who gets a review: the same past and the same day give the same choice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pipeline.alert import hours
from pipeline.alert.decision import present
from pipeline.alert_rules import AlertRules
from pipeline.assign.rules import AssignRules


class Unassigned(NamedTuple):
    """A review that was never assigned to anybody."""

    process_id: str
    seller_id: str | None
    review_type: str | None


class Given(NamedTuple):
    """Who gets a review, and whose turn that was: somebody else's where they stand in."""

    review: Unassigned
    assignee: str
    turn_of: str


def choose(
    rules: AssignRules,
    known: AlertRules,
    reviews: Iterable[Unassigned],
    *,
    loads: Mapping[str, int],
    turns: Mapping[str, int],
    now: int,
) -> Iterator[Given]:
    """Who gets which of the reviews; those are left out for which nobody is there. Each is chosen
    as it is asked for.

    `known`: says who is away, and who stands in. `loads`: assignee -> unfinished reviews. `turns`:
    person -> the entry by which the rule gave them the last one. `now`: in microseconds.
    """
    desk = _Desk(rules, known, loads, turns, now)
    return (given for review in reviews if (given := desk.give(review)) is not None)


class _Desk:
    """Who has how many, as reviews are given out."""

    def __init__(
        self,
        rules: AssignRules,
        known: AlertRules,
        loads: Mapping[str, int],
        turns: Mapping[str, int],
        now: int,
    ) -> None:
        self._rules, self._known, self._now = rules, known, now
        self._turns = dict(turns)
        self._loads = Counter[str]()
        for assignee, count in loads.items():
            self._loads[assignee.strip().casefold()] += count
        self._at_work = {name: who for name in rules.people if (who := self._who(name))}

    def give(self, review: Unassigned) -> Given | None:
        """Who gets it; None where nobody can."""
        order = list(self._rules.people)
        able = [
            name
            for name, who in self._at_work.items()
            if self._rules.people[name].takes(review.review_type) and self._has_room(who)
        ]
        if not able:
            return None
        name = min(able, key=lambda name: (*self._rank(name), order.index(name)))
        who = self._at_work[name]
        self._turns[name] = max(self._turns.values(), default=0) + 1
        self._loads[who.strip().casefold()] += 1
        return Given(review, who, name)

    def _rank(self, name: str) -> tuple[int, ...]:
        last = self._turns.get(name, -1)
        return (self._load(self._at_work[name]), last) if self._rules.by == "load" else (last,)

    def _who(self, name: str) -> str | None:
        """Who gets what is a person's: themselves, or whoever stands in; None where they are away
        as well."""
        for recipient in self._known.assigned(name):
            instead = present(recipient, self._known, self._now)
            if instead != recipient:
                return instead
            said = self._known.recipients[recipient]
            if said.is_away(hours.local_time(self._known.hours, said, self._now).date()):
                return None
        return name

    def _has_room(self, who: str) -> bool:
        names = self._known.names_of(who)
        limits = [it.limit for name, it in self._rules.people.items() if name.casefold() in names]
        return all(limit is None or self._load(who) < limit for limit in limits)

    def _load(self, who: str) -> int:
        return sum(self._loads[name] for name in self._known.names_of(who))
