"""Rehearses a restore: puts a backup back in a folder of its own, verifies it, says how long that
took, and removes it.

What is put back there is a copy, which sends nothing, and its settings name nobody to whom anything
could be sent. That it went well is a heartbeat in the present inbox, as a backup and a verification
leave one, and not in the log: it proves nothing to others.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.continuity.backup import OnProgress
from pipeline.continuity.kept_heads import open_shared
from pipeline.continuity.restore import Restored, restore
from pipeline.errors import NotRestored
from pipeline.files import disk
from pipeline.files.temporary import OwnFolder
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.heartbeats import Part, beat
from pipeline.settings import Settings

SCRATCH: Final = ".rehearsal."
_NOWHERE: Final = (
    *("keeper_url", "platform_url", "forward_file", "alerts_file", "journey_url"),
    *("journey_code_url", "timestamp_url", "witnesses_file", "head_file"),
)
"""The settings of others whom a copy could reach."""


class Rehearsed(NamedTuple):
    """What was put back, and how many seconds it took with its verification."""

    restored: Restored
    seconds: float


def rehearse(
    settings: Settings,
    folder: Path,
    *,
    against: str | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Rehearsed:
    """Restores the backup in `folder` into a folder beside the ledger, which is removed; a killed
    rehearsal's is removed by the next one. Nothing here is changed but the heartbeat.

    Raises as `restore` does, and `NotRestored` where the backup ends with an entry that the
    present inbox has not.
    """
    beside = settings.ledger.parent
    disk.make_folder(beside)
    with closing(open_shared(settings, create=False)) as present, OwnFolder(SCRATCH, beside) as at:
        began = time.monotonic()
        scratch = _settings_in(at, settings)
        done = restore(scratch, folder, against=against, on_progress=on_progress)
        seconds = time.monotonic() - began
        with closing(open_inbox(scratch.inbox, create=False)) as copy:
            _require_its_beginning(present, copy)
        if done.verdict.exit_code == 0:
            beat(present, Part.REHEARSAL)
    return Rehearsed(done, seconds)


def _settings_in(folder: Path, settings: Settings) -> Settings:
    """The settings of a copy: a file, whatever the inbox is, and nobody to be reached."""
    places = {
        "inbox": str(folder / "inbox.db"),
        "ledger": folder / "ledger.duckdb",
        "artifacts": folder / "artifacts",
        "artifacts_in": "folder",
        "signing_key_file": folder / "keys" / "signing.key",
        "taxpayer_key_file": folder / "keys" / "taxpayer.key",
    }
    return settings.model_copy(update={**dict.fromkeys(_NOWHERE), **places})


def _require_its_beginning(present: Inbox, copy: Inbox) -> None:
    """Raises `NotRestored` where the copy, whose newest entries may have been left out, does not
    end with an entry that the present inbox has: a backup of another log helps nobody."""
    size = copy.last()[0]
    if copy.log != present.log or copy.leaf(size) != present.leaf(size):
        raise NotRestored(
            "The rehearsal does not count",
            f"the backup is of {copy.log} with {size} entries, and the inbox here, of"
            f" {present.log}, has another entry {size} or none",
            "rehearse with a backup of this inbox; if the inbox was put back, see"
            " docs/operations.md#an-inbox-that-was-put-back",
        )
