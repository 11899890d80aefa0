"""Whether the platform asked for our certificate and got it is read from the handshake, and said:
a handshake that ends well does not show it."""

import asyncio
import shutil
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.doctor.platform import asked_platform
from pipeline.settings import Settings
from pipeline.submit.platform import Platform, PlatformAnswer
from tests.submit.attempts import submit
from tests.support.marketplace import Marketplace
from tests.support.tls import ANSWER, V1_2, V1_3, Asks, Authority, openssl_server, serving

AGAIN = ("-tls1_2", "-msg", "-no_resumption_on_reneg")
NEEDS_OPENSSL = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not on this machine"
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def settings_for(authority: Authority, url: str, **changes: Any) -> Settings:
    credentials = authority.folder / "credentials"
    credentials.write_text("market:secret\n")
    credentials.chmod(0o600)
    pair = authority.pair("market")
    return Settings(
        platform_url=url,
        platform_ca_file=authority.file,
        client_cert_file=pair.certificate,
        client_key_file=pair.key,
        platform_credentials_file=credentials,
        marketplace_id="mkt",
        request_timeout_seconds=10,
        **changes,
    )


def answer_of(settings: Settings) -> PlatformAnswer:
    async def ask() -> PlatformAnswer:
        platform = Platform(settings)
        try:
            return await platform.get_nothing(seconds=10)
        finally:
            await platform.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("asks", "version", "certificate", "caller"),
    [
        ("handshake", V1_2, "given", "market"),
        ("handshake", V1_3, "given", "market"),
        ("optional", V1_2, "given", "market"),
        ("optional", V1_3, "given", "market"),
        ("afterwards", V1_3, "given", "market"),
        ("never", V1_2, "not_asked", "nobody"),
        ("never", V1_3, "not_asked", "nobody"),
    ],
)
def test_it_is_said_whether_our_certificate_was_asked_for_and_given(
    authority: Authority, asks: Asks, version: ssl.TLSVersion, certificate: str, caller: str
) -> None:
    """One that asks after the handshake got no answer of ours at all, while curl got one; and one
    that never asks was called mutual TLS."""
    with serving(authority, asks, version) as (url, callers):
        answer = answer_of(settings_for(authority, url))
        assert (answer.status, answer.body, answer.error) == (404, b"{}", None)
        assert (answer.certificate, callers) == (certificate, [caller])
        assert answer.tls == ("TLSv1.2" if version is V1_2 else "TLSv1.3")


def test_a_certificate_that_is_refused_after_the_handshake_is_said(
    authority: Authority, tmp_path: Path
) -> None:
    """With TLS 1.3 and a request that was written already: the platform has not processed it."""
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    with serving(authority, "afterwards", V1_3, clients=other.file) as (url, callers):
        answer = answer_of(settings_for(authority, url))
    assert (answer.status, answer.error, callers) == (None, "tls_refused", [])
    assert answer.detail == "the platform ended the TLS handshake: unknown ca"
    assert answer.certificate == "given"


@NEEDS_OPENSSL
def test_a_second_handshake_of_tls_1_2_is_gone_along_with(authority: Authority) -> None:
    """As some servers do that want a certificate for some paths alone. `R` has openssl's begin it
    and ask for a certificate, which it had not done at first."""
    with openssl_server(authority, *AGAIN) as (url, process):
        answers: list[PlatformAnswer] = []
        settings = settings_for(authority, url)
        asking = threading.Thread(target=lambda: answers.append(answer_of(settings)))
        asking.start()
        assert process.stdin is not None
        assert process.stdout is not None
        for said, typed in ((b"Connection: close", b"R\n"), (b"CertificateVerify", ANSWER)):
            while said not in process.stdout.readline():
                assert process.poll() is None
            process.stdin.write(typed)
            process.stdin.flush()
        asking.join(10)
    [answer] = answers
    assert (answer.status, answer.tls, answer.certificate) == (404, "TLSv1.2", "given")


def test_who_hangs_up_without_having_asked_has_not_refused_our_certificate(
    authority: Authority,
) -> None:
    """Whoever hung up before a request was said to have refused a certificate, whether or not they
    had ever seen it; somebody looked for a fault in the wrong place."""
    with serving(authority, "never", V1_3, hangs_up=True) as (url, _):
        answer = answer_of(settings_for(authority, url))
    assert (answer.error, answer.certificate) == ("network_error", "not_asked")


@NEEDS_OPENSSL
@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_certificate_that_does_not_fit_what_is_asked_for_is_said_to_be_withheld(
    authority: Authority, version: str
) -> None:
    """Ours is for a key on P-256, and the server takes RSA alone: we give none, and it may go on
    without, so that nobody would know why it then answers 401."""
    rsa = ("-client_sigalgs", "rsa_pss_rsae_sha256:RSA+SHA256")
    with openssl_server(authority, version, "-www", "-verify", "1", *rsa) as (url, _):
        settings = settings_for(authority, url)
        answer = answer_of(settings)
        assert (answer.status, answer.certificate) == (200, "withheld")
        [found, _] = asked_platform(settings)
        assert found.verdict == "fault"
        assert "asked for a certificate that ours is not: it was given none" in found.found
        assert found.remedy.startswith("ask the platform for which key")


@pytest.mark.parametrize(
    ("asks", "verdict", "found"),
    [
        ("handshake", "ok", "mutual TLS: it asked for our certificate, and was given it"),
        ("afterwards", "ok", "mutual TLS: it asked for our certificate, and was given it"),
        ("never", "warning", "never asked for our certificate: this is not mutual TLS"),
    ],
)
def test_doctor_calls_it_mutual_tls_only_where_it_was(
    authority: Authority, asks: Asks, verdict: str, found: str
) -> None:
    with serving(authority, asks, V1_3) as (url, _):
        diagnosis, _ = asked_platform(settings_for(authority, url))
    assert (diagnosis.check, diagnosis.verdict) == ("handshake", verdict)
    assert diagnosis.found.startswith(f"{url} answers over TLSv1.3, ")
    assert found in diagnosis.found


def test_the_log_says_of_each_attempt_what_became_of_our_certificate(
    marketplace: Marketplace, authority: Authority
) -> None:
    review = marketplace.review()
    pair = authority.pair("market")
    for asks in ("never", "handshake"):
        with serving(authority, asks, V1_3) as (url, _):
            changed = {"client_cert_file": pair.certificate, "client_key_file": pair.key}
            way = {"platform_url": url, "platform_ca_file": authority.file, **changed}
            submit(marketplace, review, settings=way)
    said = [it.particulars["client_certificate"] for it in marketplace.finishes(review.process_id)]
    assert said == ["not_asked", "given"]
