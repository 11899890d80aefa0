"""How deep a run looks.

`make test` tries each promise. `make test-long`, for a release, tries it in every place and form,
for many more rounds and with fifty times as many examples.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

import pytest
from hypothesis import settings

T = TypeVar("T")
USUAL, LONG = 40, 2_100
"""Examples of a property; one that is dear takes a share of them."""
ENGINES: Final = ("sqlite", "postgres")
BY_BOTH: Final = ("inbox", "schema", "fixtures", "faults")
"""Folders of what goes through different code for each engine: on both in each run."""


def is_long() -> bool:
    """Whether everything is tried: asked when a test is collected, since the profile that the
    command names is loaded after `conftest.py`."""
    return settings.get_current_profile_name() == "long"


def few(cases: Sequence[T], of: int) -> Sequence[T]:
    """Of cases that differ little, the first and each `of`-th after it; in a long run all."""
    return cases if is_long() else cases[::of]


def rounds(usual: int, long: int) -> int:
    """How often something is tried that never goes the same way twice."""
    return long if is_long() else usual


def left_to_a_long_run(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """What is marked `long`, and of a test that runs on both engines of the inbox one, by turns:
    that both keep the inbox's contract is tried elsewhere."""
    left, pairs = set(), dict[tuple[Path, str], list[pytest.Item]]()
    for item in items:
        if item.get_closest_marker("long"):
            left.add(item)
        elif item.path.parent.name not in BY_BOTH:
            engine = next((it for it in ENGINES if it in item.name.partition("[")[2]), None)
            if engine is not None:
                pairs.setdefault((item.path, item.name.replace(engine, "")), []).append(item)
    both = [pair for pair in pairs.values() if len(pair) == len(ENGINES)]
    return left | {pair[crc32(pair[0].nodeid.encode()) % 2] for pair in both}
