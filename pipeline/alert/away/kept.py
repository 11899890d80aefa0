"""Keeps in a file beside the ledger what it said last, for a sender of alerts that starts while no
process holds the ledger. Rows of views stand in it, in which personal data is masked.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.alert.entries import Due
from pipeline.alert.source import Coming, Remembered
from pipeline.aside import OneAtATime
from pipeline.files.disk import written_whole
from pipeline.files.reread import READ_SECONDS, unread

LOG = logging.getLogger(__name__)

_FORM: Final = 1
"""Of the file. What another release wrote in another form is not read."""


class Position(NamedTuple):
    """How much of its inbox a ledger had: its newest entry, and when that was recorded."""

    last_seq: int
    last_recorded_at: int | None


class Kept(NamedTuple):
    """What a ledger said, and where it was then."""

    position: Position
    said: Remembered


class KeptAnswers:
    """The file, for one caller at a time. A disk that hangs keeps nobody waiting for long."""

    def __init__(self, ledger: Path, log: str) -> None:
        """`log`: the name of the log. What a ledger of another one said is not read."""
        self.path: Final = ledger.with_name(f"{ledger.name}.due")
        self._log: Final = log
        self._does = OneAtATime[Kept | None](name="what the ledger said")
        self._fault = ""

    def write(self, kept: Kept) -> None:
        """Replaces what the file says; where that cannot be, it stays as it is."""
        self._aside(partial(self._write, kept), "what the ledger says is not kept")

    def read(self) -> Kept | None:
        """What the file says; None where it is missing, garbled, or about another log."""
        return self._aside(self._read, "what the ledger said before is not known")

    def _aside(self, do: Callable[[], Kept | None], what: str) -> Kept | None:
        try:
            found = self._does.outcome(do, READ_SECONDS)
        except TimeoutError:
            fault = unread(f"{what}: its file was", READ_SECONDS)
        except Exception as error:  # whatever it is, it must keep nobody from hearing
            fault = f"{what}: {error or type(error).__name__}"
        else:
            self._fault = ""
            return found
        if fault != self._fault:
            LOG.warning("%s", fault)
        self._fault = fault
        return None

    def _write(self, kept: Kept) -> None:
        position, (at, dues, coming) = kept
        said = {
            "form": _FORM,
            "log": self._log,
            "position": position,
            "at": at,
            "dues": [due._asdict() for due in dues],
            "coming": [[it.at, it.due._asdict()] for it in coming],
        }
        with written_whole(self.path) as file:
            file.write(json.dumps(said).encode())

    def _read(self) -> Kept | None:
        try:
            said = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        if (said["form"], said["log"]) != (_FORM, self._log):
            return None
        coming = [Coming(at, _due(due)) for at, due in said["coming"]]
        remembered = Remembered(said["at"], [_due(it) for it in said["dues"]], coming)
        return Kept(Position(*said["position"]), remembered)


def _due(said: dict[str, Any]) -> Due:
    return Due(**{**said, "files": tuple(said["files"])})
