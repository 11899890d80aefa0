"""Assigns new reviews by rule, in the process that holds the ledger.

What was given so far is read from the log alone. Of several such processes one records: an
assignment that the ledger has not read yet makes what was chosen void, and it is chosen again.
"""

import itertools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pipeline import instants
from pipeline.assign.choosing import Given, Unassigned, choose
from pipeline.assign.rules import reread
from pipeline.continuity.service import LedgerService
from pipeline.errors import CopyHeld, PrazoError
from pipeline.inbox import copies
from pipeline.inbox.store import Statement
from pipeline.log.entries import Draft
from pipeline.log.kinds.assignment import ASSIGNMENT, by_rule

LOG = logging.getLogger(__name__)

TURN_SECONDS: Final = 5.0
MOST_PER_TURN: Final = 500
"""Reviews that are assigned in one commit, for which deliveries wait."""
HELD_SECONDS: Final = 30.0
"""Between looks whether a person has confirmed a copy."""
STOP_SECONDS: Final = 10.0
REASONS: Final = {"turn": "in turn", "load": "fewest unfinished reviews"}
"""As entries have them; `RULES_WORDS` says what people read for each."""
_NONE_SINCE: Final = """
    update meta set value = value where name = 'log'
        and not exists (select 1 from entries where seq > $1 and kind = $2)"""


class Assigner:
    """Looks again whenever the log or the rules have changed, or a day has begun."""

    def __init__(self, service: LedgerService) -> None:
        """Raises `SettingsError` where the file has a fault."""
        path = service.settings.assign_file
        assert path is not None
        self._service = service
        self._rules = reread(path)
        self._seen: tuple[Any, ...] = ()

    def run(self, stop: threading.Event) -> None:
        """Assigns until `stop` is set."""
        while not stop.wait(TURN_SECONDS):
            try:
                self.turn()
            except CopyHeld as error:
                LOG.error("reviews wait to be assigned by rule: %s", error)
                stop.wait(HELD_SECONDS)
            except PrazoError as error:
                LOG.error("reviews wait to be assigned by rule: %s", error)
            except Exception:  # such as a ledger that is being made again
                LOG.exception("reviews wait to be assigned by rule")

    def turn(self) -> int:
        """How many reviews were assigned. Raises `PrazoError`, and `CopyHeld` where the inbox is a
        copy that nobody has confirmed."""
        service, rules = self._service, self._rules.get()
        copies.require_in_use(service.inbox)
        known, now = service.alert_rules.get(), service.now()
        read = service.ledger.size  # before the views: they may have read more
        seen = (read, rules, known, now // instants.HOUR)
        if seen == self._seen:
            return 0
        chosen = choose(
            rules,
            known,
            self._reviews(),
            loads=self._numbers("backlog_by_person", "assignee", "processes"),
            turns=self._numbers("assignment_turns", "person", "seq"),
            now=now,
        )
        given = [*itertools.islice(chosen, MOST_PER_TURN)]
        if given:
            claim = Statement(_NONE_SINCE, (read, ASSIGNMENT))
            drafts = [_draft(it, REASONS[rules.by]) for it in given]
            receipts = service.inbox.append(drafts, claim=claim)
            if receipts[0].entry is None:
                return 0
        self._seen = seen
        return len(given)

    def _reviews(self) -> list[Unassigned]:
        found = self._service.reader.records("unassigned_processes")
        at = [found.columns.index(name) for name in Unassigned._fields]
        return [Unassigned._make(row[it] for it in at) for row in found.rows]

    def _numbers(self, view: str, name: str, number: str) -> dict[str, int]:
        found = self._service.reader.records(view)
        key, value = found.columns.index(name), found.columns.index(number)
        return {row[key]: row[value] for row in found.rows if row[key] is not None}


def _draft(given: Given, reason: str) -> Draft:
    return by_rule(
        given.assignee,
        turn_of=given.turn_of,
        reason=reason,
        process_id=given.review.process_id,
        seller_id=given.review.seller_id,
    )


@contextmanager
def assigning(service: LedgerService) -> Iterator[None]:
    """Assigns as long as the block lasts, where a file says how, and this process keeps the log.
    Raises `SettingsError`."""
    if service.settings.assign_file is None or not service.is_keeper:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=Assigner(service).run, args=(stop,), name="assigner")
    thread.daemon = True
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
