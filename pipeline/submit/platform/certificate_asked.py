"""Says of a TLS connection whether the other side asked for our certificate, and whether it was
given, by the messages of the handshake.

A handshake that ends well does not tell: a server that never asks ends it as well, one may ask only
once it has read the request (TLS 1.3, RFC 8446, 4.6.2) or by a second handshake (TLS 1.2), and we
give none where ours does not fit what it takes.
"""

import ssl
from enum import IntEnum, StrEnum
from typing import Any, Final
from weakref import WeakKeyDictionary

_HANDSHAKE: Final = 22  # of a record (RFC 8446, 5.1)
_LIST_AT_1_2: Final = 4  # in a Certificate message, behind its type and length (RFC 5246, 7.4.2)
_LENGTH_BYTES: Final = 3


class _Message(IntEnum):
    """Types of messages of a handshake (RFC 8446, 4; RFC 5246, 7.4)."""

    CERTIFICATE = 11
    CERTIFICATE_REQUEST = 13


class OurCertificate(StrEnum):
    """What became of our client certificate on a connection."""

    GIVEN = "given"
    WITHHELD = "withheld"
    """Asked for, and not given: ours does not fit what the other side takes."""
    NOT_ASKED = "not_asked"


class Handshakes:
    """Listens to the connections that a context makes; for any thread."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._found: WeakKeyDictionary[Any, OurCertificate] = WeakKeyDictionary()
        # Python offers this for its own tests, in each version so far. Without it nothing is known.
        self._is_heard = hasattr(context, "_msg_callback")
        if self._is_heard:
            context._msg_callback = self._hear  # type: ignore[attr-defined]

    def of(self, connection: object) -> OurCertificate | None:
        """What has become of the certificate until now; None where nobody knows. `connection`: an
        `ssl.SSLObject` or `ssl.SSLSocket` of the context."""
        if not self._is_heard or connection is None:
            return None
        return self._found.get(connection, OurCertificate.NOT_ASKED)

    def _hear(
        self, connection: Any, direction: str, version: int, kind: int, message: int, data: bytes
    ) -> None:
        """Called by OpenSSL for each message; must not raise."""
        if kind != _HANDSHAKE:
            return
        if direction == "read" and message == _Message.CERTIFICATE_REQUEST:
            self._found[connection] = OurCertificate.WITHHELD  # until it is given
        elif direction == "write" and message == _Message.CERTIFICATE:
            is_given = _holds_one(data, version)
            self._found[connection] = OurCertificate.GIVEN if is_given else OurCertificate.WITHHELD


def _holds_one(message: bytes, version: int) -> bool:
    """Whether a Certificate message holds any. One of TLS 1.3 begins with the request's context."""
    begin = _LIST_AT_1_2
    if version >= ssl.TLSVersion.TLSv1_3 and len(message) > begin:
        begin += 1 + message[begin]
    return any(message[begin : begin + _LENGTH_BYTES])
