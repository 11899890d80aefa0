"""An unauthenticated receiver serves this machine alone (docs/operations.md#before-real-use)."""

import json
from pathlib import Path

import pytest

from pipeline.http.loopback import outside_hint
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.receiver import RunningReceiver

PATHS = ("/webhooks", "/healthz", "/readyz", "/metrics", "/nowhere")

LOOPBACK = (
    "localhost",
    "LocalHost",
    "localhost:8400",
    "localhost.",
    "localhost.:8400",
    "127.0.0.1",
    "127.0.0.1:8400",
    "127.8.9.10:1",
    "[::1]",
    "[::1]:8400",
)
ELSEWHERE = (
    "",
    "example.com",
    "example.com:8400",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "example.com:localhost",
    "localhost@example.com",
    "localhost:8400@example.com",
    "localhost:8400:8400",
    "localhost, example.com",
    "::1",
    "[::1",
    "[::1]x",
    "[localhost]",
    "127.1",
    "0.0.0.0",
    "0.0.0.0:8400",
    "[::]",
    "10.0.0.5:8400",
    "169.254.169.254",
    "[::ffff:10.0.0.5]",
    "192.168.1.2",
    "xn--lcalhost-54a",
    "localhost\x00",
)


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_names_itself_in_these_ways(host: str):
    assert outside_hint({b"host": host.encode()}) is None


@pytest.mark.parametrize("host", ELSEWHERE)
def test_any_other_host_may_be_somebody_elses_name_for_this_machine(host: str):
    assert outside_hint({b"host": host.encode()}) == "its Host is not loopback"


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("Origin", "the request carries Origin"),
        ("Forwarded", "the request came through a proxy"),
        ("X-Forwarded-For", "the request came through a proxy"),
        ("X-Forwarded-Host", "the request came through a proxy"),
        ("X-Forwarded-Whatever", "the request came through a proxy"),
        ("Via", "the request came through a proxy"),
        ("X-Real-IP", "the request came through a proxy"),
    ],
)
@pytest.mark.parametrize("value", ["null", "", "http://localhost:8400", "for=127.0.0.1"])
def test_traces_of_a_browser_or_a_proxy_are_refused_whatever_they_say(
    shared: RunningReceiver, header: str, hint: str, value: str
):
    for path in PATHS:
        answer = shared.ask("POST", path, event(), {header: value})
        assert answer.status == 403
        reason = f"deliveries are not authenticated, and {hint}"
        assert json.loads(answer.body) == {"error": reason}


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "10.0.0.5:8400"])
def test_a_request_for_another_host_is_refused_on_every_path(shared: RunningReceiver, host: str):
    for path in PATHS:
        for method in ("GET", "POST"):
            assert shared.ask(method, path, headers={"Host": host}).status == 403


def test_a_request_without_a_host_is_refused(shared: RunningReceiver):
    with shared.wire() as wire:
        wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert wire.answer().status == 403


def test_a_second_host_cannot_hide_the_first(shared: RunningReceiver):
    for hosts in (("example.com", "localhost"), ("localhost", "example.com")):
        with shared.wire() as wire:
            lines = "".join(f"Host: {it}\r\n" for it in hosts)
            wire.send(f"GET /healthz HTTP/1.1\r\n{lines}\r\n".encode())
            assert wire.answer().status == 403


def test_a_trailer_is_not_a_host(shared: RunningReceiver):
    with shared.wire() as wire:
        wire.send(
            b"POST /webhooks HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\nHost: localhost\r\n\r\n"
        )
        assert wire.answer().status == 403


def test_a_proxy_that_speaks_http_1_0_is_one_that_leaves_no_other_trace(shared: RunningReceiver):
    """So does nginx, unless it is told otherwise. Behind one that hands an offer to upgrade on,
    anyone who made the offer was taken for a caller of HTTP/1.1 on this machine."""
    for path in PATHS:
        for offer in ("", "Connection: Upgrade\r\nUpgrade: h2c\r\n"):
            with shared.wire() as wire:
                wire.send(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:8400\r\n{offer}\r\n".encode())
                assert wire.answer().status == 403


def test_behind_a_proxy_that_leaves_no_trace_nobody_collects_or_submits_without_a_token(
    start: Start, tmp_path: Path
):
    """Deliveries were authenticated, no tokens were set: anyone who reached the proxy did both."""
    (tmp_path / "secret").write_text("let me in\n")
    receiver = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    review = "/v1/marketplaces/m1/sellers/s1/registration/review"
    kind = {"Content-Type": "application/json"}
    for method, path in (("POST", "/v1/collections"), ("PUT", review)):
        answer = receiver.ask(method, path, b"{}", kind)
        assert answer.status == 401
        assert "PRAZO_API_TOKENS_FILE gives none" in json.loads(answer.body)["error"]
    assert receiver.deliver(event(), {"X-Webhook-Secret": "let me in"}).status == 200
    assert [it.kind for it in receiver.entries()] == ["webhook"]


def test_refused_deliveries_leave_their_count_in_the_log_and_nothing_else(start: Start):
    receiver = start()
    for _ in range(5):
        receiver.deliver(event(), {"X-Forwarded-For": "10.0.0.5"})
    receiver.ask("GET", "/metrics", headers={"Origin": "http://example.com"})
    [entry] = receiver.entries()
    assert (entry.kind, entry.status, entry.body) == ("rejection", 403, None)
    assert entry.particulars == {
        "reason": "deliveries are not authenticated, and the request came through a proxy",
        "deliveries": 1,
    }


def test_with_authentication_proxies_and_other_hosts_are_welcome(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text("let me in\n")
    receiver = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    headers = {
        "Host": "hooks.example.com",
        "X-Forwarded-For": "203.0.113.7",
        "Forwarded": "for=203.0.113.7",
        "Origin": "https://example.com",
    }
    assert receiver.deliver(event(), {**headers, "X-Webhook-Secret": "let me in"}).status == 200
    assert receiver.deliver(event(), headers).status == 401
    assert receiver.ask("GET", "/healthz", headers=headers).status == 200
