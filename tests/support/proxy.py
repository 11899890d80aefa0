"""A forward proxy that makes tunnels (CONNECT), and says what it was asked for."""

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Literal

Mood = Literal["well", "refuses", "silent", "hangs up", "no HTTP"]


class Proxy:
    """`asked`: the lines and headers of each request. `passed`: all bytes that went through."""

    def __init__(self, mood: Mood, login: str | None) -> None:
        self.asked: list[str] = []
        self.passed = bytearray()
        self.mood, self.login = mood, login
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                came, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(came,), daemon=True).start()

    def _serve(self, came: socket.socket) -> None:
        with came, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and (got := came.recv(4096)):
                head += got
            self.asked.append(head.decode())
            if self.mood == "silent":
                came.recv(1)
            elif self.mood == "no HTTP":
                came.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            elif self.mood == "refuses":
                came.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            elif self.mood == "well":
                self._tunnel(came, head)

    def _tunnel(self, came: socket.socket, head: bytes) -> None:
        if self.login is not None:
            wanted = base64.b64encode(self.login.encode())
            if b"\r\nproxy-authorization: basic " + wanted.lower() not in head.lower():
                says = b"Proxy-Authenticate: Basic realm=proxy\r\nContent-Length: 0\r\n\r\n"
                came.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n" + says)
                return
        host, _, port = head.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as there:
            came.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._copy, args=(there, came), daemon=True)
            back.start()
            self._copy(came, there)
            back.join(10)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while got := source.recv(65536):
                self.passed += got
                target.sendall(got)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxying(mood: Mood = "well", login: str | None = None) -> Iterator[Proxy]:
    proxy = Proxy(mood, login)
    try:
        yield proxy
    finally:
        with contextlib.suppress(OSError):  # closing it alone would leave who waits for a caller
            proxy.listener.shutdown(socket.SHUT_RDWR)
        proxy.listener.close()
