"""Loads the certificates that we show and those that we believe from PEM files; of one that cannot
be used it says which file it is, why, and what to do, which OpenSSL's own words leave open."""

import re
import ssl
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pipeline.errors import SettingsError
from pipeline.texts import typed
from pipeline.written import AS_UTF_8, mark_of

_WHAT: Final = "The TLS client certificate cannot be used"
_CHANGED_PLACES: Final = "PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE may have changed places"
_ANOTHER: Final = "have a certificate issued for an RSA key, or one on the curve P-256"
_WHOLE: Final = re.compile(rb"-----BEGIN ([^-\r\n]+)-----.*?-----END \1-----", re.DOTALL)
_PFX: Final = re.compile(rb"\x30(?:[\x00-\x7f]|\x80|\x81.|\x82..|\x83...)\x02\x01\x03", re.DOTALL)
"""How a PKCS #12 file (.p12, .pfx) begins (RFC 7292, section 4): a sequence with its version, 3."""

Wanted = Literal["CERTIFICATE", "PRIVATE KEY"]
_NAMES: Final[dict[Wanted, str]] = {"CERTIFICATE": "certificate", "PRIVATE KEY": "private key"}


class Flaw(NamedTuple):
    """Why a file cannot hold what is wanted of it, such as "is empty", and what to do."""

    why: str
    remedy: str


def flaw_of(path: Path, content: bytes, wanted: Wanted) -> Flaw | None:
    """What shows without reading any part of it that a PEM file is none, or not all of one; None
    where nothing does. OpenSSL takes a chain whose last certificate is missing for a shorter one.
    """
    if not content.strip():
        left = "openssl leaves such a file where it failed; make it again:"
        return Flaw("is empty", f"{left} {_of_pfx(Path('FILE.p12'), path, wanted)}")
    if (mark := mark_of(content)) is not None:  # OpenSSL passes over the first part of it
        return Flaw(f"begins with a byte order mark of {mark}", f"{AS_UTF_8} without one")
    if b"-----BEGIN " not in content:
        return Flaw("is not in PEM", _as_pem(path, content, wanted))
    if b"-----" in _WHOLE.sub(b"", content):
        return Flaw(
            f"is not whole: it ends within a {_NAMES[wanted]}",
            "put the file as it was issued in its place",
        )
    kinds = {it.group(1).decode(errors="replace") for it in _WHOLE.finditer(content)}
    if any(kind.endswith(wanted) for kind in kinds):
        return None
    for other, name in _NAMES.items():
        if any(kind.endswith(other) for kind in kinds):
            return Flaw(f"holds a {name}, and no {_NAMES[wanted]}", _CHANGED_PLACES)
    return Flaw("holds neither a certificate nor a private key", "name the file that was issued")


def _as_pem(path: Path, content: bytes, wanted: Wanted) -> str:
    """What makes a file in PEM of one in another form."""
    made = Path(f"{path}.pem" if wanted == "CERTIFICATE" else f"{path}.key.pem")
    if _PFX.match(content):
        return _of_pfx(path, made, wanted)
    tool = "x509" if wanted == "CERTIFICATE" else "pkey"
    command = typed("openssl", tool, "-inform", "DER", "-in", path, "-out", made)
    return f"where it is in DER, {command} writes it as PEM; let the setting name that file then"


def _of_pfx(pfx: Path, made: Path, wanted: Wanted) -> str:
    """`-legacy`, since Brazilian authorities issue theirs under RC2 and Triple-DES, which OpenSSL 3
    reads no longer by itself; it reads new ones as well."""
    part = ("-nokeys",) if wanted == "CERTIFICATE" else ("-nocerts", "-noenc")
    command = typed("openssl", "pkcs12", "-legacy", "-in", pfx, *part, "-out", made)
    return f"of a .p12 or .pfx, {command} writes the {_NAMES[wanted]} as PEM (OpenSSL 3)"


def load_authorities(context: ssl.SSLContext, path: Path) -> None:
    """Has connections trust the authorities of a PEM file. Raises `SettingsError`."""
    try:
        flaw = flaw_of(path, path.read_bytes(), "CERTIFICATE")
        if flaw is None:
            context.load_verify_locations(path)
    except ssl.SSLError:
        flaw = Flaw("holds a damaged certificate", "put the file as it was issued in its place")
    except OSError as error:
        flaw = Flaw(f"cannot be read: {error.strerror}", "check its path and its permissions")
    if flaw is not None:
        raise SettingsError(
            f"The file {path} cannot be used",
            f"it {flaw.why}",
            f"it is to hold certificates of authorities, in PEM: {flaw.remedy}",
        )


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Has connections show a certificate. Raises `SettingsError` where its file and that of the key
    cannot be used together."""
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
        if certificate.is_file():  # OpenSSL takes half a chain
            _part(certificate, "PRAZO_CLIENT_CERT_FILE", "CERTIFICATE")
    except SettingsError:
        raise
    except (OSError, ValueError) as error:
        raise _fault(certificate, key, error) from None


def _no_password() -> str:
    """An encrypted key would make OpenSSL ask at the terminal, where nobody sits."""
    raise ValueError("the key is encrypted")


def _fault(certificate: Path, key: Path, error: Exception) -> SettingsError:
    """Why two files cannot be used together; `error` is what OpenSSL says of it."""
    try:
        shown = _part(certificate, "PRAZO_CLIENT_CERT_FILE", "CERTIFICATE")
        secret = _part(key, "PRAZO_CLIENT_KEY_FILE", "PRIVATE KEY")
        fits = _which_fit(certificate, shown, key, secret)
    except SettingsError as found:
        return found
    if not any(fits):
        return SettingsError(
            _WHAT,
            f"the private key in {key} is not that of the certificate in {certificate}",
            "let PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE name two that were made together",
        )
    if not fits[0]:
        return SettingsError(
            _WHAT,
            f"in {certificate} another certificate stands before the one of the key in {key}",
            "put ours first in the file, then those that vouch for it",
        )
    return SettingsError(
        _WHAT,
        f"{certificate} with {key}: {error}",
        "check PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE",
    )


def _which_fit(certificate: Path, shown: bytes, key: Path, secret: bytes) -> list[bool]:
    """Of each certificate in a file whether it is the key's. Raises `SettingsError` where what the
    files hold cannot be read."""
    from cryptography import x509  # takes a while, and a pair that fits does without
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        chain = x509.load_pem_x509_certificates(shown)
    except ValueError:
        raise SettingsError(
            _WHAT, f"{certificate} is damaged", "put the file as it was issued in its place"
        ) from None
    try:
        ours = load_pem_private_key(secret, password=None).public_key()
    except TypeError:
        raise SettingsError(
            _WHAT,
            f"the key in {key} is encrypted, and nobody is there to type its password",
            "decrypt it into a file that its owner alone can read, such as by "
            + typed("openssl", "pkey", "-in", key, "-out", f"{key}.open")
            + ", and let PRAZO_CLIENT_KEY_FILE name that",
        ) from None
    except ValueError:
        raise SettingsError(
            _WHAT, f"{key} is damaged", "put the file as it was made in its place"
        ) from None
    except UnsupportedAlgorithm as unsupported:
        raise SettingsError(
            _WHAT, f"the key in {key} is of a kind that is not supported: {unsupported}", _ANOTHER
        ) from None
    try:
        return [it.public_key() == ours for it in chain]
    except (ValueError, UnsupportedAlgorithm) as unsupported:
        raise SettingsError(
            _WHAT,
            f"a key in {certificate} is of a kind that is not supported: {unsupported}",
            _ANOTHER,
        ) from None


def _part(path: Path, setting: str, wanted: Wanted) -> bytes:
    """What a file holds. Raises `SettingsError` where nothing in it can be what is `wanted`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            _WHAT,
            f"{path} cannot be read: {error.strerror}",
            f"check {setting} and the file's permissions",
        ) from None
    if (flaw := flaw_of(path, content, wanted)) is not None:
        raise SettingsError(_WHAT, f"{path} {flaw.why}", f"check {setting}; {flaw.remedy}")
    return content
