"""Real faults on real parts; the inbox's fixtures run each test on both engines."""

from tests.inbox.conftest import location

__all__ = ["location"]
