"""`prazo doctor` names what stands in the ledger's place and was never one."""

import shutil
from pathlib import Path

import duckdb

from pipeline.cli.doctor import Diagnosis, examine
from tests.support.marketplace import Marketplace


def found_of(marketplace: Marketplace, ledger: Path) -> Diagnosis:
    [found] = [it for it in examine(marketplace.settings(ledger=ledger)) if it.check == "ledger"]
    return found


def test_a_file_that_was_never_a_ledger_is_named_by_what_it_is(marketplace: Marketplace) -> None:
    marketplace.review()
    other = marketplace.folder / "copy.db"
    shutil.copy(marketplace.settings().inbox, other)
    found = found_of(marketplace, other)
    assert (found.verdict, "SQLite" in found.found) == ("fault", True)
    assert "PRAZO_LEDGER" in found.remedy


def test_another_programs_database_is_named_by_a_table_of_it(marketplace: Marketplace) -> None:
    """With a table `meta` it was called unreadable, and `prazo rebuild` was to make it again."""
    other = marketplace.folder / "totals.duckdb"
    with duckdb.connect(other) as connection:
        connection.execute("create table meta (seq integer)")
    found = found_of(marketplace, other)
    assert found.verdict == "fault"
    assert found.found == f"{other} is another program's database, with a table meta"
    assert found.remedy == "set PRAZO_LEDGER to a path of its own"
