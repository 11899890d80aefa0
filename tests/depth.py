"""How deep a run looks.

`make test` tries each promise. `make test-long`, for a release, tries it in every place and form,
for many more rounds and with thirty times as many examples.
"""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")
USUAL, LONG = 70, 2_100
"""Examples of a property; one that is dear takes a share of them."""


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
