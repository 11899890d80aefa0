"""Ledgers of the tests' own, for the process that sends alerts."""

from collections.abc import Iterable
from typing import Any

from pipeline.alert.entries import Due
from pipeline.alert.source import Coming


class Bare:
    """What a ledger says of all that a test is not about."""

    def is_mask(self, shown: str, recorded: str) -> bool:
        return False

    def coming(self, after: int, ahead: Iterable[int]) -> list[Coming]:
        return []

    def remembered(self) -> None:
        return None

    def lasting(self, dues: Iterable[Due]) -> list[Due]:
        return [*dues]

    def subscriptions(self) -> list[dict[str, Any]]:
        return []

    def status(self) -> None:
        return None


class Asked(Bare):
    """A ledger that was asked once: what was due then is due."""

    def __init__(self, dues: list[Due]) -> None:
        self.dues = dues

    def due(self) -> list[Due]:
        return self.dues

    new = due
