"""The errors a person or a program must act upon, sorted by who has to act.

    PrazoError
    ├── OperatorError          whoever runs Prazo: settings, files, disks     exit code 2
    │   ├── SettingsError
    │   ├── InboxUnavailable   the inbox cannot be read or written            exit code 1
    │   ├── LedgerInUse        another process holds the DuckDB file          exit code 1
    │   └── LedgerRefused      the ledger and the inbox disagree on history
    └── CallerError            whoever sent the input                         exit code 1
        ├── Unreadable         bytes that are no event, occurrence or payload
        └── WrongUsage         a question that cannot be asked like that      exit code 2
            └── UnknownView

Every error carries what failed, why, and what to do; `str()` joins them for standard error.
"""


class PrazoError(Exception):
    """What failed, why, and what to do about it."""

    exit_code = 1

    def __init__(self, what: str, why: str = "", remedy: str = "") -> None:
        super().__init__(what, why, remedy)
        self.what = what
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.what}: {self.why}" if self.why else self.what
        return f"{text}\n  To mend it: {self.remedy}" if self.remedy else text


class OperatorError(PrazoError):
    """Only whoever runs Prazo can mend this."""

    exit_code = 2


class SettingsError(OperatorError):
    """Settings are missing, malformed or contradict each other; names every one of them."""


class InboxUnavailable(OperatorError):
    """The inbox cannot be read or written; a receiver answers 503 so that the sender retries."""

    exit_code = 1  # it may be back in a moment: whoever supervises us starts us again


class InboxMissing(InboxUnavailable):
    """There is no inbox, and this command only reads."""


class LedgerInUse(OperatorError):
    """Another process holds the ledger file (DuckDB lets one process open it)."""

    exit_code = 1


class LedgerRefused(OperatorError):
    """The ledger's history differs from the inbox's; serving it could show a false past."""


class CallerError(PrazoError):
    """The input is at fault; nothing was lost by refusing it."""

    exit_code = 1


class Unreadable(CallerError):
    """Bytes that cannot be read as what they should be; `what` is the reason."""


class WrongUsage(CallerError):
    """A question that cannot be asked like that: a filter, an instant, a file that is not there."""

    exit_code = 2


class UnknownView(WrongUsage):
    """No view of that name, or no column of that name in it."""
