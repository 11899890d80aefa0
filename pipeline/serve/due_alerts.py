"""Gives the alerts that are due to whoever sends them: from the ledger's holder, or from a ledger
that this process opens."""

from typing import Any, Final

import pyarrow as pa

from pipeline.alert.entries import Due
from pipeline.serve.commands import CATCH_UP_SECONDS, Ledger
from pipeline.serve.remote import holder
from pipeline.settings import Settings

VIEW: Final = "alerts"
_INSTANTS: Final = ("since", "deadline_at")


def due_in(rows: pa.Table) -> list[Due]:
    """The rows of the view `alerts`; instants in microseconds."""
    for name in _INSTANTS:
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, name, rows.column(name).cast(pa.int64()))
    return [_due(row) for row in rows.to_pylist()]


def _due(row: dict[str, Any]) -> Due:
    return Due(row["alert_id"], **{name: row[name] for name in Due._fields[1:]})


class OpenLedger:
    """What is due by a ledger that is at hand, for a command that sends once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def due(self) -> list[Due]:
        """The alerts that are due now. Raises `OperatorError`."""
        self._ledger.catch_up(CATCH_UP_SECONDS)
        return due_in(self._ledger.read(VIEW))

    def status(self) -> None:
        """Nothing: a command that sends once does not watch its ledger."""


class HeldLedger:
    """What is due by the ledger of another process, which may come and go."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def due(self) -> list[Due]:
        """The alerts that are due now; none while nobody holds the ledger. Raises
        `OperatorError`."""
        with holder(self._settings) as ledger:
            return [] if ledger is None else due_in(ledger.read(VIEW))

    def status(self) -> dict[str, Any] | None:
        """How the ledger stands; None while nobody holds it. Raises `OperatorError`."""
        with holder(self._settings) as ledger:
            return None if ledger is None else ledger.status()
