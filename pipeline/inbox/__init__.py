"""The durable hand-off between whoever receives occurrences and whoever follows the log.

One append-only table with the same columns on two engines: SQLite (the embedded default) and
PostgreSQL (several receivers on several machines). `open_inbox` picks by the setting's form.
"""

from pathlib import Path

from pipeline.inbox.group_commit import GroupCommit
from pipeline.inbox.store import Head, Identity, Inbox, Outcome, Receipt, SignedHead

__all__ = [
    "GroupCommit",
    "Head",
    "Identity",
    "Inbox",
    "Outcome",
    "Receipt",
    "SignedHead",
    "open_inbox",
]


def open_inbox(
    location: str | Path, *, create: bool = True, identity: Identity | None = None
) -> Inbox:
    """The inbox at a path (SQLite) or a `postgresql://` URL; made if missing and `create`.

    `identity`: of the log that a new inbox is to hold a copy of; a log of its own otherwise.
    Raises `InboxUnavailable` where it cannot be opened or, without `create`, does not exist.
    """
    if str(location).startswith(("postgresql://", "postgres://")):
        from pipeline.inbox.postgres import PostgresInbox  # only then is the driver needed

        return PostgresInbox(str(location), create=create, identity=identity)
    from pipeline.inbox.sqlite import SqliteInbox

    return SqliteInbox(Path(location), create=create, identity=identity)
