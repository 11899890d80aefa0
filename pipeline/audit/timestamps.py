"""Asks an RFC 3161 authority to certify when a checkpoint existed. It sends only the digest."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pipeline.errors import OperatorError
from pipeline.http import addresses
from pipeline.http.outgoing import asking
from pipeline.verify import CRL, Fault, check_answer, pem, pem_blocks

_SHA256_ALGORITHM: Final = bytes.fromhex("300d06096086480165030402010500")
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_GRANTED: Final = (0, 1)  # PKIStatus: granted, granted with modifications


def stamp(url: str, data: bytes) -> bytes:
    """The authority's answer over the SHA-256 of `data`, as `stamp_digest`."""
    return stamp_digest(url, hashlib.sha256(data).digest())


def archive(url: str, package: Path, earlier: Sequence[bytes] = ()) -> bytes:
    """The authority's answer over a package and the archive timestamps that it has, oldest first.

    It shows that these were there while the certificates in them still held; so a package is
    verified after they have ended, for as long as somebody stamps it again in time.
    """
    with package.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    for answer in earlier:
        digest.update(answer)
    return stamp_digest(url, digest.digest())


def stamp_digest(url: str, digest: bytes) -> bytes:
    """The authority's answer (a TimeStampResp, DER) over a SHA-256.

    This does not check the signature: the verifier does, who knows which authority to trust.
    Raises `OperatorError` if there is no answer, or no timestamp in it.
    """
    try:
        asked = query(digest, secrets.randbits(63))
        status, token = asking.post(url, asked, "application/timestamp-query")
    except ValueError as error:
        raise _unusable(url, str(error)) from None
    if status != 200:
        raise _unusable(url, f"it answered {status}")
    if _status(token) not in _GRANTED or digest not in token:
        raise _unusable(url, "it granted no timestamp of what was asked")
    try:
        check_answer(token)
    except (Fault, ValueError, IndexError) as error:
        raise _unusable(url, f"no verifier would take its answer, which {error}") from None
    return token


def read_chain(path: Path) -> bytes:
    """The certificates and revocation lists in a PEM file, without any text beside them; raises
    `OperatorError` if it holds none, or a list that has ended, with which no verifier would believe
    a timestamp of today."""
    try:
        blocks = pem_blocks(path.read_bytes())
        if not blocks:
            raise ValueError("it holds no certificate and no revocation list in PEM")
        _check_lists([content for kind, content in blocks if kind == CRL])
    except (OSError, ValueError, Fault) as error:
        raise OperatorError(
            f"The file {path} cannot be used",
            str(error),
            "correct PRAZO_TIMESTAMP_CHAIN_FILE, or unset it",
        ) from None
    return pem(blocks)


def _check_lists(lists: Sequence[bytes]) -> None:
    """ValueError where the newest list of one who issues certificates has ended."""
    from cryptography import x509  # takes long to import, and few have such lists

    ends: dict[str, datetime] = {}
    for content in lists:
        found = x509.load_der_x509_crl(content)
        issuer, end = found.issuer.rfc4514_string(), found.next_update_utc
        ends[issuer] = max(ends.get(issuer, _FIRST), end or _LAST)
    for issuer, end in ends.items():
        if end < datetime.now(UTC):
            raise ValueError(
                f"the revocation list of {issuer} ended at {end:%Y-%m-%d %H:%M:%S} UTC: put its"
                " newest one there"
            )


def query(digest: bytes, nonce: int) -> bytes:
    """A TimeStampReq (RFC 3161, section 2.4.1) that asks for the certificate as well."""
    imprint = _tagged(0x30, _SHA256_ALGORITHM + _tagged(0x04, digest))
    number = nonce.to_bytes(nonce.bit_length() // 8 + 1, "big")
    return _tagged(0x30, b"\x02\x01\x01" + imprint + _tagged(0x02, number) + b"\x01\x01\xff")


def _tagged(tag: int, content: bytes) -> bytes:
    """The DER of a value under 128 bytes; every part of a query is that short."""
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
        f"The timestamp authority {addresses.shown(url)} gave no timestamp",
        why,
        "try again; a package can also be made without a stamp: unset PRAZO_TIMESTAMP_URL for that",
    )
