"""A handshake that fails is `tls_refused`, no matter who ended it (docs/rules.md#outcomes)."""

import contextlib
import logging
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from pipeline.errors import SettingsError
from pipeline.submit.attempt import Sent
from pipeline.submit.platform import connections
from pipeline.submit.platform.connections import Certificates
from pipeline.submit.resume import Ended
from pipeline.submit.retries import Waiting
from tests.submit.attempts import submit
from tests.support.machine import wait_until
from tests.support.marketplace import Marketplace, Review


def assert_tls_refused(marketplace: Marketplace, review: Review, ended: Ended, why: str) -> None:
    """Nothing was processed, it is sent again, and the log says why in words."""
    assert isinstance(ended.result, Sent)
    assert ended.result.outcome == "tls_refused"
    assert isinstance(ended.standing, Waiting)
    assert marketplace.puts(review.process_id) == []
    assert marketplace.outcomes(review.process_id) == ["tls_refused"]
    [finish] = marketplace.finishes(review.process_id)
    assert finish.particulars["error"] == "tls_refused"
    assert why in str(finish.particulars["detail"])


def test_a_platform_of_another_authority_is_not_spoken_to(marketplace: Marketplace) -> None:
    review = marketplace.review()
    stranger = marketplace.platform.certificates.stranger_authority
    ended = submit(marketplace, review, settings={"platform_ca_file": stranger})
    assert_tls_refused(marketplace, review, ended, "the platform's certificate is not trusted: ")


def test_without_a_ca_file_the_systems_authorities_count_and_a_private_one_does_not(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    ended = submit(marketplace, review, settings={"platform_ca_file": None})
    assert_tls_refused(marketplace, review, ended, "the platform's certificate is not trusted: ")


@pytest.mark.parametrize("which", ["expired_client", "stranger_client"])
def test_a_client_certificate_that_the_platform_hangs_up_on_is_reported_as_that(
    marketplace: Marketplace, which: str
) -> None:
    """The sandbox's server ends the connection without an alert."""
    review = marketplace.review()
    pair = getattr(marketplace.platform.certificates, which)
    ended = submit(
        marketplace,
        review,
        settings={"client_cert_file": pair.certificate, "client_key_file": pair.key},
    )
    assert_tls_refused(marketplace, review, ended, "the platform hung up before any request")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("which", "alert"),
    [("expired_client", "certificate expired"), ("stranger_client", "unknown ca")],
)
def test_a_client_certificate_that_the_platform_refuses_is_reported_with_its_alert(
    marketplace: Marketplace, which: str, alert: str, version: ssl.TLSVersion
) -> None:
    """With TLS 1.3 the alert comes with the first read, after a handshake that looked whole."""
    review = marketplace.review()
    pair = getattr(marketplace.platform.certificates, which)
    with strict(marketplace.platform.certificates.authority, version) as (url, authority):
        ended = submit(
            marketplace,
            review,
            settings={
                "platform_url": url,
                "platform_ca_file": authority,
                "client_cert_file": pair.certificate,
                "client_key_file": pair.key,
            },
        )
    why = f"the platform ended the TLS handshake: {alert}"
    assert_tls_refused(marketplace, review, ended, why)


@contextlib.contextmanager
def strict(clients: Path, version: ssl.TLSVersion) -> Iterator[tuple[str, str]]:
    """A TLS server that takes only certificates of one authority, and says by alert why not."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(clients)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    def refuse(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = listener.accept()
                with raw, contextlib.suppress(ssl.SSLError):
                    context.wrap_socket(raw, server_side=True).close()

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        authority.cert_pem.tempfile() as certificate,
    ):
        thread = threading.Thread(target=refuse, args=(listener,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", os.fspath(certificate)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_a_renewal_that_was_put_in_place_early_takes_effect_when_it_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The former certificate was good, and every attempt would have been refused until then."""
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    now = datetime.now(UTC).replace(tzinfo=None)

    def put(begins: datetime) -> None:
        issued = trustme.CA().issue_cert("market", not_before=begins)
        certificate.write_bytes(issued.cert_chain_pems[0].bytes())
        key.write_bytes(issued.private_key_pem.bytes())

    put(now - timedelta(days=300))
    certificates = Certificates(certificate, key, None)
    put(now + timedelta(days=1))
    with caplog.at_level(logging.WARNING):
        assert certificates.changed() is None
    assert "the former certificates stay in force" in caplog.text
    put(now - timedelta(seconds=1))
    assert certificates.changed() is not None
    assert certificates.changed() is None


def test_certificates_on_a_disk_that_hangs_stay_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: the loop that all requests share waited for them, webhooks among these."""
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.05)
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    issued = trustme.CA().issue_cert("market")
    key.write_bytes(issued.private_key_pem.bytes())
    certificates = Certificates(certificate, key, None)
    os.mkfifo(certificate)
    for _ in range(2):
        assert certificates.changed() is None
    assert caplog.text.count("not read within") == 2
    certificate.write_bytes(issued.cert_chain_pems[0].bytes())  # the read under way ends with it
    certificate.unlink()
    certificate.write_bytes(issued.cert_chain_pems[0].bytes())
    wait_until(lambda: certificates.changed() is not None)


def test_certificates_on_a_disk_that_hangs_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: a command waited for them for ever, and a receiver answered no submission and did not
    stop."""
    monkeypatch.setattr(connections, "READ_SECONDS", 0.05)
    os.mkfifo(tmp_path / "client.pem")
    with pytest.raises(SettingsError, match="its files were not read within"):
        Certificates(tmp_path / "client.pem", tmp_path / "client.key", None).context()
