"""Nothing of who was forgotten is left in any file of a PostgreSQL server, after its steps."""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.erasures import erasures
from pipeline.continuity.service import LedgerService
from pipeline.inbox.postgres.remains import STEPS
from pipeline.settings import Settings
from tests.docs.pages import ROOT
from tests.erasure import person
from tests.erasure.conftest import stores
from tests.erasure.test_forgetting import done
from tests.support.commands import here
from tests.support.postgres import MEMORY_BYTES, PostgresServer, installed, memory


@pytest.fixture
def server() -> Iterator[tuple[PostgresServer, Path]]:
    """A server of this test's own, and its data directory."""
    with tempfile.TemporaryDirectory(prefix="prazo-postgres-", dir=memory(MEMORY_BYTES)) as folder:
        running = PostgresServer(installed(), Path(folder))
        try:
            running.start()
            running.new_database("prazo")
            yield running, Path(folder) / "data"
        finally:
            running.stop(signal.SIGQUIT)


def holding(data: Path) -> dict[str, set[str]]:
    """The person's words in each file that has any, but for what every server has: of
    `pg_description`, whose texts name the Mariana Islands."""
    found = {}
    for file in data.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        words = {word for word in person.WORDS if word.encode() in content}
        if words and (file.name, words) != ("2609", {"Mariana"}):
            found[str(file.relative_to(data))] = words
    return found


def warned(settings: Settings) -> list[str]:
    with AtHand(settings) as at_hand:
        return [it.found for it in erasures(settings, at_hand) if it.verdict == "warning"]


def test_after_the_printed_steps_no_file_of_the_server_has_a_word_of_the_person(
    server: tuple[PostgresServer, Path], tmp_path: Path
) -> None:
    """After `vacuum full` alone, name, CPF and e-mail stood in recycled segments of `pg_wal`, and
    names in `pg_statistic`, while `prazo doctor` said that they were gone."""
    running, data = server
    url = running.url("prazo")
    settings = stores(tmp_path, inbox=url)
    running.execute(url, "analyze")
    for _ in range(3):  # full segments of before, which the server uses again
        switch = "select pg_logical_emit_message(false, 'x', ''), pg_switch_wal()"
        running.execute(url, switch, "checkpoint")
    assert holding(data)
    environment = {
        "PRAZO_INBOX": url,
        **{
            f"PRAZO_{name}": str(getattr(settings, name.lower()))
            for name in ("LEDGER", "ARTIFACTS", "TAXPAYER_KEY_FILE", "SIGNING_KEY_FILE")
        },
    }
    asked = ("forget", person.SELLER, "--reason", "she asked", "--actor", "Ana")
    said = here(*asked, environment=environment, folder=tmp_path)
    assert said.returncode == 0, said.stderr
    steps = said.stdout.partition("in psql")[2].splitlines()[1:]
    assert any("pg_wal" in it for it in holding(data))
    assert any("nobody has emptied its free places" in it for it in warned(settings))
    running.execute(url, steps[0])
    held = holding(data)
    assert any("pg_wal" in it for it in held)
    assert any(not it.startswith("pg_wal") for it in held), "the statistics quote values"
    running.execute(url, *steps[1:])
    assert holding(data) == {}
    # The ledger was not held: it keeps its values until it is opened, and that is said as well.
    [ledger] = warned(settings)
    assert f"{settings.ledger} still holds what entry" in ledger
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    assert warned(settings) == []


def test_the_page_has_the_steps_that_the_command_prints() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    assert all(f"    {step}\n" in page for step in STEPS)


def test_the_steps_for_a_person_who_is_forgotten_later_are_to_be_taken_again(
    server: tuple[PostgresServer, Path], tmp_path: Path
) -> None:
    running, _ = server
    settings = stores(tmp_path, inbox=running.url("prazo"))
    running.execute(running.url("prazo"), *STEPS)
    assert warned(settings) == []
    done(settings)
    assert any("nobody has emptied" in it for it in warned(settings))
