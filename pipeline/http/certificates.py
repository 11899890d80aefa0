"""Says when the certificates that we show, or believe, begin and end."""

from pathlib import Path

from cryptography import x509

from pipeline import instants


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


def _in(path: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(path.read_bytes())


def end_of(certificate: x509.Certificate) -> int:
    """When it ends, in microseconds."""
    return instants.from_datetime(certificate.not_valid_after_utc)


def begin_of(certificate: x509.Certificate) -> int:
    """When it begins, in microseconds."""
    return instants.from_datetime(certificate.not_valid_before_utc)
