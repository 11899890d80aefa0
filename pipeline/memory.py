"""How often Python looks for objects that only refer to each other; how much freed memory a thread
keeps; and sizes of memory."""

import gc
import math
import os
import sys
from typing import Final, NoReturn

NEW_OBJECTS: Final = 50_000
"""Objects made, less objects freed, before Python looks; its own default is 700."""

FREED_PIECES: Final = 2000
"""Of each size up to a kilobyte, for each thread; glibc's own default is 7."""

TUNABLES: Final = "GLIBC_TUNABLES"
"""The variable of the environment that glibc reads."""
_PIECES: Final = "glibc.malloc.tcache_count"
KEEPS_FREED: Final = f"{_PIECES}={FREED_PIECES}"
"""What it says for programs that `run` starts."""

_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}


def look_for_cycles_less_often() -> None:
    """For a whole process, at its start.

    An entry is some twenty objects, and a batch has thousands of entries, none of them in a cycle:
    Python's own default looks through them all a hundred times (docs/performance.md#following).
    """
    gc.set_threshold(NEW_OBJECTS, 10, 10)


def run(command: list[str]) -> NoReturn:
    """Runs a program that asks DuckDB much, in place of this one, with threads that keep what they
    free: DuckDB plans with very many small pieces. glibc reads this once, when a program starts
    (docs/performance.md#questions)."""
    said = os.environ.get(TUNABLES, "")
    if _PIECES not in said:
        os.environ[TUNABLES] = f"{said}:{KEEPS_FREED}" if said else KEEPS_FREED
    os.execv(sys.executable, command)


def runs_with_freed_memory() -> bool:
    """Whether this program was started as `run` starts one."""
    return _PIECES in os.environ.get(TUNABLES, "")


def bytes_of(size: str) -> float:
    """The bytes of a size as the settings take it, such as 2GB or 1.5 GiB."""
    number, unit = size[:-1].rstrip("iKMGT "), size[:-1].strip(".0123456789 ")
    base = 1024.0 if unit.endswith("i") else 1000.0
    return float(number) * math.pow(base, _POWERS[unit[0]])
