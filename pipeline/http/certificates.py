"""Says when the certificates that we show, or believe, begin and end, and whether they serve."""

import ssl
from pathlib import Path

from cryptography import x509

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.http.outgoing.clients import load_pair


def first_to_end(path: Path) -> x509.Certificate:
    """Of the certificates in a PEM file the one that ends first: with it the chain ends. Raises
    `OSError`, or `ValueError` for a file without certificates."""
    return min(_in(path), key=lambda certificate: certificate.not_valid_after_utc)


def last_to_end(path: Path) -> x509.Certificate:
    """Of the authorities in a PEM file the one that ends last: until then one of them may vouch,
    and a file of a rotation holds the former one, too. Raises as `first_to_end` does."""
    return max(_in(path), key=lambda certificate: certificate.not_valid_after_utc)


def last_to_begin(path: Path) -> x509.Certificate:
    """Of the certificates in a PEM file the one that begins last: until then the chain is not
    valid. Raises as `first_to_end` does."""
    return max(_in(path), key=lambda certificate: certificate.not_valid_before_utc)


def first_to_begin(path: Path) -> x509.Certificate:
    """Of the authorities in a PEM file the one that begins first: from then on one of them may
    vouch. Raises as `first_to_end` does."""
    return min(_in(path), key=lambda certificate: certificate.not_valid_before_utc)


def check_begun(path: Path, now: int) -> None:
    """Raises `ValueError` where the chain in a PEM file is not valid yet, and as `first_to_end`
    does."""
    begins_at = begin_of(last_to_begin(path))
    if begins_at > now:
        raise ValueError(f"{path} begins {instants.readable(begins_at)}")


def check_usable(certificate: Path, key: Path, authority: Path | None, now: int) -> None:
    """Raises `OSError` or `ValueError` where nobody could begin to send with these files: they
    cannot be read, do not fit together, or have not begun. It takes a fraction of a context that
    also trusts the system's authorities."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    load_pair(context, certificate, key)
    if authority is not None:
        context.load_verify_locations(authority)
    check_begun(certificate, now)


def trusting(path: Path) -> ssl.SSLContext:
    """What trusts the authorities of a PEM file. Raises `SettingsError`."""
    try:
        return ssl.create_default_context(cafile=path)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The file {path} cannot be used",
            str(error),
            "it holds certificates of authorities, in PEM",
        ) from None


def _in(path: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(path.read_bytes())


def end_of(certificate: x509.Certificate) -> int:
    """When it ends, in microseconds."""
    return instants.from_datetime(certificate.not_valid_after_utc)


def begin_of(certificate: x509.Certificate) -> int:
    """When it begins, in microseconds."""
    return instants.from_datetime(certificate.not_valid_before_utc)
