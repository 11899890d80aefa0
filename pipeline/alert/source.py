"""What a sender of alerts asks of a ledger: what is due, and what digests and reports rest on."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pipeline.alert.entries import Due
from pipeline.alert.summaries.digest import Process

if TYPE_CHECKING:  # with what writes numbers, which no alert needs
    from pipeline.trends.one_page import OnePage


class Coming(NamedTuple):
    """A rung that is to be due, where nothing more becomes known of its process."""

    at: int
    """From when on, in microseconds: once it is reached, or later, while it is somebody else's
    turn."""
    due: Due


class Remembered(NamedTuple):
    """What a ledger said to a process that sent alerts before this one."""

    at: int
    """When it said what is due, in microseconds."""
    dues: list[Due]
    coming: list[Coming]


class Processes(Protocol):
    """What a digest and a report are made from."""

    def open_processes(self) -> list[Process]:
        """The unfinished processes. Raises `OperatorError` where that cannot be said."""

    def saved_views(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these views of the Watchlist that are saved for all -> their filters. Raises as
        `open_processes` does."""

    def one_page(self) -> "OnePage":
        """What the page for the boss shows now. Raises as `open_processes` does."""


class Source(Processes, Protocol):
    """The ledger, from which what is due comes."""

    def due(self) -> list[Due]:
        """The alerts that are due now. Raises `OperatorError` where that cannot be said, and
        `LedgerBehind` where it soon can."""

    def new(self) -> list[Due]:
        """Those of them that were not raised, at least. Raises `OperatorError` likewise."""

    def coming(self, after: int, ahead: Iterable[int]) -> list[Coming]:
        """The rungs that are due in so many hours each, and those that became so after an instant:
        what a sender has to know once it does not answer. Raises as `due` does."""

    def remembered(self) -> Remembered | None:
        """What it said last to an earlier process, for until it answers; None where that is not
        known, or long ago."""

    def lasting(self, dues: Iterable[Due]) -> list[Due]:
        """Those of what it said is due, or is to come, that no entry of the inbox has ended since;
        for when it does not answer."""

    def subscriptions(self) -> list[dict[str, Any]]:
        """Reports that people subscribed to on pages: rows of the view `report_subscriptions`.
        Raises as `open_processes` does."""

    def is_mask(self, shown: str, recorded: str) -> bool:
        """Whether what a row shows is the mask of an id."""

    def status(self) -> Mapping[str, object] | None:
        """How it stands (`Status` of the follower); None where it does not answer."""
