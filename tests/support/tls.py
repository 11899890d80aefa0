"""Servers of TLS that ask for a client certificate in the ways that servers do."""

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import trustme

from tests.support.machine import wait_until

Asks = Literal["handshake", "optional", "afterwards", "never"]
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
ANSWER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class Pair(NamedTuple):
    certificate: Path
    key: Path


class Authority:
    """An authority, and what it issues, as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.ca = trustme.CA()
        self.folder = folder
        self.file = folder / "authority.pem"
        self.ca.cert_pem.write_to_path(str(self.file))

    def pair(self, name: str) -> Pair:
        issued = self.ca.issue_cert(name)
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.certificate.write_bytes(b"".join(it.bytes() for it in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(pair.key))
        pair.key.chmod(0o600)
        return pair


@contextlib.contextmanager
def serving(
    authority: Authority,
    asks: Asks,
    version: ssl.TLSVersion,
    clients: Path | None = None,
    *,
    hangs_up: bool = False,
) -> Iterator[tuple[str, list[str]]]:
    """The URL of a server that answers 404, and whom each answer went to: the name in the client's
    certificate, or "nobody". `clients`: the authority of certificates that it takes. `hangs_up`: it
    resets each connection after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_verify_locations(clients or authority.file)
    context.verify_mode = {"never": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL}.get(
        asks, ssl.CERT_REQUIRED
    )
    context.post_handshake_auth = asks == "afterwards"
    context.load_cert_chain(*authority.pair("localhost"))
    callers: list[str] = []

    def answer(connection: ssl.SSLSocket) -> None:
        if hangs_up:
            at_once = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            return
        head = b""
        while b"\r\n\r\n" not in head and (got := connection.recv(65536)):
            head += got
        if asks == "afterwards":
            connection.verify_client_post_handshake()
            connection.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                connection.recv(1)  # the certificate comes as a record of its own
            connection.settimeout(None)
        shown = connection.getpeercert(binary_form=True)
        if asks == "afterwards" and shown is None:
            return
        callers.append("nobody" if shown is None else _name_in(shown))
        connection.sendall(ANSWER)

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            with (
                raw,
                contextlib.suppress(OSError, ValueError),  # ValueError: it went away by then
                context.wrap_socket(raw, server_side=True) as connection,
            ):
                answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}", callers
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _name_in(certificate: bytes) -> str:
    from cryptography import x509

    names = x509.load_der_x509_certificate(certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    return names.value.get_values_for_type(x509.DNSName)[0]


@contextlib.contextmanager
def openssl_server(
    authority: Authority, *options: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The URL of `openssl s_server` with options, and its process."""
    openssl = shutil.which("openssl")
    assert openssl is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ours = authority.pair("localhost")
    command = [openssl, "s_server", "-accept", f"127.0.0.1:{port}", "-cert", ours.certificate]
    given = ["-key", ours.key, "-CAfile", authority.file, *options]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *given], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            wait_until(lambda: _listens(port))
            yield f"https://localhost:{port}", process
        finally:
            process.kill()


def _listens(port: int) -> bool:
    """Without a connection, which a server of one at a time would count."""
    wanted = f"0100007F:{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()
    return any(wanted == it.split()[1] and it.split()[3] == "0A" for it in lines[1:])
