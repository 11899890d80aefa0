"""Makes the views in the ledger's file, for people who open it with DuckDB alone."""

import contextlib
import hashlib
import itertools
import logging
import threading
from collections.abc import Iterator
from typing import Final

import duckdb

from pipeline.errors import LedgerDamaged, OperatorError
from pipeline.ledger import file
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import View, catalogue, whole_sql
from pipeline.ledger.views.described import comments

LOG = logging.getLogger(__name__)

INSTALLED_AFTER: Final = 30.0
"""Seconds from a start until the views are made in the file, which takes a second of a core."""

UNFIT: Final = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""What DuckDB says of a view whose SQL is wrong, or of a file that lacks what it reads."""

TO_FIT: Final = "correct that view's file under queries/ if you changed it, else `prazo rebuild`"


def install(ledger: Ledger) -> None:
    """Makes every view in the file, for people who open it with DuckDB alone; our own code does not
    read them. That takes a second, so it is done only where a view has changed. Raises
    `LedgerDamaged` where a view does not fit, else as `Ledger.append` does."""
    statements = {name: [*_statements(view)] for name, view in catalogue().items()}
    every = itertools.chain.from_iterable(statements.values())
    digest = hashlib.sha256("\n".join(every).encode()).hexdigest()
    cursor = ledger.cursor()
    failed = "did not take its views"
    try:
        if cursor.execute("select value from meta where name = 'views'").fetchall() == [(digest,)]:
            return
        with file.transaction(cursor):
            for name, of_view in statements.items():
                failed = f"did not take its view {name}"
                for statement in of_view:
                    cursor.execute(statement)
            failed = "did not take its views"
            cursor.execute("insert or replace into meta values ('views', ?)", [digest])
    except UNFIT as error:
        why = str(error).splitlines()[0]
        raise LedgerDamaged(f"The ledger {ledger.path} {failed}", why, TO_FIT) from error
    except duckdb.Error as error:
        raise file.fault(ledger.path, error, failed) from error


def _statements(view: View) -> Iterator[str]:
    """What makes a view, and says what it means where people look for it."""
    yield f"create or replace view {view.name} as {whole_sql(view, order=view.order_by)}"
    if view.is_public:
        yield from comments(view)


@contextlib.contextmanager
def installed_later(ledger: Ledger, seconds: float = INSTALLED_AFTER) -> Iterator[None]:
    """Makes the views once the block has lasted for so many seconds, since at its start people wait
    for pages. A failure is logged, and tried again at the next start."""

    def try_to() -> None:
        try:
            install(ledger)
        except OperatorError as error:
            LOG.error("%s", error)

    timer = threading.Timer(seconds, try_to)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
