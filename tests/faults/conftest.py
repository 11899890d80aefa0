"""Real faults on real parts, on both engines."""

from tests.inbox.conftest import location

__all__ = ["location"]
