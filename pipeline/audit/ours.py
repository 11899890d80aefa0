"""Says whether a verified package is of the log that this process holds, and whether that log has
since only grown."""

from enum import StrEnum
from typing import NamedTuple

from pipeline.audit.apart import Found
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError


class Whose(StrEnum):
    """What this process's log says of a package."""

    UNKNOWN = "unknown"  # the package has a fault, so nothing in it says whose it is
    ANOTHER = "another"  # signed by a key that our log never had
    GROWN = "grown"  # ours, and what it was then is the beginning of what it is now
    OTHERWISE = "otherwise"  # signed by our key, and not a part of the log as it is now


class Origin(NamedTuple):
    """Whose a package is, and how many entries our log has now."""

    whose: Whose
    size: int


def keys(service: LedgerService) -> list[str]:
    """The keys of our log, the present one last; none while nothing has been signed."""
    try:
        signed = service.signed_checkpoint()
    except CallerError:
        return []
    return [*signed.earlier_keys, signed.key]


def origin(service: LedgerService, found: Found) -> Origin:
    """By the root that a tree of the same size has here."""
    size = service.ledger.size
    if not found.signer:
        return Origin(Whose.UNKNOWN, size)
    if found.signer not in keys(service):
        return Origin(Whose.ANOTHER, size)
    is_ours = found.size <= size and service.ledger.root_at(found.size) == found.root
    return Origin(Whose.GROWN if is_ours else Whose.OTHERWISE, size)
