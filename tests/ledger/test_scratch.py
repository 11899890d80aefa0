"""Databases in memory: what somebody did with one is gone for anyone who takes it next."""

import os
import tempfile
from collections import deque
from pathlib import Path

import duckdb
import pytest

from pipeline import instants
from pipeline.audit.package import tables
from pipeline.ledger import facts, scratch
from pipeline.ledger.scratch import Copy
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Entry, Place, record_entry
from tests.support.events import review

FOREVER = "from range(1000000000) as one, range(1000000000) as other"
OF_ALL = "".join(f"from {it};" for it in ("log", *facts.TABLES.values()))


def entry() -> Entry:
    draft = delivery(review(), occurred_at=instants.now(), recorded_by="webhook")
    place = Place(1, instants.now(), 1, 0, 0, 0, False)
    return record_entry(draft, place, log="log", log_key=bytes(32), random=os.urandom)


def used() -> Copy:
    copy = Copy.taken()
    copy.add([entry()])
    for kind, rows in facts.extract([entry()], facts.Keys(values=b"v", taxpayer=b"t")).items():
        copy.add_facts(facts.TABLES[kind], rows, masked=False)
    copy.run("create temporary table process_state as select 'prc_1' as process_id;", {})
    assert sum(it.num_rows for it in copy.run(OF_ALL, {})) >= 2, "an entry, and what it says"
    return copy


def is_empty(copy: Copy) -> bool:
    rows = sum(it.num_rows for it in copy.run(OF_ALL, {}))
    with pytest.raises(duckdb.CatalogException):
        copy.run("from process_state", {})
    return rows == 0


def test_a_copy_is_taken_again_and_holds_nothing_of_its_last_use() -> None:
    copy = used()
    copy.give_back()
    again = Copy.taken()
    assert again is copy
    assert is_empty(again)
    again.give_back()


@pytest.mark.parametrize(
    ("script", "seconds"),
    [("select error(process_id) from process_state", 60.0), (f"select count(*) {FOREVER}", 0.05)],
    ids=["failed", "was interrupted"],
)
def test_a_copy_is_empty_and_of_use_though_its_last_use(script: str, seconds: float) -> None:
    copy = used()
    with pytest.raises(duckdb.Error):
        copy.run(script, {}, seconds)
    copy.give_back()
    again = Copy.taken()
    assert is_empty(again)
    again.give_back()


def test_a_copy_that_held_much_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Emptied, it would keep some hundred megabytes for as long as the process runs. What does not
    fit into memory goes where a killed process leaves nothing for long: it went into the folder in
    which somebody verified a package, names and tax ids with it, and stayed there."""
    monkeypatch.setattr(scratch, "MOST_ROWS_KEPT", 1)
    monkeypatch.setattr(scratch, "_UNUSED", deque(maxlen=2))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    copy = used()
    [[spilled]] = copy.run("select current_setting('temp_directory') as it", {})[0].columns
    assert [Path(spilled.as_py()).parent] == [*tmp_path.iterdir()]
    copy.give_back()
    assert not [*tmp_path.iterdir()]
    again = Copy.taken()
    assert again is not copy
    again.give_back()


def test_a_copy_that_is_given_back_twice_is_not_given_to_two() -> None:
    copy = Copy.taken()
    copy.give_back()
    copy.give_back()
    one, other = Copy.taken(), Copy.taken()
    assert one is not other
    one.give_back()
    other.give_back()


def test_what_several_tables_follow_from_is_worked_out_once() -> None:
    script = tables.queries()
    for view in ("process_facts", "attempt_facts", "attempts", "review_events"):
        made = f"create or replace temporary table {view} as"
        assert script.count(made) == 1
        assert f"\n{view} as (" not in script
