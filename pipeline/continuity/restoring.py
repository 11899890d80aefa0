"""Where a restore works, and the mark that it leaves before it reads the backup: one that was cut
off has put nothing, keys, or half a log where whatever is started next would begin another log.

The mark stands in the restore's lock, which outlives a process that was killed. It ends with the
restore, or when that is undone.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import time_ns
from typing import Final, NamedTuple

from pipeline.errors import CallerError, InboxUnavailable, NotRestored
from pipeline.files import databases, disk
from pipeline.files.locks import locked
from pipeline.settings import Settings

MOST_BYTES: Final = 65_536


class Mark(NamedTuple):
    """What a restore puts here: the log, and the key files that were not here before."""

    log: str
    keys: Sequence[str]


def draft_of(settings: Settings) -> Path:
    """The file that a restore fills and proves: beside the inbox, or beside the ledger where that
    is a database."""
    if settings.has_inbox_file:
        return Path(f"{settings.inbox}.restoring")
    return settings.ledger.with_name("inbox.restoring")


def lock_of(settings: Settings) -> Path:
    """The lock of a restore, in which the mark stands."""
    return Path(f"{draft_of(settings)}.lock")


def alone(settings: Settings) -> AbstractContextManager[None]:
    """Keeps every other restore of this machine out during the block: each would delete the other's
    draft. Raises `NotRestored` where another runs."""
    lock = lock_of(settings)
    disk.make_folder(lock.parent)
    busy = NotRestored(
        "Nothing was restored",
        f"another `prazo restore` is running, and holds {lock}",
        "wait until it has ended, and read what it says",
    )
    return locked(lock, busy)


def mark(settings: Settings, log: str, keys: Sequence[Path]) -> None:
    """Leaves the mark, durably: `keys` are to be put here, and what an earlier restore was to put,
    too. For whoever is `alone`."""
    earlier = _mark(settings)
    named = [*(earlier.keys if earlier else ()), *map(str, keys)]
    said = Mark(log, list(dict.fromkeys(named)))
    lock = lock_of(settings)
    try:
        _write(lock, json.dumps(said._asdict()).encode())
    except OSError as error:
        if earlier is None:
            os.truncate(lock, 0)
        raise InboxUnavailable(
            "The inbox was not put back; the present one is as it was",
            f"The inbox cannot be marked as half restored, in {lock}: {error.strerror}",
            "make room there, and see that this user may write to it",
        ) from error


@contextmanager
def announced(settings: Settings, log: str) -> Iterator[None]:
    """Leaves the mark while the backup is only read: that takes as long as it is large, and on a
    new machine a service that starts meanwhile would begin another log. Where the block fails, all
    is as it was before: nothing was put here. For whoever is `alone`."""
    lock = lock_of(settings)
    before = lock.read_bytes()
    mark(settings, log, [])
    try:
        yield
    except BaseException:
        _write(lock, before)
        raise


def _write(lock: Path, said: bytes) -> None:
    with lock.open("r+b") as file:  # the same file, whose lock is held
        file.write(said)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    disk.sync(lock.parent)


def clear(settings: Settings) -> None:
    """Ends the mark: nothing is half done any more. For whoever is `alone`."""
    os.truncate(lock_of(settings), 0)


def is_marked(settings: Settings) -> bool:
    """Whether a restore is not done."""
    return _mark(settings) is not None


def require_none(settings: Settings) -> None:
    """Raises `InboxUnavailable` where a restore is not done: nobody begins a log, or goes on with
    one."""
    found = _mark(settings)
    if found is None:
        return
    if _is_held(lock_of(settings)):
        raise InboxUnavailable(
            "The inbox is not used",
            f"`prazo restore` is putting {found.log} back here",
            "wait until it has ended, and read what it says",
        )
    raise InboxUnavailable(
        "The inbox is not used",
        f"`prazo restore` was cut off while it put {found.log} back here: what would begin now is"
        " another log",
        "run `prazo restore DIR` again, to its end; or `prazo restore --undo`, which takes back"
        " what it has put here",
    )


def undo(settings: Settings) -> list[str]:
    """Takes back what a restore that was cut off has put here; what was done, in words. Raises
    `CallerError` where none was."""
    with alone(settings):
        found = _mark(settings)
        if found is None:
            raise CallerError(
                "Nothing was undone", "no restore was cut off here", "there is nothing to undo"
            )
        done = []
        draft = draft_of(settings)
        if draft.exists():  # else it has taken its place, and its keys are those of the log here
            done = [f"the key {it} was kept as {_set_aside(it).name}" for it in _put(found)]
            databases.remove_database(draft)
        elif not settings.has_inbox_file:
            done = ["what came into the database is there still: let PRAZO_INBOX name an empty one"]
        clear(settings)
        return done


def take_back_keys(settings: Settings) -> None:
    """Deletes the keys that the restore under way has put here: copies of those in the backup."""
    if (found := _mark(settings)) is not None:
        for path in _put(found):
            path.unlink()


def _put(found: Mark) -> list[Path]:
    return [path for path in map(Path, found.keys) if path.is_file()]


def _set_aside(key: Path) -> Path:
    aside = key.with_name(f"{key.name}.set-aside-{time_ns()}")
    key.rename(aside)
    disk.sync(key.parent)
    return aside


def _mark(settings: Settings) -> Mark | None:
    """The mark; None where no restore has begun to put anything here. One that was cut off in the
    middle of its mark has put nothing."""
    try:
        with lock_of(settings).open("rb") as file:
            said = json.loads(file.read(MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise InboxUnavailable(
            "The inbox is not used",
            f"whether a restore was cut off here cannot be read: {error}",
            f"let the user who runs this read {lock_of(settings)}",
        ) from None
    with suppress(TypeError, KeyError):
        return Mark(str(said["log"]), [str(it) for it in said["keys"]])
    return None


def _is_held(lock: Path) -> bool:
    """Whether a process that lives holds the lock."""
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
