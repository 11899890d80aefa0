"""Signs and checks messages as Standard Webhooks (version v1, HMAC-SHA256), both ways.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.written import lines_in

ID: Final = b"webhook-id"
TIMESTAMP: Final = b"webhook-timestamp"
SIGNATURE: Final = b"webhook-signature"

MAX_SIGNATURES: Final = 8
"""Of one header, how many are tried. A sender that rotates its secret sends two."""


class NotSigned(Exception):
    """A message does not prove who sent it; the words say why."""


def secrets_in(text: str, path: Path | None) -> list[bytes]:
    """The secrets of a file, one per line: `whsec_` and base64. Raises `SettingsError`."""
    secrets = [_secret(number, line, path) for number, line in lines_in(text)]
    if not secrets:
        raise unusable(path, "the file is empty", "write one secret per line")
    return secrets


def signed(
    secrets: Sequence[bytes], message_id: bytes, at: int, body: bytes
) -> list[tuple[bytes, bytes]]:
    """The three headers of a message that is sent at an instant, with a signature per secret."""
    timestamp = b"%d" % (at // instants.SECOND)
    signatures = (b"v1," + _signature(it, message_id, timestamp, body) for it in secrets)
    return [(ID, message_id), (TIMESTAMP, timestamp), (SIGNATURE, b" ".join(signatures))]


def check(
    secrets: Sequence[bytes],
    headers: Mapping[bytes, bytes],
    body: bytes,
    *,
    now: int,
    tolerance: int,
) -> int:
    """The number of the secret that a message was signed with, counted from 1.

    `headers`: names in lower case. `tolerance`: of its timestamp, in microseconds, as `now`. The
    time that this takes does not depend on the secrets. Raises `NotSigned`.
    """
    message_id = headers.get(ID)
    timestamp = headers.get(TIMESTAMP)
    given = headers.get(SIGNATURE)
    if not message_id or not timestamp or not given:
        raise NotSigned("webhook-id, webhook-timestamp or webhook-signature is missing")
    if not timestamp.isdigit() or len(timestamp) > 12:
        raise NotSigned("webhook-timestamp is not whole seconds since the epoch")
    if abs(now - int(timestamp) * instants.SECOND) > tolerance:
        raise NotSigned("webhook-timestamp is too far from our clock")
    signatures = [it[3:] for it in given.split(b" ") if it.startswith(b"v1,")]
    matching = None
    for number, secret in enumerate(secrets, start=1):
        expected = _signature(secret, message_id, timestamp, body)
        for signature in signatures[:MAX_SIGNATURES]:
            if hmac.compare_digest(signature, expected):
                matching = number
    if matching is None:
        raise NotSigned("the signature does not match")
    return matching


def unusable(path: Path | None, why: str, remedy: str) -> SettingsError:
    """The error that a file of secrets cannot be used."""
    return SettingsError(f"The webhook secrets in {path} cannot be used", why, remedy)


def _signature(secret: bytes, message_id: bytes, timestamp: bytes, body: bytes) -> bytes:
    signed_bytes = b".".join((message_id, timestamp, body))
    return base64.b64encode(hmac.digest(secret, signed_bytes, hashlib.sha256))


def _secret(number: int, line: str, path: Path | None) -> bytes:
    try:
        secret = base64.b64decode(line.removeprefix("whsec_"), validate=True)
    except ValueError:
        secret = b""
    if not secret:  # with an empty key, anyone could sign
        raise unusable(
            path,
            f"an hmac secret is not base64: line {number}",
            "write it as the platform shows it: whsec_ and base64",
        )
    return secret
