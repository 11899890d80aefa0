"""An analyst's ledger is opened as what it is, whether anybody holds it or not."""

import json
from contextlib import closing

import duckdb
import pytest

from pipeline.continuity.service import LedgerService, unheld_ledger
from pipeline.errors import CallerError
from pipeline.inbox import open_inbox
from pipeline.ledger.views.formats import Asked
from pipeline.log.actions import By
from pipeline.log.ndjson import read_line
from pipeline.serve import ledger_access
from pipeline.settings import Settings
from tests.support.lines import finished


@pytest.fixture
def analyst(settings: Settings) -> Settings:
    made = settings.model_copy(update={"ledger": settings.ledger.with_name("analyst.duckdb")})
    with closing(LedgerService(made, is_keeper=False, without_bodies=True)) as service:
        service.catch_up()
    return made


def test_a_ledger_without_bodies_that_nobody_holds_is_verified_and_shown(
    analyst: Settings,
) -> None:
    """It was opened as one that has bodies: NOT VERIFIED, whatever it held, and not to be read."""
    verdict = ledger_access.audit(analyst, None, lambda *_: None)
    assert verdict.faults == []
    assert verdict.checked[0].startswith("16 entries stand in inbox and ledger")
    with ledger_access.open_ledger(analyst, patience=ledger_access.ENDLESS) as ledger:
        [shown] = ledger.read("ledger_health").to_pylist()
    assert (shown["last_seq"], shown["missing"]) == (16, 0)


def test_what_another_system_wrote_of_an_attempts_end_is_not_in_its_file(
    settings: Settings,
) -> None:
    """Facts and views masked it, and it stood whole in `record` of the log, for whoever opens the
    file with DuckDB alone. One that says nothing but what failed stays."""
    said = "connection refused for Olinda", "connection refused by peer", "timeout"
    lines = [finished(f"w{at}", None, error=it) for at, it in enumerate(said)]
    with closing(open_inbox(settings.inbox)) as inbox:
        read = [read_line(json.dumps(it).encode(), recorded_by="file") for it in lines]
        inbox.append(read)
    made = settings.model_copy(update={"ledger": settings.ledger.with_name("analyst.duckdb")})
    with closing(LedgerService(made, is_keeper=False, without_bodies=True)) as service:
        service.catch_up()
        sql = "select decode(record) from log where attempt_id like 'w%' order by seq"
        records = [record for (record,) in service.ledger.cursor().execute(sql).fetchall()]
    assert b"Olinda" not in made.ledger.read_bytes()
    assert [it is None for it in records] == [True, False, False]
    assert ledger_access.audit(made, None, lambda *_: None).faults == []


def test_nobody_is_said_to_have_seen_what_it_does_not_hold(analyst: Settings) -> None:
    """Masks were printed, and the log said for good that personal values had been shown."""
    asked = Asked("seller_state", unmask=By("a call", "ana", "cli:ana"))
    with ledger_access.open_ledger(analyst, patience=ledger_access.ENDLESS) as ledger:
        with pytest.raises(CallerError, match="made without bodies"):
            ledger.shown(asked)
        [shown] = ledger.read("ledger_health").to_pylist()
    assert shown["last_seq"] == 16


def test_one_of_an_older_release_is_made_again_without_bodies(analyst: Settings) -> None:
    """A command that opens it knows no `--without-bodies`: it would put all bodies into it. The
    former file stayed beside it, with the names that the masks of its release had left in it."""
    with duckdb.connect(str(analyst.ledger)) as connection:
        connection.execute("update meta set value = '1' where name = 'schema_version'")
    with unheld_ledger(analyst) as service:
        assert service.ledger.is_without_bodies
        [(bodies,)] = service.ledger.cursor().execute("select count(body) from log").fetchall()
        assert (service.ledger.size, bodies) == (16, 0)
    assert not [*analyst.ledger.parent.glob("analyst.duckdb.*set-aside*")]
