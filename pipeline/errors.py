"""The errors a person or a program must act upon, sorted by who has to act.

    PrazoError
    ├── OperatorError          whoever runs Prazo: settings, files, disks     exit code 2
    │   ├── SettingsError
    │   ├── InboxUnavailable   the inbox cannot be read or written
    │   ├── LedgerInUse        another process holds the DuckDB file
    │   └── LedgerRefused      the ledger and the inbox disagree on history
    ├── PlatformError          the payment platform or the way to it          exit code 3
    │   └── PlatformUnreachable
    └── CallerError            whoever sent the input                         exit code 1
        ├── Unreadable         bytes that are no event, occurrence or payload
        ├── Refused            a request that a rule turns down
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


class LedgerInUse(OperatorError):
    """Another process holds the ledger file (DuckDB lets one process open it)."""


class LedgerRefused(OperatorError):
    """The ledger's history differs from the inbox's; serving it could show a false past."""


class PlatformError(PrazoError):
    """The platform, or the way to it, failed."""

    exit_code = 3


class PlatformUnreachable(PlatformError):
    """No answer from the platform: DNS, connection, TLS or time."""


class CallerError(PrazoError):
    """The input is at fault; nothing was lost by refusing it."""

    exit_code = 1


class Unreadable(CallerError):
    """Bytes that cannot be read as what they should be; `what` is the reason."""


class Refused(CallerError):
    """A request that a rule turns down."""


class UnknownView(CallerError):
    """No view of that name, or no column of that name in it."""

    exit_code = 2
