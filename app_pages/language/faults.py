"""Says what an error of the program means to whoever looks at a page, and what to do."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages.language.i18n import N_
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    LedgerRefused,
    PrazoError,
    SettingsError,
)


class Fault(NamedTuple):
    """What an error of a kind means to whoever looks at a page, and what to do."""

    name: str
    remedy: str


FAULTS: Final[Mapping[type[PrazoError], Fault]] = {
    InboxUnavailable: Fault(
        N_("The inbox cannot be used right now"),
        N_("What was acknowledged is safe. Check the inbox's disk or server, then try again."),
    ),
    LedgerRefused: Fault(
        N_("The ledger and its inbox tell different stories"),
        N_("Ask whoever runs Prazo to look at it: see *What to watch* in the guide *Operations*."),
    ),
    SettingsError: Fault(
        N_("A setting is not right"),
        N_("Ask whoever runs Prazo to look at it: see *What to watch* in the guide *Operations*."),
    ),
    CallerError: Fault(
        N_("This cannot be done as asked"),
        N_("Change what was asked, then try again."),
    ),
    PrazoError: Fault(
        N_("This cannot be done right now"),
        N_("Try again; if it keeps happening, ask whoever runs Prazo to look at its log."),
    ),
}
"""The first kind that an error is of; those of one branch stand before the branch."""
