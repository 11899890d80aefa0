"""Loads the certificates that we show and those that we believe from PEM files; of one that cannot
be used it says which file it is, why, and what to do, which OpenSSL's own words leave open."""

import ssl
from pathlib import Path
from typing import Final

from pipeline.errors import SettingsError

_WHAT: Final = "The TLS client certificate cannot be used"
_AS_PEM: Final = (
    "write it as PEM: `openssl x509 -inform DER` does, or `openssl pkcs12 -nodes` of a .p12 or .pfx"
)
_CHANGED_PLACES: Final = "PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE may have changed places"
_ANOTHER: Final = "have a certificate issued for an RSA key, or one on the curve P-256"


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


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Has connections show a certificate. Raises `SettingsError` where its file and that of the key
    cannot be used together."""
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise _fault(certificate, key, error) from None


def _no_password() -> str:
    """An encrypted key would make OpenSSL ask at the terminal, where nobody sits."""
    raise ValueError("the key is encrypted")


def _fault(certificate: Path, key: Path, error: Exception) -> SettingsError:
    """Why two files cannot be used together; `error` is what OpenSSL says of it."""
    try:
        shown = _part(certificate, "PRAZO_CLIENT_CERT_FILE", b"CERTIFICATE-----")
        secret = _part(key, "PRAZO_CLIENT_KEY_FILE", b"PRIVATE KEY-----")
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
            f"decrypt it into a file that its owner alone can read: `openssl pkey -in {key}`",
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


def _part(path: Path, setting: str, wanted: bytes) -> bytes:
    """What a file holds. Raises `SettingsError` where nothing in it can be what is `wanted`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(
            _WHAT,
            f"{path} cannot be read: {error.strerror}",
            f"check {setting} and the file's permissions",
        ) from None
    if wanted in content:
        return content
    if not content.strip():
        why, remedy = "is empty", f"check {setting}"
    elif b"-----BEGIN " not in content:
        why, remedy = "is not in PEM", _AS_PEM
    elif b"PRIVATE KEY-----" in content:
        why, remedy = "holds a private key, and no certificate", _CHANGED_PLACES
    elif b"CERTIFICATE-----" in content:
        why, remedy = "holds a certificate, and no private key", _CHANGED_PLACES
    else:
        why, remedy = "holds neither a certificate nor a private key", f"check {setting}"
    raise SettingsError(_WHAT, f"{path} {why}", remedy)
