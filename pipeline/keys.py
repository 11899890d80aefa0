"""Key files: made on first use, readable by their owner alone, never in a database."""

import os
import secrets
from pathlib import Path
from typing import Final

from pipeline.errors import OperatorError

KEY_BYTES: Final = 32


def secret_key(path: Path) -> bytes:
    """The 32 bytes in a key file (64 hex digits), made where it is missing, mode 0600.

    Raises `OperatorError` for a file that holds no such key: a wrong key would join nothing.
    """
    try:
        if not path.exists():
            _create(path, secrets.token_hex(KEY_BYTES) + "\n")
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise OperatorError(
            f"The key file {path} cannot be used", str(error), "restore it from a backup"
        ) from None
    if len(key) != KEY_BYTES:
        raise OperatorError(
            f"The key file {path} holds no key", f"{KEY_BYTES * 2} hex digits are expected"
        )
    return key


def _create(path: Path, content: str) -> None:
    """Written whole or not at all; where another process was faster, its key stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
