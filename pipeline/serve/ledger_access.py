"""Gives a command the ledger: through the process that holds it, or opened here if none does."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pipeline.errors import CallerError, LedgerRefused, LedgerStalled, NoRoom
from pipeline.http import holder as announcements
from pipeline.ledger.syntax import filters as filtering
from pipeline.ledger.views import formats
from pipeline.log.kinds.unmask import UNMASK
from pipeline.serve import identifiers
from pipeline.settings import Settings
from pipeline.texts import counted

# Templates, HTTP, proofs, DuckDB and Arrow take most of a command's start, and none needs them all:
# a holder of the ledger answers in JSON (docs/decisions/programs.md#a-command-loads-what-it-uses).
if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.audit.export import Exported
    from pipeline.audit.package.preparing import OnProgress
    from pipeline.audit.request import Request
    from pipeline.clearance.clearances import Clearance
    from pipeline.continuity import stores
    from pipeline.continuity.service import LedgerService, SignedCheckpoint
    from pipeline.contract.body import JsonValue
    from pipeline.log.actions import By
    from pipeline.trends.forecast_score import Score
    from pipeline.verify import Verdict

CATCH_UP_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5
"""A ledger that was waited for is asked for at least so long what it lacks."""


class Ledger(Protocol):
    """What commands need of a ledger, here or in another process; `remote.Holder` describes it."""

    def catch_up(self, seconds: float) -> int:
        """Follows the inbox to its last entry now, or for so long; how many entries are left."""

    def problem(self) -> str | None:
        """Why it does not follow the inbox, such as one that nobody can read; None where it does:
        without that, no number of entries that are left means anything."""

    def read(
        self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()
    ) -> "pa.Table":
        """The rows of a view, in its own order, masked; instants are naive UTC."""

    def shown(self, asked: formats.Asked) -> formats.Shown:
        """A few of the rows as people see them, masked; with `unmask`, personal values are shown
        once their entry is in the log."""

    def encoded(self, asked: formats.Asked, form: formats.Format, look: formats.Look) -> bytes:
        """Such rows, or all of them, as a file of a format."""

    def described(self, form: formats.Format) -> bytes:
        """What every view and column means, a row per column, as a file of a format."""

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int:
        """How many rows a view has."""

    def forecast_scores(self, as_of: int | None = None) -> "Sequence[Score]":
        """How good the forecast was (`pipeline.trends.forecast_score`)."""

    def checkpoint(self) -> "SignedCheckpoint":
        """The latest signed checkpoint and the keys of the log."""

    def audit(self, against: str | None, on_progress: "stores.OnProgress") -> "Verdict":
        """Verifies ledger and inbox themselves."""

    def export(self, request: "Request", out: Path, on_progress: "OnProgress") -> "Exported":
        """Writes an audit package to a file."""


class Patience:
    """How long a command that only reads still waits for its ledger, from its start on: to have it,
    and for the entries that the inbox holds."""

    def __init__(self, seconds: float = CATCH_UP_SECONDS) -> None:
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        """In seconds."""
        return max(0.0, self._until - time.monotonic())


ENDLESS: Final = Patience(math.inf)
"""For what needs the whole log, whatever time that takes."""


@contextmanager
def open_ledger(
    settings: Settings, *, patience: Patience, is_keeper: bool = True
) -> Iterator[Ledger]:
    """The ledger, through its holder or opened here. `is_keeper`: false for who only looks.

    Raises `LedgerInUse` if another process goes on holding it and does not answer, and
    `LedgerBehind` where it has to be made and that takes too long.
    """
    with ExitStack() as opened:
        yield announcements.once_free(
            lambda: opened.enter_context(_ledger(settings, is_keeper, patience))
        )


@contextmanager
def _ledger(settings: Settings, is_keeper: bool, patience: Patience) -> Iterator[Ledger]:
    if announcements.find(settings.ledger) is not None:
        from pipeline.serve.remote import holder

        with holder(settings) as asked:
            if asked is not None:
                yield asked
                return
    from pipeline.continuity.service import unheld_ledger

    with unheld_ledger(
        settings, is_keeper=is_keeper, may_go_on=lambda: patience.left() > 0
    ) as service:
        yield OwnLedger(service)


def unmask_rows(
    service: "LedgerService", view: str, asked: Mapping[str, Any], unmask: "By"
) -> "Clearance | None":
    """Records that personal values of rows are about to be shown; the second person's word, where
    these rows need one. `asked`: as for `pipeline.clearance.acts.rows`.

    Raises `clearances.Awaited` where that word is not there yet, and then none may be shown, and
    `CallerError` where the ledger has masks alone: the log must not say that values were shown.
    Raises `LedgerBehind` where the ledger holds what was erased.
    """
    if service.ledger.is_without_bodies:
        raise CallerError(
            "No personal value can be shown here",
            "this ledger was made without bodies, and holds their masks alone",
            "ask where a ledger with bodies is",
        )
    from pipeline.clearance import acts, clearances
    from pipeline.clearance.sought import Sought
    from pipeline.log.actions import action

    service.require_unerased()

    sought = Sought(service.inbox, service.keys)
    filters = {it: sought.filters(asked.get(it) or {}) for it in ("where", "contains", "between")}
    clearance = clearances.settle(
        service.inbox,
        acts.Terms.of(service.settings),
        acts.rows(view, **{**asked, **filters}),
        unmask,
    )
    by = unmask if clearance is None else unmask._replace(reason=clearance.reason)
    more: dict[str, JsonValue] = {it: filters[it] for it in ("contains", "between") if filters[it]}
    draft = action(
        UNMASK,
        **by._asdict(),
        process_id=sought.subject(asked["where"], "process_id"),
        seller_id=sought.subject(asked["where"], "seller_id"),
        view=view,
        filters=filters["where"],
        **more,
        **({} if clearance is None else clearance.named),
    )
    if clearance is None:
        service.inbox.append([draft])
        return None
    clearance.check(service.inbox.append([clearance.begun_by(draft)])[0])
    return clearance


def audit(settings: Settings, against: str | None, on_progress: "stores.OnProgress") -> "Verdict":
    """Checks ledger and inbox against each other and against what was signed.

    A ledger that must not be served at all is a fault in the verdict.
    """
    try:
        with open_ledger(settings, is_keeper=False, patience=ENDLESS) as ledger:
            return ledger.audit(against, on_progress)
    except LedgerRefused as error:
        from pipeline.verify import Verdict

        verdict = Verdict()
        verdict.fault(error.in_one_line)
        return verdict


def lacking(ledger: Ledger, patience: Patience) -> str | None:
    """Has a ledger catch up; how far it is from what the inbox holds, in words, if it is."""
    behind = ledger.catch_up(max(_LOOK_SECONDS, patience.left()))
    if (stuck := not_following(ledger)) is not None:
        return stuck
    return f"The ledger is still {counted(behind, 'entry')} behind the inbox." if behind else None


def not_following(ledger: Ledger) -> str | None:
    """Why a ledger does not follow its inbox, in words, if it does not."""
    problem = ledger.problem()
    return None if problem is None else f"The ledger does not follow its inbox: {problem}"


class OwnLedger:
    """A ledger that this process opened."""

    def __init__(self, service: "LedgerService") -> None:
        self._service = service
        self._no_room: str | None = None

    def catch_up(self, seconds: float) -> int:
        """Follows the inbox for `seconds` at most; returns how many entries are still missing.

        Where there is no room for more, as on a full disk, that is its `problem`: what it holds is
        read, and what is due by that is told, as another process that holds it would do.
        """
        target, self._no_room = self._service.inbox.last()[0], None
        try:
            self._service.catch_up(seconds=seconds)
        except (LedgerStalled, NoRoom) as error:
            self._no_room = error.in_one_line
        return max(0, target - self._service.ledger.size)

    def problem(self) -> str | None:
        """What keeps it from following the inbox."""
        return self._no_room or self._service.status().problem

    def read(
        self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()
    ) -> "pa.Table":
        """The rows of a view, masked."""
        rows = self._service.reader.read(view, as_of=as_of, where=filtering.parse(filters))
        return identifiers.masked(rows, self._service.inbox.log_key)

    def shown(self, asked: formats.Asked) -> formats.Shown:
        """A few rows; personal values are shown only after their entry is in the log."""
        where = filtering.parse(asked.filters)
        at = self._begun(asked, where)
        is_unmasked = asked.unmask is not None
        found = self._service.reader.records(
            asked.view, as_of=at, where=where, limit=asked.limit, unmask=is_unmasked
        )
        rows = [
            {name: formats.plain(value) for name, value in zip(found.columns, row, strict=True)}
            for row in found.rows
        ]
        if not is_unmasked:
            key = self._service.inbox.log_key
            rows = [
                {name: identifiers.masked_value(name, value, key) for name, value in row.items()}
                for row in rows
            ]
        return formats.Shown(at, found.columns, rows)

    def encoded(self, asked: formats.Asked, form: formats.Format, look: formats.Look) -> bytes:
        """Rows as a file; personal values only after their entry is in the log."""
        where = filtering.parse(asked.filters)
        at = self._begun(asked, where)
        is_unmasked = asked.unmask is not None
        rows = self._service.reader.read(
            asked.view, as_of=at, where=where, limit=asked.limit, unmask=is_unmasked
        )
        if not is_unmasked:
            rows = identifiers.masked(rows, self._service.inbox.log_key)
        return identifiers.file_of(rows, asked, at, form, look)

    def described(self, form: formats.Format) -> bytes:
        """What every view and column means, a row per column."""
        from pipeline.ledger.views.described import described

        return formats.encode(described(self._service.reader), form)

    def _begun(self, asked: formats.Asked, where: Mapping[str, object]) -> int:
        """Records that personal values are about to be shown, if they are; says of which instant
        the rows are to be, in microseconds."""
        as_of = asked.as_of
        if asked.unmask is not None:
            from pipeline.ledger.views import reader

            reader.check(asked.view, where)  # a refused request must not leave an entry
            rows = {"as_of": as_of, "where": where, "limit": asked.limit}
            clearance = unmask_rows(self._service, asked.view, rows, asked.unmask)
            if clearance is not None and as_of is None:
                as_of = clearance.as_of
        return self._service.now() if as_of is None else as_of

    def count(self, view: str, *, as_of: int | None = None, filters: Sequence[str] = ()) -> int:
        """How many rows a view has."""
        return self._service.reader.count(view, as_of=as_of, where=filtering.parse(filters))

    def forecast_scores(self, as_of: int | None = None) -> "Sequence[Score]":
        """How good the forecast was."""
        from pipeline.trends import forecast_score

        at = self._service.now() if as_of is None else as_of
        return forecast_score.scores(self._service.reader, as_of=at)

    def checkpoint(self) -> "SignedCheckpoint":
        """The signed checkpoint of what the ledger has, with the log's keys.

        Raises `CallerError` if there is none.
        """
        return self._service.signed_checkpoint()

    def audit(self, against: str | None, on_progress: "stores.OnProgress") -> "Verdict":
        """Runs every check on ledger and inbox; see `pipeline.continuity.stores.audit`."""
        from pipeline.continuity import stores

        return stores.audit(self._service, against=against, on_progress=on_progress)

    def export(self, request: "Request", out: Path, on_progress: "OnProgress") -> "Exported":
        """Records the export and writes its package to `out`."""
        from pipeline.audit.export import export

        return export(self._service, request, out, on_progress)
