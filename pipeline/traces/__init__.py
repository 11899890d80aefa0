"""OpenTelemetry traces of both flows, where the setting `PRAZO_TRACES_URL` names a collector.

A trace is an attempt, or else an entry of the log, and its id follows from the id of the one or the
number of the other. So parts that know nothing of each other add spans to one trace, and nothing is
handed on between them. A span names what the text log names: `seq`, `process_id`, `request_id`;
never a body, a name, an address, or somebody else's words.

OpenTelemetry is an extra, and slow to import: without a collector nothing of it is imported.
"""

import contextlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pipeline import places
from pipeline.errors import PrazoError, SettingsError
from pipeline.texts import hide_personal

if TYPE_CHECKING:
    from pipeline.traces.spans import Spans

SETTING: Final = f"{places.PREFIX}TRACES_URL"
MOST_AT_ONCE: Final = 512
"""Of the entries of one commit or one step of a ledger: as many as a receiver commits at once. More
are a file that is taken in, or a ledger that catches up: no flow that anybody waits for."""

Attributes = dict[str, str | int]
_spans: "Spans | None" = None


class _Logged(Protocol):
    """What is read of an entry."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def recorded_by(self) -> str: ...
    @property
    def attempt_id(self) -> str | None: ...
    @property
    def process_id(self) -> str | None: ...


class _Log(Protocol):
    """What is asked of an inbox."""

    log: str

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement."""


class _Row(NamedTuple):
    seq: int
    kind: str
    recorded_by: str
    attempt_id: str | None
    process_id: str | None


_ROWS: Final = """
    select seq, kind, recorded_by, attempt_id, process_id from entries
    where seq between $1 and $2 order by seq"""


class Trace(NamedTuple):
    """The ids of a trace and of its root."""

    number: int
    root: int


def keep_to_setting(part: str) -> None:
    """Begins to make spans where the setting says so. To be called in the folder of the settings.
    Raises `SettingsError` where the extra is missing."""
    global _spans
    try:
        url = places.variables().get(SETTING)
    except ValueError:  # whoever loads the settings says what is wrong with them
        return
    if not url or _spans is not None:
        return
    try:
        from pipeline.traces import spans
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{SETTING} names a collector, and nothing here can send to it",
            f"there is no module {error.name}",
            "install the extra, prazo[otel], or leave the setting out",
        ) from None
    _spans = spans.Spans(spans.exporter(url), part)


def id_of(attempt_id: str) -> str | None:
    """The id of an attempt's trace, as collectors show it; None where there are no traces."""
    return None if _spans is None else f"{_trace(attempt_id).number:032x}"


def delivered(log: str, entry: _Logged, began: float, recorded: str) -> None:
    """A delivery was answered. `began`, as everywhere here: on the monotonic clock."""
    if _spans is not None:
        said = _named(entry) | {"recorded": recorded}
        _spans.span(_trace_of(log, entry), "delivery", began, said, is_root=True)


def committed(log: str, entries: Sequence[_Logged], began: float) -> None:
    """These entries are on disk. That is the root where no caller of ours waits for it."""
    if _spans is not None and len(entries) <= MOST_AT_ONCE:
        for entry in entries:
            is_root = not (entry.recorded_by.startswith("webhook") or entry.attempt_id)
            _spans.span(_trace_of(log, entry), "commit", began, _named(entry), is_root=is_root)


def followed(inbox: _Log, before: int, after: int, began: float) -> None:
    """A ledger has all entries up to `after`, and had those up to `before`."""
    if _spans is not None and before < after <= before + MOST_AT_ONCE:
        for entry in _rows(inbox, before + 1, after):
            _spans.span(_trace_of(inbox.log, entry), "follow", began, _named(entry))


def alerted(
    inbox: _Log, seqs: Iterable[int | None], began: float, via: str, *, is_sent: bool
) -> None:
    """A message was tried by a channel. `seqs`: of the entries that its alerts are about."""
    if _spans is not None:
        for seq in {it for it in seqs if it is not None}:
            for entry in _rows(inbox, seq, seq):
                said = _named(entry) | {"channel": via, "is_sent": is_sent}
                _spans.span(_trace_of(inbox.log, entry), "alert", began, said)


def called(attempt_id: str, process_id: str, began: float, status: int | None) -> None:
    """The platform was called for an attempt, whose start is on disk."""
    if _spans is not None:
        said = _ids(attempt_id, process_id) | _status(status)
        _spans.span(_trace(attempt_id), "call", began, said)


def submitted(
    attempt_id: str, process_id: str, began: float, via: str, outcome: str, status: int | None
) -> None:
    """An attempt is over, as far as its caller waits for it."""
    if _spans is not None:
        said = {"via": via, "outcome": outcome, **_ids(attempt_id, process_id), **_status(status)}
        _spans.span(_trace(attempt_id), "submission", began, said, is_root=True)


def _status(status: int | None) -> Attributes:
    return {} if status is None else {"status": status}


def _trace(name: str) -> Trace:
    digest = sha256(name.encode()).digest()
    return Trace(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]))


def _trace_of(log: str, entry: _Logged) -> Trace:
    return _trace(entry.attempt_id or f"{log} {entry.seq}")


def _named(entry: _Logged) -> Attributes:
    return {"seq": entry.seq, "kind": entry.kind, **_ids(entry.attempt_id, entry.process_id)}


def _ids(attempt_id: str | None, process_id: str | None) -> Attributes:
    named = {"request_id": attempt_id, "process_id": process_id}
    return {name: hide_personal(it, lambda _: "***") for name, it in named.items() if it}


def _rows(inbox: _Log, first: int, last: int) -> list[_Row]:
    with contextlib.suppress(PrazoError):  # whoever needs the inbox says that it is away
        return [_Row(*row) for row in inbox.query(_ROWS, first, last)]
    return []
