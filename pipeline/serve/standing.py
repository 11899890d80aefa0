"""Counts what the ledger's holder could not take or give, and tries the stores it writes to."""

from functools import lru_cache
from typing import Final

from pipeline.continuity.service import LedgerService
from pipeline.errors import PrazoError
from pipeline.http.machine import Machine
from pipeline.http.refusals import Refusals, reason_of
from pipeline.http.trials import Trials, in_thread, temporary_files

WAYS: Final = (
    *("views", "exports", "audits", "clearances"),
    *("alert_links", "calendar", "seller_area", "pages"),
)
"""The API's, by the first part of their paths; links in alerts, calendars, a seller area's banner;
acts on pages."""


@lru_cache(maxsize=1)
def refusals(service: LedgerService) -> Refusals:
    """The counts of this process's ledger."""
    return Refusals(WAYS)


@lru_cache(maxsize=1)
def trials(service: LedgerService) -> Trials:
    """The trials of what it writes to: entries of people's acts, and packages."""
    stores = {"temporary_files": in_thread(temporary_files)}
    if service.is_keeper:
        stores["inbox"] = in_thread(service.inbox.probe)
    return Trials(stores)


@lru_cache(maxsize=1)
def machine(service: LedgerService) -> Machine:
    """Disks and certificates of its machine."""
    return Machine(service.settings)


def note(service: LedgerService, way: str, error: PrazoError) -> None:
    """Counts what was not taken because of an error; `way`: one of `WAYS`, others are not
    counted."""
    if way in WAYS:
        refusals(service).note(way, reason_of(error))
