"""The platform is reached by a forward proxy where a setting names one, with further headers where
a file has some. Failures of the proxy are called that, and nothing has reached the platform."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.doctor.platform import asked_platform
from pipeline.errors import SettingsError
from pipeline.hosts import ForwardProxy, forward_proxy
from pipeline.http.outgoing.headers import extra_headers
from pipeline.settings import Settings
from pipeline.submit.attempt import Sent
from tests.submit.attempts import submit
from tests.support.commands import run
from tests.support.marketplace import Marketplace
from tests.support.proxy import Mood, proxying

PASSWORD = "p@ss:w/rd"
ENCODED = "p%40ss%3Aw%2Frd"


def attempt(marketplace: Marketplace, **settings: Any) -> tuple[Sent, dict[str, Any]]:
    """What came of one attempt, and what the log knows of its end."""
    review = marketplace.review()
    before = len(marketplace.platform.requests)
    ended = submit(marketplace, review, settings={"request_timeout_seconds": 3, **settings})
    assert isinstance(ended.result, Sent)
    if ended.result.answer.status is None:
        assert len(marketplace.platform.requests) == before
    [finish] = marketplace.finishes(review.process_id)
    return ended.result, finish.particulars


@pytest.mark.parametrize("is_in_file", [False, True])
def test_a_submission_goes_through_the_proxy_and_stays_between_us_and_the_platform(
    marketplace: Marketplace, tmp_path: Path, is_in_file: bool
) -> None:
    """It went straight, past the only way out that the network had; the platform's TLS is inside
    the tunnel, so the proxy reads neither payload nor credentials."""
    login = tmp_path / "proxy-login"
    login.write_text(f"market:{PASSWORD}\n")
    with proxying(login=f"market:{PASSWORD}") as proxy:
        user = "" if is_in_file else f"market:{ENCODED}@"
        way: dict[str, Any] = {"platform_proxy": f"http://{user}127.0.0.1:{proxy.port}"}
        if is_in_file:
            way["platform_proxy_credentials_file"] = login
        sent, known = attempt(marketplace, **way)
    assert (sent.answer.status, sent.answer.certificate) == (200, "given")
    assert known["client_certificate"] == "given"
    [asked] = proxy.asked
    assert asked.startswith(f"CONNECT {marketplace.platform.url.removeprefix('https://')} ")
    assert "idempotency" not in asked.lower()
    assert b"revenue" not in proxy.passed
    assert len(proxy.passed) > 1000


@pytest.mark.parametrize(
    ("mood", "outcome", "why"),
    [
        ("refuses", "network_error", "does not connect us to {host}: it answers 403"),
        ("silent", "timeout", "did not connect us to {host} in time"),
        ("hangs up", "network_error", "ended the connection before there was a tunnel"),
        ("no HTTP", "network_error", "ended the connection before there was a tunnel"),
    ],
)
def test_what_the_proxy_does_not_do_is_said_of_the_proxy(
    marketplace: Marketplace, mood: Mood, outcome: str, why: str
) -> None:
    with proxying(mood) as proxy:
        sent, known = attempt(marketplace, platform_proxy=f"http://127.0.0.1:{proxy.port}")
    host = marketplace.platform.url.removeprefix("https://").partition(":")[0]
    expected = f"the forward proxy 127.0.0.1:{proxy.port} {why.format(host=host)}"
    assert (sent.outcome, known["detail"]) == (outcome, expected)
    assert f"ask who runs the proxy to let CONNECT to {host} through" == sent.answer.remedy


def test_a_wrong_password_of_the_proxy_is_said_and_not_shown(
    marketplace: Marketplace, capfd: pytest.CaptureFixture[str]
) -> None:
    with proxying(login="market:another") as proxy:
        url = f"http://market:{ENCODED}@127.0.0.1:{proxy.port}"
        sent, known = attempt(marketplace, platform_proxy=url)
        [found] = asked_platform(marketplace.settings(platform_proxy=url))
    assert sent.outcome == "network_error"
    said = f"the forward proxy 127.0.0.1:{proxy.port} does not accept our user and password (407)"
    assert (known["detail"], found.found, found.verdict) == (said, said, "fault")
    fix = "correct them in PRAZO_PLATFORM_PROXY or PRAZO_PLATFORM_PROXY_CREDENTIALS_FILE"
    assert (sent.answer.remedy, found.remedy) == (fix, fix)
    everything = f"{known}{found}{''.join(capfd.readouterr())}"
    assert PASSWORD not in everything
    assert ENCODED not in everything


def test_a_proxy_that_is_not_there_is_said(marketplace: Marketplace) -> None:
    with proxying() as proxy:
        pass
    sent, known = attempt(marketplace, platform_proxy=f"http://127.0.0.1:{proxy.port}")
    assert sent.outcome == "network_error"
    assert known["detail"] == f"nobody listens at the forward proxy 127.0.0.1:{proxy.port}"
    way = {"platform_proxy": "http://proxy.invalid:3128", "request_timeout_seconds": 30}
    sent, known = attempt(marketplace, **way)
    assert sent.outcome == "network_error"
    assert known["detail"].startswith(
        "the name of the forward proxy proxy.invalid:3128 is not known"
    )


def test_a_certificate_that_is_refused_through_a_proxy_is_still_reported_as_that(
    marketplace: Marketplace,
) -> None:
    """The second look, which tells a refusal from a lost connection, went past the proxy."""
    pair = marketplace.platform.certificates.stranger_client
    with proxying() as proxy:
        sent, known = attempt(
            marketplace,
            platform_proxy=f"http://127.0.0.1:{proxy.port}",
            client_cert_file=pair.certificate,
            client_key_file=pair.key,
        )
    assert sent.outcome == "tls_refused"
    assert known["detail"].startswith("the platform hung up before any request")
    assert len(proxy.asked) == 2


def test_a_proxy_of_the_environment_is_not_asked(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    sent, _ = attempt(marketplace)
    assert sent.answer.status == 200


def test_a_command_says_what_the_proxy_wants(marketplace: Marketplace) -> None:
    """What a person reads where the proxy is wrong: why, and what to do, and exit code 3."""
    review = marketplace.review()
    payload = marketplace.folder / "payload.json"
    payload.write_bytes(review.payload)
    with proxying(login="a:b") as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        given = ("submit", review.process_id, "--payload", str(payload), "--wait", "0")
        done = run(marketplace, *given, PRAZO_PLATFORM_PROXY=url, PRAZO_REQUEST_TIMEOUT_SECONDS="3")
    assert done.code == 3
    assert "wants a user and a password (407)" in done.err
    assert "  To fix it: correct them in PRAZO_PLATFORM_PROXY" in done.err


@pytest.mark.parametrize(
    "url",
    [
        "proxy.example:3128",
        "https://proxy.example:3128",
        "socks5://proxy.example:1080",
        "http://market:s3cret/x@proxy.example:3128",
        "http://market:s3cret#x@proxy.example:3128",
        "http://market:s3cret@x@proxy.example:3128",
        "http://market:s3cret@proxy.example:s3cret",
        "http://market:s3cret@:3128",
        "http://market:s3cret @proxy.example:3128",
        "http://market:s3cret@proxy.example:3128/path",
        "market:s3cret@proxy.example:3128",
    ],
)
def test_a_faulty_address_of_a_proxy_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load(platform_proxy=url)
    said = str(refused.value)
    assert "PRAZO_PLATFORM_PROXY: " in said
    assert "s3cret" not in said


def test_a_proxy_is_read_with_its_port_and_its_login() -> None:
    assert forward_proxy("http://proxy.example") == ForwardProxy("proxy.example", 3128)
    assert forward_proxy("http://[::1]:8080/") == ForwardProxy("::1", 8080)
    assert forward_proxy("http://[::1]:8080/").shown == "[::1]:8080"
    known = forward_proxy(f"http://us%3Aer:{ENCODED}@10.0.0.1:80")
    assert known == ForwardProxy("10.0.0.1", 80, "us:er", PASSWORD)


# --- further headers -------------------------------------------------------------------------


def test_headers_of_a_file_go_with_each_call_and_are_read_again(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """As the platform's pages hand out a key beside the certificate."""
    headers = tmp_path / "headers"
    headers.write_bytes(
        b"\xef\xbb\xbf# of our contract\r\nX-Api-Key: k\xc3\xa9y: 1 \r\n\r\nX-Two:2\r\n"
    )
    review = marketplace.review()
    submit(marketplace, review, settings={"platform_headers_file": headers})
    [request] = marketplace.puts(review.process_id)
    assert request.headers["x-two"] == "2"
    assert request.headers["x-api-key"].encode("latin-1").decode() == "kéy: 1"
    [start] = marketplace.starts(review.process_id)
    [finish] = marketplace.finishes(review.process_id)
    assert "1" not in str(finish.particulars)
    assert "api-key" not in f"{start.particulars}{finish.particulars}".lower()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("s3cret", "line 2 is not like `name: value`"),
        (": s3cret", "line 2 has a name that no header can have"),
        ("X Key: s3cret", "line 2 has a name that no header can have"),
        ("X-Key:", "line 2 gives X-Key no value"),
        ("X-Key: s3\x01cret", "line 2 gives X-Key a value with control characters"),
        ("x-first: s3cret", "line 2 gives x-first a second time"),
        *(
            (f"{name}: s3cret", f"line 2 sets {name}, which Prazo sends itself")
            for name in (
                *("Host", "host", "Content-Type", "Content-Length", "Authorization"),
                *("Idempotency-Key", "Prazo-Answer", "Connection", "Transfer-Encoding", "TE"),
                *("Upgrade", "Proxy-Authorization", "Keep-Alive", "Trailer", "Proxy-Connection"),
                *("User-Agent", "Accept", "Accept-Encoding", "Expect"),
            )
        ),
    ],
)
def test_a_line_that_cannot_be_sent_is_named_by_its_number_and_not_shown(
    tmp_path: Path, line: str, why: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        extra_headers(f"X-First: one\n{line}\n", tmp_path / "headers")
    assert why in refused.value.why
    assert "s3" not in str(refused.value)


def test_a_faulty_file_of_headers_is_a_fault_before_anything_is_sent(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    headers = tmp_path / "headers"
    headers.write_text("Host: other.example\n")
    review = marketplace.review()
    with pytest.raises(SettingsError, match="line 1 sets Host"):
        submit(marketplace, review, settings={"platform_headers_file": headers})
    assert marketplace.starts(review.process_id) == []
