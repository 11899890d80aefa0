"""How deep a run looks.

`make test` tries each promise; `make test-forms`, for a release, tries each in every place and
form. `make test-long` does that for many more rounds and with fifty times as many examples. These
two are the long runs.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

import pytest
from hypothesis import settings

T = TypeVar("T")
USUAL, LONG = 40, 2_100
"""Examples of a property; a property whose examples take long tries a share of them."""
ENGINES: Final = ("sqlite", "postgres")
BY_BOTH: Final = ("inbox", "schema", "fixtures", "faults")
"""Folders of tests whose code differs by engine: they run on both engines each time."""


def is_whole() -> bool:
    """Whether this run is a long one. To be asked when tests are collected: hypothesis loads the
    profile that the command names after `conftest.py`."""
    return settings.get_current_profile_name() in ("forms", "long")


def has_more_rounds() -> bool:
    """Whether this long run goes on for hours. To be asked as `is_whole`."""
    return settings.get_current_profile_name() == "long"


def few(cases: Sequence[T], of: int) -> Sequence[T]:
    """For cases that differ little: the first and each `of`-th after it; all of them in a long
    run."""
    return cases if is_whole() else cases[::of]


def rounds(usual: int, long: int) -> int:
    """How often to try something that goes another way each time: `usual`, or `long` in
    `make test-long`."""
    return long if has_more_rounds() else usual


def left_to_a_long_run(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that a short run leaves out: those marked `long`, and one of each pair that runs on
    both engines of the inbox, by turns. That both engines keep the contract is tried elsewhere."""
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
