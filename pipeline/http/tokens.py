"""Reads the file of API tokens, which has one `name:scopes:sha256 of the token` on each line.

The file holds only digests, so reading it does not let anyone call the API. Tokens are long and
random, so none can be guessed from its plain digest. The name is the actor in the log.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline import names
from pipeline.errors import SettingsError
from pipeline.files.reread import RereadFile
from pipeline.settings import Settings
from pipeline.written import lines_in

SCOPES: Final = frozenset(
    {"collect", "notify", "seller_area", "submit", "read", "read_personal", "export"}
)

_LINE = re.compile(r"([!-9;-~]{1,64}):([a-z_, ]+):([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, and what they may do."""

    name: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Token:
    caller: Caller
    digest: bytes


class Tokens:
    """The tokens of a file, and one for commands on this machine. `callers.admit` applies them."""

    def __init__(
        self, path: Path | None, *, local: bytes | None = None, are_required: bool = False
    ) -> None:
        """`local`: a token for commands on this machine, good for every scope. `are_required`:
        every call needs a token even where no file gives any, so that only commands can call.

        Raises `SettingsError` if the file cannot be read or has a malformed line.
        """
        self._file = RereadFile(path, lambda text: _parse(text, path)) if path else None
        self._local = _Token(Caller("local", SCOPES), _digest(local)) if local else None
        self.are_required = are_required or path is not None

    @classmethod
    def of(cls, settings: Settings, *, local: bytes | None = None) -> "Tokens":
        """The tokens of the settings; raises as the constructor does."""
        return cls(settings.api_tokens_file, local=local, are_required=settings.expects_strangers)

    @property
    def has_file(self) -> bool:
        """Whether a file gives tokens."""
        return self._file is not None

    @property
    def are_none(self) -> bool:
        """Whether no file gives any token, or an empty one does."""
        return self._file is None or not self._file.get()

    @property
    def has_local(self) -> bool:
        """Whether commands on this machine have a token of their own."""
        return self._local is not None

    def by_token(self, token: bytes) -> Caller | None:
        """The caller who has this token, or None.

        It compares every token, so that the time does not reveal which one matched.
        """
        digest, caller = _digest(token), None
        known = [*(self._file.get() if self._file else ()), *([self._local] if self._local else ())]
        for candidate in known:
            if hmac.compare_digest(candidate.digest, digest):
                caller = candidate.caller
        return caller


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _parse(text: str, path: Path | None) -> list[_Token]:
    tokens: dict[bytes, _Token] = {}
    for number, line in lines_in(text, has_comments=True):
        match = _LINE.fullmatch(line)
        scopes = frozenset(re.split(r"[, ]+", match[2].strip())) if match else frozenset()
        if match is None or not scopes <= SCOPES:
            raise SettingsError(
                f"Line {number} of {path} is not a token",
                "it must be name:scopes:sha256 in hex",
                f"scopes are {', '.join(sorted(SCOPES))}; the digest is of the token's bytes",
            )
        if names.is_ours(match[1]):
            raise SettingsError(
                f"Line {number} of {path} is a token of the name {match[1]}",
                "that is one of Prazo's own, or looks like it: the log would not tell them apart",
                "give the token another name",
            )
        digest = bytes.fromhex(match[3])
        if digest in tokens:  # one of the names would stand in the log for the other
            raise SettingsError(
                f"Line {number} of {path} is the token of {tokens[digest].caller.name} again",
                "who calls with it would be either of two",
                "give each a token of their own, or all scopes in one line",
            )
        tokens[digest] = _Token(Caller(match[1], scopes), digest)
    return [*tokens.values()]
