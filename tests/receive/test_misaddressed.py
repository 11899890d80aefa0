"""What comes to the receiver and is none of its calls is counted, recorded and named.

A marketplace had given the platform the address `.../webhooks/`: every delivery was answered 404,
and no number, line or entry said so.
"""

from pathlib import Path

import pytest

from pipeline.receive.rejections import asked_of
from tests.receive import impatient
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.machine import wait_until
from tests.support.receiver import RunningReceiver


def counted(receiver: RunningReceiver, status: int) -> float:
    begins = f'prazo_rejections_total{{status="{status}"}} '
    lines = receiver.ask("GET", "/metrics").body.decode().splitlines()
    return sum(float(line.removeprefix(begins)) for line in lines if line.startswith(begins))


def rejections(receiver: RunningReceiver) -> list[tuple[int | None, str, int]]:
    return [
        (entry.status, entry.particulars["reason"], entry.particulars["deliveries"])
        for entry in receiver.entries(kind="rejection")
    ]


def test_a_delivery_to_another_path_is_counted_recorded_and_logged_with_that_path(start: Start):
    receiver = start()
    for path in ("//webhooks?token=s3cret", "/webhook", "/hooks/pagarme", "/webhook"):
        assert receiver.ask("POST", path, event()).status == 404
    assert counted(receiver, 404) == 4
    first = (404, "none of the receiver's calls: POST //webhooks", 1)
    assert rejections(receiver) == [first]
    assert receiver.terminate() == 0
    rest = (404, "none of the receiver's calls: POST /webhook", 3)
    assert rejections(receiver) == [first, rest]
    log = receiver.log.read_text()
    assert "1 request turned away with 404: none of the receiver's calls: POST //webhooks" in log
    assert "3 requests turned away with 404: none of the receiver's calls: POST /webhook" in log
    assert "s3cret" not in log


def test_a_slash_behind_the_path_of_deliveries_loses_nothing(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text("right\n")
    receiver = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    assert receiver.ask("POST", "/webhooks/", event()).status == 401
    large = event(padding="x" * 70_000)  # goes the usual way
    for body in (event(), large):
        answer = receiver.ask("POST", "/webhooks/", body, {"X-Webhook-Secret": "right"})
        assert answer.status == 200
    assert receiver.ask("GET", "/webhooks/").status == 405
    kinds = [(it.kind, it.status) for it in receiver.entries()]
    assert kinds == [
        ("rejection", 401),
        ("webhook", None),
        ("webhook", None),
        ("rejection", 405),
    ]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "BREW"])
def test_a_misaddressed_request_of_any_method_is_counted(start: Start, method: str):
    receiver = start()
    status = receiver.ask(method, "/elsewhere").status
    assert status == (501 if method == "BREW" else 404)
    assert counted(receiver, status) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/collections"),
        ("GET", "/healthz"),
        ("PUT", "/v1/marketplaces/m1/sellers/s1/registration/review"),
    ],
)
def test_a_call_under_another_host_name_is_recorded_with_its_path(
    start: Start, method: str, path: str
):
    receiver = start()
    assert receiver.ask(method, path, headers={"Host": "hooks.example.com"}).status == 403
    assert rejections(receiver) == [(403, f"its Host is not loopback: {method} {path}", 1)]
    assert counted(receiver, 403) == 1


def test_calls_of_the_marketplace_that_are_turned_away_are_counted_and_not_recorded(
    start: Start, tmp_path: Path
):
    """Anyone who collects or submits is of the house, and hears why; the log is not for that."""
    (tmp_path / "tokens").write_text("")
    (tmp_path / "secret").write_text("right\n")
    receiver = start(
        WEBHOOK_AUTH="header",
        WEBHOOK_SECRET_FILE=str(tmp_path / "secret"),
        API_TOKENS_FILE=str(tmp_path / "tokens"),
    )
    review = "/v1/marketplaces/m1/sellers/s1/registration/review"
    for method, path in (("POST", "/v1/collections"), ("POST", "/v1/journeys"), ("PUT", review)):
        assert receiver.ask(method, path, b"{}").status == 401
    assert receiver.ask("POST", review, b"{}").status == 405
    assert receiver.ask("GET", "/checkpoint").status == 404  # nothing is signed yet
    assert counted(receiver, 401) == 3
    assert counted(receiver, 405) == 1
    assert counted(receiver, 404) == 0
    assert rejections(receiver) == []


def test_what_the_server_itself_refuses_is_counted_and_recorded(start: Start):
    """A head without end, no HTTP at all, a delivery that stops halfway: each may have been a
    delivery. A connection on which nothing comes takes nothing away."""
    receiver = start(program=impatient.PROGRAM)
    head = b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\n"
    for sent, status in (
        (head + b"X: " + b"x" * 70_000, 431),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (head + b"Content-Length: 10\r\n\r\n{", 408),
        (b"", 408),
    ):
        with receiver.wire() as wire:
            wire.send(sent)
            assert wire.answer().status == status
    assert [counted(receiver, it) for it in (431, 400, 408)] == [1, 1, 1]
    wait_until(lambda: len(rejections(receiver)) == 3, pause=0.1)
    assert sorted(rejections(receiver)) == [
        (400, "the server refused it: Bad Request", 1),
        (408, "the server refused it: Request Timeout", 1),
        (431, "the server refused it: Request Header Fields Too Large", 1),
    ]


@pytest.mark.parametrize(
    ("raw_path", "shown"),
    [
        (b"/a/" + b"b" * 300, "POST /a/" + "b" * 197),
        (b"/sellers/ana@example.com/x", "POST /sellers/***/x"),
        (b"/sellers/ana%40example.com/x", "POST /sellers/***/x"),
        (b"/sellers/123.456.789-09", "POST /sellers/***"),
        (b"/sellers/123%2E456%2E789-09", "POST /sellers/***"),
        (b"/%1b[31m\xe2\x80\xae", "POST /%1b[31m\\u202e"),
        (b"", "POST "),
    ],
)
def test_the_path_is_cut_and_shows_nobody_s_id_and_no_control_character(
    raw_path: bytes, shown: str
):
    assert asked_of("POST", raw_path) == shown
