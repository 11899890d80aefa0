"""Asks an RFC 3161 authority to say when a checkpoint existed. Only its digest leaves the house."""

import hashlib
import secrets
from typing import Final

import httpx

from pipeline.errors import OperatorError

ANSWER_SECONDS: Final = 20.0
MAX_TOKEN_BYTES: Final = 65_536

_SHA256_ALGORITHM: Final = bytes.fromhex("300d06096086480165030402010500")
_GRANTED: Final = (0, 1)  # PKIStatus: granted, granted with modifications


def stamp(url: str, data: bytes) -> bytes:
    """The authority's answer (a TimeStampResp, DER) over the SHA-256 of `data`.

    Its signature is for the verifier to check, who knows whom to trust. Raises `OperatorError`
    where there is no answer, or one that grants nothing.
    """
    digest = hashlib.sha256(data).digest()
    try:
        answer = httpx.post(
            url,
            content=query(digest, secrets.randbits(63)),
            headers={"Content-Type": "application/timestamp-query"},
            timeout=ANSWER_SECONDS,
            follow_redirects=False,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _unusable(url, str(error)) from None
    token = answer.content
    if answer.status_code != 200 or len(token) > MAX_TOKEN_BYTES:
        raise _unusable(url, f"it answered {answer.status_code} with {len(token)} bytes")
    if _status(token) not in _GRANTED or digest not in token:
        raise _unusable(url, "it granted no timestamp of what was asked")
    return token


def query(digest: bytes, nonce: int) -> bytes:
    """A TimeStampReq (RFC 3161, section 2.4.1) that asks for the certificate as well."""
    imprint = _tagged(0x30, _SHA256_ALGORITHM + _tagged(0x04, digest))
    number = nonce.to_bytes(nonce.bit_length() // 8 + 1, "big")
    return _tagged(0x30, b"\x02\x01\x01" + imprint + _tagged(0x02, number) + b"\x01\x01\xff")


def _tagged(tag: int, content: bytes) -> bytes:
    """DER of something under 128 bytes, as all of a query is."""
    return bytes((tag, len(content))) + content


def _status(answer: bytes) -> int | None:
    """The PKIStatus of a TimeStampResp: SEQUENCE { SEQUENCE { INTEGER ... } ... }."""
    rest = answer
    for _ in range(2):
        if len(rest) < 2 or rest[0] != 0x30:
            return None
        rest = rest[2 + (rest[1] & 0x7F if rest[1] & 0x80 else 0) :]
    return rest[2] if rest[:2] == b"\x02\x01" and len(rest) > 2 else None


def _unusable(url: str, why: str) -> OperatorError:
    return OperatorError(
        f"The timestamp authority {url} gave no timestamp",
        why,
        "try again, or unset PRAZO_TIMESTAMP_URL to export without one",
    )
