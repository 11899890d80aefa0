"""Says which keys sign for a log: the first, and each one to which the key before it handed over.

A *rotation* is an entry whose body holds a note that names both keys and that both signed. So a
reader who trusts one key of a log can follow it to every other, and no one takes the log over
without the private key that is in force. A checkpoint is opened by the key that was in force at its
size.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

from pipeline.contract.body import JsonValue
from pipeline.errors import CallerError
from pipeline.log.actions import action
from pipeline.log.checkpoints import Checkpoint, Signer, VerificationKey
from pipeline.log.entries import Draft
from pipeline.log.kinds.key_rotation import KEY_ROTATION

STATEMENT: Final = "statement"
"""The key in a rotation's body under which the note stands."""

_TITLE: Final = "prazo key rotation v1"
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, CallerError)


class Tenure(NamedTuple):
    """A key, and from how many entries on it signs the log's checkpoints."""

    key: VerificationKey
    since: int  # the seq of its rotation; 0 for the first key


class Handover(NamedTuple):
    """What a rotation says, once both signatures were checked."""

    retired: VerificationKey
    taken: VerificationKey

    @classmethod
    def read(cls, body: bytes, log: str) -> Self:
        """Reads a rotation's body; ValueError unless both of its keys signed it for this log."""
        try:
            note: str = json.loads(body)[STATEMENT]
            title, of, retired, taken = note.partition("\n\n")[0].split("\n")
            keys = cls(VerificationKey.parse(retired), VerificationKey.parse(taken))
            if title != _TITLE or {of, keys.retired.name, keys.taken.name} != {log}:
                raise ValueError("it is not of this log")
            for key in keys:
                key.opened(note)
        except _UNREADABLE as error:
            raise ValueError(f"not a rotation that both keys signed: {error}") from None
        return keys


def rotating(
    retired: Signer, taken: Signer, *, reason: str, actor: str | None, recorded_by: str
) -> Draft:
    """The draft of the entry by which one key hands over to another of the same log.

    Raises `CallerError` like `action`.
    """
    text = f"{_TITLE}\n{retired.key.name}\n{retired.key}\n{taken.key}\n"
    statement: JsonValue = f"{text}\n{retired.signature(text)}{taken.signature(text)}"
    return action(
        KEY_ROTATION,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        **{STATEMENT: statement},
    )


class LogKeys:
    """The keys of one log, in the order in which they sign for it."""

    def __init__(self, first: VerificationKey, rotations: Iterable[tuple[int, bytes]] = ()) -> None:
        """`rotations`: (seq, body) of the log's rotations, in order. One that the key in force
        there did not sign changes nothing, and is kept in `refused`."""
        self._tenures = [Tenure(first, 0)]
        self.refused: list[tuple[int, str]] = []
        for seq, body in rotations:
            try:
                self._hand_over(seq, Handover.read(body, first.name))
            except ValueError as error:
                self.refused.append((seq, str(error)))

    def _hand_over(self, seq: int, keys: Handover) -> None:
        if keys.retired != self.current:
            raise ValueError(f"it retires {keys.retired}, which was not in force")
        if keys.taken in self:
            raise ValueError(f"{keys.taken} signed for this log before")
        self._tenures.append(Tenure(keys.taken, seq))

    def __iter__(self) -> Iterator[Tenure]:
        return iter(self._tenures)

    def __len__(self) -> int:
        return len(self._tenures)

    def __contains__(self, key: VerificationKey) -> bool:
        return any(it.key == key for it in self._tenures)

    @property
    def current(self) -> VerificationKey:
        """The key that signs now."""
        return self._tenures[-1].key

    def number(self, key: VerificationKey) -> int:
        """Which of the log's keys this is, from 1; ValueError where it is none of them."""
        return [it.key for it in self._tenures].index(key) + 1

    def at(self, size: int) -> VerificationKey:
        """The key that signs when the log has `size` entries."""
        return next(it.key for it in reversed(self._tenures) if it.since <= size)


def open_checkpoint(
    note: str, keys: LogKeys | None, *, log: str | None = None, size: int | None = None
) -> Checkpoint:
    """Checks the signature of a note and returns the checkpoint in it.

    `keys`: None if no key of the log is known here; then the signature is not checked.
    `log`, `size`: the log and the number of entries that the checkpoint must state; None accepts
    any. Raises ValueError, with the reason, for any other note.
    """
    checkpoint = Checkpoint.read(note)
    if keys is not None:
        checkpoint = Checkpoint.read(keys.at(checkpoint.size).opened(note))
    if checkpoint.log != (log or checkpoint.log):
        raise ValueError(f"it is of another log, {checkpoint.log}")
    if checkpoint.size != (checkpoint.size if size is None else size):
        raise ValueError(f"it is of another size, {checkpoint.size}")
    return checkpoint
