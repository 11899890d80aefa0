"""A reverse proxy in front of the dashboard, as an organisation would run one: it says who asks.

Works on bytes: the head of each request gets the proxy's headers, the rest passes through.
"""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Proxy(socketserver.ThreadingTCPServer):
    """`headers` describe the person from now on."""

    allow_reuse_address = True

    def __init__(self, to_port: int, headers: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.headers = headers
        self.to = ("127.0.0.1", to_port)

    @contextmanager
    def running(self) -> Iterator[str]:
        """The address that browsers use; the connections must be closed before the block ends."""
        with self:
            thread = threading.Thread(target=self.serve_forever, args=(0.05,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{self.server_address[1]}"
            finally:
                self.shutdown()
                thread.join()


class _Passing(socketserver.BaseRequestHandler):
    request: socket.socket
    server: Proxy

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            data = self.request.recv(65_536)
            if not data:
                return
            head += data
        head, _, rest = head.partition(b"\r\n\r\n")
        line, *fields = head.split(b"\r\n")
        if not any(it.lower().startswith(b"upgrade:") for it in fields):
            # One request per connection, so that every head is seen.
            fields = [it for it in fields if not it.lower().startswith(b"connection:")]
            fields.append(b"Connection: close")
        fields.append(b"X-Forwarded-For: 203.0.113.9")  # as every proxy adds it
        fields += [f"{name}: {value}".encode() for name, value in self.server.headers.items()]
        with socket.create_connection(self.server.to) as inner:
            inner.sendall(b"\r\n".join([line, *fields, b"", rest]))
            asking = threading.Thread(target=_pump, args=(self.request, inner))
            asking.start()
            _pump(inner, self.request)
            asking.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Until one of the two is closed; then both are."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
