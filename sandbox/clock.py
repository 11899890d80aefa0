"""The sandbox's own time: instants in microseconds, their text, and a clock that can run ahead.

It shares no code with the product's instants on purpose: a mistake in both must not cancel out.
"""

import time
from datetime import UTC, datetime, timedelta, timezone

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

SAO_PAULO = timezone(timedelta(hours=-3))  # no daylight saving time since 2019

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def wall_clock() -> int:
    """Now, in microseconds since the epoch."""
    return time.time_ns() // 1_000


def to_millisecond(at: int) -> int:
    """Cuts an instant to milliseconds, in which the platform writes and decides, so that its text
    and its state never differ."""
    return at - at % MILLISECOND


def utc_text(at: int) -> str:
    """`2026-03-01T12:00:00.000Z`: how the platform writes the instants of a review."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def offset_text(at: int) -> str:
    """`2026-03-01T09:00:00-03:00`: how the platform writes the instants of a seller record."""
    moment = (_EPOCH + timedelta(microseconds=at)).astimezone(SAO_PAULO)
    return moment.isoformat(timespec="seconds")


def exact_text(at: int) -> str:
    """An instant with all six fraction digits, as a log writes it."""
    moment = _EPOCH + timedelta(microseconds=at)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


class Clock:
    """Platform time. It starts at `start`, runs `scale` times as fast as the wall clock, and can be
    moved forward.

    It never goes back: a process that expired stays expired.
    """

    def __init__(self, start: int | None = None, scale: float = 1.0) -> None:
        self._scale = scale
        self._then = time.monotonic_ns()
        self._at = wall_clock() if start is None else start

    def now(self) -> int:
        passed = (time.monotonic_ns() - self._then) // 1_000
        return self._at + int(passed * self._scale)

    def advance(self, microseconds: int) -> None:
        if microseconds < 0:
            raise ValueError(f"time only goes forward, not by {microseconds} microseconds")
        self._rebase(self.now() + microseconds, self._scale)

    def set_scale(self, scale: float) -> None:
        if scale < 0:
            raise ValueError(f"time only goes forward, not {scale} times as fast")
        self._rebase(self.now(), scale)

    def seconds_until(self, at: int) -> float:
        """Wall-clock seconds until platform time `at`; infinite while time stands still."""
        if self._scale == 0:
            return float("inf")
        return max(0.0, (at - self.now()) / SECOND / self._scale)

    def _rebase(self, at: int, scale: float) -> None:
        self._then, self._at, self._scale = time.monotonic_ns(), at, scale
