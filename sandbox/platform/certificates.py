"""Makes throw-away certificates for the sandbox: good ones, and bad ones that must be refused.

They are PEM files in a folder, as the product takes them. Never use them outside the sandbox: the
authority's key is not stored, and nobody vouches for it.
"""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

_ORGANISATION = "Prazo sandbox"


@dataclass(frozen=True)
class KeyPair:
    """A certificate chain and its private key, as PEM files."""

    certificate: Path
    key: Path

    def der(self) -> bytes:
        """The certificate itself, as a connection shows it: the first of its chain."""
        first, end, _ = self.certificate.read_text(encoding="ascii").partition(ssl.PEM_FOOTER)
        return ssl.PEM_cert_to_DER_cert(first + end)


@dataclass(frozen=True)
class Certificates:
    """`authority` vouches for `server` and `client`; each of the others is wrong in one way."""

    authority: Path
    server: KeyPair
    client: KeyPair
    expired_client: KeyPair  # of the right authority, ended yesterday
    stranger_client: KeyPair  # valid, of another authority
    stranger_authority: Path  # trusting this one, a client refuses the server


def issue(folder: Path, *, host: str = "127.0.0.1") -> Certificates:
    """Makes a new authority and everything it signs, valid for a year, under `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA(organization_name=_ORGANISATION, organization_unit_name="authority")
    stranger = trustme.CA(organization_name=_ORGANISATION, organization_unit_name="stranger")
    now = datetime.now(UTC).replace(tzinfo=None)  # trustme takes naive UTC
    begin, end = now - timedelta(days=1), now + timedelta(days=365)
    client = "marketplace.sandbox.example"
    return Certificates(
        authority=_write(folder / "authority.pem", authority.cert_pem.bytes()),
        server=_pair(
            folder,
            "server",
            authority.issue_cert(
                *dict.fromkeys((host, "127.0.0.1", "::1", "localhost")),
                organization_name=_ORGANISATION,
                not_before=begin,
                not_after=end,
            ),
        ),
        client=_pair(
            folder,
            "client",
            authority.issue_cert(
                client, organization_name=_ORGANISATION, not_before=begin, not_after=end
            ),
        ),
        expired_client=_pair(
            folder,
            "expired_client",
            authority.issue_cert(
                client,
                organization_name=_ORGANISATION,
                not_before=now - timedelta(days=366),
                not_after=now - timedelta(days=1),
            ),
        ),
        stranger_client=_pair(
            folder,
            "stranger_client",
            stranger.issue_cert(
                client, organization_name=_ORGANISATION, not_before=begin, not_after=end
            ),
        ),
        stranger_authority=_write(folder / "stranger_authority.pem", stranger.cert_pem.bytes()),
    )


def _pair(folder: Path, name: str, leaf: trustme.LeafCert) -> KeyPair:
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return KeyPair(
        certificate=_write(folder / f"{name}.pem", chain),
        key=_write(folder / f"{name}.key.pem", leaf.private_key_pem.bytes()),
    )


def _write(path: Path, content: bytes) -> Path:
    """Writes a file that only its owner can read: keys need that, and certificates allow it."""
    path.touch(mode=0o600)
    path.chmod(0o600)  # an older file keeps its mode otherwise
    path.write_bytes(content)
    return path
