"""Whole systems of real processes keep what they promise under faults that follow from a seed.

`make test` makes a short run of one seed; `make test-long` makes many, of other seeds each time.
`PRAZO_LAB_SEED=n` repeats one of them.
"""

import os
import random
from pathlib import Path

import pytest

from sandbox.server import Handle
from tests import depth
from tests.laboratory.experiment import Engine, experiment

SHORT_STEPS, LONG_STEPS = 12, 200
LONG_RUNS = 5
SHORT_SEED = 1
ENGINES: tuple[Engine, ...] = ("sqlite", "postgres") if depth.is_whole() else ("sqlite",)
"""In the short run the state machine takes the other: processes are dear."""


def seeds() -> list[int]:
    """Of the runs that are asked for."""
    if asked := os.environ.get("PRAZO_LAB_SEED"):
        return [int(asked)]
    if not depth.has_more_rounds():
        return [SHORT_SEED]
    return [random.SystemRandom().randrange(1, 10**9) for _ in range(LONG_RUNS)]


@pytest.mark.hypothesis
@pytest.mark.parametrize("engine", ENGINES)
def test_whatever_breaks_every_promise_is_kept(
    tmp_path: Path, platform: Handle, engine: Engine, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgres") if engine == "postgres" else None
    for seed in seeds():
        home = tmp_path / str(seed)
        home.mkdir()
        steps = depth.rounds(SHORT_STEPS, LONG_STEPS)
        is_long = depth.has_more_rounds()
        experiment(seed, engine, home, platform, server, steps=steps, is_long=is_long)
