"""Makes every TLS context of ours, each flag of it set here. What Python or the system's OpenSSL
would choose changes with their versions (Python 3.13 began to refuse authorities that 3.12 takes),
and with the environment (`SSLKEYLOGFILE` writes down what decrypts a connection)."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.http.outgoing import pem

CIPHERS: Final = (
    "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
)
"""Of TLS 1.2; those of 1.3 are all good. Keys from 2,048 bits on."""
OPTIONS: Final = (
    ssl.OP_ALL  # workarounds that cost no safety
    | ssl.OP_NO_SSLv3
    | ssl.OP_NO_COMPRESSION
    | ssl.OP_CIPHER_SERVER_PREFERENCE
    | ssl.OP_ENABLE_MIDDLEBOX_COMPAT
    | ssl.OP_NO_TICKET  # each handshake shows the certificates itself
    | getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)  # since OpenSSL 3.0: an end without a farewell
)
"""Nothing else: no renegotiation without RFC 5746, whatever the system's OpenSSL is set to."""
VERIFICATION: Final = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST | ssl.VerifyFlags(0x80000)
"""With `VERIFY_X509_PARTIAL_CHAIN` (Python 3.11 has no name for it): a file of authorities may
hold the one that issued a certificate alone. Without `VERIFY_X509_STRICT`: many private authorities
lack an extension that RFC 5280 asks for, and curl takes them (docs/decisions/platform.md)."""
HTTP: Final = ("http/1.1",)
"""The protocol that a connection for HTTP asks for (ALPN)."""


def bare(protocols: Sequence[str] = HTTP) -> ssl.SSLContext:
    """What believes no authority: for what is never spoken to by TLS, or gets them later."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED
    context.options = OPTIONS
    context.set_ciphers(CIPHERS)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags = VERIFICATION
    context.check_hostname = True
    context.post_handshake_auth = False
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def trusting(authority: Path | None, protocols: Sequence[str] = HTTP) -> ssl.SSLContext:
    """What trusts the authorities of a PEM file; without one those of this machine, which are where
    OpenSSL looks for them: `SSL_CERT_FILE` and `SSL_CERT_DIR` name another place. Raises
    `SettingsError` for a file that cannot be used."""
    context = bare(protocols)
    if authority is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        pem.load_authorities(context, authority)
    return context
