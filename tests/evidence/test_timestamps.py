"""RFC 3161 timestamps, with `openssl ts` as an authority on this machine."""

import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import timestamps, verify
from pipeline.errors import OperatorError
from pipeline.export_request import Scope
from pipeline.service import LedgerService
from tests.evidence import forgery, story
from tests.evidence.conftest import export

CONFIGURATION = """
[req]
distinguished_name = name
x509_extensions = authority
prompt = no
[name]
CN = Authority of the tests
[authority]
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = here
[here]
serial = serial
crypto_device = builtin
signer_cert = authority.pem
signer_key = authority.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


class Authority:
    """Answers over HTTP what openssl answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "ts.cnf").write_text(CONFIGURATION, encoding="ascii")
        (folder / "serial").write_text("01", encoding="ascii")
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", "ts.cnf"),
            *("-keyout", "authority.key", "-out", "authority.pem", "-days", "2"),
        )
        authority = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = authority.answer(query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self.certificate = folder / "authority.pem"
        self.is_wrong = False
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, query: bytes) -> tuple[int, bytes]:
        if self.is_wrong:
            return 503, b"later"
        (self._folder / "query").write_bytes(query)
        self._openssl(
            *("ts", "-reply", "-config", "ts.cnf", "-queryfile", "query", "-out", "reply")
        )
        return 200, (self._folder / "reply").read_bytes()

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(
            ["openssl", *arguments], cwd=self._folder, check=True, capture_output=True, timeout=60
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    folder = tmp_path / "authority"
    folder.mkdir()
    opened = Authority(folder)
    yield opened
    opened.close()


@pytest.fixture
def stamping(tmp_path: Path, authority: Authority) -> Iterator[LedgerService]:
    opened = LedgerService(story.settings(tmp_path, timestamp_url=authority.url))
    story.record(opened.inbox, opened.settings.artifacts)
    opened.catch_up()
    yield opened
    opened.close()


def test_a_query_has_the_bytes_that_openssl_would_send(tmp_path: Path) -> None:
    (tmp_path / "query").write_bytes(timestamps.query(bytes(range(32)), 0x0102030405060708))
    shown = subprocess.run(
        ["openssl", "ts", "-query", "-in", str(tmp_path / "query"), "-text"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert "Version: 1" in shown
    assert "Hash Algorithm: sha256" in shown
    assert "Nonce: 0x0102030405060708" in shown
    assert "Certificate required: yes" in shown
    assert "00 01 02 03 04 05 06 07-08 09 0a 0b 0c 0d 0e 0f" in shown


def test_a_package_carries_a_timestamp_that_verifies(
    stamping: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    exported = export(stamping, Scope(process_id="p1"), tmp_path / "p.zip")
    verdict = verify.verify(exported.path, exported.key, authority=str(authority.certificate))
    assert verdict.faults == []
    assert any(it.startswith("all of it existed by 20") for it in verdict.checked)
    unasked = verify.verify(exported.path, exported.key)
    assert unasked.faults == []
    assert any("give its authority's certificate" in it for it in unasked.notes)


def test_a_timestamp_of_another_authority_or_checkpoint_is_a_fault(
    stamping: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    exported = export(stamping, Scope(process_id="p1"), tmp_path / "p.zip")
    other = tmp_path / "other"
    other.mkdir()
    impostor = Authority(other)
    impostor.close()
    verdict = verify.verify(exported.path, exported.key, authority=str(impostor.certificate))
    assert verdict.faults == ["data/checkpoint.tsr is not signed by the timestamp authority given"]
    files = forgery.read(exported.path)
    files["data/checkpoint.tsr"] = timestamps.stamp(authority.url, b"something else")
    assert stamping.signer is not None
    forged = forgery.write(tmp_path / "f.zip", forgery.seal(files, stamping.signer))
    assert verify.verify(forged, exported.key, authority=str(authority.certificate)).faults == [
        "data/checkpoint.tsr is no timestamp of this checkpoint"
    ]


def test_a_timestamp_cannot_be_dropped(stamping: LedgerService, tmp_path: Path) -> None:
    exported = export(stamping, Scope(process_id="p1"), tmp_path / "p.zip")
    files = forgery.read(exported.path)
    del files["data/checkpoint.tsr"]
    assert stamping.signer is not None
    forged = forgery.write(tmp_path / "f.zip", forgery.seal(files, stamping.signer))
    assert verify.verify(forged, exported.key).faults == [
        "data/checkpoint.tsr is missing, or there unannounced"
    ]


def test_an_authority_that_gives_nothing_fails_the_export_with_what_to_do(
    stamping: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    authority.is_wrong = True
    with pytest.raises(OperatorError, match="unset PRAZO_TIMESTAMP_URL"):
        export(stamping, Scope(process_id="p1"), tmp_path / "p.zip")
    assert not (tmp_path / "p.zip").exists()
