"""Registers the key of a log in its inbox, finds its private half on this machine, rotates it.

A log has one signing key at a time. The first is registered when its keeper first starts; a machine
that comes later and holds another key, or none, follows and compares, and signs nothing. A new
private key is durable beside the present one before the inbox names it, so a crash never loses it:
the next start puts it in its place.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.errors import CallerError, InboxChanged, LedgerRefused, OperatorError
from pipeline.files.disk import sync
from pipeline.files.locks import alone_in
from pipeline.files.temporary import remove_left
from pipeline.inbox.store import Inbox, Outcome, SignedHead, Statement
from pipeline.log.checkpoints import Checkpoint, Signer, VerificationKey
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.log.signing import LogKeys, open_checkpoint, rotating

MOST_ROTATIONS: Final = 400
"""Of a log: no package names more, and each costs whoever verifies one two signatures."""
_LOGS: Final = 16
"""Whose keys a process remembers: it looks at the same ones with each head that it signs."""

_REGISTERED: Final = "select number, verification_key from signing_keys order by number"
_REGISTER: Final = """
    insert into signing_keys (number, verification_key, registered_at) values ($1, $2, $3)
    on conflict do nothing"""
_ROTATIONS: Final = f"select seq, body from entries where kind = '{KEY_ROTATION}' order by seq"


class KeyElsewhere(OperatorError):
    """The private half of the log's key is not on this machine."""


class Registered(NamedTuple):
    """A row of `signing_keys`."""

    number: int
    key: str


def registered(inbox: Inbox) -> list[Registered]:
    """The keys that the inbox names, in order."""
    return [Registered._make(row) for row in inbox.query(_REGISTERED)]


def register(inbox: Inbox, number: int, key: str) -> None:
    """Names a key of the log, unless one is named under that number already."""
    inbox.execute(_REGISTER, number, key, inbox.now())


def log_keys(inbox: Inbox, later: Sequence[tuple[int, bytes]] = ()) -> LogKeys | None:
    """The keys that sign for the log; None while none is registered. `later`: (seq, body) of
    rotations that are newer than the inbox.

    The first is the one that is registered as number 1, and each other follows from an entry that
    the key before it signed: no row of the table alone brings a key into force. Raises
    `InboxChanged` where that row holds no key.
    """
    first = [it.key for it in registered(inbox) if it.number == 1]
    if not first:
        return None
    try:
        return _keys_of(first[0], (*inbox.query(_ROTATIONS), *later))
    except CallerError:  # no caller gave it
        raise InboxChanged(
            "The inbox does not say which key signs for its log",
            "row 1 of its table signing_keys was changed, and holds no verification key",
            "stop what runs on it, and put a backup back (`prazo restore`)",
        ) from None


def open_own(signed: SignedHead, keys: LogKeys | None, log: str) -> Checkpoint:
    """What a checkpoint of the inbox of this log says; `keys` as in `open_checkpoint`. Raises
    `LedgerRefused` where it is not ours."""
    try:
        return open_checkpoint(signed.note, keys, log=log, size=signed.size)
    except ValueError as error:
        raise LedgerRefused(
            "The ledger is not served",
            f"the inbox's checkpoint of {signed.size} entries is not one of ours: {error}",
            "restore PRAZO_SIGNING_KEY_FILE, or the inbox, from a backup",
        ) from None


@lru_cache(maxsize=_LOGS)
def _keys_of(first: str, rotations: tuple[tuple[int, bytes], ...]) -> LogKeys:
    """Each rotation is two signatures to check."""
    return LogKeys(VerificationKey.parse(first), rotations)


class SigningKeys:
    """The keys of an inbox's log, and the private one where this machine has it."""

    def __init__(self, inbox: Inbox, path: Path, *, keeper_url: str | None = None) -> None:
        """`path`: of the private key's file. `keeper_url`: of the machine that signs, if that is
        another one; it gives the log its first key. Nothing is read yet."""
        self._inbox = inbox
        self._path = path
        self._keeper_url = keeper_url
        self._next = path.with_name(f"{path.name}.next")
        self._places = (self._path, self._next)
        self.signer: Signer | None = None
        """Of the key in force, once `take_up` found it."""

    def known(self) -> LogKeys | None:
        """The keys that sign for the log; None while none is registered."""
        return log_keys(self._inbox)

    def take_up(self) -> Signer | None:
        """The signer of the key in force; None where its private half is not on this machine.

        For a log that has no key, this machine's is registered, and made if it has none, unless
        another one is to sign: whoever comes first would be the keeper for good. Raises
        `LedgerRefused` where the log was signed by a key that was never registered, and this
        machine has another.
        """
        with self._alone():
            return self._take_up()

    def _take_up(self) -> Signer | None:
        keys = self.known() or (None if self._keeper_url else self._first_key())
        self.signer = None if keys is None else self._signer_of(keys)
        if keys is not None and self.signer is not None:
            self._name_all(keys)
        return self.signer

    def _name_all(self, keys: LogKeys) -> None:
        """Registers keys whose rotations came back without their rows, when an inbox had lost
        them: the next rotation takes the next number."""
        named = {it.number for it in registered(self._inbox)}
        for number, tenure in enumerate(keys, 1):
            if number not in named:
                register(self._inbox, number, str(tenure.key))

    def signer_at(self, size: int) -> Signer | None:
        """Who signs the log at `size` entries; None where that key has been retired meanwhile.

        Looks at the log's keys again, since another process may have rotated them. Raises
        `KeyElsewhere` where the key in force is not on this machine.
        """
        keys = self.known()
        if self.signer is None or keys is None or self.signer.key != keys.current:
            self.take_up()
            keys = self.known()
        if self.signer is None or keys is None:
            raise self.missing()
        return self.signer if keys.at(size) == self.signer.key else None

    def rotate(self, *, actor: str | None, reason: str, recorded_by: str) -> LogKeys:
        """Makes a new key, lets the present one hand over to it in the log, and puts it in its
        place; the keys of the log after that.

        Entry and registration are one commit. Before it nothing has changed; after it the new key
        is in force, and whoever starts next finishes what is left to do. Raises `OperatorError`
        where the key in force is not here, or somebody else was faster, and `CallerError` without
        a reason or a name.
        """
        with self._alone():
            # What a killed rotation left may be a copy of the present key: nobody would look for it
            # when that is to be destroyed.
            remove_left(f".{self._next.name}.", self._next.parent)
            retired, keys = self._take_up(), self.known()
            if retired is None or keys is None:
                raise self.missing()
            if len(keys) > MOST_ROTATIONS:
                raise OperatorError(
                    "The signing key was not rotated",
                    f"it was {MOST_ROTATIONS} times, and a package names no more",
                    "keep this key, or begin another log",
                )
            taken = Signer.made(self._inbox.log, self._next)
            draft = rotating(retired, taken, reason=reason, actor=actor, recorded_by=recorded_by)
            claim = Statement(_REGISTER, (len(keys) + 1, str(taken.key), self._inbox.now()))
            [receipt] = self._inbox.append([draft], claim=claim)
            if receipt.outcome is not Outcome.RECORDED:
                raise OperatorError(
                    "The signing key was not rotated",
                    "another machine rotated it at this moment",
                    "see with `prazo checkpoint --key` whether it still has to be",
                )
            self._take_up()
        after = self.known()
        assert after is not None  # it was registered above
        return after

    def present(self) -> VerificationKey:
        """The key in force, if its private half is here; else raises `OperatorError`. Nothing is
        registered or moved."""
        keys = self.known()
        if keys is not None and self.holds(keys.current):
            return keys.current
        raise self.missing()

    def holds(self, key: VerificationKey) -> bool:
        """Whether the private half of a key is on this machine."""
        return any(self._holds(it, key) for it in self._places)

    def stranger(self) -> VerificationKey | None:
        """The key of this machine's file, where the log names others and never this one: the file
        is another log's, or somebody without it made this log up. None where it is the log's, or
        there is no file."""
        keys = self.known()
        if keys is None or not self._path.exists():
            return None
        here = Signer(self._inbox.log, self._path).key
        return None if here in keys or self.holds(keys.current) else here

    def has_signed(self, note: str) -> bool:
        """Whether a private key on this machine signed a note."""
        for place in self._places:
            if place.exists():
                with contextlib.suppress(ValueError):
                    Signer(self._inbox.log, place).key.opened(note)
                    return True
        return False

    def missing(self) -> KeyElsewhere:
        """Says which key is needed here, and how to bring it."""
        if self._keeper_url and self.known() is None:
            return KeyElsewhere(
                "Nothing is signed yet",
                f"the log has no key, and {self._keeper_url} is named as the machine that signs",
                "start that machine; if this one is to sign, leave PRAZO_KEEPER_URL out",
            )
        keys, remedy = (
            self.known(),
            (
                "bring its file from the machine that signs, or from the `keys` of a backup made"
                " `--with-keys`; or let that machine do it"
            ),
        )
        if self.stranger() is not None:
            remedy = (
                "compare both with the key that was published for this log: if the file's is that"
                " one, inbox and ledger are not this log's, so restore a backup; if it is not, "
                + remedy
            )
        needed = "the one that signed before" if keys is None else str(keys.current)
        if not self._path.exists():
            found = f"there is none at {self._path}"
        else:
            found = f"{self._path} holds {Signer(self._inbox.log, self._path).key}"
        return KeyElsewhere(
            "Nothing is signed here",
            f"the log's key is {needed}, and {found}",
            remedy,
        )

    # --- files ---

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps every other process of this machine from the key's files during the block."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(self._path.parent):
            yield

    def _first_key(self) -> LogKeys | None:
        """Registers this machine's key as the log's first. None where the log was signed before
        and there is no key here, or where the first key is registered at this moment by another."""
        signed = self._inbox.checkpoint()
        is_here = self._path.exists()
        if signed is not None and not is_here:
            return None
        candidate = Signer.made(self._inbox.log, self._path if is_here else self._next)
        if signed is not None:
            open_own(signed, LogKeys(candidate.key), self._inbox.log)
        register(self._inbox, 1, str(candidate.key))
        keys = self.known()
        if keys is not None and candidate.key not in keys and not is_here:
            self._next.unlink(missing_ok=True)  # another machine was faster: this key is nobody's
        return keys

    def _signer_of(self, keys: LogKeys) -> Signer | None:
        if self._holds(self._next, keys.current):
            self._install(keys)
        if self._holds(self._path, keys.current):
            return Signer(self._inbox.log, self._path)
        return None

    def _holds(self, path: Path, key: VerificationKey) -> bool:
        return path.exists() and Signer(self._inbox.log, path).key == key

    def _install(self, keys: LogKeys) -> None:
        """Puts the next key in its place. The one that lies there is kept, under its number."""
        if self._path.exists():
            present = Signer(self._inbox.log, self._path).key
            if present not in keys:
                return  # of another log, maybe: not ours to move
            aside = self._path.with_name(f"{self._path.name}.{keys.number(present)}")
            with contextlib.suppress(FileExistsError):
                os.link(self._path, aside)
        self._next.replace(self._path)
        sync(self._path.parent)
