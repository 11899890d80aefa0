"""What a store's file makes of its rows is verified, too: rows can be right and read wrongly, or be
acknowledged and gone."""

import shutil
from contextlib import closing

import duckdb
import pytest

from pipeline.continuity import restore
from pipeline.continuity.definitions import altered_in_inbox
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.inbox import Inbox
from pipeline.settings import Settings
from tests.audit import story
from tests.audit.conftest import entries_alone
from tests.inbox.conftest import inbox, location
from tests.support.postgres import PostgresServer
from tests.support.sqlite import opened

__all__ = ["inbox", "location"]

REMOVES_WHAT_COMES = """
    drop trigger entries_no_delete;
    create trigger entries_kept after insert on entries when new.kind = 'webhook'
    begin delete from entries where seq = new.seq; end;"""
NEVER_LATE = "create or replace macro as_of() as timestamp '2026-01-01'"
SHADOW = "create macro epoch_us(instant) as 0"
BLIND = "create macro duckdb_functions() as table select 1"


@entries_alone
def test_a_trigger_that_removes_deliveries_and_a_macro_that_stops_the_clock_are_named(
    settings: Settings,
) -> None:
    """Each entry, fact and root was as it should be, and no deadline would ever have come."""
    with closing(opened(settings.inbox)) as connection:
        connection.execute(REMOVES_WHAT_COMES)
    with duckdb.connect(str(settings.ledger)) as connection:
        for statement in (NEVER_LATE, SHADOW, BLIND):
            connection.execute(statement)
    with closing(LedgerService(settings)) as service:
        found = [it.partition(";")[0] for it in audit(service).faults]
    assert found[-5:] == [
        "the inbox has a trigger entries_kept that none has",
        "the inbox lacks the trigger entries_no_delete",
        "the ledger defines the macro main.as_of otherwise than this release",
        "the ledger has a macro main.duckdb_functions that none has",
        "the ledger has a macro main.epoch_us that none has",
    ]


@entries_alone
def test_litestreams_tables_are_nobodys_and_a_trigger_of_their_name_is_named(
    settings: Settings,
) -> None:
    with closing(LedgerService(settings)) as service:
        with closing(opened(settings.inbox)) as connection:
            connection.execute("create table _litestream_lock (id integer)")
            connection.execute("create table _litestream_seq (id integer primary key, seq integer)")
        assert altered_in_inbox(service.inbox) == []
        with closing(opened(settings.inbox)) as connection:
            connection.execute("drop table _litestream_lock")
            connection.execute(
                "create trigger _litestream_lock after insert on entries begin select 1; end"
            )
        assert altered_in_inbox(service.inbox) == [
            "has a trigger _litestream_lock that none has",
        ]


@entries_alone
def test_an_index_that_lacks_what_it_should_have_is_named(settings: Settings) -> None:
    """Every artifact was deleted, and the stores were verified: an index named no collection, and
    artifacts are looked for by that. Its definition was as it should be."""
    empty = "create index entries_collection on entries (seq) where kind = 'none'"
    with closing(opened(settings.inbox)) as connection:
        of_index = "from sqlite_master where name = 'entries_collection'"
        [(defined,)] = connection.execute(f"select sql {of_index}").fetchall()
        connection.execute("drop index entries_collection")
        connection.execute(empty)
        connection.execute("pragma writable_schema = on")
        connection.execute(
            "update sqlite_master set sql = ? where name = 'entries_collection'", [defined]
        )
    shutil.rmtree(settings.artifacts)
    with closing(LedgerService(settings)) as service:
        found = [it.partition(";")[0] for it in audit(service).faults]
    assert found == [
        *(
            f"the inbox is damaged: row {row} missing from index entries_collection"
            for row in (4, 5, 11)
        ),
    ]
    restore.restore_from_ledger(settings)
    with closing(LedgerService(settings)) as service:
        assert [it.partition(":")[0] for it in audit(service).faults] == ["entry 5", "entry 5"]


def test_an_untouched_inbox_defines_what_a_new_one_does(inbox: Inbox) -> None:
    assert altered_in_inbox(inbox) == []


@pytest.mark.parametrize("location", ["postgres"], indirect=True)
def test_what_diverts_rows_of_a_shared_inbox_is_named(inbox: Inbox, location: str) -> None:
    for statement in (
        "alter table prazo.entries disable trigger entries_append_only",
        "create rule nothing as on insert to prazo.entries do instead nothing",
        "alter table prazo.signing_keys enable row level security",
        "alter table prazo.probes rename to others",
        "create view prazo.probes as select * from prazo.others",
        "create or replace function prazo.refuse_change() returns trigger language plpgsql as"
        " $$ begin return null; end $$",
    ):
        PostgresServer.execute(location, statement)
    assert altered_in_inbox(inbox) == [
        "defines the function refuse_change otherwise than this release",
        "has a policy signing_keys that none has",
        "has a rule nothing that none has",
        "defines the trigger entries_append_only otherwise than this release",
        "has a view probes that none has",
    ]


def test_a_row_below_the_first_entry_is_named(inbox: Inbox) -> None:
    """Anyone who asks for entries of a kind or a process was given it, and no audit."""
    story.deliver(inbox, "first")
    columns = "kind, occurred_at, recorded_at, origin, recorded_by, is_again, leaf"
    inbox.execute(f"insert into entries (seq, {columns}) select -7, {columns} from entries")
    assert altered_in_inbox(inbox) == ["has 2 rows of entries, and the newest is 1"]


@pytest.mark.parametrize("location", ["postgres"], indirect=True)
def test_rows_of_a_table_that_inherits_from_the_entries_are_named(
    inbox: Inbox, location: str
) -> None:
    """They stand among the entries, under numbers that those have."""
    story.deliver(inbox, "first")
    for statement in (
        "create table public.more () inherits (prazo.entries)",
        "insert into public.more select * from only prazo.entries",
    ):
        PostgresServer.execute(location, statement)
    assert altered_in_inbox(inbox) == ["has 2 rows of entries, and the newest is 1"]
