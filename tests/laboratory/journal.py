"""Says what was done in a run: what was asked, what was answered, when, and under which faults."""

import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REMEMBERED = 60
"""Operations that a failure shows; the file has them all."""


class Broken(AssertionError):
    """A promise was not kept."""


class Operation:
    """One operation of a run; anyone who does it notes what was answered."""

    def __init__(self, number: int, what: str, faults: str, began: float) -> None:
        self.number = number
        self.what = what
        self.faults = faults
        self.began = began  # seconds since the run's start
        self.seconds = 0.0
        self._said: list[str] = []

    def note(self, **said: object) -> None:
        """What was asked, or what was answered."""
        self._said += [f"{name}={value}" for name, value in said.items()]

    def __str__(self) -> str:
        said = " ".join((self.what, *self._said))
        under = f"  [{self.faults}]" if self.faults else ""
        return f"{self.number:4} {self.began:8.2f}s +{self.seconds:.2f}s  {said}{under}"


class Journal:
    """The operations of one run, in their order; also in a file, which survives the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        """How often each operation was done, and each fault began."""
        self._started = time.monotonic()
        self._last: deque[Operation] = deque(maxlen=REMEMBERED)
        self._number = 0

    @contextmanager
    def operation(self, what: str, faults: str) -> Iterator[Operation]:
        """One operation, from its beginning to its end, however it ends."""
        self._number += 1
        operation = Operation(self._number, what, faults, time.monotonic() - self._started)
        self.counts[what] += 1
        self._last.append(operation)
        try:
            yield operation
        except Broken as broken:
            operation.note(BROKEN=broken)
            raise
        finally:
            operation.seconds = time.monotonic() - self._started - operation.began
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{operation}\n")

    def __str__(self) -> str:
        return "\n".join(map(str, self._last))
