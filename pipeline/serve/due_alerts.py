"""Gives the alerts that are due to whoever sends them: from the ledger's holder, or from a ledger
that this process opens.

They are due by the inbox's clock, whatever this machine's or the holder's says. A ledger that is
catching up says nothing: what was finished since is still unfinished there, and late by now.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.alert.entries import Due
from pipeline.alert.summaries.digest import Process
from pipeline.errors import LedgerBehind, OperatorError
from pipeline.serve.commands import CATCH_UP_SECONDS, Ledger
from pipeline.serve.identifiers import mask, mask_within
from pipeline.serve.remote import holder
from pipeline.settings import Settings
from pipeline.texts import counted

VIEW: Final = "alerts"
NEW_VIEW: Final = "new_alerts"
OPEN_VIEW: Final = "open_processes"
SUBSCRIPTIONS: Final = "report_subscriptions"
SAVED_FOR_ALL: Final = ("page=watchlist", "owner=")
HELD_SECONDS: Final = 5.0
"""For so long a holder is waited for: it lacks what was just recorded, and only for a moment."""


def due_in(rows: pa.Table) -> list[Due]:
    """The rows of the view `alerts`, or of `new_alerts`; instants in microseconds."""
    instants = {"since", "deadline_at", "raised_at"} & {*rows.column_names}
    return [_due(row) for row in _rows(rows, *instants)]


def processes_in(rows: pa.Table) -> list[Process]:
    """The rows of the view `open_processes`; instants in microseconds."""
    return [
        Process(**{name: row[name] for name in Process._fields})
        for row in _rows(rows, "opened_at", "deadline_at")
    ]


def saved_in(rows: pa.Table) -> dict[str, str]:
    """Name -> filters, of rows of the view `saved_views`."""
    return {row["view_name"]: row["query"] or "" for row in rows.to_pylist()}


def _rows(rows: pa.Table, *instants: str) -> list[dict[str, Any]]:
    for name in instants:
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, name, rows.column(name).cast(pa.int64()))
    return _dictionaries(rows)


def _dictionaries(rows: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def _due(row: dict[str, Any]) -> Due:
    return Due(row["alert_id"], **{name: row[name] for name in Due._fields[1:] if name in row})


def _behind(lacking: int) -> LedgerBehind:
    return LedgerBehind(
        "The ledger is catching up",
        f"it lacks {counted(lacking, 'entry')}, and what it shows is past",
        "wait until it has them",
    )


class _DueAlerts(ABC):
    """What is due by a ledger. Every method raises `OperatorError` where that cannot be read."""

    def __init__(self, now: Callable[[], int], log_key: bytes) -> None:
        """`now`: the inbox's clock, in microseconds. `log_key`: the inbox's, too."""
        self._now, self._log_key = now, log_key

    def due(self) -> list[Due]:
        """The alerts that are due now."""
        return due_in(self._read(VIEW))

    def new(self) -> list[Due]:
        """Those of them that were not raised."""
        return due_in(self._read(NEW_VIEW))

    def open_processes(self) -> list[Process]:
        """The unfinished processes."""
        return processes_in(self._read(OPEN_VIEW))

    def saved_views(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these views of the Watchlist that are saved for all -> their filters. A name
        that looks personal has a mask in the rows."""
        kept = saved_in(self._read("saved_views", SAVED_FOR_ALL))
        masks = {name: mask_within(name, self._log_key) for name in names}
        return {name: kept[mask] for name, mask in masks.items() if mask in kept}

    def subscriptions(self) -> list[dict[str, Any]]:
        """Rows of the view `report_subscriptions`."""
        return _dictionaries(self._read(SUBSCRIPTIONS))

    def is_mask(self, shown: str, recorded: str) -> bool:
        """Whether what a row shows is the mask of an id."""
        return shown == mask(recorded, self._log_key)

    @abstractmethod
    def _read(self, view: str, filters: Sequence[str] = ()) -> pa.Table: ...


class OpenLedger(_DueAlerts):
    """What is due by a ledger that is at hand, for a command that sends once."""

    def __init__(self, ledger: Ledger, now: Callable[[], int], log_key: bytes) -> None:
        super().__init__(now, log_key)
        self._ledger = ledger

    def _read(self, view: str, filters: Sequence[str] = ()) -> pa.Table:
        lacking = self._ledger.catch_up(CATCH_UP_SECONDS)
        if lacking and self._ledger.problem() is None:
            raise _behind(lacking)
        return self._ledger.read(view, as_of=self._now(), filters=filters)

    def status(self) -> None:
        """Nothing: a command that sends once does not watch its ledger."""


class HeldLedger(_DueAlerts):
    """What is due by the ledger of another process, which may come and go.

    Its methods raise `LedgerBehind` while that ledger is catching up, but no longer than `patience`
    says: one that stands still must not hold deadlines back."""

    def __init__(
        self,
        settings: Settings,
        now: Callable[[], int],
        log_key: bytes,
        patience: Callable[[], float],
    ) -> None:
        """`patience`: in seconds."""
        super().__init__(now, log_key)
        self._settings, self._patience = settings, patience

    def _read(self, view: str, filters: Sequence[str] = ()) -> pa.Table:
        with holder(self._settings) as ledger:
            if ledger is None:
                raise OperatorError("Nobody holds the ledger", "no process answers for it")
            if lacking := ledger.catch_up(HELD_SECONDS):
                status = ledger.status()
                if status["problem"] is None and status["lag_seconds"] < self._patience():
                    raise _behind(lacking)
            return ledger.read(view, as_of=self._now(), filters=filters)

    def status(self) -> dict[str, Any] | None:
        """How the ledger stands; None while nobody holds it, or it does not answer."""
        try:
            with holder(self._settings) as ledger:
                return None if ledger is None else ledger.status()
        except OperatorError:
            return None
