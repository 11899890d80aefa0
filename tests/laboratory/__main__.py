"""Runs the laboratory until it finds something, or for so many minutes.

PRAZO_LAB_SEED=7 python -m tests.laboratory --engine postgres --long --steps 200
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import sandbox
from tests.laboratory.experiment import experiment
from tests.support.postgres import PostgresServer, installed


def _main() -> None:
    given = argparse.ArgumentParser(prog="python -m tests.laboratory")
    given.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    given.add_argument("--steps", type=int, default=200, help="of each run")
    given.add_argument("--minutes", type=float, default=0.0, help="run after run, for so long")
    given.add_argument("--keep", type=Path, help="folder that the stores of a failed run go to")
    given.add_argument("--long", action="store_true", help="faults of many seconds as well")
    asked = given.parse_args()
    seed = int(os.environ.pop("PRAZO_LAB_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    until = time.monotonic() + 60 * asked.minutes
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        server = None
        if asked.engine == "postgres":
            binaries = installed()
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="prazo-postgres-"))
            server = PostgresServer(binaries, Path(home))
            stack.callback(server.stop)
            server.start()
        while True:
            with tempfile.TemporaryDirectory(prefix="prazo-lab-") as folder, ExitStack() as run:
                platform = run.enter_context(sandbox.running())
                began = time.monotonic()
                journal = experiment(
                    seed,
                    asked.engine,
                    Path(folder),
                    platform,
                    server,
                    steps=asked.steps,
                    is_long=asked.long,
                    keep=asked.keep,
                )
                counts += journal.counts
                done = sum(journal.counts.values())
                say(f"seed {seed}: {done} operations in {time.monotonic() - began:.0f} s")
            if time.monotonic() >= until:
                break
            seed += 1
    for what, count in counts.most_common():
        say(f"{count:6}  {what}")


def say(line: str) -> None:
    """A line for anyone who waits."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
