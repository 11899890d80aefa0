"""Signs the log's size and root, in two C2SP formats: signed-note and tlog-checkpoint.

Once an outsider keeps a checkpoint, no one can rewrite the log without being noticed. A
verifier needs the public half of the signing key, the *verification key*, and must get it from
another source than the log itself. Which keys sign for a log is in `signing.py`.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pipeline.errors import CallerError, WrongUsage
from pipeline.keys import read_key, secret_key

_SIGNATURE = re.compile("— ([^ \n+]+) ([A-Za-z0-9+/]+={0,2})\n")


class Checkpoint(NamedTuple):
    """States that the log of this name had `size` entries and a tree with this root."""

    log: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The three lines that are signed (C2SP tlog-checkpoint, where `log` is the origin)."""
        return f"{self.log}\n{self.size}\n{_base64(self.root)}\n"

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads the checkpoint in a signed or unsigned text; ValueError for any other text."""
        lines = text.partition("\n\n")[0].rstrip("\n").split("\n")
        if len(lines) < 3 or not re.fullmatch("0|[1-9][0-9]{0,15}", lines[1]):
            raise ValueError(
                "not a checkpoint: a name, a size and a root are expected, one line each"
            )
        root = decoded(lines[2])
        if len(root) != hashlib.sha256().digest_size:
            raise ValueError("not a checkpoint: its root is not a SHA-256")
        return cls(lines[0], int(lines[1]), root)


class VerificationKey:
    """The public half of a signing key, under the name of the log that it signs for."""

    kind: ClassVar[bytes] = b"\x01"
    """What a signature by such a key says; part of the key's id."""

    def __init__(self, name: str, public: bytes) -> None:
        """`name`: of the log. `public`: the raw Ed25519 public key, 32 bytes."""
        self.name = name
        self._key = self.kind + public
        self.id = hashlib.sha256(name.encode() + b"\n" + self._key).digest()[:4]
        self._verifier = Ed25519PublicKey.from_public_bytes(public)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerificationKey) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The key as one line, to be handed on: `name+id+key` (C2SP signed-note)."""
        return f"{self.name}+{self.id.hex()}+{_base64(self._key)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a key from its line; raises `CallerError` for any other text."""
        name, _, rest = text.strip().partition("+")
        try:
            key = base64.b64decode(rest.partition("+")[2], validate=True)
            parsed = cls(name, key[1:])
        except (ValueError, binascii.Error):
            parsed = None
        if parsed is None or str(parsed) != text.strip():
            raise CallerError(
                "This is not a verification key",
                "name+hash+key of an Ed25519 key is expected, and the hash must fit",
                "take the line that `prazo checkpoint --key` prints",
            )
        return parsed

    def opened(self, note: str) -> str:
        """The text of a note that this key signed; ValueError for any other note."""
        text, blank, lines = note.rpartition("\n\n")
        signatures = list(_SIGNATURE.finditer(lines)) if blank else []
        if "".join(it[0] for it in signatures) != lines:
            raise ValueError("not a note: something else than signatures stands at its end")
        for match in signatures:
            signature = decoded(match[2])
            if match[1] == self.name and signature[:4] == self.id:
                try:
                    self._verifier.verify(signature[4:], f"{text}\n".encode())
                except InvalidSignature:
                    break
                return f"{text}\n"
        raise ValueError(f"not a note signed by {self.name}+{self.id.hex()}")


class Signer:
    """Signs for one log with the key in a file."""

    def __init__(self, log: str, path: Path) -> None:
        """Reads the key with which to sign for the log named `log`.

        Raises `OperatorError` if the file is missing or does not hold a key.
        """
        self._key = Ed25519PrivateKey.from_private_bytes(read_key(path))
        self.key = VerificationKey(log, self._key.public_key().public_bytes_raw())

    @classmethod
    def made(cls, log: str, path: Path) -> Self:
        """The key in a file that is made (mode 0600) if it is missing."""
        secret_key(path)
        return cls(log, path)

    def sign(self, text: str) -> str:
        """The signed note over a text, whose last line must end with a line break."""
        return f"{text}\n{self.signature(text)}"

    def signature(self, text: str) -> str:
        """The line by which a note over this text is signed."""
        signature = self.key.id + self._key.sign(text.encode())
        return f"— {self.key.name} {_base64(signature)}\n"

    def sign_bytes(self, data: bytes) -> bytes:
        """The Ed25519 signature over bytes of another format than a note."""
        return self._key.sign(data)

    def checkpoint(self, size: int, root: bytes) -> str:
        """The signed checkpoint that states this size and root of the log."""
        return self.sign(Checkpoint(self.key.name, size, root).text)


class WitnessKey(VerificationKey):
    """The public half of the key by which a witness cosigns checkpoints (C2SP tlog-cosignature)."""

    kind = b"\x04"


class Cosigner:
    """Cosigns checkpoints as a witness, with the key in a file."""

    def __init__(self, name: str, path: Path) -> None:
        """`name`: of the witness, a URL without its scheme. The key is made (mode 0600) if it is
        missing. Raises `OperatorError` if the file does not hold a key, and `WrongUsage` for a name
        that no signature of a note can have (C2SP signed-note): nobody could read a cosignature."""
        if not name or "+" in name or any(map(str.isspace, name)):
            raise WrongUsage(
                f"{name!r} cannot be the name of a witness",
                "it is empty, or a blank or a + is in it",
                "take a URL without its scheme, such as audit.example/w1",
            )
        secret_key(path)
        self._key = Ed25519PrivateKey.from_private_bytes(read_key(path))
        self.key = WitnessKey(name, self._key.public_key().public_bytes_raw())

    def cosignature(self, text: str, at: int) -> str:
        """The line by which this witness says that it had seen nothing that contradicts the
        checkpoint in this text. `at`: seconds since 1970."""
        signature = self._key.sign(f"cosignature/v1\ntime {at}\n{text}".encode())
        return f"— {self.key.name} {_base64(self.key.id + at.to_bytes(8, 'big') + signature)}\n"


def decoded(text: str) -> bytes:
    """The bytes of a base64 text in its one spelling; ValueError for any other text, such as one
    whose last digit says more than the bytes do."""
    content = base64.b64decode(text, validate=True)
    if _base64(content) != text:
        raise ValueError("not base64 as it is written here")
    return content


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
