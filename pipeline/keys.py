"""Reads secret keys from files, and makes them. Keys are never in a database."""

import contextlib
import logging
import secrets
from pathlib import Path
from typing import Final

from pipeline import plain
from pipeline.errors import NoRoom, OperatorError, Unreadable
from pipeline.files.disk import is_full, write_whole
from pipeline.written import text_in

LOG = logging.getLogger(__name__)

KEY_BYTES: Final = 32


def secret_key(path: Path) -> bytes:
    """The 32 bytes in a key file (64 hex digits). A missing file is made, with mode 0600.

    Raises `OperatorError` if the file cannot be read or does not hold such a key, and `NoRoom` if
    there is no room to make it.
    """
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            new_key = f"{secrets.token_hex(KEY_BYTES)}\n".encode()
            with contextlib.suppress(FileExistsError):  # another process was faster: its key stays
                write_whole(path, new_key, may_replace=False)
                LOG.warning("a new key was made, in %s", path.absolute())
    except OSError as error:
        if is_full(error):
            raise NoRoom(
                f"The key file {path} was not made",
                f"there is no room left in {path.absolute().parent}",
                "make room there, then run it again; nothing was left of it",
            ) from None
        raise _unusable(path, error) from None
    return read_key(path)


def read_key(path: Path) -> bytes:
    """The 32 bytes in a key file that is there; `OperatorError` as in `secret_key`."""
    try:
        key = bytes.fromhex(text_in(plain.read(path)).strip())
    except (OSError, ValueError, Unreadable) as error:
        raise _unusable(path, error) from None
    if len(key) != KEY_BYTES:
        raise OperatorError(
            f"The key file {path} holds no key", f"{KEY_BYTES * 2} hex digits are expected"
        )
    return key


def _unusable(path: Path, error: Exception) -> OperatorError:
    why, remedy = str(error), "restore it from a backup"
    if isinstance(error, OSError):  # a key that is there is the log's: no copy is to replace it
        why = error.strerror or why
        remedy = "check the path, and that the user who runs this may read it"
    return OperatorError(f"The key file {path} cannot be used", why, remedy)
