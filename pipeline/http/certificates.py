"""Says when the certificates that we show, or believe, begin and end, and whether they serve."""

from pathlib import Path

from cryptography import x509

from pipeline import instants
from pipeline.http.outgoing.contexts import bare, trusting
from pipeline.http.outgoing.pem import flaw_of, load_pair


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


def what_ended(certificate: Path | None) -> str:
    """`: our certificate ... ended ...` where the chain in a PEM file has, which a platform that
    hangs up may not say; else nothing, and where `prazo doctor` has to look at the file."""
    try:
        ends_at = None if certificate is None else end_of(first_to_end(certificate))
    except (OSError, ValueError):
        return ""
    if ends_at is None or ends_at > instants.now():
        return ""
    return f": our certificate {certificate} ended {instants.readable(ends_at)}"


def check_usable(certificate: Path, key: Path, authority: Path | None, now: int) -> None:
    """Raises `SettingsError`, `OSError` or `ValueError` where nobody could begin to send with these
    files: they cannot be read, do not fit together, or have not begun. It takes a fraction of a
    context that also trusts the system's authorities."""
    load_pair(bare(), certificate, key)
    if authority is not None:
        trusting(authority)
    check_begun(certificate, now)


def _in(path: Path) -> list[x509.Certificate]:
    content = path.read_bytes()
    if (flaw := flaw_of(path, content, "CERTIFICATE")) is not None:
        raise ValueError(f"it {flaw.why}: {flaw.remedy}")
    return x509.load_pem_x509_certificates(content)


def end_of(certificate: x509.Certificate) -> int:
    """When it ends, in microseconds."""
    return instants.from_datetime(certificate.not_valid_after_utc)


def begin_of(certificate: x509.Certificate) -> int:
    """When it begins, in microseconds."""
    return instants.from_datetime(certificate.not_valid_before_utc)
