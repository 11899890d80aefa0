"""RFC 3161 timestamps, with `openssl ts` as an authority on this machine."""

import hashlib
import json
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pipeline import verify
from pipeline.audit import timestamps
from pipeline.audit.export import Exported
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.errors import OperatorError
from pipeline.http.outgoing import asking
from tests.audit import forgery
from tests.audit.conftest import copied, empty_tables, export, no_rows
from tests.support.answering import Answering, body_of, give

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

    def __init__(self, folder: Path, *, days: int = 2) -> None:
        self._folder = folder
        named = CONFIGURATION.replace("of the tests", f"of the tests for {days} days")
        (folder / "ts.cnf").write_text(named, encoding="ascii")
        (folder / "serial").write_text("01", encoding="ascii")
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", "ts.cnf"),
            *("-keyout", "authority.key", "-out", "authority.pem", "-days", str(days)),
        )
        self._server = Answering(lambda asked: give(asked, *self.answer(body_of(asked))))
        self.url = f"{self._server.url}/"
        self.certificate = folder / "authority.pem"
        self.is_wrong = False

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
        self._server.server_close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    with closing(Authority(tmp_path_factory.mktemp("authority"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """Another authority, whose certificate lasts for twenty years."""
    with closing(Authority(tmp_path_factory.mktemp("newer"), days=20 * 365)) as opened:
        yield opened


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Issued"]:
    """A third one, whose certificate a root issued that also says what it revoked."""
    folder = tmp_path_factory.mktemp("issued")
    with closing(Authority(folder)) as opened:
        yield Issued(opened, *issue(folder))


@pytest.fixture(scope="module")
def stamping(
    followed: Path, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LedgerService]:
    folder = tmp_path_factory.mktemp("stamping")
    with copied(followed, folder, timestamp_url=authority.url) as opened:
        yield opened


@pytest.fixture(scope="module")
def exported(stamping: LedgerService, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A package with a timestamp."""
    with empty_tables():
        return export(stamping, Scope(process_id="p1"), tmp_path_factory.mktemp("made") / "p.zip")


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
    exported: Exported, authority: Authority
) -> None:
    verdict = verify.verify(exported.path, exported.key, authority=str(authority.certificate))
    assert verdict.faults == []
    assert any(it.startswith("all of it existed by 20") for it in verdict.checked)
    unasked = verify.verify(exported.path, exported.key)
    assert unasked.faults == []
    assert any("give the certificate of its authority" in it for it in unasked.unchecked)


def test_a_timestamp_of_another_authority_or_checkpoint_is_a_fault(
    exported: Exported,
    stamping: LedgerService,
    authority: Authority,
    newer: Authority,
    tmp_path: Path,
) -> None:
    verdict = verify.verify(exported.path, exported.key, authority=str(newer.certificate))
    assert verdict.faults == ["data/checkpoint.tsr is not signed by the timestamp authority given"]
    files = forgery.read(exported.path)
    files["data/checkpoint.tsr"] = timestamps.stamp(authority.url, b"something else")
    assert stamping.signer is not None
    forged = forgery.write(tmp_path / "f.zip", forgery.seal(files, stamping.signer))
    assert verify.verify(forged, exported.key, authority=str(authority.certificate)).faults == [
        "data/checkpoint.tsr is not a timestamp of this"
    ]


def test_a_timestamp_cannot_be_dropped(
    exported: Exported, stamping: LedgerService, tmp_path: Path
) -> None:
    files = forgery.read(exported.path)
    del files["data/checkpoint.tsr"]
    assert stamping.signer is not None
    forged = forgery.write(tmp_path / "f.zip", forgery.seal(files, stamping.signer))
    assert verify.verify(forged, exported.key).faults == [
        "data/checkpoint.tsr is missing, or there unannounced"
    ]


def answer_without_an_end(request: BaseHTTPRequestHandler) -> None:
    """Bytes of a body, or of a head, one after the other."""
    request.server.seen.append(dict(request.headers))
    body_of(request)
    with suppress(OSError):  # the one who asked has hung up
        if request.path == "/endless":
            request.send_response(200)
            request.end_headers()
            while True:
                request.wfile.write(bytes(65_536))
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while request.path == "/slow":
            request.wfile.write(b"x")
            time.sleep(0.05)


@pytest.fixture
def endless() -> Iterator[Answering]:
    with Answering(answer_without_an_end) as server:
        server.seen = []
        yield server


def test_an_answer_without_an_end_is_left_after_its_bytes_or_its_time(
    endless: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte began the wait again, and the whole body was kept before its size was looked at."""
    url = endless.url
    with pytest.raises(OperatorError, match="its answer is over 65536 bytes"):
        timestamps.stamp(f"{url}/endless", b"x")
    monkeypatch.setattr(asking, "ANSWER_SECONDS", 0.5)
    began = time.monotonic()
    with pytest.raises(OperatorError, match=r"had not answered after 0\.5 s"):
        timestamps.stamp(f"{url}/slow", b"x")
    assert time.monotonic() - began < 10


@no_rows
def test_credentials_in_an_authoritys_address_go_to_it_and_are_shown_nowhere(
    endless: Answering, followed: Path, authority: Authority, tmp_path: Path
) -> None:
    address = f"ana:s3cret@127.0.0.1:{endless.server_port}"
    with pytest.raises(OperatorError) as refused:
        timestamps.stamp(f"http://{address}/none?key=s3cret", b"x")
    assert "s3cret" not in str(refused.value)
    assert f"http://127.0.0.1:{endless.server_port}/none" in str(refused.value)
    assert endless.seen[0]["Authorization"] == f"Basic {b64encode(b'ana:s3cret').decode()}"
    for url in ("http://ana:s3/cret@a.example", "ana:s3cret@a.example", "http://[s3cret"):
        with pytest.raises(OperatorError) as refused:
            timestamps.stamp(url, b"x")
        assert "s3" not in str(refused.value)

    url = authority.url.replace("//", "//ana:s3cret@") + "?key=s3cret"
    with copied(followed, tmp_path, timestamp_url=url) as service:
        exported = export(service, Scope(process_id="p1"), tmp_path / "p.zip")
    files = forgery.read(exported.path)
    assert json.loads(files["data/parameters.json"])["timestamp_authority"] == authority.url
    assert [name for name, content in files.items() if b"s3cret" in content] == []


@no_rows
def test_an_authority_that_gives_nothing_fails_the_export_with_what_to_do(
    stamping: LedgerService,
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authority, "is_wrong", True)
    with pytest.raises(OperatorError, match="without a stamp: unset PRAZO_TIMESTAMP_URL"):
        export(stamping, Scope(process_id="p1"), tmp_path / "p.zip")
    assert not (tmp_path / "p.zip").exists()


# --- what a reply may say beside what was signed ------------------------------------------------


def der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 128:
        return bytes((tag, length)) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(octets))) + octets + content


def with_text(reply: bytes, text: str) -> bytes:
    """The same token, in a reply whose status carries a text that nobody signed."""
    [(_, content)] = verify._der(reply)
    _, (tag, token) = verify._der(content)
    status = der(0x30, b"\x02\x01\x00" + der(0x30, der(0x0C, text.encode())))
    return der(0x30, status + der(tag, token))


def test_the_time_is_that_which_the_authority_signed(
    exported: Exported, stamping: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    """It was read from openssl's text of the reply, where an unsigned status could name another."""
    files = forgery.read(exported.path)
    files["data/checkpoint.tsr"] = with_text(
        files["data/checkpoint.tsr"], "fine\nTime stamp: Jan  1 00:00:00 2020 GMT\n"
    )
    assert stamping.signer is not None
    forged = forgery.write(tmp_path / "f.zip", forgery.seal(files, stamping.signer))
    verdict = verify.verify(forged, exported.key, authority=str(authority.certificate))
    assert verdict.faults == []
    honest = verify.verify(exported.path, exported.key, authority=str(authority.certificate))
    said = [it for it in honest.checked if it.startswith("all of it existed by ")]
    assert len(said) == 1
    assert said == [it for it in verdict.checked if it.startswith("all of it existed by ")]
    assert "2020" not in said[0]


def parts_of(reply: bytes) -> tuple[bytes, bytes]:
    """The status and the token of a reply, in DER."""
    [(_, content)] = verify._der(reply)
    status, token = (der(*it) for it in verify._der(content))
    return status, token


def with_attribute(token: bytes) -> bytes:
    """The same token, with an attribute of its signer that nobody signed."""
    [(_, content)] = verify._der(token)
    kind, (_, explicit) = verify._der(content)
    [(_, signed)] = verify._der(explicit)
    *others, (_, signers) = verify._der(signed)
    [(_, signer)] = verify._der(signers)
    text = der(0x30, bytes.fromhex("06032a0304") + der(0x31, der(0x0C, b"VERIFIED")))
    signer = der(0x30, signer + der(0xA1, text))
    signed = der(0x30, b"".join(der(*it) for it in others) + der(0x31, signer))
    return der(0x30, der(*kind) + der(0xA0, signed))


MORE = b"all of it was verified by the authority\n" * 1350
"""54 KB of text."""


@no_rows
def test_a_timestamp_ends_where_its_der_ends_and_holds_nothing_that_nobody_signed(
    exported: Exported, stamping: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    """54 KB of text behind it verified: openssl reads no further than the end of the value."""
    files = forgery.read(exported.path)
    honest = files["data/checkpoint.tsr"]
    status, token = parts_of(honest)
    assert stamping.signer is not None
    assert honest[1] == 0x82
    for number, (answer, why) in enumerate(
        (
            (honest + MORE, "bytes stand behind its end"),
            (honest + honest, "bytes stand behind its end"),
            (honest + b"\0", "bytes stand behind its end"),
            (der(0x30, status + token + der(0x0C, MORE)), "is not a timestamp"),
            (with_text(honest, MORE.decode()), "has a status that is not one, or too long"),
            (der(0x30, status + der(0x30, verify._der(token)[0][1] + der(0x0C, MORE))), "nothing"),
            (der(0x30, status + with_attribute(token)), "attributes that nobody signed"),
            (b"\x30\x84" + (len(honest) - 4).to_bytes(4, "big") + honest[4:], "is not one value"),
        )
    ):
        files["data/checkpoint.tsr"] = answer
        path = tmp_path / f"{number}.zip"
        forged = forgery.write(path, forgery.seal(files, stamping.signer))
        [fault] = verify.verify(forged, exported.key).faults
        assert why in fault
    digest = hashlib.sha256(exported.path.read_bytes()).digest()
    later = timestamps.stamp_digest(authority.url, digest)
    certificate = str(authority.certificate)
    for archive, faults in ((later, 0), (later + MORE, 1)):
        verdict = verify.verify(exported.path, exported.key, None, certificate, archives=[archive])
        assert len(verdict.faults) == faults


# --- ten years later ----------------------------------------------------------------------------

DATA = b"a package"


@pytest.fixture
def in_ten_years(monkeypatch: pytest.MonkeyPatch) -> None:
    """What openssl would judge by today's time, it judges by that of ten years later."""
    honest = verify.openssl
    later = ["-attime", str(int(time.time()) + 10 * 365 * 86_400)]

    def openssl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        is_judged = "-CAfile" in arguments and "-attime" not in arguments
        return honest(*arguments, *(later if is_judged else []))

    monkeypatch.setattr(verify, "openssl", openssl)


def stamped(authority: Authority, data: bytes = DATA) -> verify.Stamp:
    answer = timestamps.stamp(authority.url, data)
    return verify.Stamp(answer, hashlib.sha256(data).hexdigest())


@pytest.mark.usefixtures("in_ten_years")
def test_a_certificate_that_ended_since_is_named_unless_an_archive_timestamp_holds_it(
    authority: Authority, newer: Authority, tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(authority.certificate.read_bytes() + newer.certificate.read_bytes())
    stamp, package = stamped(authority), tmp_path / "package.zip"
    package.write_bytes(DATA)
    archives = [timestamps.archive(newer.url, package)]
    archives.append(timestamps.archive(newer.url, package, archives))
    foreign = [timestamps.stamp(newer.url, b"another package")]
    without = verify.Verdict()
    at = verify._stamped_long_ago(stamp, str(both), [], b"", without)
    assert abs(at.timestamp() - time.time()) < 600
    assert [it[:46] for it in without.unchecked] == [
        "whether the authority's key was misused later:"
    ]
    with_archive = verify.Verdict()
    assert at == verify._stamped_long_ago(
        stamp, str(both), verify._over(package, archives), b"", with_archive
    )
    assert with_archive.unchecked == []
    with pytest.raises(verify.Fault, match="not held by the archive timestamp"):
        verify._stamped_long_ago(stamp, str(both), verify._over(package, foreign), b"", without)
    with pytest.raises(verify.Fault, match="not held by the archive timestamp"):
        verify._stamped_long_ago(
            stamp, str(both), verify._over(package, archives[::-1]), b"", without
        )


def test_an_authority_whose_certificate_was_revoked_at_the_time_is_not_believed(
    issued: "Issued", tmp_path: Path
) -> None:
    """The lists of the time are in the package; the authority's root, and nothing else, is from
    outside."""
    by, root, clean, revoking, ended = issued
    stamp = stamped(by)
    verdict = verify.Verdict()
    assert verify._stamped_long_ago(stamp, str(root), [], clean, verdict)
    why = "its certificate was revoked, or data/timestamp.pem holds no revocation list of that time"
    for lists in (revoking, ended):
        with pytest.raises(verify.Fault, match=why):
            verify._stamped_long_ago(stamp, str(root), [], lists, verdict)
    (chain := tmp_path / "chain.pem").write_bytes(ended)  # no package would verify with it
    with pytest.raises(OperatorError, match="revocation list of CN=Root of the tests ended at 20"):
        timestamps.read_chain(chain)
    chain.write_bytes(ended + clean)
    assert timestamps.read_chain(chain) == chain.read_bytes()
    stranger = Path(tmp_path / "stranger.pem")
    stranger.write_bytes(root.read_bytes()[:-60])
    with pytest.raises(verify.Fault):
        verify._stamped_long_ago(stamp, str(stranger), [], clean + root.read_bytes(), verdict)


@no_rows
def test_what_is_kept_beside_a_timestamp_is_certificates_and_lists_and_nothing_else(
    issued: "Issued", followed: Path, tmp_path: Path
) -> None:
    """Free text stood there, signed by the log and checked by nobody. The exporter leaves out what
    an authority's file says beside them; a file without a timestamp has no place at all."""
    by, root, clean, *_ = issued
    chain = tmp_path / "chain.pem"
    blocks = by.certificate.read_bytes() + clean
    chain.write_bytes(b"subject=Authority\r\n" + blocks.replace(b"\n", b"\r\n") + b"the end")
    options = {"timestamp_url": by.url, "timestamp_chain_file": chain}
    with copied(followed, tmp_path, **options) as service:
        exported = export(service, Scope(process_id="p1"), tmp_path / "p.zip")
        signer = service.signer
    assert signer is not None
    files = forgery.read(exported.path)
    assert files["data/timestamp.pem"] == blocks

    def verdict(changed: forgery.Files) -> verify.Verdict:
        path = forgery.write(tmp_path / "f.zip", forgery.seal(changed, signer))
        return verify.verify(path, exported.key, authority=str(root))

    assert verdict(files).faults == []
    revoked = "whether the authority's certificate was revoked at the time: the package holds no"
    assert not any(it.startswith(revoked) for it in verdict(files).unchecked)
    without_lists = {**files, "data/timestamp.pem": blocks[: -len(clean)]}
    for changed in (without_lists, {it: files[it] for it in files if it != "data/timestamp.pem"}):
        found = verdict(changed)
        assert found.faults == []
        assert any(it.startswith(revoked) for it in found.unchecked)
    text = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n" % b64encode(b"text")
    for pem in (blocks + b"VERIFIED\n", b"V\n" + blocks, blocks[:-1], blocks + text, b"x", b""):
        assert len(verdict({**files, "data/timestamp.pem": pem}).faults) == 1
    alone = {it: files[it] for it in files if it != "data/checkpoint.tsr"}
    assert "data/timestamp.pem does not belong into a package" in verdict(alone).faults


@pytest.mark.parametrize("content", [b"", b"a text", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_chain_without_a_certificate_is_refused_before_anything_is_exported(
    followed: Path, tmp_path: Path, content: bytes
) -> None:
    """It was read after the export's entry: the log said that there was a package, and the word of
    a second person was used up for none."""
    chain = tmp_path / "chain.pem"
    chain.write_bytes(content)
    options = {"timestamp_chain_file": chain, "four_eyes": "export"}
    with copied(followed, tmp_path, **options) as service:
        last = service.inbox.last()
        with pytest.raises(OperatorError, match="correct PRAZO_TIMESTAMP_CHAIN_FILE, or unset it"):
            export(service, Scope(process_id="p1"), tmp_path / "p1.zip")
        assert service.inbox.last() == last


class Issued(NamedTuple):
    by: Authority
    root: Path
    clean: bytes
    revoking: bytes
    ended: bytes


def issue(folder: Path) -> tuple[Path, bytes, bytes, bytes]:
    """A root that issues the certificate of the authority in a folder again; its file, and what a
    package may keep: lists that name no certificate, this one, and none until an hour ago."""
    now, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Root of the tests")])
    own = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())

    def certificate(subject: x509.Name, public: Any) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=30))
        )

    root = certificate(name, key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    tsa = certificate(own.subject, own.public_key()).add_extension(
        x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.TIME_STAMPING]), critical=True
    )
    issued = tsa.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(issued.public_bytes(pem))
    (folder / "root.pem").write_bytes(root.sign(key, hashes.SHA256()).public_bytes(pem))
    begun = x509.CertificateRevocationListBuilder().issuer_name(name)
    begun = begun.last_update(now - timedelta(hours=2))
    lists = begun.next_update(now + timedelta(days=7))
    ended = begun.next_update(now - timedelta(hours=1)).sign(key, hashes.SHA256())
    revoked = (
        x509.RevokedCertificateBuilder()
        .serial_number(issued.serial_number)
        .revocation_date(now - timedelta(hours=1))
        .build()
    )
    clean = lists.sign(key, hashes.SHA256()).public_bytes(pem)
    revoking = lists.add_revoked_certificate(revoked).sign(key, hashes.SHA256())
    return folder / "root.pem", clean, revoking.public_bytes(pem), ended.public_bytes(pem)
