"""Says when the certificates that we show, or believe, end."""

from pathlib import Path

from cryptography import x509

from pipeline import instants


def first_to_end(path: Path) -> x509.Certificate:
    """Of the certificates in a PEM file the one that ends first: with it the chain ends. Raises
    `OSError`, or `ValueError` for a file without certificates."""
    chain = x509.load_pem_x509_certificates(path.read_bytes())
    return min(chain, key=lambda certificate: certificate.not_valid_after_utc)


def end_of(certificate: x509.Certificate) -> int:
    """When it ends, in microseconds."""
    return instants.from_datetime(certificate.not_valid_after_utc)
