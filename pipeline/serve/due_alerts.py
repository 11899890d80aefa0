"""Gives the alerts that are due to the process that sends them: from the ledger's holder, or from a
ledger that this process opens.

They are due by the inbox's clock, whatever this machine's or the holder's says. A ledger that is
catching up says nothing: what was finished since is still unfinished there, and late by now. One
that stands still is believed, but for what was finished since by the inbox; and so is what one said
that nobody holds any more, or that is built again.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from pipeline import instants
from pipeline.alert.away.kept import Kept, KeptAnswers, Position
from pipeline.alert.entries import Due, Subject
from pipeline.alert.source import Coming, Remembered
from pipeline.alert.summaries.digest import Process
from pipeline.alert_rules.ladder import AHEAD_HOURS
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    LedgerBehind,
    OperatorError,
    PrazoError,
)
from pipeline.inbox import Inbox
from pipeline.serve.identifiers import mask, mask_within
from pipeline.serve.ledger_access import CATCH_UP_SECONDS, Ledger
from pipeline.serve.remote import Holder, holder
from pipeline.settings import Settings
from pipeline.texts import counted

if TYPE_CHECKING:  # as in pipeline/alert/source.py
    from pipeline.trends.one_page import OnePage

LOG = logging.getLogger(__name__)

VIEW: Final = "alerts"
NEW_VIEW: Final = "new_alerts"
OPEN_VIEW: Final = "open_processes"
SUBSCRIPTIONS: Final = "report_subscriptions"
SAVED_FOR_ALL: Final = ("page=watchlist", "owner=")
HEALTH: Final = "ledger_health"
HELD_SECONDS: Final = 5.0
"""For so long a holder is waited for: it lacks what was just recorded, and only for a moment."""
INBOX_SECONDS: Final = 30.0
"""For so long one look may ask the inbox what was finished: a ledger that is built again for hours
shows many as late, and what is late must not wait for them."""
_NEWEST_SINCE: Final = "select max(seq) from entries where process_id = $1 and seq > $2"


def due_in(rows: pa.Table) -> list[Due]:
    """The rows of the view `alerts`, or of `new_alerts`; instants in microseconds."""
    dated = {"since", "deadline_at", "raised_at"} & {*rows.column_names}
    return [_due(row) for row in _rows(rows, *dated)]


def processes_in(rows: pa.Table) -> list[Process]:
    """The rows of the view `open_processes`; instants in microseconds."""
    return [
        Process(**{name: row[name] for name in Process._fields})
        for row in _rows(rows, "opened_at", "deadline_at")
    ]


def saved_in(rows: pa.Table) -> dict[str, str]:
    """Name -> filters, of rows of the view `saved_views`."""
    return {row["view_name"]: row["query"] or "" for row in rows.to_pylist()}


def _rows(rows: pa.Table, *dated: str) -> list[dict[str, Any]]:
    for name in dated:
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, name, rows.column(name).cast(pa.int64()))
    return _dictionaries(rows)


def _dictionaries(rows: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.to_pylist()
    return found


def _ends_with_its_process(due: Due) -> bool:
    return due.process_id is not None and (due.is_rung or due.kind == "ticket_due")


def _standing(ledger: Ledger) -> Position | None:
    """Where a ledger is, by the view `ledger_health`; None where that cannot be read: then what is
    due is told as it is."""
    try:
        [row] = _rows(ledger.read(HEALTH), "last_recorded_at")
    except PrazoError as error:
        LOG.error("a ledger does not say where it stands: %s", error)
        return None
    return Position(row["last_seq"], row["last_recorded_at"])


def _due(row: dict[str, Any]) -> Due:
    return Due(row["alert_id"], **{name: row[name] for name in Due._fields[1:] if name in row})


def _behind(lacking: int) -> LedgerBehind:
    return LedgerBehind(
        "The ledger is catching up",
        f"it lacks {counted(lacking, 'entry')}, and what it shows is past",
        "wait until it has them",
    )


@contextmanager
def _refusing() -> Iterator[None]:
    """Has a holder that refuses, as one that ends or whose disk is full, be one that says nothing:
    the sender goes on without it."""
    try:
        yield
    except CallerError as error:
        raise OperatorError("The ledger's holder refuses", error.finding, error.remedy) from None


class _Asked(NamedTuple):
    """A ledger that is asked."""

    ledger: Ledger
    stands_still: bool  # it does not follow its inbox, or lags for so long that it may as well not
    lacking: int  # entries of its inbox


class _DueAlerts(ABC):
    """What is due by a ledger. Every method raises `OperatorError` where that cannot be read."""

    def __init__(
        self, inbox: Inbox, now: Callable[[], int], marketplace: str | None = None
    ) -> None:
        """`now`: the inbox's clock, in microseconds; `marketplace`: the name of ours, if set."""
        self._inbox, self._now, self._marketplace = inbox, now, marketplace
        self._finished: dict[str, int] = {}  # process -> seq of its newest entry when it was asked
        self._stood: Position | None = None  # where it was when it said last what is due
        self._foresaw: Position | None = None  # likewise, and what is to come
        self._said_at = 0.0  # when it said last what is due; on the monotonic clock
        self._keeps: KeptAnswers | None = None  # what it says, for the next process
        self._said = Remembered(0, [], [])

    def due(self) -> list[Due]:
        """The alerts that are due now."""
        return self._dues(VIEW)

    def new(self) -> list[Due]:
        """Those of them that were not raised."""
        return self._dues(NEW_VIEW)

    def coming(self, after: int, ahead: Iterable[int]) -> list[Coming]:
        """The rungs that are due in so many hours each and that nobody has raised, where nothing
        more becomes known of their processes, and those that were reached after an instant. One
        that was not due when it was reached is due from the first of these hours on that has it. Of
        two that a process reaches between two of them, the later one."""
        now, found = self._now(), dict[str, Coming]()
        with self._asking() as asked:
            self._position(asked)
            for hours in ahead:
                then = now + hours * instants.HOUR
                for due in due_in(asked.ledger.read(NEW_VIEW, as_of=then)):
                    if due.is_rung:
                        at = due.since if due.since > after else then
                        found.setdefault(due.alert, Coming(at, due))
                after = then
        self._foresaw = self._stood
        if self._keeps is not None and self._stood is not None:
            self._keeps.write(Kept(self._stood, self._said._replace(coming=[*found.values()])))
        return [*found.values()]

    def remembered(self) -> Remembered | None:
        """What it said last to an earlier process, for until it answers; None where that is not
        known, or was longer ago than it is asked ahead."""
        kept = None if self._keeps is None else self._keeps.read()
        if kept is None:
            return None
        ago = (self._now() - kept.said.at) / instants.SECOND
        if ago >= AHEAD_HOURS * 3600:
            return None
        self._stood = self._foresaw = kept.position
        self._said_at = time.monotonic() - ago
        return kept.said

    def lasting(self, dues: Iterable[Due]) -> list[Due]:
        """Those of what it said is due, or is to come, that no entry of the inbox has ended since;
        for when it does not answer."""
        # What is to come may be of an earlier answer than what is due.
        positions = [it for it in (self._stood, self._foresaw) if it is not None]
        if not positions:
            return [*dues]
        return self._since(min(positions, key=lambda position: position.last_seq), dues)

    def open_processes(self) -> list[Process]:
        """The unfinished processes."""
        return processes_in(self._read(OPEN_VIEW))

    def saved_views(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these views of the Watchlist that are saved for all -> their filters. A name
        that looks personal has a mask in the rows."""
        kept = saved_in(self._read("saved_views", SAVED_FOR_ALL))
        masks = {name: mask_within(name, self._inbox.log_key) for name in names}
        return {name: kept[mask] for name, mask in masks.items() if mask in kept}

    def one_page(self) -> "OnePage":
        """What the page for the boss shows now."""
        from pipeline.trends import one_page

        with self._asking() as asked:
            return one_page.read(asked.ledger, self._now(), self._marketplace)

    def subscriptions(self) -> list[dict[str, Any]]:
        """Rows of the view `report_subscriptions`."""
        return _dictionaries(self._read(SUBSCRIPTIONS))

    def is_mask(self, shown: str, recorded: str) -> bool:
        """Whether what a row shows is the mask of an id."""
        return shown == mask(recorded, self._inbox.log_key)

    def _read(self, view: str, filters: Sequence[str] = ()) -> pa.Table:
        with self._asking() as asked:
            return asked.ledger.read(view, as_of=self._now(), filters=filters)

    def _dues(self, view: str) -> list[Due]:
        with self._asking() as asked:
            # Before the rows: what came between is looked for in the inbox, too.
            is_noted = asked.stands_still or view == VIEW
            stands = self._position(asked) if is_noted else None
            now = self._now()
            dues = due_in(asked.ledger.read(view, as_of=now))
        if stands is not None and view == VIEW:
            self._stood, self._said_at = stands, time.monotonic()
            self._said = Remembered(now, dues, [])
        return dues if stands is None or not asked.stands_still else self._since(stands, dues)

    def _position(self, asked: _Asked) -> Position | None:
        """Where a ledger is: see `_standing`. Raises `LedgerBehind` where it had more entries when
        it said last what is due, as before it was built again, and that is not too long ago: what
        it said then, and what was to come, is nearer to the truth."""
        stands = _standing(asked.ledger)
        if asked.lacking and stands is not None and self._stood is not None:
            is_recent = time.monotonic() - self._said_at < AHEAD_HOURS * 3600
            if is_recent and stands.last_seq < self._stood.last_seq:
                raise _behind(asked.lacking)
        return stands

    def _since(self, stands: Position, dues: Iterable[Due]) -> list[Due]:
        """Those of a ledger that no later entry has ended; each says of when the ledger is."""
        lasting = self._lasting(dues, stands.last_seq)
        return [it._replace(ledger_at=stands.last_recorded_at) for it in lasting]

    def _lasting(self, dues: Iterable[Due], size: int) -> Iterator[Due]:
        """Those of a ledger of so many entries that no later one has ended. Where that cannot be
        said, none has: better a message about what is finished than none about what is late."""
        give_up_at = time.monotonic() + INBOX_SECONDS
        for due in dues:
            may_be_asked = _ends_with_its_process(due) and time.monotonic() < give_up_at
            try:
                if may_be_asked and self._is_finished(due, size):
                    continue
            except InboxUnavailable as error:
                LOG.error("what was finished since the ledger stands still is not known: %s", error)
                give_up_at = 0.0  # it may hang, and one would wait for each of many
            except Exception:
                LOG.exception("whether a process is finished by now could not be worked out")
            yield due

    def _is_finished(self, due: Due, size: int) -> bool:
        """Whether the process is finished by the inbox. Raises `InboxUnavailable`."""
        entry = None if due.seq is None else self._inbox.entry(due.seq)
        process_id = entry and Subject.of(due, entry, self.is_mask).process_id
        if not process_id:
            return False
        [(newest,)] = self._inbox.query(_NEWEST_SINCE, process_id, size)
        if newest is None or self._finished.get(process_id) == newest:
            return newest is not None
        from pipeline.submit.casefile import CaseFiles  # with the rules, which nobody else needs

        is_finished = CaseFiles(self._inbox).open(process_id, self._now()).is_finished
        if is_finished:
            self._finished[process_id] = newest
        return is_finished

    @abstractmethod
    def _asking(self) -> AbstractContextManager[_Asked]:
        """The ledger, to be asked in the block. Raises `OperatorError` where it cannot be."""


class DueByLedger(_DueAlerts):
    """What is due by a ledger that is at hand, for a command that sends once."""

    def __init__(self, ledger: Ledger, inbox: Inbox, marketplace: str | None = None) -> None:
        super().__init__(inbox, inbox.now, marketplace)
        self._ledger = ledger

    @contextmanager
    def _asking(self) -> Iterator[_Asked]:
        lacking = self._ledger.catch_up(CATCH_UP_SECONDS)
        problem = self._ledger.problem()
        if lacking and problem is None:
            raise _behind(lacking)
        yield _Asked(self._ledger, problem is not None, lacking)

    def status(self) -> None:
        """Nothing: a command that sends once does not watch its ledger."""


class DueByHolder(_DueAlerts):
    """What is due by the ledger of another process, which may come and go.

    Its methods raise `LedgerBehind` while that ledger is catching up, but no longer than `patience`
    says: one that stands still must not hold deadlines back."""

    def __init__(self, settings: Settings, inbox: Inbox, patience: Callable[[], float]) -> None:
        """`patience`: in seconds."""
        super().__init__(inbox, inbox.now_or_believed, settings.marketplace)
        self._settings, self._patience = settings, patience
        self._keeps = KeptAnswers(settings.ledger, inbox.log)
        # Since when it never had all entries, on the monotonic clock. What it says itself begins
        # again with each start, and once it has what it lacked first.
        self._behind_since: float | None = None

    @contextmanager
    def _asking(self) -> Iterator[_Asked]:
        with _refusing(), holder(self._settings) as ledger:
            if ledger is None:
                raise OperatorError("Nobody holds the ledger", "no process answers for it")
            lacking = ledger.catch_up(HELD_SECONDS)
            if not lacking:
                self._behind_since = None
            elif self._behind_since is None:
                self._behind_since = time.monotonic()
            status = self._stands(ledger)
            has_problem = status["problem"] is not None
            if lacking and not has_problem and status["lag_seconds"] < self._patience():
                raise _behind(lacking)
            yield _Asked(ledger, has_problem or lacking > 0, lacking)

    def status(self) -> dict[str, Any] | None:
        """How the ledger stands; None while nobody holds it, or it does not answer."""
        try:
            with _refusing(), holder(self._settings) as ledger:
                return None if ledger is None else self._stands(ledger)
        except OperatorError:
            return None

    def _stands(self, ledger: Holder) -> dict[str, Any]:
        status = ledger.status()
        since = self._behind_since
        seen = 0.0 if since is None else time.monotonic() - since
        return {**status, "lag_seconds": max(status["lag_seconds"], seen)}
