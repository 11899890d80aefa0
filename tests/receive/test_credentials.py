"""Each form of authentication over the wire, and secrets that change while it runs."""

import base64
import hmac
import json
import time
from pathlib import Path

import pytest

from tests import depth
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.receiver import RunningReceiver

ROTATION_SECONDS = 1.5  # the file is looked at once a second


def _basic(credentials: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}


def _signed(
    key: bytes, body: bytes, *, at: float | None = None, name: str = "msg_1"
) -> dict[str, str]:
    """Standard Webhooks by hand."""
    timestamp = str(int(time.time() if at is None else at))
    message = f"{name}.{timestamp}.".encode() + body
    return {
        "webhook-id": name,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(hmac.digest(key, message, "sha256")).decode(),
    }


def _recorded_by(receiver: RunningReceiver, body: bytes) -> str:
    [entry] = receiver.entries(event_id=json.loads(body)["id"])
    return entry.recorded_by


def test_a_secret_in_a_header(start: Start, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("\n  correct horse battery staple  \n\nother\n")
    receiver = start(
        WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(secret), WEBHOOK_HEADER="X-Platform-Key"
    )
    first, second = event(), event()
    spaced = {"x-platform-key": "correct horse battery staple"}
    assert receiver.deliver(first, spaced).status == 200
    assert receiver.deliver(second, {"X-PLATFORM-KEY": "other"}).status == 200
    assert _recorded_by(receiver, first) == "webhook:1"
    assert _recorded_by(receiver, second) == "webhook:2"
    for wrong in ("", "correct", "correct horse battery staple other", "Other"):
        assert receiver.deliver(event(), {"X-Platform-Key": wrong}).status == 401
    assert receiver.deliver(event()).status == 401
    assert receiver.deliver(event(), {"X-Webhook-Secret": "other"}).status == 401


def test_a_secret_that_stands_twice_is_none(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text("right\n")
    receiver = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    for twice in (("wrong", "right"), ("right", "wrong"), ("right", "right")):
        with receiver.wire() as wire:
            lines = "".join(f"X-Webhook-Secret: {it}\r\n" for it in twice)
            wire.send(
                f"POST /webhooks HTTP/1.1\r\nHost: a\r\n{lines}Content-Length: 0\r\n\r\n".encode()
            )
            assert wire.answer().status == 401


def test_user_and_password(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text("platform:pa:ss wörd\n")
    receiver = start(WEBHOOK_AUTH="basic", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    right = _basic("platform:pa:ss wörd")
    assert receiver.deliver(event(), right).status == 200
    assert (
        receiver.deliver(
            event(), {"authorization": right["Authorization"].replace("Basic", "bASIC")}
        ).status
        == 200
    )
    encoded = right["Authorization"].removeprefix("Basic ")
    for wrong in (
        "",
        "Basic",
        "Basic ",
        f"Bearer {encoded}",
        "Basic ???",
        f"Basic {encoded}x",
        encoded,
    ):
        answer = receiver.deliver(event(), {"Authorization": wrong})
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == 'Basic realm="webhooks"'
    assert receiver.deliver(event(), _basic("platform:other")).status == 401
    assert receiver.deliver(event()).status == 401


def test_a_signature(start: Start, tmp_path: Path):
    key = bytes(range(32))
    (tmp_path / "secret").write_text("whsec_" + base64.b64encode(key).decode())
    receiver = start(WEBHOOK_AUTH="hmac", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    body = event()
    assert receiver.deliver(body, _signed(key, body)).status == 200
    assert _recorded_by(receiver, body) == "webhook:1"
    assert receiver.deliver(event(), _signed(key, body)).status == 401
    assert receiver.deliver(body, _signed(b"other key", body)).status == 401
    assert receiver.deliver(body).status == 401
    now = time.time()
    assert receiver.deliver(body, _signed(key, body, at=now - 290)).status == 200
    assert receiver.deliver(body, _signed(key, body, at=now - 310)).status == 401
    assert receiver.deliver(body, _signed(key, body, at=now + 290)).status == 200
    assert receiver.deliver(body, _signed(key, body, at=now + 310)).status == 401


def test_a_signature_covers_a_body_that_nobody_can_read(start: Start, tmp_path: Path):
    (tmp_path / "secret").write_text(base64.b64encode(b"k" * 24).decode())
    receiver = start(WEBHOOK_AUTH="hmac", WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    body = b"\xff\x00 no JSON"
    answer = receiver.deliver(body, _signed(b"k" * 24, body))
    assert json.loads(answer.body)["recorded"] == "quarantined"
    assert receiver.deliver(body, _signed(b"x" * 24, body)).status == 401


@pytest.mark.parametrize("by_rename", depth.few([True, False], 2))
def test_secrets_are_rotated_without_a_gap(start: Start, tmp_path: Path, by_rename: bool):
    secret = tmp_path / "secret"

    def write(text: str) -> None:
        if by_rename:
            (tmp_path / "draft").write_text(text)
            (tmp_path / "draft").rename(secret)
        else:
            secret.write_text(text)
        time.sleep(ROTATION_SECONDS)

    def status(shown: str) -> int:
        return receiver.deliver(event(), {"X-Webhook-Secret": shown}).status

    secret.write_text("old\n")
    receiver = start(WEBHOOK_AUTH="header", WEBHOOK_SECRET_FILE=str(secret))
    assert (status("old"), status("new")) == (200, 401)
    write("new\nold\n")
    assert (status("old"), status("new")) == (200, 200)
    write("new\n")
    assert (status("old"), status("new")) == (401, 200)
    write("")  # half a rotation: nobody is let in, nobody locked out
    assert (status("old"), status("new"), status("")) == (401, 200, 401)
    secret.unlink()
    time.sleep(ROTATION_SECONDS)
    assert (status("old"), status("new")) == (401, 200)
    write("newest\n")
    assert (status("new"), status("newest")) == (401, 200)
