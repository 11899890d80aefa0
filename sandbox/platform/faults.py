"""Defines the ways in which the platform can fail a submission, and lists the faults to come.

Each fault says whether the submission is processed before it fails: a lost answer is
`drops_connection` or `never_answers` with `processes`.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

FaultKind = Literal[
    "status",  # answers with `status`, `Retry-After` and the names of fields if given
    "slow",  # waits for `seconds`, or until the client gives up, then goes on as usual
    "never_answers",  # keeps the connection open until the client gives up
    "drops_connection",  # closes it without a byte
    "closes_half_way",  # closes it in the middle of the answer's body
    "oversized_answer",  # answers with a body of `size` bytes
]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)

_USUALLY_PROCESSED = ("slow", "closes_half_way", "oversized_answer")


@dataclass(frozen=True)
class Fault:
    """One fault, for the next `times` submissions (None: until cleared) of a process or of any."""

    kind: FaultKind
    times: int | None = 1
    process_id: str | None = None
    processes: bool | None = None  # None: as is usual for the kind
    status: int = 500
    retry_after: str | None = None  # seconds, or an HTTP date
    fields: tuple[str, ...] = ()  # those that a 400 finds invalid
    seconds: float = 1.0
    size: int = 2 * 1024 * 1024

    def __post_init__(self) -> None:
        if self.kind not in FAULT_KINDS:
            raise ValueError(f"no such fault: {self.kind!r}; there are {', '.join(FAULT_KINDS)}")
        if self.times is not None and self.times < 1:
            raise ValueError("times must be at least 1, or null for a fault that stays")

    @property
    def is_processed(self) -> bool:
        return self.kind in _USUALLY_PROCESSED if self.processes is None else self.processes


@dataclass
class Faults:
    """The faults to come. Faults for a certain process come before faults for any."""

    pending: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        self.pending.append(fault)

    def clear(self) -> None:
        self.pending.clear()

    def strike(self, process_id: str | None) -> Fault | None:
        """The fault for a submission of this process, or None; counts it as used once."""
        for wanted in (process_id, None) if process_id is not None else (None,):
            for place, fault in enumerate(self.pending):
                if fault.process_id != wanted:
                    continue
                if fault.times == 1:
                    del self.pending[place]
                elif fault.times is not None:
                    self.pending[place] = replace(fault, times=fault.times - 1)
                return fault
        return None
