"""Anyone who may only read a PostgreSQL inbox backs it up as well."""

import shutil
from contextlib import closing
from pathlib import Path

from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.inbox.heartbeats import Part, heartbeats
from tests.audit import story
from tests.audit.conftest import command, entries_alone
from tests.support.postgres import PostgresServer
from tests.support.stores import settings_in


@entries_alone
def test_a_backup_by_a_user_who_only_reads_is_whole_and_says_what_does_not_know_of_it(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    """All was copied, and the command ended as if nothing had been: by an error, for want of the
    right to write its heartbeat."""
    owners = settings_in(tmp_path / "owner", inbox=database)
    with closing(LedgerService(owners)) as service:
        for number in range(3):
            story.deliver(service.inbox, f"event {number}")
        service.catch_up()
        assert service.checkpoint() is not None
        for statement in (
            "create role reader login",
            "grant usage on schema prazo to reader",
            "grant select on all tables in schema prazo to reader",
        ):
            postgres.execute(database, statement)
        try:
            readers = settings_in(
                tmp_path / "reader", inbox=database.replace("postgres@", "reader@")
            )
            readers.ledger.parent.mkdir()
            done = command(readers, "backup", str(tmp_path / "saved"))
            assert done.returncode == 0
            assert ": 3 entries of " in done.stdout
            assert "whole, but `prazo doctor` and the metrics do not know" in done.stderr
            assert "permission denied for table heartbeats" in done.stderr
            assert Part.BACKUP not in heartbeats(service.inbox)
        finally:
            postgres.execute(database, "drop owned by reader")
            postgres.execute(database, "drop role reader")
    elsewhere = settings_in(tmp_path / "elsewhere")
    shutil.copytree(owners.signing_key_file.parent, elsewhere.signing_key_file.parent)
    restored = restores.restore(elsewhere, tmp_path / "saved")
    assert (restored.entries, restored.verdict.faults) == (3, [])
