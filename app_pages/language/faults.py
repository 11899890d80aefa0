"""Says what an error of the program means to whoever looks at a page, and what to do."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages.language.i18n import N_
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    LedgerDamaged,
    LedgerRefused,
    LedgerStalled,
    NoRoom,
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
    NoRoom: Fault(
        N_("A disk is full"),
        N_("What was recorded before is safe. Make room on the disk named below, then try again."),
    ),
    LedgerStalled: Fault(
        N_("There is no room for the ledger"),
        N_("Nothing is lost: the inbox has all. Make room, then try again."),
    ),
    LedgerDamaged: Fault(
        N_("The ledger's file is damaged"),
        N_(
            "Nothing is lost: the ledger is made again from the inbox, which takes a while. If this"
            " stays, ask whoever runs Prazo to rebuild it: see *Backup and restore* in the guide"
            " *Operations*."
        ),
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
