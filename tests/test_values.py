"""A value with quotes, a comment or blanks around it is refused with what was meant, and what is
odd and legal means the same place to everything that opens it."""

import logging
import os
import shlex
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from pydantic_core import PydanticUndefined

from pipeline.audit.witness.service import Witness
from pipeline.cli.doctor import stores
from pipeline.cli.group import main
from pipeline.errors import SettingsError
from pipeline.http import addresses
from pipeline.inbox import open_inbox
from pipeline.inbox.postgres.session import connection_of
from pipeline.keys import secret_key
from pipeline.ledger import file
from pipeline.log.artifacts import FolderArtifacts
from pipeline.log.checkpoints import Cosigner
from pipeline.settings import Settings
from pipeline.values import misread
from tests import depth

A_VALUE_OF = {
    "artifacts_in": "folder",
    "keeper_url": "http://127.0.0.1:8501",
    "timestamp_url": "http://tsa.example",
    "audit_contact": "Ana",
    "four_eyes": "export",
    "await_seller_hours": "72",
    "platform_url": "https://platform.example",
    "marketplace_id": "mkt_1",
    "journey_url": "https://cadastro.example",
    "journey_return_urls": "https://loja.example/",
    "journey_code_url": "https://loja.example/code",
}
"""A value for each setting whose default says none."""


def sound(name: str) -> str:
    field = Settings.model_fields[name]
    default = field.default if field.default is not PydanticUndefined else None
    if name in A_VALUE_OF:
        return A_VALUE_OF[name]
    return str(default) if default not in (None, "") else f"files/{name}"


AROUND: Final = (
    ('"{}"', "quotes"),
    ("'{}'", "quotes"),
    ("\u201c{}\u201d", "quotes"),
    ("{} # what it is for", "a comment"),
    ('"{}" # both', "a comment and quotes"),
    (" {}", "blanks"),
    ("{} ", "blanks"),
    ("{}\r", "blanks"),
    ("\ufeff{}", "blanks"),
    ("{}\u00a0", "blanks"),
)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_no_setting_takes_quotes_a_comment_or_blanks_for_a_part_of_its_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PRAZO_INBOX="data/inbox.db"` in a file of `docker run --env-file` keeps its quotes, a line
    of systemd's EnvironmentFile its comment: a second log began, empty, beside the first."""
    value = sound(name)
    for around, what in AROUND:
        monkeypatch.setenv(f"PRAZO_{name.upper()}", around.format(value))
        with pytest.raises(SettingsError) as refused:
            Settings.load()
        assert f"PRAZO_{name.upper()}: has {what} around it" in refused.value.why, around
        if name != "timestamp_url":  # in which a password may stand
            assert f"write {value} alone" in refused.value.why, around


def test_a_value_from_an_option_or_a_file_of_settings_is_looked_at_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"PRAZO_RECEIVER_HOST: .*write 127\.0\.0\.1"):
        Settings.load(receiver_host='"127.0.0.1"')
    Path(".env").write_text("PRAZO_LEDGER=\"'l.duckdb'\"\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"PRAZO_LEDGER: has quotes .*write l\.duckdb alone"):
        Settings.load()
    # What the file's own reader takes away was never a part of the value.
    Path(".env").write_text('PRAZO_LEDGER="l.duckdb"  # ours\n', encoding="utf-8")
    assert Settings.load().ledger == Path("l.duckdb")


def test_a_port_of_an_option_has_no_blanks_either() -> None:
    for given in ("8400 ", '"8400"', "8400 # ours"):
        refused = CliRunner().invoke(main, ["receive", "--port", given])
        assert refused.exit_code == 2
        assert "around it" in refused.output
        assert "write 8400 alone" in refused.output


def test_a_password_is_not_repeated_with_the_value_that_was_meant() -> None:
    for given in (
        '"postgresql://prazo:s3cret@db.example/prazo"',
        "'postgresql://prazo:s3cret'",
        "postgresql://db.example/prazo?password=s3cret # the database",
    ):
        with pytest.raises(SettingsError, match="may hold a password") as refused:
            Settings.load(inbox=given)
        assert "s3cret" not in str(refused.value)
    with pytest.raises(SettingsError, match="may hold a password") as refused:
        Settings.load(timestamp_url='"https://us:s3cret@tsa.example"')
    assert "s3cret" not in str(refused.value)


def test_what_a_shell_alone_replaces_is_no_folder_s_name() -> None:
    """Nothing replaces `~` and `$HOME` in a file of settings: the log began in a folder of that
    name, where the program ran."""
    for given, sign in (("~/inbox.db", "~"), ("$HOME/inbox.db", "$HOME"), ("${D}/i.db", "${D}")):
        assert (misread(given, is_folder=os.path.isdir) or "").startswith(f"begins with {sign},")
        assert misread(f"./{given}", is_folder=os.path.isdir) is None
    assert misread("~ana.db", is_folder=os.path.isdir) is None


def test_a_name_may_have_quotation_marks_and_numbers_in_it() -> None:
    assert Settings.load(journey_name='Loja "Praça"').journey_name == 'Loja "Praça"'
    assert Settings.load(audit_contact="Ana, room #4").audit_contact == "Ana, room #4"
    assert (
        Settings.load(audit_contact="Ana, room # 4", ledger="a#b%20c d;e").ledger
        == Path("a#b%20c d;e")
        if misread("Ana, room # 4", is_prose=True) is None
        else True
    )


ODD = [
    "a #1",
    "a b",
    "a#b",
    "a%20b",
    "a%b",
    "São Paulo",
    "~a",
    "-a",
    "a'b",
    'a"b',
    "a;b&c",
    "$a",
    "a" * 200,
    "{a}[b]*",
]


@pytest.mark.parametrize("odd", depth.few(ODD, 3))
def test_what_is_odd_and_legal_in_a_path_is_one_place_to_all_that_open_it(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once as a whole path, and once from the folder that it lies in."""
    monkeypatch.chdir(tmp_path)
    Path(odd).mkdir()
    for given in (tmp_path / odd, odd if not odd.startswith("$") else f"./{odd}"):
        settings = Settings.load(
            inbox=f"{given}/inbox.db",
            ledger=f"{given}/ledger.duckdb",
            artifacts=f"{given}/artifacts",
        )
        with closing(open_inbox(settings.inbox)) as inbox:
            log = inbox.log
        identity = file.Identity(log, is_without_bodies=False, taxpayer_mark="")
        file.connected(settings.ledger, identity, memory="1GB", threads=1).close()
        file.connected_to_entries(settings.ledger, log, memory="1GB", threads=1).close()
    assert {"inbox.db", "ledger.duckdb"} <= {it.name for it in (tmp_path / odd).iterdir()}
    assert {it.name for it in tmp_path.iterdir()} == {odd}


@pytest.mark.parametrize("name", [":memory:", "md:x", "sqlite:x", "file:x.duckdb", "~x", "-x"])
def test_a_ledger_s_name_is_a_file_s_whatever_it_means_to_duckdb(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`:memory:` was a ledger that nobody found again, `~x` lay beside the home of whoever ran it,
    and for `md:x` a program was to be fetched from the network."""
    monkeypatch.chdir(tmp_path)
    settings = Settings.load(ledger=name)
    identity = file.Identity("log", is_without_bodies=False, taxpayer_mark="")
    file.connected(settings.ledger, identity, memory="1GB", threads=1).close()
    assert (tmp_path / name).is_file()


def test_an_inbox_called_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_inbox(Settings.load(inbox=":memory:").inbox)) as first:
        log = first.log
    with closing(open_inbox(tmp_path / ":memory:", create=False)) as again:
        assert again.log == log


@pytest.mark.parametrize("folder", ["a?b", "a?access_mode=read_only", "a\\b"])
def test_a_folder_that_duckdb_cannot_use_is_refused_before_anything_is_made(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger could never be opened, and its remedy, to rebuild it, failed in the same way.
    DuckDB follows a link into such a folder, and so it does with the folder that we run in."""
    (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / folder)
    refused = "PRAZO_LEDGER: .* has a \\? or a backslash .*: name a file in a folder without one"
    for path in (tmp_path / folder / "l.duckdb", tmp_path / "link" / "l.duckdb"):
        with pytest.raises(SettingsError, match=refused):
            Settings.load(ledger=path)
    monkeypatch.chdir(tmp_path / folder)
    with pytest.raises(SettingsError, match=refused):
        Settings.load()
    # All but the ledger may lie there.
    settings = Settings.load(ledger=tmp_path / "l.duckdb")
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last() == (0, 0)


def test_an_address_has_brackets_where_it_is_one_of_ipv6() -> None:
    """`prazo serve` and the demo printed http://::1:8400, which no program opens."""
    assert addresses.at("::1", 8400) == "http://[::1]:8400"
    assert addresses.at("[::1]", 8400) == "http://[::1]:8400"
    assert addresses.at("fe80::1%eth0", 8400) == "http://[fe80::1%25eth0]:8400"
    assert addresses.at("127.0.0.1", 8400) == "http://127.0.0.1:8400"
    assert addresses.at("db.example", 80) == "http://db.example:80"
    assert addresses.local("::", 8501) == "http://127.0.0.1:8501"
    shown = connection_of("postgresql://u:p@[::1]:5433,db.example:5434/prazo")[1]
    assert shown == "postgresql://[::1]:5433,db.example:5434/prazo"


def test_a_remedy_can_be_typed_where_a_path_has_blanks(tmp_path: Path) -> None:
    path = tmp_path / "our keys" / "it's.key"
    path.parent.mkdir()
    path.touch(mode=0o644)
    path.chmod(0o644)
    remedy = stores.owners_alone(path).remedy
    assert shlex.split(remedy) == ["chmod", "600", str(path)]
    subprocess.run(["sh", "-c", remedy], check=True)
    assert stores.owners_alone(path).verdict == "ok"


# --- what begins ------------------------------------------------------------------------------


def test_a_new_log_says_in_one_line_where_it_begins_and_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistyped PRAZO_INBOX began an empty log, in which nothing looked wrong."""
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "data"
    with closing(open_inbox("data/inbox.db")) as first:
        assert [it.getMessage() for it in caplog.records] == [
            f"a new log, {first.log}, begins in {other}/inbox.db"
        ]
    (other / "ledger.duckdb.head").touch()
    (other / "notes.db").write_bytes(b"SQLite format 3\0" + bytes(200))  # of another program
    os.mkfifo(other / "pipe")
    caplog.clear()
    with closing(open_inbox(tmp_path / "elsewhere" / "inbx.db")) as second:
        assert [it.getMessage() for it in caplog.records] == [
            f"a new log, {second.log}, begins in {tmp_path}/elsewhere/inbx.db; another log was"
            f" there before: {other}/inbox.db, {other}/ledger.duckdb.head. Is PRAZO_INBOX right?"
        ]
    caplog.clear()
    for again in ("data/inbox.db", tmp_path / "elsewhere" / "inbx.db"):
        open_inbox(again).close()
    assert caplog.records == []


def test_a_copy_of_a_log_begins_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(open_inbox(tmp_path / "a.db")) as inbox:
        identity = inbox.identity
    caplog.clear()
    open_inbox(tmp_path / "b.db", identity=identity).close()
    assert caplog.records == []


def test_whatever_begins_beside_a_log_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A key under another name makes tax ids that equal no earlier ones; artifacts in another
    folder leave entries without their bytes."""
    caplog.set_level(logging.INFO)
    for _ in range(2):
        secret_key(tmp_path / "keys" / "taxpayer.key")
        FolderArtifacts(tmp_path / "artifacts").keep(b"a screen")
        cosigner = Cosigner("w.example", tmp_path / "keys" / "taxpayer.key")
        Witness(cosigner, [], tmp_path / "witness").close()
    assert [it.getMessage() for it in caplog.records] == [
        f"a new key was made, in {tmp_path}/keys/taxpayer.key",
        f"a new store of artifacts begins in {tmp_path}/artifacts",
        f"a new store of cosigned checkpoints begins in {tmp_path}/witness",
    ]
