"""Defines the errors that a person or a program must act on, sorted by who has to act.

    PrazoError
    ├── OperatorError           the operator acts: settings, files, disks     exit code 2
    │   ├── SettingsError
    │   │   └── FileBarred      a file of the settings is for another user
    │   ├── InboxUnavailable    the inbox cannot be read or written           exit code 1
    │   │   └── InboxMissing
    │   ├── PortTaken           another program listens there                 exit code 1
    │   ├── NoRoom              a disk is full                                exit code 1
    │   ├── NotRestored         a backup is damaged, changed or unsigned      exit code 1
    │   ├── InboxChanged        rows of the inbox are not as recorded         exit code 1
    │   ├── CopyHeld            a copy sends nothing until it is confirmed    exit code 1
    │   ├── LedgerInUse         another process holds the DuckDB file         exit code 1
    │   ├── LedgerClosed        its own process has closed it                 exit code 1
    │   ├── LedgerBehind        it lacks entries, and takes them              exit code 1
    │   ├── LedgerDamaged       DuckDB cannot go on with its file
    │   │   └── LedgerMadeAgain it is being made again                    exit code 1
    │   ├── LedgerStalled       memory or disk has no room for more           exit code 1
    │   ├── LedgerOutdated      its file holds what other rules or keys made
    │   └── LedgerRefused       it and the inbox disagree on history
    │       ├── LedgerWithoutBodies
    │       ├── NotALedger      its file was never one
    │       └── InboxForked     also InboxUnavailable: entries are lost       exit code 1
    └── CallerError             the sender of the input acts                  exit code 1
        ├── Unreadable          not an event, occurrence or payload
        └── WrongUsage          a question that cannot be asked like that     exit code 2
            └── UnknownView

Every error carries what failed, why, and what to do; `str()` joins them for standard error.
"""

from collections.abc import Callable
from typing import Self


class Quoted(str):
    """Words of a server or a library, which may quote what somebody sent. `ours`: what can be said
    in their place where many people read it."""

    ours: str

    def __new__(cls, words: str, ours: str | None = None) -> Self:
        """`words` as they came, and what is ours of them: without it all that are not quoted."""
        made = super().__new__(cls, words)
        known = words.ours if isinstance(words, Quoted) else words
        made.ours = known if ours is None else ours
        return made

    def __str__(self) -> str:
        return self  # and so does an error that has it as its only argument


def quoting(made: Callable[[str], str], words: str) -> str:
    """A text that is made of words: quoted where they are."""
    return Quoted(made(words), made(words.ours)) if isinstance(words, Quoted) else made(words)


class PrazoError(Exception):
    """An error with what failed, why, and what to do about it."""

    exit_code = 1

    def __init__(self, what: str, why: str = "", remedy: str = "") -> None:
        super().__init__(what, why, remedy)
        self.what = what
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        return self._with_remedy("\n  To fix it: ")

    @property
    def finding(self) -> str:
        """What failed and why, for a place that gives the remedy elsewhere."""
        return quoting(lambda why: f"{self.what}: {why}", self.why) if self.why else self.what

    @property
    def in_one_line(self) -> str:
        """All three in one line, for a status, a page or a check's finding."""
        return self._with_remedy(". To fix it: ")

    def _with_remedy(self, between: str) -> str:
        end = f"{between}{self.remedy}" if self.remedy else ""
        return quoting(lambda finding: f"{finding}{end}", self.finding)


def of_the_machine(error: OSError) -> PrazoError:
    """The error to report for an `OSError` of which nothing more is known."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return PrazoError(what, remedy="check the path, the permissions and the disk's free space")


class OperatorError(PrazoError):
    """An error that only the person who runs Prazo can fix."""

    exit_code = 2


class SettingsError(OperatorError):
    """Settings are missing, malformed or contradict each other; the message names all of them."""


class FileBarred(SettingsError):
    """A file that the settings name may be right, and this user may not read it."""


class InboxUnavailable(OperatorError):
    """The inbox cannot be read or written; a receiver answers 503 so that the sender retries."""

    exit_code = 1  # it may be back in a moment, so a supervisor starts us again


class InboxNewer(InboxUnavailable):
    """A newer release has added tables or columns to the inbox, which this one does not know."""


class InboxMissing(InboxUnavailable):
    """There is no inbox, and the caller does not make one."""


class PortTaken(OperatorError):
    """Another program listens where this one should."""

    exit_code = 1  # it may be free in a moment, so a supervisor starts us again


class NoRoom(OperatorError):
    """A disk is full: something was not written."""

    exit_code = 1  # neither the command nor the settings are wrong


class NotRestored(OperatorError):
    """A backup was not put back: it is damaged, was changed, or no signature covers it."""

    exit_code = 1  # the answer is no


class InboxChanged(OperatorError):
    """Rows of the inbox are not as they were recorded: a backup of them could not be restored."""

    exit_code = 1  # the answer is no


class CopyHeld(OperatorError):
    """The inbox is a copy, and sends nothing until a person says that it is the one in use."""

    exit_code = 1  # the answer is no, for now


class LedgerInUse(OperatorError):
    """Another process holds the ledger file (DuckDB lets one process open it)."""

    exit_code = 1


class LedgerClosed(OperatorError):
    """The process that held the ledger has closed it, since it ends or builds another one."""

    exit_code = 1


class LedgerBehind(OperatorError):
    """The ledger lacks entries of the inbox, and is taking them: it shows an earlier state."""

    exit_code = 1  # it is over in a while


class LedgerDamaged(OperatorError):
    """DuckDB cannot open the file, or cannot go on with it."""


class LedgerMadeAgain(LedgerDamaged):
    """The file was damaged, and its holder is making it again."""

    exit_code = 1  # it is over in a while


class LedgerStalled(OperatorError):
    """Memory or disk has no room for more, or we may not write the file. The file may be sound."""

    exit_code = 1


class LedgerOutdated(OperatorError):
    """The file was made from the log by earlier rules, masks or settings."""


class LedgerRefused(OperatorError):
    """The ledger's history differs from the inbox's; serving it could show a false past."""


class LedgerWithoutBodies(LedgerRefused):
    """The ledger was made without bodies, and opened as one that has them."""


class NotALedger(LedgerRefused):
    """The file was never a ledger: it is somebody else's, and is neither used nor moved."""


class EntriesNewer(LedgerRefused):
    """A later release recorded entries by rules that this one does not know."""

    exit_code = 1  # neither the command nor the settings are wrong


class InboxForked(InboxUnavailable, LedgerRefused):
    """The inbox lacks entries that were recorded in it, or holds others in their place: an older
    copy was put back. Nothing is recorded, followed or signed until somebody has reconciled it."""


class CallerError(PrazoError):
    """The input is at fault; nothing was lost by refusing it."""

    exit_code = 1


class Unreadable(CallerError):
    """Bytes cannot be read as what they should be; `what` is the reason."""


class WrongUsage(CallerError):
    """The caller asked in a wrong way: a bad filter or instant, or a file that does not exist."""

    exit_code = 2


class UnknownView(WrongUsage):
    """There is no view of that name, or the view has no column of that name."""
