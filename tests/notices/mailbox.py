"""A mailbox that is read by IMAP over TLS, as far as its readers go."""

import re
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme


class Mailbox:
    """`messages`: what is in it, by its numbers from 1 on. `asked`: every line of its readers.
    `uids`: what a search is answered in place of these numbers; `old`: how many of the first are
    older than any search asks for."""

    def __init__(self, folder: Path) -> None:
        self.messages: list[bytes] = []
        self.asked: list[str] = []
        self.uids: str | None = None
        self.old = 0
        authority = trustme.CA()
        self.ca_file = folder / "imap-ca.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("localhost").configure_cert(self._context)

    @contextmanager
    def running(self) -> Iterator["Mailbox"]:
        held = self

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with (
                    held._context.wrap_socket(self.request, server_side=True) as secured,
                    secured.makefile("rwb") as spoken,
                ):
                    spoken.write(b"* OK IMAP4rev1\r\n")
                    spoken.flush()
                    for line in spoken:
                        spoken.write(held._answer(line.decode().strip()))
                        spoken.flush()

        with socketserver.ThreadingTCPServer(("localhost", 0), Session) as server:
            server.daemon_threads = True
            self.port = server.server_address[1]
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()

    def _answer(self, line: str) -> bytes:
        tag, _, said = line.partition(" ")
        self.asked.append(said)
        name, found, verdict = said.split()[0], b"", "OK done"
        if name == "CAPABILITY":
            found = b"* CAPABILITY IMAP4rev1\r\n"
        elif name == "LOGIN" and said != 'LOGIN bounces "secret"':
            verdict = "NO wrong"
        elif name == "EXAMINE":
            found = f"* {len(self.messages)} EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n".encode()
        elif said.startswith("UID SEARCH"):
            asked = re.fullmatch(r"UID SEARCH UID (\d+):\*( SINCE (\S+))?", said)
            assert asked is not None
            last = len(self.messages)
            uids = {*range(int(asked[1]), last + 1), *([last] if last else [])}
            old = range(1, 1 + self.old if asked[2] else 1)
            said = self.uids or " ".join(map(str, sorted(uids - {*old})))
            found = f"* SEARCH {said}\r\n".encode()
        elif said.startswith("UID FETCH"):
            uid = int(said.split()[2])
            body = self.messages[uid - 1]
            begins = f"* {uid} FETCH (UID {uid} BODY[]<0> {{{len(body)}}}\r\n".encode()
            found = begins + body + b")\r\n"
        elif name == "LOGOUT":
            found = b"* BYE\r\n"
        return found + f"{tag} {verdict}\r\n".encode()
