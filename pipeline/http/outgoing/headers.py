"""Writes the headers of what we send: which texts they can hold, and our credentials as one."""

import base64
import re
from pathlib import Path
from typing import Final

from pipeline.errors import SettingsError

_VALUE: Final = re.compile(
    r"[!-~\u0080-\U0010ffff](?:[ -~\u0080-\U0010ffff]*[!-~\u0080-\U0010ffff])?"
)


def is_header_value(text: str) -> bool:
    """Whether a header can carry a text as it is: no control characters, no spaces around it."""
    return _VALUE.fullmatch(text) is not None


def authorization(text: str, form: str, path: Path) -> bytes:
    """The header that a credentials file's one line makes, `basic` or `bearer`; `SettingsError`
    where it makes none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != 1 or (form == "basic" and ":" not in lines[0]):
        raise SettingsError(
            f"The credentials in {path} cannot be used",
            "one line is expected",
            "write user:password for basic, or the token for bearer",
        )
    if form == "basic":
        return b"Basic " + base64.b64encode(lines[0].encode())
    if not is_header_value(lines[0]):
        raise SettingsError(f"The token in {path} cannot be used", "it holds control characters")
    return b"Bearer " + lines[0].encode()
