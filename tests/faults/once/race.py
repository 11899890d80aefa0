"""Races resumers of one inbox: processes whose clocks differ, and who are paused at random."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import instants
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.entries import Draft
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.ndjson import read_line
from sandbox.platform.certificates import Certificates
from tests import depth, fork_server
from tests.faults.once.counting import CountingPlatform, Put, running
from tests.support import lines
from tests.support.marketplace import payload
from tests.support.stores import environment_in

TIMEOUT_SECONDS = 4.0
LONGEST_ANSWER_SECONDS = 2.5
SKEWS = (-2.0, 0.0, 60.0, 0.5)[: depth.rounds(3, 4)]
BETWEEN_REVIEWS = 0.4
"""Seconds: a resumer whose clock is ahead has them before the others hold them due."""
CHANCE = 0.07
"""With which a resumer stops itself between a decision and its first byte."""
BETWEEN_STOPS = (1.0, 3.0)
SHORT_PAUSE, LONG_PAUSE = (0.02, 0.3), (6.3, 7.5)
"""In seconds: within an attempt's time, and beyond any that its lease may last."""
LONG_SHARE = 0.15
PATIENCE_SECONDS = 150.0

Process = subprocess.Popen[bytes]


class Result(NamedTuple):
    """What a race came to. `overlaps`: PUTs that met another of their process under way; `early`,
    `early_by_log`: retries before they were due, by the clock of the machine (which is also the
    database server's), and by what the log says."""

    puts: int
    overlaps: int
    early: int
    early_by_log: int
    unfinished: int
    pauses: int
    long_pauses: int
    unanswered: int


def race(
    location: str,
    folder: Path,
    *,
    seed: int,
    reviews: int,
    failures: int = 1,
    skews: Sequence[float] = SKEWS,
) -> Result:
    """Each review has failed once already; its retries are everybody's."""
    drawn = random.Random(seed)
    platform = CountingPlatform(f"{seed}", failures, LONGEST_ANSWER_SECONDS)
    names = [f"p{seed}-{number}" for number in range(reviews)]
    inbox = open_inbox(location)
    with (
        contextlib.closing(inbox),
        running(platform, folder / "certificates") as (url, certificates),
        _resumers(_environment(location, folder, url, certificates), folder, seed, skews) as them,
    ):
        began = {}
        for name in names:
            began[name] = _begin(inbox, name)
            _disturb(them, drawn, lambda: False, BETWEEN_REVIEWS)
        pauses = _disturb(them, drawn, lambda: platform.accepted() >= set(names), PATIENCE_SECONDS)
        puts = {name: list(platform.puts[name]) for name in names}
        finishes = inbox.find(kind=SUBMISSION_FINISHED)
        return Result(
            puts=sum(map(len, puts.values())),
            overlaps=platform.overlaps,
            early=sum(_early(began[name], it) for name, it in puts.items()),
            early_by_log=sum(_early_by_log(inbox, name) for name in names),
            unfinished=len(set(names) - platform.accepted()),
            pauses=len(pauses),
            long_pauses=sum(it >= LONG_PAUSE[0] for it in pauses),
            unanswered=sum(it.status is None for it in finishes),
        )


# The parts


def _environment(
    location: str, folder: Path, url: str, certificates: Certificates
) -> dict[str, str]:
    credentials = folder / "credentials"
    credentials.write_text("user:password\n")
    return {
        **os.environ,
        **environment_in(folder),
        "PRAZO_INBOX": location,
        "PRAZO_PLATFORM_URL": url,
        "PRAZO_PLATFORM_CA_FILE": str(certificates.authority),
        "PRAZO_CLIENT_CERT_FILE": str(certificates.client.certificate),
        "PRAZO_CLIENT_KEY_FILE": str(certificates.client.key),
        "PRAZO_PLATFORM_CREDENTIALS_FILE": str(credentials),
        "PRAZO_MARKETPLACE_ID": "m1",
        "PRAZO_REQUEST_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
    }


def _begin(inbox: Inbox, process_id: str) -> int:
    """A review, its seller's answer, and an attempt that failed just now; the instant of that."""
    now = instants.now()
    then = instants.canonical(now - instants.HOUR)
    seller_id = f"s-{process_id}"
    review = lines.aci(
        f"e-{process_id}",
        then,
        process_id=process_id,
        customer_id=seller_id,
        deadline_at=instants.canonical(now + 30 * instants.DAY),
    )
    answer = lines.answered(
        then, process_id=process_id, seller_id=seller_id, journey_id=f"j-{process_id}"
    )
    known: dict[str, Any] = {
        "occurred_at": now,
        "recorded_by": "test",
        "attempt_id": f"a-{process_id}",
        "process_id": process_id,
        "seller_id": seller_id,
    }
    start = Draft(
        kind=SUBMISSION_STARTED,
        body=payload(process_id),
        particulars={"via": "cli", "timeout_seconds": TIMEOUT_SECONDS},
        **known,
    )
    finish = Draft(kind=SUBMISSION_FINISHED, status=500, **known)
    read = [read_line(json.dumps(it).encode(), recorded_by="test") for it in (review, answer)]
    inbox.append([*read, start, finish])
    return now


@contextlib.contextmanager
def _resumers(
    environment: Mapping[str, str], folder: Path, seed: int, skews: Sequence[float]
) -> Iterator[list[Process]]:
    processes: list[Process] = []
    program = [sys.executable, "-m", "tests.faults.once.resumer"]
    try:
        for number, skew in enumerate(skews):
            with (folder / f"resumer-{number}.log").open("wb") as log:
                processes.append(
                    fork_server.start(
                        [*program, str(skew), f"{seed} {number}", str(CHANCE)],
                        env=environment,
                        cwd=Path(__file__).parents[3],
                        stdout=subprocess.PIPE,
                        stderr=log,
                    )
                )
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n", "a resumer did not start"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _disturb(
    processes: Sequence[Process],
    drawn: random.Random,
    is_done: Callable[[], bool],
    seconds: float,
) -> list[float]:
    """Stops somebody now and then, and lets whoever has stopped go on after a while; the pauses."""
    pauses: list[float] = []
    going_on: dict[int, float] = {}
    limit = time.monotonic() + seconds
    next_stop = time.monotonic() + drawn.uniform(*BETWEEN_STOPS)
    while (now := time.monotonic()) < limit and not is_done():
        if now >= next_stop:
            drawn.choice(processes).send_signal(signal.SIGSTOP)
            next_stop = now + drawn.uniform(*BETWEEN_STOPS)
        for process in processes:
            assert process.poll() is None, "a resumer ended"
            if process.pid not in going_on and is_stopped(process):
                bounds = LONG_PAUSE if drawn.random() < LONG_SHARE else SHORT_PAUSE
                pauses.append(drawn.uniform(*bounds))
                going_on[process.pid] = now + pauses[-1]
            elif now >= going_on.get(process.pid, limit):
                process.send_signal(signal.SIGCONT)
                del going_on[process.pid]
        time.sleep(0.02)
    for process in processes:
        process.send_signal(signal.SIGCONT)
    return pauses


def is_stopped(process: Process) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


# What is counted


def _early(began: int, puts: Sequence[Put]) -> int:
    """PUTs sooner after the end of the one before than the shortest pause.

    The platform hears late of a client that has hung up, so there the arrival is its end.
    """
    ends = [began, *(it.ended_at if it.status else it.arrived_at for it in puts)]
    return sum(it.arrived_at < ends[retry] + _least_pause(retry) for retry, it in enumerate(puts))


def _early_by_log(inbox: Inbox, process_id: str) -> int:
    """Starts sooner than the shortest pause after the attempt before, as it stood in the log then:
    ended, or at the end of its time."""
    early = 0
    starts: dict[str | None, int] = {}
    ends: dict[str | None, int] = {}
    for entry in inbox.find(process_id=process_id):
        if entry.kind == SUBMISSION_FINISHED:
            ends[entry.attempt_id] = entry.occurred_at
        elif entry.kind == SUBMISSION_STARTED:
            if starts:
                last, started_at = list(starts.items())[-1]
                ended_at = ends.get(last, started_at + round(TIMEOUT_SECONDS * instants.SECOND))
                early += entry.occurred_at < ended_at + _least_pause(len(starts) - 1)
            starts[entry.attempt_id] = entry.occurred_at
    return early


def _least_pause(retry: int) -> int:
    """Microseconds before the retry of this number, from 0: a fifth less than 1 s, 2 s, 4 s ..."""
    return 800_000 * 2**retry
