"""How often Python looks for objects that only refer to each other; and sizes of memory."""

import gc
import math
from typing import Final

NEW_OBJECTS: Final = 50_000
"""Objects made, less objects freed, before Python looks; its own default is 700."""

_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}


def look_for_cycles_less_often() -> None:
    """For a whole process, at its start.

    An entry is some twenty objects, and a batch has thousands of entries, none of them in a cycle:
    Python's own default looks through them all a hundred times (docs/performance.md#following).
    """
    gc.set_threshold(NEW_OBJECTS, 10, 10)


def bytes_of(size: str) -> float:
    """The bytes of a size as the settings take it, such as 2GB or 1.5 GiB."""
    number, unit = size[:-1].rstrip("iKMGT "), size[:-1].strip(".0123456789 ")
    base = 1024.0 if unit.endswith("i") else 1000.0
    return float(number) * math.pow(base, _POWERS[unit[0]])
