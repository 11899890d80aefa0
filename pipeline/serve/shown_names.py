"""Shows sellers' names in clear: from a reason on, for some minutes, and each seller is in an entry
before their name is shown."""

import math
import threading
import time
from collections.abc import Sequence
from typing import Final

from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Clearance
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.log.actions import By, action
from pipeline.log.kinds.unmask import UNMASK

VIEW: Final = "seller_names"
MOST: Final = 2000
"""Sellers that one entry names."""


class Showing:
    """One person's sight of names, from one reason on. Pages and the files that they hand out share
    it, on several threads."""

    def __init__(self, by: By, seconds: float, clearance: Clearance | None) -> None:
        self.by = by
        self._until = time.monotonic() + seconds
        self._clearance = clearance
        self._recorded: set[str] = set()
        self._turn = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether names are to be masked again."""
        return time.monotonic() >= self._until

    def end(self) -> None:
        """Masks them before the time is over, wherever this showing is looked at."""
        self._until = -math.inf

    def names(
        self, service: LedgerService, sellers: Sequence[str], as_of: int | None
    ) -> dict[str, str]:
        """The names of these sellers, where any is known. Those that this showing has not shown yet
        are in the log before it returns. Raises `PrazoError` where they cannot be."""
        service.require_unerased()
        rows = service.reader.read(
            VIEW, as_of=as_of, where={"seller_id": list(sellers)}, unmask=True
        )
        known = zip(
            *(rows.column(it).to_pylist() for it in ("seller_id", "seller_name")), strict=True
        )
        found = {seller: name for seller, name in known if name}
        with self._turn:
            self._record(service, sorted(found.keys() - self._recorded))
        return found

    def _record(self, service: LedgerService, sellers: Sequence[str]) -> None:
        for first in range(0, len(sellers), MOST):
            some = sellers[first : first + MOST]
            named = {} if self._clearance is None else self._clearance.named
            draft = action(UNMASK, **self.by._asdict(), view=VIEW, sellers=[*some], **named)
            if self._clearance is None:
                service.inbox.append([draft])
            else:
                begun = self._clearance.begun_by(draft)
                self._clearance.check(service.inbox.append([begun])[0])
            self._recorded.update(some)


def begin(service: LedgerService, by: By) -> Showing:
    """What a person who said why may see from now on.

    Raises `clearances.Awaited` where a second person has to agree first, and `CallerError` where
    the ledger has masks alone.
    """
    if service.ledger.is_without_bodies:
        raise CallerError(
            "No name can be shown here",
            "this ledger was made without bodies, and holds their masks alone",
            "ask where a ledger with bodies is",
        )
    asked = acts.rows(VIEW, as_of=None, where={})
    clearance = clearances.settle(service.inbox, acts.Terms.of(service.settings), asked, by)
    by = by if clearance is None else by._replace(reason=clearance.reason)
    return Showing(by, service.settings.unmask_seconds, clearance)
