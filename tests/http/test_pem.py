"""Of a client certificate that cannot be used, it is said which file it is, why, and what to do."""

import ssl
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pipeline.errors import SettingsError
from pipeline.http.outgoing import pem

AUTHORITY = trustme.CA()
OURS = AUTHORITY.issue_cert("marketplace.example")
CERTIFICATE = OURS.cert_chain_pems[0].bytes()
KEY = OURS.private_key_pem.bytes()
OTHERS_KEY = AUTHORITY.issue_cert("other.example").private_key_pem.bytes()
LOCKED_KEY = load_pem_private_key(KEY, None).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cret")
)
DER = x509.load_pem_x509_certificate(CERTIFICATE).public_bytes(Encoding.DER)
# The curve P-256, and one that the library does not know.
KNOWN, UNKNOWN = bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a811ccf5501822e")
OF_UNKNOWN_KEY = ssl.DER_cert_to_PEM_cert(DER.replace(KNOWN, UNKNOWN)).encode()
UNKNOWN_KEY = (
    ssl.DER_cert_to_PEM_cert(
        load_pem_private_key(KEY, None)
        .private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        .replace(KNOWN, UNKNOWN)
    )
    .replace("CERTIFICATE", "PRIVATE KEY")
    .encode()
)
SWAPPED = "PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE may have changed places"


def fault(folder: Path, certificate: bytes | None, key: bytes | None) -> SettingsError:
    files = folder / "our.pem", folder / "our.key"
    for path, content in zip(files, (certificate, key), strict=True):
        if content is not None:
            path.write_bytes(content)
    with pytest.raises(SettingsError) as refused:
        pem.load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *files)
    assert refused.value.what == "The TLS client certificate cannot be used"
    return refused.value


@pytest.mark.parametrize(
    ("certificate", "key", "why", "remedy"),
    [
        (
            CERTIFICATE,
            OTHERS_KEY,
            "the private key in {key} is not that of the certificate in {certificate}",
            "two that were made together",
        ),
        (
            AUTHORITY.cert_pem.bytes() + CERTIFICATE,
            KEY,
            "in {certificate} another certificate stands before the one of the key in {key}",
            "put ours first",
        ),
        (
            CERTIFICATE,
            UNKNOWN_KEY,
            "the key in {key} is of a kind that is not supported: "
            "Curve 1.2.156.10197.1.302 is not supported",
            "on the curve P-256",
        ),
        (
            OF_UNKNOWN_KEY,
            KEY,
            "a key in {certificate} is of a kind that is not supported: "
            "Curve 1.2.156.10197.1.302 is not supported",
            "on the curve P-256",
        ),
        (None, KEY, "{certificate} cannot be read: No such file or directory", "PRAZO_CLIENT_CERT"),
        (CERTIFICATE, None, "{key} cannot be read: No such file or directory", "PRAZO_CLIENT_KEY"),
        (b"", KEY, "{certificate} is empty", "PRAZO_CLIENT_CERT_FILE"),
        (CERTIFICATE, b"\n", "{key} is empty", "PRAZO_CLIENT_KEY_FILE"),
        (
            CERTIFICATE + AUTHORITY.cert_pem.bytes()[:9],  # OpenSSL takes the first alone
            KEY,
            "{certificate} is not whole: it ends within a certificate",
            "as it was issued",
        ),
        (CERTIFICATE, KEY[:90], "{key} is not whole: it ends within a private key", "as it was"),
        (DER, KEY, "{certificate} is not in PEM", "openssl x509 -inform DER"),
        (KEY, CERTIFICATE, "{certificate} holds a private key, and no certificate", SWAPPED),
        (CERTIFICATE, CERTIFICATE, "{key} holds a certificate, and no private key", SWAPPED),
        (
            b"-----BEGIN SSH-----\nx\n-----END SSH-----\n",
            KEY,
            "{certificate} holds neither a certificate nor a private key",
            "check PRAZO_CLIENT_CERT_FILE",
        ),
        (
            CERTIFICATE,
            LOCKED_KEY,
            "the key in {key} is encrypted, and nobody is there to type its password",
            "openssl pkey -in {key}",
        ),
        (
            CERTIFICATE[:200] + CERTIFICATE[-60:],
            KEY,
            "{certificate} is damaged",
            "as it was issued",
        ),
        (CERTIFICATE, KEY[:80] + KEY[-40:], "{key} is damaged", "as it was made"),
    ],
    ids=lambda given: given[:30] if isinstance(given, str) else "content",  # keys are random
)
def test_the_file_is_named_with_why_and_what_to_do(
    tmp_path: Path, certificate: bytes | None, key: bytes | None, why: str, remedy: str
) -> None:
    """`[SSL] PEM lib (_ssl.c:3900)` was all that was said of most of them."""
    names = {"certificate": tmp_path / "our.pem", "key": tmp_path / "our.key"}
    refused = fault(tmp_path, certificate, key)
    assert refused.why == why.format(**names)
    assert remedy.format(**names) in refused.remedy


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "our.key").mkdir()
    refused = fault(tmp_path, CERTIFICATE, None)
    assert refused.why == f"{tmp_path / 'our.key'} cannot be read: Is a directory"


def test_a_pair_that_fits_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "our.pem").write_bytes(CERTIFICATE + AUTHORITY.cert_pem.bytes())
    (tmp_path / "our.key").write_bytes(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    pem.load_pair(context, tmp_path / "our.pem", tmp_path / "our.key")
