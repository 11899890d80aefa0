"""Signs the log's size and root, in the formats of C2SP: signed-note and tlog-checkpoint.

A checkpoint that somebody outside keeps is what the log cannot be rewritten behind. The key is
made on first use; whoever is to verify needs its public part, the *verification key*, out of band.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import Final, NamedTuple, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipeline.errors import CallerError
from pipeline.keys import secret_key

_ED25519: Final = b"\x01"
_SIGNATURE = re.compile("— ([^ \n+]+) ([A-Za-z0-9+/]+={0,2})\n")


class Checkpoint(NamedTuple):
    """The log named `origin` had `size` entries, and its tree this root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed: three lines (C2SP tlog-checkpoint)."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    @classmethod
    def read(cls, text: str) -> Self:
        """The checkpoint in a signed or unsigned text; ValueError where it is none."""
        lines = text.partition("\n\n")[0].rstrip("\n").split("\n")
        if len(lines) < 3 or not re.fullmatch("0|[1-9][0-9]{0,15}", lines[1]):
            raise ValueError("no checkpoint: name, size and root are expected, a line each")
        root = base64.b64decode(lines[2], validate=True)
        if len(root) != hashlib.sha256().digest_size:
            raise ValueError("no checkpoint: its root is no SHA-256")
        return cls(lines[0], int(lines[1]), root)


class VerificationKey:
    """The public half of a signing key, under the name of the log that it signs for."""

    def __init__(self, name: str, public: bytes) -> None:
        """`public`: 32 bytes."""
        self.name = name
        self._key = _ED25519 + public
        self.id = hashlib.sha256(name.encode() + b"\n" + self._key).digest()[:4]
        self._verifier = Ed25519PublicKey.from_public_bytes(public)

    def __str__(self) -> str:
        """The one line by which it is handed on: `name+id+key` (C2SP signed-note)."""
        return f"{self.name}+{self.id.hex()}+{_base64(self._key)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key in its line; raises `CallerError` where it is none."""
        name, _, rest = text.strip().partition("+")
        try:
            key = base64.b64decode(rest.partition("+")[2], validate=True)
            found = cls(name, key[1:])
        except (ValueError, binascii.Error):
            found = None
        if found is None or str(found) != text.strip():
            raise CallerError(
                "That is no verification key",
                "name+hash+key of an Ed25519 key is expected, and the hash must fit",
                "take the line that `prazo checkpoint --key` prints",
            )
        return found

    def opened(self, note: str) -> str:
        """The text of a note that this key signed; ValueError for any other."""
        text, blank, signatures = note.rpartition("\n\n")
        for match in _SIGNATURE.finditer(signatures) if blank else ():
            signature = base64.b64decode(match[2])
            if match[1] == self.name and signature[:4] == self.id:
                try:
                    self._verifier.verify(signature[4:], f"{text}\n".encode())
                except InvalidSignature:
                    break
                return f"{text}\n"
        raise ValueError(f"no note that {self.name}+{self.id.hex()} signed")


class Signer:
    """Signs for one log with the key in a file."""

    def __init__(self, log: str, path: Path) -> None:
        """Makes the key (mode 0600) where the file is missing; `OperatorError` for a bad one."""
        self._key = Ed25519PrivateKey.from_private_bytes(secret_key(path))
        self.key = VerificationKey(log, self._key.public_key().public_bytes_raw())

    def sign(self, text: str) -> str:
        """The signed note of a text of whole lines."""
        signature = self.key.id + self._key.sign(text.encode())
        return f"{text}\n— {self.key.name} {_base64(signature)}\n"

    def checkpoint(self, size: int, root: bytes) -> str:
        return self.sign(Checkpoint(self.key.name, size, root).text)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
