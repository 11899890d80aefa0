"""Makes the pseudonyms under which the log holds people, and says whether a name is the one of a
pseudonym.

A pseudonym is a salted commitment to a name: without the salt nobody can work the name out of it,
and with the salt no other name fits. So an entry, which the tree holds, fixes the name that stands
beside the log, and once that row is gone the pseudonym says nothing.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple, Self

SALT_BYTES: Final = 32

_PSEUDONYM: Final = re.compile("act_[0-9a-f]{64}")


class Actor(NamedTuple):
    """A person as the map beside the log has them."""

    pseudonym: str
    name: bytes  # UTF-8: a database's text could not hold every character that a body holds
    salt: bytes

    @classmethod
    def new(cls, name: str, random: Callable[[int], bytes]) -> Self:
        """A new pseudonym of a name. `random`: takes a number of bytes and gives as many."""
        salt, known = random(SALT_BYTES), in_bytes(name)
        return cls(_of(known, salt), known, salt)

    @property
    def is_proved(self) -> bool:
        """Whether the pseudonym was made of this name."""
        return len(self.salt) == SALT_BYTES and self.pseudonym == _of(self.name, self.salt)

    @property
    def text(self) -> str:
        """The name as it was typed."""
        return self.name.decode("utf-8", "replace")

    def is_named(self, name: str) -> bool:
        """Whether this is a proved pseudonym of a name."""
        return self.is_proved and self.name == in_bytes(name)


def is_pseudonym(text: str) -> bool:
    """Whether a text has the form of a pseudonym."""
    return _PSEUDONYM.fullmatch(text) is not None


def in_bytes(name: str) -> bytes:
    """A name as the map holds it."""
    return name.encode("utf-8")


def _of(name: bytes, salt: bytes) -> str:
    return f"act_{sha256(salt + b'prazo actor v1: ' + name).hexdigest()}"
