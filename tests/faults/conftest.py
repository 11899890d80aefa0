"""Real faults on real parts; the inbox's fixtures run each test on both engines."""

from tests.faults.shim import (
    _clock_library,
    _fsync_library,
    clock_shim,
    fsync_shim,
    small_disk,
)
from tests.inbox.conftest import location
from tests.support.postgres import database, postgres

__all__ = [
    "_clock_library",
    "_fsync_library",
    "clock_shim",
    "database",
    "fsync_shim",
    "location",
    "postgres",
    "small_disk",
]
