"""`prazo doctor` names the SQLite that it has, and what that finds damaged."""

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from pipeline.cli.doctor import Diagnosis, examine, stores
from pipeline.inbox import open_inbox
from pipeline.inbox.sqlite import connection, inbox
from pipeline.settings import Settings
from tests.inbox.drafts import note
from tests.support.sqlite import opened
from tests.support.stores import settings_in


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    with closing(open_inbox(settings.inbox)) as recording:
        recording.append([note(process_id=f"prc_{it}") for it in range(2000)])
    return settings


def of_the_inbox(settings: Settings) -> list[Diagnosis]:
    return [it for it in examine(settings) if it.check == "inbox"]


def test_the_version_of_sqlite_is_named(settings: Settings) -> None:
    assert [(it.verdict, it.found) for it in of_the_inbox(settings)] == [
        ("ok", "can be read; its last entry is 2000"),
        ("ok", f"SQLite {apsw.sqlite_lib_version()}, which finds no damage in the file"),
    ]


def test_a_damaged_page_that_nobody_has_read_yet_is_a_fault(settings: Settings) -> None:
    with closing(opened(settings.inbox)) as raw:
        root = "select rootpage from sqlite_master where name = 'entries_process'"
        [(page,)] = raw.execute(root)
        [(size,)] = raw.execute("pragma page_size")
    with Path(settings.inbox).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    found = [*examine(settings)]
    [readable, fault] = [it for it in found if it.check == "inbox"]
    assert (readable.verdict, fault.verdict) == ("ok", "fault")
    assert f"finds the file damaged: *** in database main *** Tree {page} page" in fault.found
    assert "`prazo restore DIR`" in fault.remedy
    assert "clock" in {it.check for it in found}


def test_a_file_that_was_cut_is_a_fault_that_says_what_puts_it_back(settings: Settings) -> None:
    """It said to check the disk's free space and the file's permissions."""
    os.truncate(settings.inbox, Path(settings.inbox).stat().st_size // 2)
    [fault] = of_the_inbox(settings)
    assert (fault.verdict, "malformed" in fault.found) == ("fault", True)
    assert "`prazo restore DIR`" in fault.remedy


def test_a_long_look_is_cut_off_and_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(inbox, "_INSTRUCTIONS", 1)
    found = [*examine(settings)]
    assert [it.found for it in found if it.check == "inbox"][1:] == [
        f"SQLite {apsw.sqlite_lib_version()}, which found no damage in 0 s;"
        " `prazo verify` reads the whole file"
    ]
    # Who asks by the same connection next has all the time it takes.
    assert [it.verdict for it in found if it.check == "clock"] == ["ok"]


def test_an_sqlite_that_may_lose_what_was_committed_is_a_fault(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "VERSION", "3.51.2")
    [fault] = of_the_inbox(settings)
    assert (fault.verdict, "SQLite 3.51.2 is installed" in fault.found) == ("fault", True)
