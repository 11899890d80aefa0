"""Decides whether the platform sent a delivery: bytes, headers and now -> Verified or Refused.

The contract does not show how deliveries are signed, so the form is a setting. The time of a
comparison does not depend on the secret. Every secret of the file is tried, so that secrets can be
rotated without a gap.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pipeline import instants
from pipeline.files.reread import RereadFile
from pipeline.http import standard_webhooks
from pipeline.written import lines_in

Method = Literal["none", "header", "basic", "hmac"]

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

_UNPROVED: Final = Verified("none", None)


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
            return _UNPROVED
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
        try:
            matching = standard_webhooks.check(
                secrets, headers, body, now=now, tolerance=self._tolerance
            )
        except standard_webhooks.NotSigned as error:
            return Refused(str(error))
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
    if method == "hmac":
        return standard_webhooks.secrets_in(text, path)
    lines = [*lines_in(text)]
    if not lines:
        raise standard_webhooks.unusable(path, "the file is empty", "write one secret per line")
    for number, line in lines:
        if method == "basic" and not line.partition(":")[2]:
            raise standard_webhooks.unusable(
                path, f"a line has no password: line {number}", "write user:password, one per line"
            )
    return [line.encode() for _, line in lines]
