"""Follows logs as a witness, and cosigns each checkpoint that continues what it saw before (C2SP
tlog-witness). For a partner or an auditor to run: the log's keeper must not.

What a witness knows is in one file per log, the newest checkpoint that it cosigned. It is on disk
before the cosignature is given: a crash in between costs a cosignature, never the memory of one.
"""

import base64
import binascii
import fcntl
import hashlib
import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import instants, plain
from pipeline.errors import CallerError, OperatorError
from pipeline.files.disk import write_whole
from pipeline.log.checkpoints import Checkpoint, Cosigner, VerificationKey
from pipeline.verify import roots_by_consistency

LOG = logging.getLogger(__name__)

MAX_REQUEST_BYTES: Final = 65_536
MAX_HASHES: Final = 63
SIZE: Final = "text/x.tlog.size"
TEXT: Final = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """What is answered over HTTP."""

    status: int
    text: str
    media_type: str = TEXT


class Asked(NamedTuple):
    """What a request to add a checkpoint says."""

    old: int
    proof: list[bytes]
    note: str
    checkpoint: Checkpoint

    @classmethod
    def read(cls, body: bytes) -> "Asked":
        """Reads the body of such a request; ValueError for any other."""
        head, blank, note = body.decode("utf-8").partition("\n\n")
        first, *lines = head.split("\n")
        word, _, size = first.partition(" ")
        is_number = size == "0" or (size.isdecimal() and size.isascii() and size[0] != "0")
        if word != "old" or not is_number or len(size) > 16 or not blank:
            raise ValueError("an old size, a proof and a checkpoint are expected")
        if len(lines) > MAX_HASHES:
            raise ValueError(f"the proof has more than {MAX_HASHES} lines")
        proof = [base64.b64decode(it, validate=True) for it in lines]
        if any(len(it) != hashlib.sha256().digest_size for it in proof):
            raise ValueError("a line of the proof is not a SHA-256")
        checkpoint = Checkpoint.read(note)
        if checkpoint.size < 1:
            raise ValueError("the checkpoint is of an empty log")
        return cls(int(size), proof, note, checkpoint)


class Opened(NamedTuple):
    """The signed text of a note, and the number of the key that signed it, in the log's order."""

    number: int
    text: str


class Witness:
    """Cosigns for some logs, with one key."""

    def __init__(self, cosigner: Cosigner, logs: Iterable[VerificationKey], folder: Path) -> None:
        """`logs`: the keys that are trusted; where a log rotated its key, several of its name, in
        the order in which they signed for it. `folder`: of the checkpoints that were cosigned.

        Raises `OperatorError` if another witness uses the folder.
        """
        self.cosigner = cosigner
        self._folder = folder
        self._keys: dict[str, list[VerificationKey]] = {}
        for key in logs:
            self._keys.setdefault(key.name, []).append(key)
        self._turn = threading.Lock()
        if not folder.exists():
            LOG.warning("a new store of cosigned checkpoints begins in %s", folder.absolute())
        folder.mkdir(parents=True, exist_ok=True)
        self._held = (folder / "lock").open("ab")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._held.close()
            raise OperatorError(
                f"The folder {folder} cannot be used",
                str(error),
                "give a folder that no other witness uses",
            ) from None

    def close(self) -> None:
        """Lets another process use the folder."""
        self._held.close()

    def add(self, body: bytes) -> Answer:
        """Answers a request to add a checkpoint."""
        try:
            asked = Asked.read(body)
        except (ValueError, binascii.Error) as error:
            return Answer(400, f"{error}\n")
        keys = self._keys.get(asked.checkpoint.log)
        if keys is None:
            return Answer(404, "this log is not followed here\n")
        opened = _opened(asked.note, keys)
        if opened is None:
            return Answer(403, "no key that is trusted for this log signed the checkpoint\n")
        if asked.old > asked.checkpoint.size:
            return Answer(400, "the old size is above that of the checkpoint\n")
        with self._turn:  # nobody else may get between what is compared and what is kept
            return self._follow(asked, opened)

    def _follow(self, asked: Asked, opened: Opened) -> Answer:
        known, checkpoint = self.newest(asked.checkpoint.log), asked.checkpoint
        if known is not None and opened.number < self._number_of_newest(checkpoint.log):
            return Answer(403, "a later key of this log has signed since: this one was replaced\n")
        size = 0 if known is None else known.size
        if asked.old != size or (known and size == checkpoint.size and known != checkpoint):
            return Answer(409, f"{size}\n", SIZE)
        if not _continues(known, asked):
            return Answer(422, "the proof does not lead from the checkpoint before to this one\n")
        if known != checkpoint:
            write_whole(self._path(checkpoint.log), asked.note.encode())
        return Answer(
            200, self.cosigner.cosignature(opened.text, instants.now() // instants.SECOND)
        )

    def newest(self, log: str) -> Checkpoint | None:
        """The newest checkpoint of a log that was cosigned here; None before the first. Raises
        `OperatorError` if its file is damaged: a witness that forgets must not go on."""
        path = self._path(log)
        if not path.exists():
            return None
        try:
            checkpoint = Checkpoint.read(plain.read(path).decode("utf-8"))
            if checkpoint.log != log:
                raise ValueError(f"it is of another log, {checkpoint.log}")
        except (OSError, ValueError) as error:
            raise OperatorError(
                f"The checkpoint {path} cannot be read", str(error), "restore it from a backup"
            ) from None
        return checkpoint

    def _number_of_newest(self, log: str) -> int:
        """Which of the log's keys signed what was cosigned last; 0 where that is trusted no more.
        One that was replaced before may be a thief's by now."""
        opened = _opened(plain.read(self._path(log)).decode("utf-8"), self._keys[log])
        return 0 if opened is None else opened.number

    def _path(self, log: str) -> Path:
        return self._folder / f"{hashlib.sha256(log.encode()).hexdigest()}.note"


def _opened(note: str, keys: list[VerificationKey]) -> Opened | None:
    """What a note says that one of these keys signed: the latest of them."""
    for number, key in reversed([*enumerate(keys)]):
        try:
            return Opened(number, key.opened(note))
        except (ValueError, CallerError):
            continue
    return None


def _continues(known: Checkpoint | None, asked: Asked) -> bool:
    new = asked.checkpoint
    if known is None or known.size == new.size:
        return not asked.proof
    try:
        roots = roots_by_consistency(known.size, new.size, known.root, asked.proof)
    except ValueError:
        return False
    return roots == (known.root, new.root)
