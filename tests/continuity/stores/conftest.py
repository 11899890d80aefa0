"""The stores of `tests/audit`, each test with a copy of its own."""

from tests.audit.conftest import (
    at_rest,
    environment,
    followed,
    made,
    service,
    settings,
    without_checks,
    without_openssl,
    without_rows,
)

__all__ = [
    "at_rest",
    "environment",
    "followed",
    "made",
    "service",
    "settings",
    "without_checks",
    "without_openssl",
    "without_rows",
]
