"""Reads the views of `queries/`, each at its own instant: the only reader of the ledger."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import duckdb

from pipeline import instants
from pipeline.errors import OperatorError, WrongUsage
from pipeline.ledger import materialized
from pipeline.ledger.earlier_instants import StateMoved
from pipeline.ledger.file import FOUND_BY_INDEX
from pipeline.ledger.narrowing import needs_narrowing
from pipeline.ledger.prepared import MOST_IDS, Clauses, Few, Prepared, Settings
from pipeline.ledger.refresh import Watermark
from pipeline.ledger.store import Ledger
from pipeline.ledger.syntax import filters
from pipeline.ledger.syntax.filters import Parts, Ranges
from pipeline.ledger.syntax.parsed import parsed
from pipeline.ledger.syntax.questions import Question, question
from pipeline.ledger.views.catalogue import View, asked_for, catalogue, whole_sql
from pipeline.ledger.views.installed import TO_FIT, UNFIT

if TYPE_CHECKING:
    import pyarrow as pa

_REMEMBERED_STATEMENTS: Final = 1000
"""Whole SQL of views, by state, subject and order: some 15 kB each."""

_FEW_ENTRIES: Final = 20_000
"""In a ledger of so many entries, copying all rows costs less than planning a question twice."""

TRIES: Final = 3
"""To see an earlier instant's rows and the ledger in one state, while it grows."""

_OTHER_TYPE: Final = "a value has another type than its SQL casts it to"

Answer = TypeVar("Answer")
Rows = TypeVar("Rows", bound=Sized)

Answered: TypeAlias = duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation
"""What DuckDB gives for a question: its rows can be fetched from it once."""


ShowEarlier: TypeAlias = Callable[..., bool]
"""As `EarlierInstants.show`."""


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of a view as Python values; instants are naive UTC."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, answered: Answered) -> "Records":
        """The rows that DuckDB has found."""
        rows = answered.fetchall()
        return cls([name for name, *_ in answered.description or ()], rows)

    def __len__(self) -> int:
        return len(self.rows)

    def by_name(self) -> tuple[dict[str, Any], ...]:
        """Each row as column -> value."""
        return tuple(dict(zip(self.columns, row, strict=True)) for row in self.rows)


class _Asked(NamedTuple):
    """Which rows of a view, as for `Reader.read`."""

    where: Mapping[str, object] | None = None
    contains: Parts | None = None
    between: Ranges | None = None
    order_by: str | None = None
    limit: int | None = None
    offset: int = 0


class _Snapshot(NamedTuple):
    """One state of the ledger at one instant."""

    cursor: duckdb.DuckDBPyConnection  # with the instant as its variable `as_of`
    entries: int  # that materialized rows cover
    is_behind: bool  # materialized rows of processes could not be worked out
    is_latest: bool  # nothing that the ledger holds occurred after the instant
    waits: bool  # materialized rows of any kind could not be worked out
    show_earlier: ShowEarlier  # has the cursor see the instant's rows, where they are kept
    state: Watermark | None  # None within a transaction, whose state others need not see
    prepared: Prepared | None  # of a question about few ids

    @property
    def is_settled(self) -> bool:
        """Whether materialized rows are what the instant has."""
        return self.is_latest and not self.is_behind and not self.waits


def _only_in_a_transaction(*_: object, **__: object) -> bool:
    """Rows of an earlier instant and the ledger are seen in one state in a transaction alone."""
    raise StateMoved


def _not_shown(*_: object, **__: object) -> bool:
    return False


class Reader:
    """Reads views of one ledger, each call at its own instant, from any thread."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        await_seller_hours: int | None = None,
        alert_rules: Callable[[], str] | None = None,
        now: Callable[[], int] = instants.now,
    ) -> None:
        """`await_seller_hours`: how long a seller is given after a contact.
        `alert_rules` gives what is alarming, as `AlertRules.for_views` does. Where either is None,
        the defaults of `queries/macros.sql` hold. `now` gives the instant, in microseconds, for
        questions without `as_of`."""
        self._now = now
        self._ledger = ledger
        self._await_seller_hours = await_seller_hours
        self._alert_rules = alert_rules

    def read(
        self,
        view: str,
        *,
        as_of: int | None = None,
        where: Mapping[str, object] | None = None,
        contains: Parts | None = None,
        between: Ranges | None = None,
        order_by: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        unmask: bool = False,
    ) -> "pa.Table":
        """Rows of a view, in its own order, as an Arrow table; instants are naive UTC.

        `as_of` in microseconds (None: now). `where`: column -> value, or a list of values, any of
        which may match. `contains`: column -> part of its text, or several, whatever case and
        accents. `between`: column -> the first value that fits and the first beyond, None for no
        end. `order_by`: `column` or `column desc`; rows that are equal in it are in the order of
        their key. `unmask` shows personal columns: the caller has recorded why.
        Raises `UnknownView`.
        """
        asked = _Asked(where, contains, between, order_by, limit, offset)
        return self._answer(view, asked, as_of, unmask, _table)

    def records(
        self, view: str, *, as_of: int | None = None, unmask: bool = False, **asked: Any
    ) -> Records:
        """As `read`, `asked` too, for few rows: without Arrow, which takes a program 0.1 s to load
        and a question of few rows a millisecond."""
        return self._answer(view, _Asked(**asked), as_of, unmask, Records.of)

    def _answer(
        self,
        view: str,
        asked: _Asked,
        as_of: int | None,
        unmask: bool,
        taken: Callable[[Answered], Rows],
    ) -> Rows:
        """`taken`: takes the rows out of DuckDB's answer."""
        found = asked_for(view)
        finder = None
        if asked.limit is not None and asked.limit <= FOUND_BY_INDEX:
            finder = _finder(found, asked.where, asked.contains, asked.between, asked.order_by)

        few = _few(found, asked.where)

        def rows(snapshot: _Snapshot) -> Rows:
            if few is not None and snapshot.prepared is not None and snapshot.is_settled:
                question = _asked_of_few(found, asked)
                answered = snapshot.prepared.answer(few, question, snapshot.state)
                if answered is not None:
                    return taken(answered)
            wanted = asked
            if finder is not None and not snapshot.waits:
                [key] = found.key
                whole, values = _question(snapshot, finder, asked, key)
                page = whole.run(snapshot.cursor, values).fetchall()
                wanted = _Asked({key: [it for (it,) in page]}, order_by=asked.order_by)
            whole, values = _question(snapshot, found, wanted, "*")
            if wanted.limit is None and not wanted.where and snapshot.entries > _FEW_ENTRIES:
                return taken(snapshot.cursor.sql(whole.sql, params=values))
            return taken(whole.run(snapshot.cursor, values))

        with _errors_of_asking(view, asked.where, asked.contains, asked.between):
            return self._of_one_state(as_of, unmask, rows, few)

    def ask(
        self,
        view: str,
        select: str,
        variables: Mapping[str, object],
        *,
        as_of: int,
        of: Mapping[str, Sequence[str]],
        unmask: bool = False,
    ) -> "pa.Table":
        """The rows of a query of our own over one view. `variables` are set in DuckDB for it.

        `as_of` in microseconds. `of`: column -> the only ids that the query asks for.
        """

        def rows(snapshot: _Snapshot) -> "pa.Table":
            for name, value in variables.items():
                snapshot.cursor.execute(f"set variable {name} = ?", [value])
            sql, ids = _sql(snapshot, view, of)
            whole = question(f"with {view} as ({sql})\n{select}").counted()
            return whole.run(snapshot.cursor, ids).to_arrow_table()

        return self._of_one_state(as_of, unmask, rows)

    def count(
        self,
        view: str,
        *,
        as_of: int | None = None,
        where: Mapping[str, object] | None = None,
        contains: Parts | None = None,
        between: Ranges | None = None,
    ) -> int:
        """Rows that `read` would give without a limit."""
        found = asked_for(view)
        condition, parameters = filters.condition(found, where, contains, between)
        finder = _finder(found, where, contains, between)
        counted = view if finder is None else finder.name

        def number(snapshot: _Snapshot) -> int:
            sql, ids = _sql(snapshot, counted, where)
            whole = question(f"select count(*) as rows from ({sql}){condition}").counted()
            [(rows,)] = whole.run(snapshot.cursor, [*ids, *parameters]).fetchall()
            return int(rows)

        with _errors_of_asking(view, where, contains, between):
            return self._of_one_state(as_of, False, number)

    def groups(
        self,
        view: str,
        columns: Sequence[str],
        *,
        as_of: int | None = None,
        where: Mapping[str, object] | None = None,
        contains: Parts | None = None,
        between: Ranges | None = None,
    ) -> "pa.Table":
        """How many of the rows that `read` would give have each combination of values in some
        columns: these and `rows`. For columns of few values."""
        found = asked_for(view)
        condition, parameters = filters.condition(found, where, contains, between)
        names = ", ".join(filters.column(found, name) for name in columns)

        def rows(snapshot: _Snapshot) -> "pa.Table":
            sql, ids = _sql(snapshot, view, where)
            sql = f"select {names}, count(*) as rows from ({sql}){condition} group by all"
            whole = question(f"{sql} order by all").counted()
            return whole.run(snapshot.cursor, [*ids, *parameters]).to_arrow_table()

        with _errors_of_asking(view, where, contains, between):
            return self._of_one_state(as_of, False, rows)

    def _of_one_state(
        self,
        as_of: int | None,
        unmask: bool,
        ask: Callable[[_Snapshot], Answer],
        few: Few | None = None,
    ) -> Answer:
        """Asks one state of the ledger; once more if the file was closed and opened meanwhile,
        which happens after a writer's error."""
        times_reopened = self._ledger.times_reopened
        try:
            return self._asked_by_a_connection(as_of, unmask, ask, few)
        except duckdb.Error as error:
            self._ledger.saw(error)
            if self._ledger.times_reopened == times_reopened:
                raise
        return self._asked_by_a_connection(as_of, unmask, ask, few)

    def _asked_by_a_connection(
        self,
        as_of: int | None,
        unmask: bool,
        ask: Callable[[_Snapshot], Answer],
        few: Few | None,
    ) -> Answer:
        with contextlib.suppress(OperatorError):  # the follower shows it, and tries again
            self._ledger.settle()
        rules = self._alert_rules() if self._alert_rules is not None else None
        settings = Settings(unmask, self._await_seller_hours, rules)
        if few is not None:
            with self._ledger.prepared(few, settings) as prepared:
                if prepared is not None:
                    return self._asked_of_one_state(prepared.cursor, prepared, as_of, ask)
        cursor = self._ledger.cursor()  # its variables are its own
        settings.set_on(cursor)
        return self._asked_of_one_state(cursor, None, as_of, ask)

    def _asked_of_one_state(
        self,
        cursor: duckdb.DuckDBPyConnection,
        prepared: Prepared | None,
        as_of: int | None,
        ask: Callable[[_Snapshot], Answer],
    ) -> Answer:
        """Asks one state of the ledger at one instant. Without `as_of` that is now, read after the
        state is fixed, so that no entry of the state is later.

        Nearly always no batch is committed meanwhile, and the question needs no transaction: what
        it saw is the state that it was made for. Else, and where materialized rows cannot be worked
        out, it is asked in a transaction, which costs as much as a look-up.
        """
        watermark = self._ledger.watermark
        if watermark is not None and watermark.has_all_rows:
            with contextlib.suppress(StateMoved):
                answer = ask(self._snapshot(cursor, prepared, watermark, as_of, state=watermark))
                if self._ledger.watermark is watermark:
                    return answer
        for _ in range(TRIES):
            with contextlib.suppress(StateMoved), self._ledger.snapshot(cursor) as watermark:
                return ask(
                    self._snapshot(cursor, prepared, watermark, as_of, self._ledger.earlier.show)
                )
        with self._ledger.snapshot(cursor) as watermark:
            return ask(self._snapshot(cursor, prepared, watermark, as_of, _not_shown))

    def _snapshot(
        self,
        cursor: duckdb.DuckDBPyConnection,
        prepared: Prepared | None,
        watermark: Watermark,
        as_of: int | None,
        show_earlier: ShowEarlier = _only_in_a_transaction,
        *,
        state: Watermark | None = None,
    ) -> _Snapshot:
        entries, is_behind, waits = watermark.entries, watermark.is_behind, watermark.waits
        at = self._now() if as_of is None else as_of
        instant = instants.naive(at)
        cursor.execute(parsed("set variable as_of = $1").statement(cursor), [instant])
        show = partial(show_earlier, cursor, at, entries, is_now=as_of is None)
        is_latest = watermark.settled_at <= at
        return _Snapshot(cursor, entries, is_behind, is_latest, waits, show, state, prepared)


def _table(answered: Answered) -> "pa.Table":
    rows: pa.Table = answered.to_arrow_table()
    return rows


def _few(view: View, where: Mapping[str, object] | None) -> Few | None:
    """The few ids that rows of a view are asked for by, if any."""
    if view.reading.sets:
        return None
    column, ids = _subject({**view.reading.led, **dict.fromkeys(view.by)}, where)
    return None if column is None or len(ids) > MOST_IDS else Few(column, ids)


def _asked_of_few(view: View, asked: _Asked) -> Clauses:
    """What prepared statements are made of."""
    condition, values = filters.condition(view, asked.where, asked.contains, asked.between)
    order, window, own_order = _clauses(view, asked)
    return Clauses(view, own_order, condition, order + window, values)


def _clauses(view: View, asked: _Asked) -> tuple[str, str, str]:
    """The order that is asked for, the window, and the view's own order where it is needed."""
    order = filters.order(view, asked.order_by) if asked.order_by else ""
    window = f" limit {int(asked.limit)}" if asked.limit is not None else ""
    window += f" offset {int(asked.offset)}" if asked.offset else ""
    own_order = "" if order else _own_order(view, asked.where, is_limited=bool(window))
    return order, window, own_order


def _question(
    snapshot: _Snapshot, view: View, asked: _Asked, selected: str
) -> tuple[Question, list[object]]:
    """What asks for some columns of rows of a view, and its parameters."""
    condition, parameters = filters.condition(view, asked.where, asked.contains, asked.between)
    order, window, own_order = _clauses(view, asked)
    sql, ids = _sql(snapshot, view.name, asked.where, own_order)
    whole = question(f"select {selected} from ({sql}){condition}{order}{window}").counted()
    return whole, [*ids, *parameters]


def _sql(
    snapshot: _Snapshot,
    name: str,
    where: Mapping[str, object] | None,
    order: str = "",
) -> tuple[str, list[object]]:
    """The view over materialized rows as far as they go at the instant, and its parameters."""
    view = catalogue()[name]
    subject, ids = _subject(view.by, where)
    stand_ins: Callable[[], materialized.StandIns] = materialized.while_behind
    if snapshot.waits:
        stand_ins, subject = materialized.none, None
    elif snapshot.is_settled:
        stand_ins = materialized.when_settled
    elif not snapshot.is_behind and snapshot.show_earlier(is_worth_making=subject is None):
        stand_ins = materialized.before_settled
    if view.reading.sets:
        snapshot.cursor.execute(f"set variable {view.reading.sets} = true")
    if view.reading.led:
        subject, ids = _subject(view.reading.led, where)
    sql, takes_ids = _statement(name, stand_ins, subject, order)
    return sql, [ids] if takes_ids else []


@lru_cache(maxsize=_REMEMBERED_STATEMENTS)
def _statement(
    name: str, stand_ins: Callable[[], materialized.StandIns], subject: str | None, order: str
) -> tuple[str, bool]:
    """The view over these stand-ins, narrowed to subjects, and whether it takes their ids."""
    sql = whole_sql(catalogue()[name], materialized.within_few(stand_ins), order=order)
    if subject is None:
        return sql, False
    asked = f"select unnest(?::varchar[]) as {subject}"
    if rows := catalogue()[name].reading.led.get(subject):
        return materialized.of_kept_rows(sql, asked, rows), True
    if subject == "seller_id":
        return materialized.of_sellers(sql, asked), True
    if needs_narrowing(sql):
        return materialized.of_asked_processes(sql, asked), True
    if "kept_attempts" in sql:  # whose index for processes a limit's condition would keep away
        return materialized.of_kept_rows(sql, asked, "attempts_of_processes"), True
    return sql, False


def _subject(
    columns: Iterable[str], where: Mapping[str, object] | None
) -> tuple[str | None, list[object]]:
    """The column of these whose few ids are asked for, and they; or none. Rows that name nobody
    follow from no id."""
    for column in columns:
        value = (where or {}).get(column)
        ids = [value] if isinstance(value, str) else value
        if isinstance(ids, Sequence) and len(ids) <= FOUND_BY_INDEX and None not in ids:
            return column, list(ids)
    return None, []


def _finder(
    view: View,
    where: Mapping[str, object] | None,
    contains: Parts | None,
    between: Ranges | None,
    order_by: str | None = None,
) -> View | None:
    """The view that finds rows sooner than this one, where it has the columns by which they are
    asked for, and they are not asked for by few ids."""
    finder = catalogue().get(view.reading.found_by)
    if finder is None or _subject(view.by, where)[0]:
        return None
    named = {*(where or ()), *(contains or ()), *(between or ())}
    if order_by:
        named.add(order_by.partition(" ")[0])
    return finder if named <= finder.columns.keys() else None


def _own_order(view: View, where: Mapping[str, object] | None, *, is_limited: bool) -> str:
    """The view's order as far as rows that pass the filter can differ in it. One row needs none,
    which saves a tenth of a look-up; a limit always stands over an order
    (docs/decisions/queries.md#a-limit-needs-an-order)."""
    one_of = {column for column, value in (where or {}).items() if isinstance(value, str | int)}
    if one_of.issuperset(view.key) and not is_limited:
        return ""
    terms = view.order[1:] if len(view.order) > 1 and view.order[0] in one_of else view.order
    return f"\norder by {', '.join(terms)}"


@contextlib.contextmanager
def _errors_of_asking(view: str, *filtered: Mapping[str, Any] | None) -> Iterator[None]:
    """A filter whose value has another type than its column is the caller's error. DuckDB's words
    are not repeated then: they quote what it compared, such as a row's id that nobody has masked.
    Else it is the view's SQL that does not fit: of a value that it casts nothing is quoted."""
    of_types = (duckdb.ConversionException, duckdb.BinderException)
    try:
        yield
    except (duckdb.ConversionException, *UNFIT) as error:
        if any(filtered) and isinstance(error, of_types):
            raise WrongUsage(
                f"The filter does not fit the view {view}",
                "a value of it has another type than its column",
                "compare a column with a value of its own type",
            ) from None
        quotes_values = isinstance(error, duckdb.ConversionException)
        why = _OTHER_TYPE if quotes_values else str(error).splitlines()[0]
        raise OperatorError(f"The view {view} cannot be read", why, TO_FIT) from error


def check(
    view: str,
    where: Mapping[str, object] | None = None,
    contains: Parts | None = None,
    between: Ranges | None = None,
    order_by: str | None = None,
) -> None:
    """Raises `UnknownView` where there is no such view, or no such column in it."""
    found = asked_for(view)
    filters.condition(found, where, contains, between)
    if order_by:
        filters.order(found, order_by)
