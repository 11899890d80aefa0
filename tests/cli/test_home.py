"""All that is kept lies where `PRAZO_HOME` says; typed paths count from the current folder."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline import memory
from pipeline.cli import main
from pipeline.errors import SettingsError
from pipeline.receive import receiver
from pipeline.settings import Settings, unknown
from tests.support.commands import here
from tests.support.machine import free_port

SAMPLES = Path(__file__).parents[2] / "data" / "samples" / "occurrences.ndjson"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that `PRAZO_HOME` names; the test is in another."""
    folder, other = tmp_path / "kept here", tmp_path / "elsewhere"
    folder.mkdir()
    other.mkdir()
    monkeypatch.chdir(other)
    monkeypatch.setenv("PRAZO_HOME", str(folder))
    return folder


def test_what_is_kept_lies_in_home_and_typed_paths_count_from_where_one_is(home: Path) -> None:
    (home / ".env").write_text("PRAZO_INBOX=of-env.db\n", encoding="ascii")
    Path("history.ndjson").write_bytes(SAMPLES.read_bytes())
    here_now = Path.cwd()
    for typed in ("history.ndjson", "../elsewhere/history.ndjson"):
        done = here("ingest", typed, environment={}, folder=here_now)
        assert done.returncode == 0, done.stderr
    for asked in (
        "show process_state",
        "export --process prc_6a0d71c51ee01834 --out r.zip --reason why --actor Ana",
    ):
        done = here(*asked.split(), environment={}, folder=here_now)
        assert done.returncode == 0, done.stderr
    assert (home / "of-env.db").exists()
    assert (home / "data" / "ledger.duckdb").exists()
    assert {it.name for it in here_now.iterdir()} == {"history.ndjson", "r.zip"}


def test_standard_input_stays_what_a_dash_means(home: Path) -> None:
    given = SAMPLES.read_text(encoding="utf-8")
    done = here("ingest", "-", environment={}, folder=Path.cwd(), given=given)
    assert done.returncode == 0, done.stderr
    assert (home / "data" / "inbox.db").exists()


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("missing", "No such file or directory"),
        ("", "is empty"),
        ("file", "Not a directory"),
    ],
)
def test_a_home_that_cannot_be_used_is_refused(
    named: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is begun in another folder."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    done = here("doctor", environment={"PRAZO_HOME": named}, folder=tmp_path)
    assert done.returncode == SettingsError.exit_code
    first, remedy = done.stderr.splitlines()
    assert first.startswith("Error: PRAZO_HOME names no folder that can be used: ")
    assert why in first
    assert "make the folder" in remedy


def test_a_program_that_is_elsewhere_gets_no_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would begin another log where it happens to run."""
    with pytest.raises(SettingsError, match=r"pipeline\.places\.go_home"):
        Settings.load()
    monkeypatch.chdir(home)
    assert Settings.load().inbox == "data/inbox.db"


def test_a_home_in_the_file_that_lies_there_has_no_effect_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("PRAZO_HOME=/srv/prazo\n", encoding="ascii")
    assert unknown() == {"PRAZO_HOME": "set it in the environment, in capitals: .env lies there"}


def test_a_part_says_in_which_folder_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "serve", lambda _: None)
    done = CliRunner().invoke(main, ["receive"])
    assert done.stdout.splitlines() == [f"Folder     {home}"]


@pytest.mark.parametrize("of_user", [None, "/nowhere"], ids=["unknown", "missing"])
def test_a_dashboard_needs_no_home_of_its_user(
    of_user: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit ended with a traceback: "Could not determine home directory"."""
    monkeypatch.setenv("HOME", of_user or "")
    if of_user is None:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(memory, "become", lambda _: None)
    for set_by_the_command in ("PRAZO_DASHBOARD_HOST", "FORWARDED_ALLOW_IPS"):
        monkeypatch.setenv(set_by_the_command, "127.0.0.1")  # and so put back
    monkeypatch.setenv("PRAZO_DASHBOARD_PORT", str(free_port()))
    done = CliRunner().invoke(main, ["dashboard"])
    assert done.exit_code == 0, done.output
    assert os.environ["HOME"] == str(home)
