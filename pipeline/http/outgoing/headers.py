"""Writes the headers of what we send: which texts they can hold, and our credentials as one."""

import base64
import re
from pathlib import Path
from typing import Final

from pipeline.errors import SettingsError
from pipeline.written import lines_in

_VALUE: Final = re.compile(
    r"[!-~\u0080-\U0010ffff](?:[ -~\u0080-\U0010ffff]*[!-~\u0080-\U0010ffff])?"
)


_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.6.2."""
_OURS: Final = {
    *("accept", "accept-encoding", "authorization", "expect", "host", "idempotency-key"),
    "user-agent",
    # Of one connection alone (RFC 9110, section 7.6.1).
    *("connection", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer"),
    *("proxy-authenticate", "proxy-authentication-info", "proxy-authorization"),
    *("transfer-encoding", "upgrade"),
}
_OURS_BEGIN: Final = ("content-", "prazo-")
MAX_EXTRA: Final = 32
MAX_VALUE_CHARACTERS: Final = 4096


def extra_headers(text: str, path: Path) -> list[tuple[bytes, bytes]]:
    """The headers of a file, one `name: value` a line; empty lines and those that begin with `#`
    are left out. Raises `SettingsError`, which names each faulty line by its number and
    shows no value: it may be a key."""
    found: dict[str, tuple[bytes, bytes]] = {}
    faults: list[str] = []
    for number, line in lines_in(text, has_comments=True):
        name, colon, value = (it.strip(" \t") for it in line.partition(":"))
        why = _fault_of(name, value) if colon else "is not like `name: value`"
        if why is None and name.lower() in found:
            why = f"gives {name} a second time"
        if why is None and len(found) == MAX_EXTRA:
            why = f"is one more than the {MAX_EXTRA} headers that are sent"
        if why is not None:
            faults.append(f"line {number} {why}")
        found[name.lower()] = (name.encode(), value.encode())
    if faults:
        raise SettingsError(
            f"The headers in {path} cannot be used",
            "; ".join(faults),
            "write one `name: value` a line, with names that Prazo does not send itself",
        )
    return list(found.values())


def _fault_of(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "has a name that no header can have"  # not shown: it may be a part of the key
    if name.lower() in _OURS or name.lower().startswith(_OURS_BEGIN):
        return f"sets {name}, which Prazo sends itself, or which is of one connection alone"
    if not value:
        return f"gives {name} no value"
    if len(value) > MAX_VALUE_CHARACTERS:
        return f"gives {name} over {MAX_VALUE_CHARACTERS} characters"
    if not is_header_value(value):
        return f"gives {name} a value with control characters"
    return None


def is_header_value(text: str) -> bool:
    """Whether a header can carry a text as it is: no control characters, no spaces around it."""
    return _VALUE.fullmatch(text) is not None


def authorization(text: str, form: str, path: Path) -> bytes:
    """The header that a credentials file's one line makes, `basic` or `bearer`; `SettingsError`
    where it makes none."""
    lines = [line for _, line in lines_in(text)]
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
