"""What can break, for how many operations, and how it is healed."""

import contextlib
import random
from abc import ABC, abstractmethod
from pathlib import Path
from signal import SIGQUIT

from tests.laboratory.journal import Broken
from tests.laboratory.world import Part, World

FEW, MANY = (1, 3), (2, 8)


class Fault(ABC):
    """One fault, from `begin` to `heal`."""

    lasts: tuple[int, int] = FEW
    """The fewest and the most operations."""
    takes_long = False
    """Whether every operation under it takes many seconds."""
    hides_the_inbox = False
    """Whether nobody can read the inbox meanwhile, by whichever way."""

    def __init__(self, world: World, drawn: random.Random, *, is_long: bool) -> None:
        """Draws what it will do; `is_long`: there is time for what takes more than a second."""
        self.world = world
        self.is_long = is_long
        self.left = drawn.randint(*self.lasts)
        self.draw(drawn)

    def draw(self, drawn: random.Random) -> None:  # noqa: B027 - some draw nothing
        """Draws what differs from one time to the next."""

    @classmethod
    def is_possible(cls, world: World, is_long: bool) -> bool:
        """Whether this world has what it breaks, and there is time for it."""
        return is_long or not cls.takes_long

    @property
    def of(self) -> object:
        """What it breaks: two faults of one thing are never there at once."""
        return type(self)

    @abstractmethod
    def begin(self) -> None:
        """Breaks it."""

    @abstractmethod
    def heal(self) -> None:
        """All is well again, but for what the product has to do about it."""

    def __str__(self) -> str:
        return type(self).__name__


class _OfAPart(Fault):
    part: Part

    def draw(self, drawn: random.Random) -> None:
        self.part = drawn.choice(self.world.parts)

    @property
    def of(self) -> object:
        return self.part.name

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.part.name}"


class Killed(_OfAPart):
    """SIGKILL; somebody starts it again."""

    def begin(self) -> None:
        self.part.kill()

    def heal(self) -> None:
        if self.part.pid is None:
            self.part.start()


class Frozen(_OfAPart):
    """SIGSTOP, wherever it is just now."""

    def begin(self) -> None:
        self.part.freeze()

    def heal(self) -> None:
        self.part.thaw()


class Restarted(_OfAPart):
    """SIGTERM: it ends in time and well, whatever else is broken."""

    lasts = (1, 1)

    def begin(self) -> None:
        if self.part.pid is None:
            return
        code = self.part.terminate()
        if code is None:
            raise Broken(f"{self.part.name} has not ended 30 s after SIGTERM")
        if code not in (0, 1):  # 1: something hung, and it said so
            raise Broken(f"{self.part.name} ended with {code} after SIGTERM")

    def heal(self) -> None:
        if self.part.pid is None:
            self.part.start()


class SlowDisk(Fault):
    """Every sync of ours takes long."""

    def draw(self, drawn: random.Random) -> None:
        most = 17_000 if self.is_long and drawn.random() < 0.2 else 900
        self.milliseconds = drawn.randint(20, most)

    def begin(self) -> None:
        self.world.syncs.delay(self.milliseconds)

    def heal(self) -> None:
        self.world.syncs.heal()

    @property
    def of(self) -> object:
        return "syncs"

    def __str__(self) -> str:
        return f"SlowDisk {self.milliseconds} ms"


class FailingDisk(Fault):
    """Every sync of ours fails."""

    @property
    def of(self) -> object:
        return "syncs"

    def begin(self) -> None:
        self.world.syncs.fail()

    def heal(self) -> None:
        self.world.syncs.heal()


class FullDisk(Fault):
    """The inbox's file system has not a page left."""

    lasts = MANY

    @classmethod
    def is_possible(cls, world: World, is_long: bool) -> bool:
        return world.disk is not None

    @property
    def _ballast(self) -> Path:
        assert self.world.disk is not None
        return self.world.disk / "ballast"

    def begin(self) -> None:
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def heal(self) -> None:
        self._ballast.unlink(missing_ok=True)


class JumpingClock(Fault):
    """The wall clock of one machine is set."""

    lasts = MANY

    def draw(self, drawn: random.Random) -> None:
        self.machine = drawn.choice(self.world.machines)
        far = drawn.choice([30, 3600, 86_400, 40 * 86_400])
        self.seconds = drawn.choice([-1, 1]) * drawn.randint(6, far)

    def begin(self) -> None:
        self.machine.clock.jump(self.seconds)

    def heal(self) -> None:
        self.machine.clock.jump(0)

    def __str__(self) -> str:
        return f"JumpingClock {self.machine.name} {self.seconds:+d} s"


class _OfANetwork(Fault):
    def draw(self, drawn: random.Random) -> None:
        networks = [it.to_database for it in self.world.machines if it.to_database]
        self.network = drawn.choice([self.world.to_platform, *networks])
        self.is_platforms = self.network is self.world.to_platform
        self.forgets = drawn.random() < 0.5
        self.seconds = drawn.uniform(0.01, 0.25)

    @property
    def of(self) -> object:
        return id(self.network)

    def heal(self) -> None:
        self.network.heal()

    def __str__(self) -> str:
        where = "platform" if self.is_platforms else "database"
        return f"{type(self).__name__} to the {where}"


class SlowNetwork(_OfANetwork):
    """Everything takes a while longer."""

    lasts = MANY

    def begin(self) -> None:
        self.network.delay(self.seconds)


class CutNetwork(_OfANetwork):
    """Every connection is reset."""

    def begin(self) -> None:
        self.network.cut()


class SwallowingNetwork(_OfANetwork):
    """Nothing arrives, and nothing is closed. What was held on its way to the platform is lost:
    nobody could keep a network from delivering a request later, or twice."""

    takes_long = True

    def begin(self) -> None:
        self.network.swallow()

    def heal(self) -> None:
        if self.is_platforms:
            self.network.cut()
        self.network.heal(forgets=self.forgets)


class _OfTheServer(Fault):
    hides_the_inbox = True

    @classmethod
    def is_possible(cls, world: World, is_long: bool) -> bool:
        return world.server is not None and super().is_possible(world, is_long)

    @property
    def of(self) -> object:
        return "server"


class FrozenServer(_OfTheServer):
    """PostgreSQL stands still, as on a file system that was frozen for a snapshot."""

    takes_long = True
    lasts = (1, 2)

    def begin(self) -> None:
        assert self.world.server is not None
        self.world.server.freeze()

    def heal(self) -> None:
        assert self.world.server is not None
        self.world.server.thaw()


class CrashedServer(_OfTheServer):
    """PostgreSQL ends at once and recovers at its next start."""

    def begin(self) -> None:
        assert self.world.server is not None
        self.world.server.stop(SIGQUIT)

    def heal(self) -> None:
        assert self.world.server is not None
        self.world.server.start()


KINDS: tuple[type[Fault], ...] = (
    Killed,
    Killed,
    Frozen,
    Restarted,
    SlowDisk,
    FailingDisk,
    FullDisk,
    JumpingClock,
    SlowNetwork,
    CutNetwork,
    SwallowingNetwork,
    FrozenServer,
    CrashedServer,
)
"""From which they are drawn; what happens most often stands here twice."""
