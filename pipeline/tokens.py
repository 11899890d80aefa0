"""Who may call the API: `name:scopes:sha256 of the token`, one a line.

The file holds digests only, so that whoever reads it cannot call. Tokens are long and random, so
a plain digest of one cannot be guessed. The name is the actor in the log.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.errors import SettingsError
from pipeline.files import RereadFile

SCOPES: Final = frozenset({"collect", "submit", "read", "read_personal", "export"})

_LINE = re.compile(r"([!-9;-~]{1,64}):([a-z_, ]+):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request, and what they may do."""

    name: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Token:
    caller: Caller
    digest: bytes


class Tokens:
    """The tokens of a file, and one for commands on this machine; who may do what, says
    `callers.admit`."""

    def __init__(self, path: Path | None, *, local: bytes | None = None) -> None:
        """`local`: a token for commands on this machine, good for every scope.

        Raises `SettingsError` where the file cannot be read or a line of it is wrong.
        """
        self._file = RereadFile(path, lambda text: _parse(text, path)) if path else None
        self._local = _Token(Caller("local", SCOPES), _digest(local)) if local else None

    @property
    def are_required(self) -> bool:
        return self._file is not None

    @property
    def has_local(self) -> bool:
        return self._local is not None

    def by_token(self, token: bytes) -> Caller | None:
        """Compares with every token, in the same time whichever it is."""
        digest, found = _digest(token), None
        known = [*(self._file.get() if self._file else ()), *([self._local] if self._local else ())]
        for candidate in known:
            if hmac.compare_digest(candidate.digest, digest):
                found = candidate.caller
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _parse(text: str, path: Path | None) -> list[_Token]:
    tokens = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        scopes = frozenset(re.split(r"[, ]+", match[2].strip())) if match else frozenset()
        if match is None or not scopes <= SCOPES:
            raise SettingsError(
                f"Line {number} of {path} is no token",
                "it must be name:scopes:sha256 in hex",
                f"scopes are {', '.join(sorted(SCOPES))}; the digest is of the token's bytes",
            )
        tokens.append(_Token(Caller(match[1], scopes), bytes.fromhex(match[3])))
    return tokens
