"""What was never a ledger stays where it is, and a damaged ledger is made again in its place."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.kept_heads import place
from pipeline.continuity.service import LedgerService
from pipeline.errors import NotALedger
from pipeline.inbox import Inbox
from pipeline.settings import Settings
from tests.support.sqlite import opened
from tests.support.stores import settings_in

HEADER_BYTES = 12_288
"""Of a DuckDB file, before its first block."""


@pytest.fixture
def recorded(settings: Settings, inbox: Inbox) -> Settings:
    """Stores with an inbox, and no ledger yet."""
    return settings


def require_refused(settings: Settings, what: str) -> None:
    """Checks that the file in the ledger's place is named, refused and left as it is."""
    content = settings.ledger.read_bytes()
    with pytest.raises(NotALedger, match="is not used as the ledger: it is ") as refused:
        LedgerService(settings)
    assert what in refused.value.why
    assert "PRAZO_LEDGER" in refused.value.remedy
    assert refused.value.exit_code == 2
    assert settings.ledger.read_bytes() == content
    assert not [*settings.ledger.parent.glob("*.set-aside-*")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("Notes of the meeting of 3 May: órgãos\n".encode(), "a text"),
        ("Notas da reunião\n".encode("latin-1") * 1000, "a text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "a picture"),
        (b"%PDF-1.7\n" + bytes(range(256)), "a PDF"),
        (b"\x1f\x8b\x08" + bytes(range(256)), "a compressed file"),
    ],
)
def test_another_programs_file_is_refused_and_stays(
    recorded: Settings, content: bytes, what: str
) -> None:
    """It was set aside under another name, and a ledger made in its place."""
    recorded.ledger.write_bytes(content)
    require_refused(recorded, what)


def test_an_sqlite_database_is_refused_and_stays(recorded: Settings) -> None:
    with closing(opened(recorded.ledger)) as other:
        other.execute("create table sales (amount integer)")
    require_refused(recorded, "an SQLite database, such as an inbox")


@pytest.mark.parametrize(
    "made",
    [
        "create table sales (amount integer)",
        "create table meta (seq integer)",
        "create table meta (name varchar, value varchar);"
        " insert into meta values ('schema_version', '3')",
        "create view totals as select 1 as total",
        "create schema sales; create table sales.meta (seq integer)",
    ],
)
def test_another_programs_duckdb_is_refused_and_stays(recorded: Settings, made: str) -> None:
    """With a table `meta`, or with views alone, it was set aside like a ledger of ours."""
    with duckdb.connect(recorded.ledger) as other:
        other.execute(made)
    require_refused(recorded, "another program's database, with a table")


def test_a_restore_moves_nothing_that_was_never_a_ledger(
    recorded: Settings, tmp_path: Path
) -> None:
    """It put the inbox back and set the file aside, as if it were a ledger of another history."""
    backups.backup(recorded, tmp_path / "saved", with_keys=True)
    elsewhere = settings_in(tmp_path / "elsewhere")
    elsewhere.ledger.parent.mkdir(parents=True, exist_ok=True)
    elsewhere.ledger.write_bytes(b"Notes of the meeting\n")
    with pytest.raises(NotALedger):
        restores.restore(elsewhere, tmp_path / "saved")
    assert elsewhere.ledger.read_bytes() == b"Notes of the meeting\n"
    assert not Path(elsewhere.inbox).exists()


@pytest.mark.parametrize(
    "damaged",
    [
        lambda whole: bytes(HEADER_BYTES) + whole[HEADER_BYTES:],
        lambda whole: b"words over the header " * 200 + whole[4_400:],
        lambda whole: b"words over all of it " * 200,
        lambda _: b"",
    ],
    ids=["no header", "words over the header", "words over all of it", "empty"],
)
def test_a_damaged_ledger_is_made_again_whatever_its_bytes_look_like(
    followed: Settings, damaged: Callable[[bytes], bytes]
) -> None:
    """A text in its place is told from another's by the head that the ledger left beside it."""
    assert place(followed).exists()
    followed.ledger.write_bytes(damaged(followed.ledger.read_bytes()))
    with closing(LedgerService(followed)) as service:
        assert "the ledger was rebuilt from the inbox" in str(service.status().recovered)
        assert service.ledger.size == 300


def test_words_over_a_ledgers_header_alone_are_not_a_text(followed: Settings) -> None:
    """A follower without the log's key leaves no head: what follows the header is a ledger's."""
    place(followed).unlink()
    whole = followed.ledger.read_bytes()
    followed.ledger.write_bytes(b"words over the header " * 200 + whole[4_400:])
    with closing(LedgerService(followed)) as service:
        assert service.ledger.size == 300
