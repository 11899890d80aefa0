"""What a command says and leaves on a full disk: one error, its remedy, and nothing half-made."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.ledger.service import LedgerService
from pipeline.settings import Settings
from tests.audit.conftest import command
from tests.forward.conftest import deliver
from tests.support import events
from tests.support.stores import settings_in


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Stores with a process that can be exported."""
    made = settings_in(tmp_path)
    with closing(LedgerService(made)) as service:
        deliver(service.inbox, events.review())
        service.catch_up()
        service.checkpoint()
    return made


def fill(small_disk: Path, but: int) -> None:
    """Leaves so many bytes."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4 * 2**20 - but))


def test_a_package_for_which_there_is_no_room_says_so_in_one_error(
    settings: Settings, small_disk: Path
) -> None:
    """A traceback of the zip stood beneath it, and the remedy was to check the path."""
    asked = ("--process", "prc_1", "--reason", "audit", "--actor", "Ana")
    fill(small_disk, but=40_000)
    refused = command(settings, "export", *asked, "--out", str(small_disk / "p.zip"))
    assert refused.returncode == 1
    assert [it for it in refused.stderr.splitlines() if it.strip()] == [
        f"Error: The package was not made: there is no room left in {small_disk}",
        "  To fix it: make room there and ask for it again; nothing was left there. The log has the"
        " entry of this export already: where a second person had approved it, it has to be"
        " approved again",
    ]
    fill(small_disk, but=0)
    refused = command(settings, "export", *asked, "--out", str(small_disk / "p.zip"))
    assert refused.returncode == 1
    assert "`prazo export` was not done: no room is left in" in refused.stderr
    assert "make room there, then run it again" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]
    (small_disk / "ballast").unlink()
    assert command(settings, "export", *asked, "--out", str(small_disk / "p.zip")).returncode == 0


def test_rows_for_which_there_is_no_room_are_not_shown_by_half(
    settings: Settings, small_disk: Path
) -> None:
    fill(small_disk, but=0)
    out = small_disk / "rows.csv"
    refused = command(settings, "show", "process_state", "--format", "csv", "--out", str(out))
    assert refused.returncode == 1
    words = f"Error: `prazo show` was not done: no room is left in {small_disk}\n"
    assert words in refused.stderr
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]
