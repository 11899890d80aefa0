"""`prazo doctor` tells a receiver of this log from one that records into another."""

from contextlib import closing
from pathlib import Path

from pipeline.cli.doctor import Diagnosis, examine
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests.support.receiver import receiver
from tests.support.stores import settings_in


def of_the_receiver(settings: Settings) -> Diagnosis:
    [found] = [it for it in examine(settings) if it.check == "receiver"]
    return found


def log_in(folder: Path) -> str:
    with closing(open_inbox(folder / "inbox.db")) as inbox:
        return inbox.log


def test_a_receiver_of_another_log_is_a_fault(tmp_path: Path) -> None:
    """Two installations with the default port: it was well, and what the platform sent to it never
    reached this log."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with receiver(elsewhere) as running:
        url = f"http://127.0.0.1:{running.port}"
        theirs = f"what answers at {url} records into the log {log_in(elsewhere)}, and "
        nobodys = of_the_receiver(settings_in(here, receiver_port=running.port))
        ours = f"the inbox here is {log_in(here)}"
        strange = of_the_receiver(settings_in(here, receiver_port=running.port))
        known = of_the_receiver(settings_in(elsewhere, receiver_port=running.port))
    assert (nobodys.verdict, nobodys.found) == ("fault", f"{theirs}there is no inbox here")
    assert (strange.verdict, strange.found) == ("fault", f"{theirs}{ours}")
    assert strange.remedy.startswith("give each its own PRAZO_RECEIVER_PORT")
    assert (known.verdict, known.found) == ("ok", f"it records what comes to {url}")
