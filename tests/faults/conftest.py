"""Real faults on real parts; the inbox's fixtures run each test on both engines."""

from tests.faults.shim import _fsync_library, fsync_shim, small_disk
from tests.inbox.conftest import location
from tests.postgres import database, postgres

__all__ = ["_fsync_library", "database", "fsync_shim", "location", "postgres", "small_disk"]
