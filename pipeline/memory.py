"""Tunes how a process starts and uses memory: Python's search for cycles, what glibc keeps, threads
that have no work here. Also reads sizes such as 2GB."""

import gc
import os
import re
import sys
from typing import Final, NoReturn

NEW_OBJECTS: Final = 50_000
"""Objects made, less objects freed, before Python searches for cycles; its default is 700."""

FREED_PIECES: Final = 2000
"""Freed pieces of memory that a thread keeps, of each size up to a kilobyte; glibc's default is
7."""

BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"
"""The variable of the environment that numpy's OpenBLAS reads when numpy is imported."""

TUNABLES: Final = "GLIBC_TUNABLES"
"""The variable of the environment that glibc reads."""
_PIECES: Final = "glibc.malloc.tcache_count"
KEEPS_FREED: Final = f"{_PIECES}={FREED_PIECES}"
"""The value of `TUNABLES` in a program that `become` starts."""

MODULE: Final = ("-P", "-m")
"""How Python starts a module of ours or another's in a program of its own: it imports nothing from
the folder that it runs in, which may be anybody's."""

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s?([KMGT])(i?)B")
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}


def look_for_cycles_less_often() -> None:
    """Has Python search for cycles less often, for the whole process; called at its start.

    An entry is some twenty objects, and a batch has thousands of entries, none of them in a cycle:
    by default Python would search them all a hundred times (docs/performance.md#following).
    """
    gc.set_threshold(NEW_OBJECTS, 10, 10)


def start_no_blas_threads() -> None:
    """Keeps numpy from starting threads, in this program and those that it starts. To be called
    before numpy is imported, which tables of DuckDB and Arrow do.

    numpy's OpenBLAS would start a thread for each core, which spins for a while: a fifth of what a
    command takes to start. Nothing here multiplies matrices. A number that somebody has set stays
    (docs/decisions/programs.md#no-thread-for-matrices).
    """
    os.environ.setdefault(BLAS_THREADS, "1")


def become(arguments: list[str]) -> NoReturn:
    """Replaces this program by Python with these arguments, in which threads keep the memory that
    they free: DuckDB plans with very many small pieces. A new program is needed, since glibc reads
    `TUNABLES` only at a start (docs/performance.md#questions)."""
    said = os.environ.get(TUNABLES, "")
    if _PIECES not in said:
        os.environ[TUNABLES] = f"{said}:{KEEPS_FREED}" if said else KEEPS_FREED
    os.execv(sys.executable, [sys.executable, *arguments])


def keeps_freed() -> bool:
    """Whether this program's threads keep the memory that they free, as after `become`."""
    return _PIECES in os.environ.get(TUNABLES, "")


def bytes_of(size: str) -> float:
    """The bytes of a size as settings write it, such as 2GB or 1.5 GiB. Raises `ValueError` for any
    other text."""
    parts = _SIZE.fullmatch(size)
    if parts is None:
        raise ValueError(f"{size!r} is not a size such as 2GB")
    number, power, binary = parts.groups()
    return float(number) * (1024.0 if binary else 1000.0) ** _POWERS[power]
