"""Reads views at the instant that the page looks at, for whoever may read them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import streamlit as st

from app_pages.door import access
from app_pages.language import formats
from app_pages.parts.answers import Answers
from pipeline import instants
from pipeline.continuity import service
from pipeline.errors import CallerError
from pipeline.ledger.syntax.filters import Ranges
from pipeline.ledger.views.catalogue import public
from pipeline.serve import identifiers
from pipeline.serve.roles import Permission

if TYPE_CHECKING:
    from pipeline.alert_rules import AlertRules

TICK_SECONDS: Final = 5
"""After so many seconds an answer about now rests on another instant, even if no entry came in.
How long it is given after that is said in `answers.py`."""

SUBJECTS: Final = ("process_id", "seller_id")
"""An answer about one process or one seller counts every entry that names it, down to the newest.
Figures and lists of many may be a little older."""
OF_THE_LOG: Final = ("ledger_health", "log_entries")
"""What these views say of an earlier instant, too, changes with each entry of the log."""
FEW: Final = 500
"""Where another view finds a view's rows (`found_by`) and a filter leaves fewer rows, they are read
and counted here, which is faster than grouping them in the ledger."""
_OLDEST: Final = "oldest_answer"

Row = dict[str, Any]
Answer = TypeVar("Answer")


class _Question(NamedTuple):
    """What is asked, and of which instant, in microseconds; None for now."""

    view: str
    at: int | None
    newest: int | None  # as `_newest_about_one` gives it
    asked: Hashable


@dataclass(frozen=True, slots=True)
class _Basis:
    """What an answer rests on beside the question."""

    counted: int  # no later entry changes it
    tick: int  # of an instant that does not stand still, every few seconds another
    alert_rules: "AlertRules | None"  # of a file; one object while the file is the same
    last_seq: int = field(compare=False)  # the newest entry


_ROWS: Final[Answers[_Question, _Basis, tuple[Row, ...]]] = Answers(len)
_COUNTS: Final[Answers[_Question, _Basis, int]] = Answers()


def read(view: str, *, at: int | None = None, **asked: Any) -> Sequence[Row]:
    """Rows of a view at the page's instant, or at another, in microseconds; `asked` as for
    `Reader.read`.

    Readers of a page share the rows, so no page may change them. Raises `CallerError` where the
    view is not open to the reader's role, so that no page has to check that.
    """
    _check_open(view)
    held, at = service.current(), as_of() if at is None else at

    def rows() -> tuple[Row, ...]:
        return held.reader.records(view, as_of=at, **asked).by_name()

    question = _question(held, view, at, asked)
    return _given(_ROWS, held, question, rows)


def _check_open(view: str) -> None:
    if not access.may_read(view):
        raise CallerError(f"The rows of {view} are not open to your role")


def read_one(view: str, **asked: Any) -> Row | None:
    """The first row of a view, if there is any."""
    rows = read(view, limit=1, **asked)
    return rows[0] if rows else None


def count(
    view: str,
    *,
    where: Mapping[str, object] | None = None,
    contains: Mapping[str, str] | None = None,
    between: Ranges | None = None,
) -> int:
    """How many rows `read` would give without a limit. Raises as it does."""
    _check_open(view)
    held, at = service.current(), as_of()
    asked = {"where": where, "contains": contains, "between": between}

    def rows() -> int:
        return held.reader.count(view, as_of=at, where=where, contains=contains, between=between)

    return _given(_COUNTS, held, _question(held, view, at, asked), rows)


def groups(
    view: str, columns: Sequence[str], *, is_shown: bool = True, **asked: Any
) -> Sequence[Row]:
    """How many rows have each combination of values in some columns; `asked` as for
    `Reader.groups`. `is_shown`: false for what only helps to fill in a form,
    whose age does not count as the page's. Raises as `read` does."""
    _check_open(view)
    held, at = service.current(), as_of()

    def rows() -> tuple[Row, ...]:
        return tuple(held.reader.groups(view, columns, as_of=at, **asked).to_pylist())

    question = _question(held, view, at, asked | {"columns": columns})
    return _given(_ROWS, held, question, rows, is_shown=is_shown)


class Filters(NamedTuple):
    """What is asked of a view, as `read`, `count` and `groups` take it."""

    where: Mapping[str, Sequence[object]]
    contains: Mapping[str, str]
    between: Ranges


NO_FILTERS: Final = Filters({}, {}, {})


def filtered(
    *,
    where: Mapping[str, Sequence[object]] | None = None,
    contains: Mapping[str, str] | None = None,
    between: Ranges | None = None,
) -> Filters:
    """What a list's filters ask; a filter without a value is left out. A reader who may not see
    people finds rows by a whole id and not by a part of one: by asking for enough parts they could
    spell out an id that is masked."""
    values = {column: chosen for column, chosen in (where or {}).items() if chosen}
    parts = {column: part for column, part in (contains or {}).items() if part}
    if not access.may(Permission.UNMASK):
        ids = {it for it in parts if identifiers.mask_of(it)}
        values |= {column: [parts.pop(column)] for column in ids}
    ranges = {column: ends for column, ends in (between or {}).items() if ends != (None, None)}
    return Filters(values, parts, ranges)


class Facets:
    """A view's filters, and how many rows each of their values would leave, given the other filters
    that are set: the number beside a filter is the number of rows that a click on it leads to.

    `chosen`: column -> the values that are set, of each column that is counted. These columns have
    few values, so that one question answers for all of them and for all readers. The other filters
    are `others`, as `filtered` gives them, and `period`, which is not one that could be removed: it
    says what the list is about.
    """

    def __init__(
        self,
        view: str,
        chosen: Mapping[str, Sequence[object]],
        others: Filters = NO_FILTERS,
        *,
        period: Ranges | None = None,
    ) -> None:
        self.view, self.counted_in, self.period = view, view, period or {}
        self._chosen, self._others = dict(chosen), others
        uncounted = others._replace(between={**self.period, **others.between})
        asked = {name: it for name, it in uncounted._asdict().items() if it}
        # A part of an id leaves a few rows, which are found sooner than all are grouped.
        is_found = bool(asked) and bool(public()[view].reading.found_by)
        few = read(view, **asked, limit=FEW) if is_found else ()
        if is_found and len(few) < FEW:
            self._rows: Sequence[Row] = [{**row, "rows": 1} for row in few]
        else:
            self._rows = groups(view, list(chosen), **asked)

    @property
    def asked(self) -> Filters:
        """What all filters that are set ask of the view."""
        chosen = {column: some for column, some in self._chosen.items() if some}
        return self._others._replace(where={**chosen, **self._others.where})

    def choosing(self, **chosen: Sequence[object]) -> Self:
        """The same with other values chosen: column -> values, of columns that are counted."""
        other = copy(self)
        other._chosen = self._chosen | chosen
        return other

    def listed_by(self, view: str) -> Self:
        """The same for another view, which has the same rows in another order: they stay counted,
        and ticked, as those of the first."""
        other = copy(self)
        other.view = view
        return other

    def rows(self, **instead: Sequence[object]) -> int:
        """How many rows are left. `instead`: column -> values that replace the chosen ones; a
        column without values filters nothing."""
        asked = {column: some for column, some in (self._chosen | instead).items() if some}
        return sum(
            row["rows"]
            for row in self._rows
            if all(row[column] in some for column, some in asked.items())
        )

    def of(self, column: str, *values: object, **instead: Sequence[object]) -> str:
        """The number that stands beside a filter for these values."""
        return formats.number(self.rows(**instead | {column: values}))

    def numbered(
        self,
        column: str,
        names: Mapping[str, str],
        values: Mapping[str, object] | None = None,
        /,
        **instead: Sequence[object],
    ) -> dict[str, str]:
        """A filter's options (code -> name), each with its number. `values`: code -> the column's
        value, where that is not the code itself."""
        meant = values or {code: code for code in names}
        return {
            code: f"{name} ({self.of(column, meant[code], **instead)})"
            for code, name in names.items()
        }


def forget_answers() -> None:
    """Forgets all answers but those about an earlier instant that still hold: what is read from
    here on counts every entry of the ledger."""
    held = service.current()

    def holds(question: _Question, basis: _Basis) -> bool:
        return question.at is not None and basis == _basis(held, question)

    _ROWS.forget(but=holds)
    _COUNTS.forget(but=holds)


def begin() -> None:
    """Begins a page: nothing was read for it yet."""
    st.session_state.pop(_OLDEST, None)


def rests_on() -> tuple[datetime, int]:
    """What the page rests on: when its oldest answer was made, as `moment` writes it, and the
    newest entry that all of its answers count."""
    oldest = st.session_state.get(_OLDEST)
    return (moment(), service.current().ledger.size) if oldest is None else oldest


def rest_on(made_at: datetime, last_seq: int) -> None:
    """Notes how old something is that the page shows, as `rests_on` says it of all."""
    oldest_at, oldest_seq = st.session_state.get(_OLDEST, (made_at, last_seq))
    st.session_state[_OLDEST] = min(made_at, oldest_at), min(last_seq, oldest_seq)


def _given(
    kept: Answers[_Question, _Basis, Answer],
    held: service.LedgerService,
    question: _Question,
    work_out: Callable[[], Answer],
    *,
    is_shown: bool = True,
) -> Answer:
    """The answer, which readers share. If it is shown, and older than all others of the page, its
    age is noted as the page's."""
    file = source(held)  # first: it may be opened again meanwhile
    basis = _basis(held, question)
    made = kept.answer(question, basis, work_out, source=file)
    if not is_shown:
        return made.answer
    age = made.age() if question.at is None else 0  # how an instant that is over looks does not age
    made_at = moment() - timedelta(seconds=age)
    counts_all = made.basis == basis or question.newest is not None
    rest_on(made_at, (basis if counts_all else made.basis).last_seq)
    return made.answer


def source(held: service.LedgerService) -> Hashable:
    """The open file that is asked. Once it was opened again, or made again without somebody who was
    forgotten, it is another one, and all that was answered of the former one is forgotten."""
    return held.ledger, held.ledger.times_reopened


def _basis(held: service.LedgerService, question: _Question) -> _Basis:
    """What an answer that is worked out from here on rests on at least."""
    last_seq = held.ledger.size  # first: what came meanwhile may count already
    counted, tick, at = last_seq, 0, question.at
    if at is None:
        tick = held.now() // (TICK_SECONDS * instants.SECOND)
    elif question.view not in OF_THE_LOG:
        counted = held.ledger.last_occurred.by(at)
    rules = held.alert_rules.get() if held.settings.alerts_file else None
    return _Basis(counted, tick, rules, last_seq)


def _question(
    held: service.LedgerService, view: str, at: int | None, asked: Mapping[str, Any]
) -> _Question:
    newest = _newest_about_one(held, at, asked.get("where"))
    return _Question(view, at, newest, _frozen(asked))


def _newest_about_one(
    held: service.LedgerService, at: int | None, where: Mapping[str, object] | None
) -> int | None:
    """The newest entry that names the one process or seller that a question is about, and may
    count; None for any other question. It is a part of the question, so that each such entry makes
    it a new one."""
    for name in SUBJECTS:
        if isinstance(subject := (where or {}).get(name), str):
            newest = held.ledger.last_named.of(subject)
            return newest if at is None else min(newest, held.ledger.last_occurred.by(at))
    return None


def _frozen(asked: Mapping[str, Any]) -> Hashable:
    """The parts of a question as a value that can be a key."""

    def still(value: Any) -> Any:
        if isinstance(value, Mapping):
            return tuple((name, still(it)) for name, it in value.items())
        return tuple(value) if isinstance(value, list) else value

    return tuple((name, still(value)) for name, value in asked.items())


def shown(column: str, text: str) -> str:
    """A text of a view's column as pages show it. An id that looks like a tax id or an e-mail
    address is masked, as the API masks it, also where it stands in place of a code or a path. Links
    and questions take the id itself."""
    hide = identifiers.mask_of(column)
    return text if hide is None else hide(text, service.current().inbox.log_key)


def as_of() -> int | None:
    """The instant that the page looks at, in microseconds; None for now."""
    asked = st.session_state.get("as_of", st.query_params.get("as_of"))
    if not asked:
        return None
    at = instants.ending(asked, formats.zone(), service.current().now())
    # Pages draw days before and after it, in the reader's zone: all have to be in the calendar.
    return at if at is not None and 1900 < instants.of(at).year < 9000 else None


def moment() -> datetime:
    """The page's instant as the views write instants: naive UTC."""
    at = as_of()
    return instants.naive(service.current().now() if at is None else at)


def moment_to_ask() -> datetime:
    """The page's instant as part of a question. It stays the same for a tick: a question with
    another instant shares nobody's answer, so each click would make the ledger work."""
    if as_of() is not None:
        return moment()
    tick = TICK_SECONDS * instants.SECOND
    return instants.naive(service.current().now() // tick * tick)
