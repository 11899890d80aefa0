"""A small HTTP server of a test's own, which answers as a function says."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answering(ThreadingHTTPServer):
    """Calls `answer` for each GET or POST, each on a thread of its own, until it is closed."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    return request.rfile.read(int(request.headers["Content-Length"]))


def give(request: BaseHTTPRequestHandler, status: int, body: bytes = b"") -> None:
    """Answers in full."""
    request.send_response(status)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
