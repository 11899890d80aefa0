"""Decides whether the platform sent a delivery: bytes, headers and now -> Verified or Refused.

The contract does not show how deliveries are signed, so the form is a setting. The time of a
comparison does not depend on the secret. Every secret of the file is tried, so that secrets can be
rotated without a gap.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.files import RereadFile

Method = Literal["none", "header", "basic", "hmac"]

MAX_SIGNATURES: Final = 8
"""Of one header, how many are tried. A sender that rotates its secret sends two."""
_BASIC_CHALLENGE: Final = ((b"www-authenticate", b'Basic realm="webhooks"'),)


@dataclass(frozen=True, slots=True)
class Verified:
    """The platform sent the delivery, as far as the method can tell."""

    method: Method
    secret: int | None
    """The line of the secret that fits, counted from 1; None without authentication."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The delivery does not prove that the platform sent it."""

    reason: str


Verdict = Verified | Refused


class Authenticator:
    """The authentication that the settings ask for."""

    def __init__(
        self,
        method: Method,
        secret_file: Path | None = None,
        *,
        header: str = "X-Webhook-Secret",
        tolerance_seconds: float = 300,
    ) -> None:
        """Reads the secrets; raises `SettingsError` if it cannot."""
        self.challenge = _BASIC_CHALLENGE if method == "basic" else ()
        """Headers of a 401: many clients send Basic credentials only when asked for them."""
        self._method = method
        self._header = header.lower().encode("latin-1")
        self._tolerance = round(tolerance_seconds * instants.SECOND)
        self._secrets = (
            RereadFile(secret_file, lambda text: _secrets(text, method, secret_file))
            if secret_file is not None and method != "none"
            else None
        )

    def check(self, body: bytes, headers: Mapping[bytes, bytes], now: int) -> Verdict:
        """Whether the platform sent a delivery.

        `headers`: names in lower case, as in ASGI. `now`: in microseconds.
        """
        if self._secrets is None:
            return Verified("none", None)
        secrets = self._secrets.get()
        match self._method:
            case "header":
                return _match(headers.get(self._header), secrets, "header")
            case "basic":
                scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
                if scheme.lower() != b"basic":
                    return Refused("no Basic credentials")
                try:
                    return _match(base64.b64decode(given, validate=True), secrets, "basic")
                except binascii.Error:
                    return Refused("the Basic credentials are not base64")
            case _:
                return self._check_signature(body, headers, secrets, now)

    def _check_signature(
        self, body: bytes, headers: Mapping[bytes, bytes], secrets: Sequence[bytes], now: int
    ) -> Verdict:
        """Standard Webhooks: `v1,base64(HMAC-SHA256(secret, "id.timestamp.body"))`."""
        message_id = headers.get(b"webhook-id")
        timestamp = headers.get(b"webhook-timestamp")
        given = headers.get(b"webhook-signature")
        if not message_id or not timestamp or not given:
            return Refused("webhook-id, webhook-timestamp or webhook-signature is missing")
        if not timestamp.isdigit() or len(timestamp) > 12:
            return Refused("webhook-timestamp is not whole seconds since the epoch")
        if abs(now - int(timestamp) * instants.SECOND) > self._tolerance:
            return Refused("webhook-timestamp is too far from our clock")
        signed = b".".join((message_id, timestamp, body))
        signatures = [it[3:] for it in given.split(b" ") if it.startswith(b"v1,")]
        matching = None
        for line, secret in enumerate(secrets, start=1):
            expected = base64.b64encode(hmac.digest(secret, signed, hashlib.sha256))
            for signature in signatures[:MAX_SIGNATURES]:
                if hmac.compare_digest(signature, expected):
                    matching = line
        if matching is None:
            return Refused("the signature does not match")
        return Verified("hmac", matching)


def _match(given: bytes | None, secrets: Sequence[bytes], method: Method) -> Verdict:
    if given is None:
        return Refused("the secret is missing")
    matching = None
    for line, secret in enumerate(secrets, start=1):
        if hmac.compare_digest(given, secret):
            matching = line
    return Refused("the secret does not match") if matching is None else Verified(method, matching)


def _secrets(text: str, method: Method, path: Path | None) -> list[bytes]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise _unusable(path, "the file is empty", "write one secret per line")
    match method:
        case "hmac":
            return [_signing_secret(line, path) for line in lines]
        case "basic" if not all(line.partition(":")[2] for line in lines):
            raise _unusable(path, "a line has no password", "write user:password, one per line")
        case _:
            return [line.encode() for line in lines]


def _signing_secret(line: str, path: Path | None) -> bytes:
    try:
        secret = base64.b64decode(line.removeprefix("whsec_"), validate=True)
    except ValueError:
        secret = b""
    if not secret:  # with an empty key, anyone could sign
        raise _unusable(
            path,
            "an hmac secret is not base64",
            "write it as the platform shows it: whsec_ and base64",
        )
    return secret


def _unusable(path: Path | None, why: str, remedy: str) -> SettingsError:
    return SettingsError(f"The webhook secrets in {path} cannot be used", why, remedy)
