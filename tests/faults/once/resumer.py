"""`prazo resume --follow` with another wall clock, that stops itself where a pause hurts most.

    python -m tests.faults.once.resumer SKEW_SECONDS SEED CHANCE [PLACE...]

With that chance it stops itself (SIGSTOP) at each of the places, the two long moments between a
decision and the first byte: `after_start`, once a start is durable, and `after_handshake`. Whoever
started it lets it go on. It says `up` on standard output once it has read the inbox.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any


def skew_the_wall_clock(seconds: float) -> None:
    """For all of this process that asks Python for the time; clocks that nobody sets stay."""
    nanoseconds = round(seconds * 1e9)
    time_ns = time.time_ns
    time.time_ns = lambda: time_ns() + nanoseconds  # type: ignore[assignment]
    time.time = lambda: time.time_ns() / 1e9  # type: ignore[assignment]


PLACES = ("after_start", "after_handshake")


def stop_now_and_then(seed: str, chance: float, places: Sequence[str]) -> None:
    from httpcore._backends.anyio import AnyIOStream

    from pipeline.inbox.group_commit import GroupCommit
    from pipeline.log.kinds.submission_started import SUBMISSION_STARTED

    drawn = random.Random(seed)
    record, start_tls = GroupCommit.record, AnyIOStream.start_tls

    def stop(place: str) -> None:
        if place in places and drawn.random() < chance:
            os.kill(os.getpid(), signal.SIGSTOP)

    async def record_and_stop(self: GroupCommit, occurrence: Any) -> Any:
        receipt = await record(self, occurrence)
        if getattr(occurrence, "kind", None) == SUBMISSION_STARTED:
            stop("after_start")
        return receipt

    async def start_tls_and_stop(self: AnyIOStream, *given: Any, **named: Any) -> Any:
        stream = await start_tls(self, *given, **named)
        stop("after_handshake")
        return stream

    GroupCommit.record = record_and_stop  # type: ignore[method-assign]
    AnyIOStream.start_tls = start_tls_and_stop  # type: ignore[method-assign]


def say_when_it_is_up() -> None:
    from pipeline.submit.resumer import Resumer

    turn = Resumer._turn
    said: list[bool] = []

    async def turn_and_say(self: Resumer) -> None:
        await turn(self)
        if not said:
            os.write(1, b"up\n")
            said.append(True)

    Resumer._turn = turn_and_say  # type: ignore[method-assign]


if __name__ == "__main__":
    skew, seed, chance, *places = sys.argv[1:]
    skew_the_wall_clock(float(skew))
    stop_now_and_then(seed, float(chance), places or PLACES)
    say_when_it_is_up()
    from pipeline.cli import main

    main(["resume", "--follow"])
