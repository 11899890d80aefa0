"""Reads views at the instant that the page looks at, for whoever may read them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, words
from app_pages.parts.answers import Answers
from pipeline import instants
from pipeline.errors import CallerError
from pipeline.ledger import service
from pipeline.ledger.catalogue import public
from pipeline.ledger.syntax.filters import Ranges
from pipeline.serve import identifiers
from pipeline.serve.roles import Permission

TICK_SECONDS: Final = 5
"""How often an answer about now is worked out again although no entry came in."""

SUBJECTS: Final = ("process_id", "seller_id")
"""Whoever asks about one of these wants to know how that one stands: every entry that names it
counts, down to the newest. Figures and lists of many may be older."""
FEW: Final = 500
"""Rows of a view that are found by another one, up to which counting them one by one is faster."""
_OLDEST: Final = "oldest_answer"

Row = dict[str, Any]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Basis:
    """What an answer rests on beside the question."""

    last_seq: int  # the newest entry
    tick: int  # of an instant that does not stand still, every few seconds another


_ROWS: Final[Answers[_Basis, tuple[Row, ...]]] = Answers()
_COUNTS: Final[Answers[_Basis, int]] = Answers()


def read(view: str, *, at: int | None = None, **asked: Any) -> Sequence[Row]:
    """Rows of a view at the page's instant, or at another, in microseconds; `asked` as for
    `pipeline.ledger.reader.Reader.read`.

    Readers who look at one page at once share the rows, so no page may change one. Raises
    `CallerError` where the view is not open to whoever looks: no page has to think of it.
    """
    _check_open(view)
    held, at = service.current(), as_of() if at is None else at

    def rows() -> tuple[Row, ...]:
        return tuple(held.reader.read(view, as_of=at, **asked).to_pylist())

    return _given(_ROWS, held, at, (view, _frozen(asked)), rows, asked.get("where"))


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

    return _given(_COUNTS, held, at, (view, _frozen(asked)), rows, where)


def groups(
    view: str, columns: Sequence[str], *, is_shown: bool = True, **asked: Any
) -> Sequence[Row]:
    """How many rows have each combination of values in some columns; `asked` as for
    `pipeline.ledger.reader.Reader.groups`. What only helps to fill a form in is not shown: the
    page is no older for it. Raises as `read` does."""
    _check_open(view)
    held, at = service.current(), as_of()

    def rows() -> tuple[Row, ...]:
        return tuple(held.reader.groups(view, columns, as_of=at, **asked).to_pylist())

    question = (view, tuple(columns), _frozen(asked))
    return _given(_ROWS, held, at, question, rows, asked.get("where"), is_shown=is_shown)


class Filters(NamedTuple):
    """What is asked of a view, as `read`, `count` and `groups` take it."""

    where: Mapping[str, Sequence[object]]
    contains: Mapping[str, str]
    between: Ranges


def filtered(
    where: Mapping[str, Sequence[object]],
    contains: Mapping[str, str],
    between: Ranges | None = None,
) -> Filters:
    """What a list's filters ask; one without a value filters nothing. Whoever may not see people
    finds an id that they have, and no part of one: asked often enough, parts would spell it out."""
    values = {column: chosen for column, chosen in where.items() if chosen}
    parts = {column: part for column, part in contains.items() if part}
    if not access.may(Permission.UNMASK):
        ids = {it for it in parts if identifiers.mask_of(it)}
        values |= {column: [parts.pop(column)] for column in ids}
    ranges = {column: ends for column, ends in (between or {}).items() if ends != (None, None)}
    return Filters(values, parts, ranges)


class Facets:
    """How many rows of a view each value of its filters leaves, beside the others that are set:
    what stands behind a filter's name is what a click on it leads to.

    `chosen`: what is set of the columns that are counted, which are of few values, so that one
    question answers for all of them, and for all readers. `asked`: what else is set.
    """

    def __init__(
        self, view: str, chosen: Mapping[str, Sequence[object]], asked: Filters | None = None
    ) -> None:
        self._chosen = dict(chosen)
        others = {} if asked is None else {k: it for k, it in asked._asdict().items() if it}
        # A part of an id leaves a few rows, which are found sooner than all are grouped.
        is_found = bool(others) and bool(public()[view].found_by)
        few = read(view, **others, limit=FEW) if is_found else ()
        if is_found and len(few) < FEW:
            self._rows: Sequence[Row] = [{**row, "rows": 1} for row in few]
        else:
            self._rows = groups(view, list(chosen), **others)

    def rows(self, **instead: Sequence[object]) -> int:
        """How many are left, with other values in the place of those that are chosen; a column
        without any filters nothing."""
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
        """A filter's options (code -> name), each with its number. `values`: what the column has
        for a code, where that is not the code itself."""
        meant = values or {code: code for code in names}
        return {
            code: f"{name} ({self.of(column, meant[code], **instead)})"
            for code, name in names.items()
        }


def forget_answers() -> None:
    """What is read from here on shows everything that the ledger holds now."""
    _ROWS.forget()
    _COUNTS.forget()


def begin() -> None:
    """Begins a page: nothing was read for it yet."""
    st.session_state.pop(_OLDEST, None)


def rests_on() -> tuple[datetime, int]:
    """Since when the oldest answer of the page that was begun stands, as `moment`, and the newest
    entry that every answer counts."""
    oldest = st.session_state.get(_OLDEST)
    return (moment(), service.current().ledger.size) if oldest is None else oldest


def _given(
    kept: Answers[_Basis, Answer],
    held: service.LedgerService,
    at: int | None,
    question: Hashable,
    work_out: Callable[[], Answer],
    where: Mapping[str, object] | None,
    *,
    is_shown: bool = True,
) -> Answer:
    """The answer that is shared; noted where it is shown and none of the page's is older."""
    tick = 0 if at is not None else held.now() // (TICK_SECONDS * instants.SECOND)
    basis = _Basis(held.ledger.size, tick)
    newest = _newest_about_one(held, where)
    made = kept.answer((held.inbox.log, at, newest, question), basis, work_out)
    if not is_shown:
        return made.answer
    age = made.age() if at is None else 0  # how an instant that is over looks does not age
    made_at = moment() - timedelta(seconds=age)
    last_seq = (made.basis if newest is None else basis).last_seq
    oldest_at, oldest_seq = st.session_state.get(_OLDEST, (made_at, last_seq))
    st.session_state[_OLDEST] = min(made_at, oldest_at), min(last_seq, oldest_seq)
    return made.answer


def _newest_about_one(
    held: service.LedgerService, where: Mapping[str, object] | None
) -> int | None:
    """The newest entry that can matter to a question about one process or seller; None for another
    question. One part of the question: after each such entry another one is asked."""
    for name in SUBJECTS:
        if isinstance(subject := (where or {}).get(name), str):
            return held.ledger.last_named.of(subject)
    return None


def _frozen(asked: Mapping[str, Any]) -> Hashable:
    """A question as something that can be looked up again."""

    def still(value: Any) -> Any:
        if isinstance(value, Mapping):
            return tuple((name, still(it)) for name, it in value.items())
        return tuple(value) if isinstance(value, list) else value

    return tuple((name, still(value)) for name, value in asked.items())


def shown(column: str, text: str) -> str:
    """A text of a view's column as pages show it: an id that looks like a tax id or an e-mail
    address is masked, as the API masks it, and so is one in the place of a code or a path. Links
    and questions take the id itself."""
    hide = identifiers.mask_of(column)
    if hide is not None:
        return hide(text, service.current().inbox.log_key)
    return masked(text) if identifiers.may_be_masked(column) else text


def masked(text: str) -> str:
    """Any text from outside, with the mask of each id in it that looks personal."""
    return words.without_ids(text)


def as_of() -> int | None:
    """The instant that the page looks at, in microseconds; None for now."""
    at = instants.parse(st.session_state.get("as_of", st.query_params.get("as_of")))
    # Days before and after it are drawn, and it is written in the reader's zone.
    return at if at is not None and 1900 < instants.of(at).year < 9000 else None


def moment() -> datetime:
    """The page's instant as the views write instants: naive UTC."""
    at = as_of()
    return instants.of(service.current().now() if at is None else at).replace(tzinfo=None)


def moment_to_ask() -> datetime:
    """The page's instant as part of a question. For as long as a tick it does not move on: whoever
    asks about another instant gets nobody's answer, and makes the ledger work at each click."""
    if as_of() is not None:
        return moment()
    tick = TICK_SECONDS * instants.SECOND
    return instants.of(service.current().now() // tick * tick).replace(tzinfo=None)
