"""An inbox, a ledger, artifacts and keys in a test's own folder."""

from pathlib import Path
from typing import Any

from pipeline.settings import Settings


def environment_in(folder: Path) -> dict[str, str]:
    """The variables that lead a process of ours to the stores in a folder. They are small: a second
    thread of DuckDB would only be waited for, on cores that other tests want."""
    return {
        "PRAZO_LEDGER_THREADS": "1",
        "PRAZO_INBOX": str(folder / "inbox.db"),
        "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
        "PRAZO_ARTIFACTS": str(folder / "artifacts"),
        "PRAZO_SIGNING_KEY_FILE": str(folder / "keys" / "signing.key"),
        "PRAZO_TAXPAYER_KEY_FILE": str(folder / "keys" / "taxpayer.key"),
    }


def settings_in(folder: Path, **more: Any) -> Settings:
    """The same for this process."""
    named = {name.removeprefix("PRAZO_").lower(): it for name, it in environment_in(folder).items()}
    return Settings(**{**named, **more})
