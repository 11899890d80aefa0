"""A program that does one thing many times, each time ended (`kill -9`), or out of room, at the
next change to a folder, and after each tells what is left.

    python -m tests.faults.steps WHAT FOLDER BEFORE EVERY

It needs `write_shim` in its environment. `BEFORE`: what the folder is each time, or `-` for none.
It imports once, and each try is a process forked from it.
"""

import ctypes
import itertools
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.kept_heads import open_shared
from pipeline.errors import InboxUnavailable, PrazoError
from pipeline.inbox.artifacts import look
from pipeline.log.artifacts import FolderArtifacts
from pipeline.settings import Settings
from tests.support.stores import environment_in

ROOT = Path(__file__).parents[2]
FULL_OF = 3
"""Of so many changes one has no room: each is tried with a kill."""


class Left(NamedTuple):
    """After a try: at which change it ended, how, with which exit code, and what is left."""

    step: int
    is_full: bool
    code: int
    found: Any


def tried(
    what: str,
    machine: Path,
    inbox: str,
    folder: Path,
    before: Path | None,
    environment: Mapping[str, str],
    every: int = 1,
) -> list[Left]:
    """What is left after a try that ends at each change, or each `every`-th one, the last one at
    its end."""
    environment = {**environment_in(machine), "PRAZO_INBOX": inbox, **environment}
    given = [what, str(folder), str(before or "-"), str(every)]
    program = [sys.executable, "-m", "tests.faults.steps", *given]
    ran = Popen(
        program, cwd=ROOT, env={**os.environ, **environment}, stdout=PIPE, stderr=PIPE, text=True
    )
    out, err = ran.communicate(timeout=500)
    assert ran.returncode == 0, err
    return [Left(*json.loads(line)) for line in out.splitlines()]


def back_up(settings: Settings, folder: Path) -> None:
    """Adds to the backup in a folder."""
    backups.backup(settings, folder, with_keys=True)


def backed_up(settings: Settings, folder: Path) -> Any:
    """Of a backup: how many entries it has, how many of them are signed, how many artifacts lack;
    None where there is none."""
    if not (folder / backups.INBOX).exists():
        return None
    with backups.opened_inbox(str(folder / backups.INBOX)) as copy:
        proof = restores._proved(copy, restores._keys(copy, settings, folder))
        lacking = look(copy, FolderArtifacts(folder / backups.ARTIFACTS)).lacking
        return proof.size, proof.signed, len(lacking)


def put_back(settings: Settings, _: Path) -> None:
    """Puts a backup back; the ledger that is built and verified at the end is not waited for."""
    restores._verified = lambda *_: None  # type: ignore[assignment]
    restores.restore(settings, Path(os.environ["SAVED"]))


def put_back_by_now(settings: Settings, folder: Path) -> Any:
    """What a start finds where a backup was to be put, with the keys that are there, and then, once
    it was put there again: ["refused"] or [the log], and the size of that."""
    found: list[Any] = []
    for _ in range(2):
        try:
            with closing(open_shared(settings, create=not found)) as inbox:
                found.append((inbox.log, inbox.last()[0]))
        except InboxUnavailable as error:
            found.append(
                "refused" if "run `prazo restore DIR` again" in error.remedy else str(error)
            )
        found.append([it.name for it in (folder / "keys").glob("[!.]*")])
        put_back(settings, folder)
    return found


DOES: dict[str, tuple[Callable[[Settings, Path], None], Callable[[Settings, Path], Any]]] = {
    "backup": (back_up, backed_up),
    "restore": (put_back, put_back_by_now),
}


def main(what: str, folder: Path, before: Path | None, every: int) -> None:
    """Prints what is left after each try, a line each: first of each kill, until one comes to its
    end, then of some without room."""
    do, found = DOES[what]
    shim = ctypes.CDLL(os.environ["WRITE_SHIM"])
    settings = Settings.load()

    def left(step: int, *, is_full: bool) -> int:
        shutil.rmtree(folder, ignore_errors=True)
        if before is not None:
            shutil.copytree(before, folder)
        code = _forked(lambda: _armed(shim, do, settings, folder, step, is_full=is_full))
        after = Left(step, is_full, code, found(settings, folder))
        sys.stdout.write(f"{json.dumps(after)}\n")
        return code

    for apart, is_full in ((every, False), (FULL_OF * every, True)):
        steps = itertools.count(1, apart)
        while left(next(steps), is_full=is_full):
            pass


def _armed(
    shim: ctypes.CDLL,
    do: Callable[[Settings, Path], None],
    settings: Settings,
    folder: Path,
    step: int,
    *,
    is_full: bool,
) -> None:
    shim.write_shim_arm(str(folder).encode(), ctypes.c_long(step), int(is_full))
    do(settings, folder)


def _forked(do: Callable[[], None]) -> int:
    """The exit code of a process that does it; 1 for an error of ours, -9 where it was killed."""
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        code = 99
        try:
            do()
            code = 0
        except PrazoError as error:
            code = error.exit_code
        except OSError:  # which a command says in words
            code = 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def killed(left: Sequence[Left]) -> list[Left]:
    """The tries that were killed."""
    return [it for it in left if it.code == -signal.SIGKILL]


if __name__ == "__main__":
    what, place, given, apart = sys.argv[1:]
    main(what, Path(place), None if given == "-" else Path(given), int(apart))
