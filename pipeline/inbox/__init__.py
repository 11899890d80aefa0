"""The durable hand-off between processes that receive occurrences and those that follow the log.

It is one append-only table, with the same columns on two engines: SQLite (embedded, the default)
and PostgreSQL (several receivers on several machines). `open_inbox` chooses by the setting's form.
"""

from pathlib import Path

from pipeline.errors import InboxUnavailable
from pipeline.inbox.store import Head, Inbox, Outcome, Receipt, SignedHead
from pipeline.log.entries import Identity

__all__ = [
    "Head",
    "Inbox",
    "Outcome",
    "Receipt",
    "SignedHead",
    "open_inbox",
]


def open_inbox(
    location: str | Path,
    *,
    create: bool = True,
    identity: Identity | None = None,
    version: int | None = None,
    is_at_rest: bool = False,
) -> Inbox:
    """Opens the inbox at a path (SQLite) or a `postgresql://` URL.

    `create`: makes it if it is missing. `identity`: of the log that a new inbox is a copy of;
    without it, a new inbox starts a new log. `version`: of its tables, if not this release's; an
    older one is for reading and for copies alone, since nothing is appended to it. `is_at_rest`:
    nobody writes to it, and it may lie where nobody can.

    Raises `InboxUnavailable` if it cannot be opened, has another version, or is missing and
    `create` is false.
    """
    if str(location).startswith(("postgresql://", "postgres://")):
        from pipeline.inbox.postgres.inbox import (
            PostgresInbox,  # imports the driver only when needed
        )

        inbox: Inbox = PostgresInbox(
            str(location), create=create, identity=identity, version=version
        )
    else:
        from pipeline.inbox.sqlite.inbox import SqliteInbox

        inbox = SqliteInbox(
            Path(location),
            create=create,
            identity=identity,
            version=version,
            is_at_rest=is_at_rest,
        )
    try:
        inbox.take_over_clock()
        inbox.compare_clocks()
    except InboxUnavailable:
        inbox.close()
        raise
    return inbox
