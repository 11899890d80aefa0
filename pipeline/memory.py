"""How often Python looks for objects that only refer to each other."""

import gc
from typing import Final

NEW_OBJECTS: Final = 50_000
"""Objects made, less objects freed, before Python looks; its own default is 700."""


def look_for_cycles_less_often() -> None:
    """For a whole process, at its start.

    An entry is some twenty objects, and a batch has thousands of entries, none of them in a cycle:
    Python's own default looks through them all a hundred times (docs/performance.md#following).
    """
    gc.set_threshold(NEW_OBJECTS, 10, 10)
