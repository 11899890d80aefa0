"""Tells the time by which entries are stamped, and doubts this machine's clock when it jumps.

Three clocks are held against each other: the wall clock of this machine, its steady clock (which
nobody sets, and which counts on while the machine sleeps) and, where there is one, the database's.
Two that agree are believed; see docs/decisions/instants.md#a-clock-that-jumps-is-not-believed.
"""

import ctypes
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.contract.body import JsonValue

TOLERANCE: Final = 5 * instants.SECOND
"""How far two clocks may be apart and still agree. `slow_record` begins there, too."""
STEADY_FOR: Final = instants.MINUTE
"""So long a wall clock has to run on after a jump before the kernel's word for it counts."""
FAR_AHEAD: Final = instants.HOUR
"""Of the newest entry: so far a clock may be ahead at a start before nothing but itself says so."""
COMPARE_SECONDS: Final = 30.0
"""Between two looks at what others say of it; with PostgreSQL each record is one, too."""
MACHINE: Final = "machine"
DATABASE: Final = "database"
_AT_ONCE: Final = instants.SECOND // 10
_MAX_CHANGES: Final = 100
_UNSYNCHRONISED: Final = 5  # TIME_ERROR of adjtimex(2)


class Change(NamedTuple):
    """The clocks came apart, or agree again; the particulars of an entry."""

    at: int  # the believed time
    doubted: str | None  # `machine` or `database`; None: they agree
    by: str  # what decided: `steady`, `database`, `log`, `kernel` or `operator`
    offset_before: int  # of the wall clock from the time believed before; in microseconds
    offset_after: int  # of the wall clock from the time believed from now on
    steady: int  # of the steady clock, at the same moment

    def particulars(self) -> Mapping[str, JsonValue]:
        """What an entry of the kind `clock` says."""
        return {
            "clock": f"{self.doubted} doubted" if self.doubted else "believed",
            "by": self.by,
            "offset_before_us": self.offset_before,
            "offset_after_us": self.offset_after,
            "believed_us": self.at,
            "steady_us": self.steady,
            "boot": boot_id(),
        }


def boot_id() -> str:
    """The start of this machine since which its steady clock counts; empty where unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_synchronised() -> bool:
    """Whether the kernel says that a time service keeps the wall clock right (adjtimex(2))."""
    try:
        state: int = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))  # it only asks
    except (AttributeError, OSError):
        return False
    return 0 <= state < _UNSYNCHRONISED


def judge(believed: int, wall: int, database: int | None) -> tuple[int, str | None]:
    """(what is believed from now on, which clock is doubted).

    All are instants of one moment, less the steady clock's: so they differ only by jumps.
    """
    if database is None:
        return (wall, None) if _agree(wall, believed) else (believed, MACHINE)
    if _agree(wall, database):
        return wall, None  # if both moved, our own reckoning was interrupted
    if _agree(database, believed):
        return database, MACHINE
    if _agree(wall, believed):
        return wall, DATABASE
    return believed, MACHINE


def _agree(one: int, other: int) -> bool:
    return abs(one - other) <= TOLERANCE


def _is_doubted_since_this_boot(particulars: Mapping[str, Any]) -> bool:
    """Of an entry about a clock: whether the reckoning that it states goes on."""
    doubts = particulars.get("clock") in (f"{MACHINE} doubted", f"{DATABASE} doubted")
    return doubts and particulars["boot"] == boot_id()


def _is_doubted_on_this_machine(particulars: Mapping[str, Any]) -> bool:
    """Of an entry about a clock: whether it doubts this machine's, in this boot or an earlier."""
    is_of_machine = particulars.get("clock") == f"{MACHINE} doubted"
    return is_of_machine and particulars.get("machine") == socket.gethostname()


class Clock:
    """The clock of one inbox in one process. Safe from several threads at once."""

    def __init__(
        self,
        *,
        wall: Callable[[], int] = instants.now,
        steady: Callable[[], int] = instants.since_boot,
        is_synchronised: Callable[[], bool] = is_synchronised,
    ) -> None:
        self._wall, self._steady, self._is_synchronised = wall, steady, is_synchronised
        self._lock = threading.Lock()
        self._changes: deque[Change] = deque(maxlen=_MAX_CHANGES)
        self._database: int | None = None  # its time, less the steady clock's
        self._believed = wall() - steady()
        self._doubted: str | None = None
        self._has_left = False  # the database's clock, before this process began
        self._jumped_to = self._believed
        self._jumped_at = self._decided_at = steady()

    def now(self) -> int:
        """The believed time, in microseconds."""
        wall = self._wall()
        offset, database = wall - self._steady(), self._database
        if (
            self._doubted is None
            and _agree(offset, self._believed)
            and (database is None or _agree(offset, database))
        ):
            with self._lock:
                if self._doubted is None and _agree(offset, self._believed):
                    self._believed = offset  # it follows what a time service corrects bit by bit
                    return wall
        return self._reckoned()

    def _reckoned(self) -> int:
        with self._lock:
            steady, offset = self._moment()
            self._decide("steady", steady, offset)
            return steady + self._believed

    def _moment(self) -> tuple[int, int]:
        """(the steady clock, how far the wall clock is ahead of it), read at one moment: between
        two readings a process may be frozen for long."""
        while True:
            before, wall, after = self._steady(), self._wall(), self._steady()
            if after - before <= _AT_ONCE:
                return after, wall - after

    def _decide(self, by: str, steady: int, offset: int) -> None:
        believed, doubted = judge(self._believed, offset, self._database)
        if doubted == MACHINE and self._database is None:
            if not _agree(offset, self._jumped_to):
                self._jumped_to, self._jumped_at = offset, steady
            elif steady - self._jumped_at >= STEADY_FOR and self._is_synchronised():
                by, believed, doubted = "kernel", offset, None
        self._settle(by, steady, offset, believed, doubted)

    def _settle(
        self, by: str, steady: int, offset: int, believed: int, doubted: str | None
    ) -> None:
        is_moved = doubted is None and not _agree(believed, self._believed)
        if doubted != self._doubted or is_moved:
            self._decided_at = steady
            self._changes.append(
                Change(
                    at=steady + believed,
                    doubted=doubted,
                    by=by,
                    offset_before=offset - self._believed,
                    offset_after=offset - believed,
                    steady=steady,
                )
            )
        self._believed, self._doubted = believed, doubted

    # --- what others say ---

    def hear_database(self, asked: int, answered: int) -> None:
        """Takes the time that the database gave as its answer; `asked`: the steady clock's time
        before the question."""
        with self._lock:
            steady, offset = self._moment()
            if steady - asked > instants.SECOND:
                return  # nobody knows when that was its time
            first, self._database = self._database is None, answered - steady
            if first and not self._has_left and not _agree(offset, self._database):
                # Nothing says that our own reckoning, which began with the wall clock, is right.
                self._settle(DATABASE, steady, offset, self._database, MACHINE)
            else:
                self._decide(DATABASE, steady, offset)

    def hear_log(self, recorded_at: int, last: Mapping[str, Any]) -> None:
        """What the log knows when a process opens it: the time of its newest entry, and the
        particulars of the newest entry about a clock."""
        with self._lock:
            steady, offset = self._moment()
            believed = offset
            # What is decided here is the word of then: a receiver may know better already, and has
            # yet to record it.
            as_of = last["steady_us"] if last.get("boot") == boot_id() else 0
            self._has_left = last.get("clock") == f"{DATABASE} doubted"
            if _is_doubted_since_this_boot(last):
                believed = last["believed_us"] - last["steady_us"]
            elif recorded_at - steady > offset and not self._is_synchronised():
                believed = recorded_at - steady  # time does not go back
            if not _agree(believed, offset):
                self._jumped_to, self._jumped_at = offset, steady
                self._settle("log", steady, offset, believed, MACHINE)
                self._decided_at = as_of
            elif _is_doubted_on_this_machine(last):
                # The clock was put right while nobody looked: that is the end of what stands there.
                self._believed, self._doubted = offset - last["offset_after_us"], MACHINE
                self._settle("log", steady, offset, offset, None)
            else:
                self._decided_at = as_of

    def hear_news(self, last: Mapping[str, Any]) -> None:
        """What the log says by now, in the particulars of its newest entry about a clock: a
        receiver on this machine knows what others have yet to hear, such as the operator's word."""
        with self._lock:
            is_of_now = last["boot"] and last["boot"] == boot_id()
            if not is_of_now or last["steady_us"] <= self._decided_at:
                return
            steady, offset = self._moment()
            believed = last["believed_us"] - last["steady_us"]
            self._decided_at = last["steady_us"]
            if _agree(offset, believed):
                self._settle("log", steady, offset, offset, None)
            else:
                self._jumped_to, self._jumped_at = offset, steady
                self._settle("log", steady, offset, believed, MACHINE)

    def believe(self) -> None:
        """The operator's word: this machine's clock is right."""
        with self._lock:
            steady, offset = self._moment()
            self._settle("operator", steady, offset, offset, None)
            self._decided_at = steady  # also where it was believed: no older doubt is heard now

    # --- what it knows ---

    def unvouched(self, recorded_at: int) -> str | None:
        """Why this machine's clock may be wrong where nothing contradicts it: no database and no
        time service vouches for it, and it is far ahead of the newest entry, of `recorded_at`.
        None where it is not, and for an empty log."""
        ahead = self._wall() - recorded_at
        if self._doubted or self._database is not None or not recorded_at or ahead <= FAR_AHEAD:
            return None
        if self._is_synchronised():
            return None
        return (
            "nothing vouches for this machine's clock: no time service keeps it, and it is"
            f" {ahead / instants.HOUR:,.1f} h ahead of the newest entry"
        )

    @property
    def doubted(self) -> str | None:
        """The clock that is doubted now, `machine` or `database`; None if all agree."""
        return self._doubted

    @property
    def marks(self) -> Mapping[str, JsonValue]:
        """What entries say that are stamped while a clock is doubted; empty while all agree."""
        if self._doubted is None:
            return {}
        return {"clock": "suspect", "clock_offset_us": self.offset}

    @property
    def offset(self) -> int:
        """How far this machine's clock is ahead of the believed time, in microseconds."""
        return self._moment()[1] - self._believed

    @property
    def database_offset(self) -> int | None:
        """How far the database's clock is ahead of the believed time, if there is one."""
        return None if self._database is None else self._database - self._believed

    def take_changes(self) -> list[Change]:
        """What changed since the last call, oldest first; each is to become an entry."""
        self._reckoned()
        with self._lock:
            changes, self._changes = [*self._changes], deque(maxlen=_MAX_CHANGES)
        return changes
