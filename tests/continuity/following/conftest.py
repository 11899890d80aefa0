"""The ledgers of `tests/ledger`, each test with a copy of its own."""

from tests.ledger.conftest import (
    followed,
    followed_inbox,
    inbox,
    once_followed,
    once_opened,
    once_recorded,
    settings,
    unfollowed,
    without_checks,
)

__all__ = [
    "followed",
    "followed_inbox",
    "inbox",
    "once_followed",
    "once_opened",
    "once_recorded",
    "settings",
    "unfollowed",
    "without_checks",
]
