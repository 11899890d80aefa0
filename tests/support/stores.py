"""An inbox, a ledger, artifacts and keys in a test's own folder."""

from contextlib import closing
from pathlib import Path
from typing import Any

from pipeline.inbox import open_inbox, schema
from pipeline.settings import Settings

_STANDS = "update meta set value = $1 where name = $2"


def environment_in(folder: Path) -> dict[str, str]:
    """The variables that lead a process of ours to the stores in a folder. DuckDB gets one thread,
    since other tests want the other cores."""
    return {
        "PRAZO_LEDGER_THREADS": "1",
        "PRAZO_INBOX": str(folder / "inbox.db"),
        "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
        "PRAZO_ARTIFACTS": str(folder / "artifacts"),
        "PRAZO_SIGNING_KEY_FILE": str(folder / "keys" / "signing.key"),
        "PRAZO_TAXPAYER_KEY_FILE": str(folder / "keys" / "taxpayer.key"),
    }


def in_use(location: Path | str) -> None:
    """Has a copy of an inbox send, as if a person had confirmed it, without the entry of that."""
    with closing(open_inbox(location, create=False)) as inbox:
        inbox.execute(_STANDS, inbox.stands().encode(), schema.STANDS)


def settings_in(folder: Path, **more: Any) -> Settings:
    """The settings of these stores, for this process."""
    named = {name.removeprefix("PRAZO_").lower(): it for name, it in environment_in(folder).items()}
    return Settings(**{**named, **more})
