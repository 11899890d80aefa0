"""The stores of the audit's story, for what serves them."""

from tests.audit.conftest import at_rest, followed, made, settings, without_checks, without_rows

__all__ = ["at_rest", "followed", "made", "settings", "without_checks", "without_rows"]
