"""Describes what somebody asks to export, and why; converts it to and from JSON for the API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Final, Literal, NamedTuple

from pipeline import instants
from pipeline.errors import CallerError, WrongUsage

Profile = Literal["full", "masked"]


_OF_MESSAGES: Final = """seq in (
    select seq from fact_notice_results where process_id is null and message_id in (
        select message_id from fact_notices where process_id in ({})
    )
)"""
"""Results and retractions that name no process, of messages that speak of the processes of a
query."""


MOST_DRAWN: Final = 500
"""Processes in a sample."""

_EARLIER_DRAWS: Final = "(kind = 'export' and process_id is null and seller_id is null)"
"""Earlier packages of samples and of periods: a sample names them, so that nobody draws until one
pleases and shows that one alone."""


class Sample(NamedTuple):
    """How processes are drawn from a period (`drawing.py`)."""

    size: int
    number: str = ""  # what an auditor gave, if anything: too short to be a tax id
    checkpoint: int | None = None  # how many entries it counts; None until one was chosen

    @property
    def is_numbered_rightly(self) -> bool:
        """Whether its number has a form that is taken: digits, nine at most, or nothing."""
        return re.fullmatch(r"[0-9]{0,9}", self.number) is not None


class Drawn(NamedTuple):
    """What came of it."""

    processes: tuple[str, ...]
    population: int


@dataclass(frozen=True, slots=True)
class Scope:
    """One process, one seller with its processes, a period, a period of one seller, or a sample of
    the processes of a period.

    A period covers every entry that occurred at or after `since` and before `until` (microseconds),
    and all entries of the processes among them; that of a seller, such entries as name the seller.
    What says of a message, without a process, what became of it comes with each process of the
    message.
    """

    process_id: str | None = None
    seller_id: str | None = None
    since: int | None = None
    until: int | None = None
    sample: Sample | None = None
    drawn: Drawn | None = None

    def __post_init__(self) -> None:
        if (self.since is None) != (self.until is None):
            raise WrongUsage("A period needs both its ends", remedy="name both, from and to")
        if (self.process_id is not None) == (self.seller_id is not None or self.is_period):
            raise WrongUsage(
                "The scope of the export is not clear",
                "a process, a seller, a period or a period of a seller is needed",
                "name a process alone, or else a seller, both ends of a period, or all of these",
            )
        if self.sample is not None and (not self.is_period or self.seller_id is not None):
            raise WrongUsage("A sample is drawn from a period", remedy="name a period, no seller")
        if self.sample is not None and not 1 <= self.sample.size <= MOST_DRAWN:
            raise WrongUsage(f"A sample has 1 to {MOST_DRAWN} processes")
        if self.sample is not None and not self.sample.is_numbered_rightly:
            raise WrongUsage("The number to draw with has 9 digits at most, and nothing else")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise WrongUsage(
                "The period is empty",
                "it does not end after its start",
                "name an end after its start",
            )

    @property
    def is_period(self) -> bool:
        """Whether it is of a period, of all or of one seller."""
        return self.since is not None

    @property
    def condition(self) -> tuple[str, list[object]]:
        """A condition in SQL on the table `log`, and its parameters."""
        own, named = self.named_by_entries
        if self.drawn is not None:
            condition = (
                f"process_id in (select unnest(?)) or {_OF_MESSAGES.format('select unnest(?)')}"
            )
            return f"({_EARLIER_DRAWS} or {condition})", [list(self.drawn.processes)] * 2
        processes = f"select process_id from log where {own} and process_id is not null"
        condition = f"({own} or process_id in ({processes}) or {_OF_MESSAGES.format(processes)})"
        return condition, named * 3

    @property
    def named_by_entries(self) -> tuple[str, list[object]]:
        """Which entries belong to it by themselves, and not only by their process or message; of a
        sample, those of its whole period."""
        period = "epoch_us(occurred_at) >= ? and epoch_us(occurred_at) < ?"
        conditions: dict[str, list[object]] = {
            "process_id = ?": [self.process_id],
            "seller_id = ?": [self.seller_id],
            period: [self.since, self.until],
        }
        asked = {it: values for it, values in conditions.items() if values[0] is not None}
        return f"({' and '.join(asked)})", [it for values in asked.values() for it in values]

    def named(self, names: Mapping[str, str]) -> dict[str, str]:
        """The scope as parameters.json states it. `names`: identifier -> what stands for it."""
        ids = {"process": self.process_id, "seller": self.seller_id}
        ends = {"from": self.since, "to": self.until}
        return {
            **{name: names.get(it, it) for name, it in ids.items() if it is not None},
            **{name: instants.readable(it) for name, it in ends.items() if it is not None},
            **self._sample_named(),
        }

    def _sample_named(self) -> dict[str, str]:
        if self.sample is None:
            return {}
        size, number, checkpoint = self.sample
        said = {"sample": str(size), "number": number, "checkpoint": str(checkpoint or "")}
        return said | ({} if self.drawn is None else {"population": str(self.drawn.population)})

    @property
    def stream(self) -> str | None:
        """The column whose stream shows that it is whole; None of a period of the whole log."""
        if self.process_id is not None:
            return "process_id"
        return None if self.seller_id is None else "seller_id"


@dataclass(frozen=True, slots=True)
class Request:
    """Who wants which package, and why."""

    scope: Scope
    reason: str
    actor: str
    recorded_by: str
    profile: Profile = "full"
    withhold: frozenset[int] = frozenset()
    """Entries whose bodies and artifacts are left out of a full package."""
    against: str | None = None
    """An earlier signed checkpoint; the package proves that the log continues it."""


_NAMES: Final = frozenset(
    {
        *("process_id", "seller_id", "from", "to", "reason", "actor", "profile", "withhold"),
        *("against", "sample", "number", "checkpoint"),
    }
)


def to_json(request: Request) -> dict[str, Any]:
    """A request as the JSON object that `POST /api/exports` takes."""
    scope = request.scope
    period = {"from": scope.since, "to": scope.until}
    content = {
        "process_id": scope.process_id,
        "seller_id": scope.seller_id,
        **{name: instants.canonical(it) for name, it in period.items() if it is not None},
        "reason": request.reason,
        "actor": request.actor,
        "profile": request.profile,
        "withhold": sorted(request.withhold),
        "against": request.against,
        **({} if scope.sample is None else _sample_to_json(scope.sample)),
    }
    return {name: it for name, it in content.items() if it is not None}


def _sample_to_json(sample: Sample) -> dict[str, Any]:
    return {"sample": sample.size, "number": sample.number, "checkpoint": sample.checkpoint}


def from_json(
    content: Any,
    *,
    actor: str | None,
    recorded_by: str,
    zone: tzinfo = UTC,
    otherwise: Profile = "full",
) -> Request:
    """The request in a parsed JSON body. `actor`, if not None, replaces the one in the body;
    `otherwise` is the profile where it names none; `zone` is that of days without a time, which
    stand for their start.

    Raises `CallerError` if the body is not such a request.
    """
    if not isinstance(content, dict):
        raise CallerError("The export is not described", "a JSON object is expected")
    if unknown := content.keys() - _NAMES:
        raise CallerError(
            f"There is no {', '.join(sorted(map(repr, unknown)))} in an export",
            remedy=f"use only {', '.join(sorted(_NAMES))}",
        )
    texts = {
        name: _text(content, name)
        for name in (
            *("process_id", "seller_id", "from", "to", "reason", "actor", "against", "number"),
        )
    }
    profile = content.get("profile", otherwise)
    if profile not in ("full", "masked"):
        raise CallerError(f"There is no profile {profile!r}", remedy="full or masked")
    withhold = content.get("withhold", [])
    if not isinstance(withhold, list) or not all(type(it) is int for it in withhold):
        raise CallerError("withhold is not a list of seqs")
    return Request(
        scope=Scope(
            process_id=texts["process_id"],
            seller_id=texts["seller_id"],
            since=_instant(texts["from"], zone),
            until=_instant(texts["to"], zone),
            sample=_sample(content, texts["number"]),
        ),
        reason=texts["reason"] or "",
        actor=actor or texts["actor"] or "",
        recorded_by=recorded_by,
        profile="full" if profile == "full" else "masked",
        withhold=frozenset(withhold),
        against=texts["against"],
    )


def _sample(content: dict[str, Any], number: str | None) -> Sample | None:
    size, checkpoint = content.get("sample"), content.get("checkpoint")
    if any(it is not None and type(it) is not int for it in (size, checkpoint)):
        raise CallerError("sample and checkpoint are not whole numbers")
    if size is None and (number is not None or checkpoint is not None):
        raise CallerError(
            "number and checkpoint are those of a sample", remedy="give its size, too"
        )
    return None if size is None else Sample(size, number or "", checkpoint)


def _text(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise CallerError(f"{name} is not a text")
    return value


def _instant(text: str | None, zone: tzinfo) -> int | None:
    if text is None:
        return None
    instant = instants.starting(text, zone)
    if instant is None:
        raise WrongUsage(
            f"{text!r} is not an instant",
            remedy="write it like 2026-03-01T09:00:00Z, or a day like 2026-03-01",
        )
    return instant
