"""Delivery over real HTTP: authentication, redelivery, duplicates, disorder."""

import base64
import hashlib
import hmac
import json
import socket
import time
from collections import Counter
from typing import Any

import httpx
import pytest

import sandbox
from sandbox.platform.webhooks import (
    Authentication,
    Basic,
    HeaderSecret,
    Manner,
    NoAuthentication,
    Signature,
)
from sandbox.server import Handle
from tests.sandbox.real_http import Receiver
from tests.support.machine import wait_until

KEY = b"0123456789abcdef0123456789abcdef"


def deliver_one(receiver: Receiver, authentication: Authentication, body: bytes) -> dict[str, str]:
    with sandbox.running(
        webhooks_to=f"{receiver.url}/webhooks", authentication=authentication
    ) as platform:
        platform.deliver_raw(body, "msg_1")
        platform.settle()
    (got,) = receiver.received
    assert (got.path, got.body) == ("/webhooks", body)
    assert got.headers["content-type"] == "application/json"
    return got.headers


def test_a_delivery_without_authentication_carries_no_secret(receiver: Receiver) -> None:
    headers = deliver_one(receiver, NoAuthentication(), b"{}")
    assert "authorization" not in headers
    assert "webhook-signature" not in headers


def test_a_header_carries_the_secret(receiver: Receiver) -> None:
    headers = deliver_one(receiver, HeaderSecret("s3cret", "X-Platform-Key"), b"{}")
    assert headers["x-platform-key"] == "s3cret"


def test_basic_carries_the_pair(receiver: Receiver) -> None:
    headers = deliver_one(receiver, Basic("platform", "pa:ss"), b"{}")
    assert headers["authorization"] == "Basic cGxhdGZvcm06cGE6c3M="  # platform:pa:ss


def test_a_signature_is_that_of_standard_webhooks(receiver: Receiver) -> None:
    body = '{"name":"João"}'.encode()
    secret = "whsec_" + base64.b64encode(KEY).decode()
    headers = deliver_one(receiver, Signature(secret), body)

    assert headers["webhook-id"] == "msg_1"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 10
    # Worked out here from RFC 2104 itself, not with the hmac module's one-shot function.
    inner_pad = bytes(byte ^ 0x36 for byte in KEY.ljust(64, b"\0"))
    outer_pad = bytes(byte ^ 0x5C for byte in KEY.ljust(64, b"\0"))
    signed = b"msg_1." + headers["webhook-timestamp"].encode() + b"." + body
    inner = hashlib.sha256(inner_pad + signed).digest()
    expected = base64.b64encode(hashlib.sha256(outer_pad + inner).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_the_signature_of_the_standards_own_example_is_reproduced() -> None:
    """The vector of the Standard Webhooks reference libraries."""
    signature = Signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signature.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', 1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


QUICK = Manner(answer_limit_seconds=30, first_pause_seconds=0.05, max_attempts=4)


@pytest.fixture
def platform(receiver: Receiver) -> Any:
    with sandbox.running(webhooks_to=f"{receiver.url}/webhooks", manner=QUICK) as handle:
        yield handle


def test_a_delivery_that_is_not_answered_200_comes_again_with_the_same_bytes(
    platform: Handle, receiver: Receiver
) -> None:
    receiver.answers = [500, 202, 200]
    platform.deliver_raw(b'{"n": 1}', "msg_1")
    platform.settle()
    assert [got.body for got in receiver.received] == [b'{"n": 1}'] * 3
    assert [(a.number, a.status) for a in platform.deliveries] == [(1, 500), (2, 202), (3, 200)]


def test_a_redelivery_keeps_its_id_and_is_signed_again(receiver: Receiver) -> None:
    secret = "whsec_" + base64.b64encode(KEY).decode()
    receiver.answers = [503]
    manner = Manner(first_pause_seconds=1.1)
    with sandbox.running(
        webhooks_to=receiver.url, authentication=Signature(secret), manner=manner
    ) as platform:
        platform.deliver_raw(b"{}", "msg_1")
        platform.settle()
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "msg_1"
    assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
    signed = f"msg_1.{second.headers['webhook-timestamp']}.{{}}".encode()
    expected = base64.b64encode(hmac.new(KEY, signed, "sha256").digest()).decode()
    assert second.headers["webhook-signature"] == f"v1,{expected}"


def test_a_delivery_is_given_up_after_so_many_attempts(
    platform: Handle, receiver: Receiver
) -> None:
    receiver.answers = [500] * 10
    platform.deliver_raw(b"{}", "msg_1")
    platform.settle()
    assert len(receiver.received) == 4


def test_pauses_grow(platform: Handle, receiver: Receiver) -> None:
    receiver.answers = [500] * 3
    began = time.monotonic()
    platform.deliver_raw(b"{}", "msg_1")
    platform.settle()
    assert time.monotonic() - began >= 0.05 + 0.1 + 0.2


def test_no_answer_within_the_limit_counts_as_none() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        manner = Manner(answer_limit_seconds=0.1, first_pause_seconds=0.01, max_attempts=2)
        with sandbox.running(webhooks_to=url, manner=manner) as platform:
            platform.deliver_raw(b"{}", "msg_1")
            platform.settle()
            attempts = platform.deliveries
    assert [(a.status, a.error) for a in attempts] == [(None, "TimeoutError")] * 2


def test_a_failed_delivery_does_not_hold_up_the_next(platform: Handle, receiver: Receiver) -> None:
    receiver.answers = [500]
    platform.deliver_raw(b'"first"', "msg_1")
    platform.deliver_raw(b'"second"', "msg_2")
    platform.settle()
    # Whichever was posted first failed; the other came before its second attempt.
    failed, other, again = (got.body for got in receiver.received)
    assert {failed, other} == {b'"first"', b'"second"'}
    assert again == failed


def test_messages_arrive_in_the_order_in_which_they_were_posted(
    platform: Handle, receiver: Receiver
) -> None:
    for number in range(50):
        platform.deliver_raw(str(number).encode())
    platform.settle()
    assert [int(got.body) for got in receiver.received] == list(range(50))


def test_a_share_is_delivered_twice_although_answered(receiver: Receiver) -> None:
    manner = Manner(duplicate_share=1.0)
    with sandbox.running(webhooks_to=receiver.url, manner=manner) as platform:
        platform.deliver_raw(b"{}", "msg_1")
        platform.settle()
    assert [got.body for got in receiver.received] == [b"{}", b"{}"]


def test_a_share_is_overtaken_by_what_was_said_later(receiver: Receiver) -> None:
    manner = Manner(late_share=0.5, late_seconds=(0.2, 0.3))
    with sandbox.running(webhooks_to=receiver.url, manner=manner, seed=1) as platform:
        for number in range(20):
            platform.deliver_raw(str(number).encode())
        platform.settle()
    order = [int(got.body) for got in receiver.received]
    assert order != sorted(order)
    assert Counter(order) == Counter(range(20))


def test_an_event_is_delivered_as_the_very_bytes_the_platform_said(receiver: Receiver) -> None:
    with sandbox.running(webhooks_to=receiver.url) as platform:
        seller_id = platform.adopt_seller()
        process_id = platform.require_review(seller_id, "ACP")
        wait_until(lambda: len(receiver.received) == 1)
        (event,) = platform.events
        platform.redeliver(event)
        platform.settle()
    assert [got.body for got in receiver.received] == [event.body] * 2
    assert json.loads(event.body)["payload"]["object"]["process_id"] == process_id


@pytest.mark.parametrize("by", ["handle", "control"])
def test_a_changed_redelivery_and_a_repeated_id_arrive_over_http(
    receiver: Receiver, by: str
) -> None:
    with (
        sandbox.running(webhooks_to=receiver.url) as platform,
        httpx.Client(base_url=platform.control_url, trust_env=False) as control,
    ):
        seller_id = platform.adopt_seller()
        finished = platform.require_review(seller_id, "ACI")
        other = platform.require_review(seller_id, "ACP")
        receiver.wait_for(2)
        event_id = json.loads(receiver.received[0].body)["id"]
        if by == "handle":
            platform.finish(finished, is_reported=False)
            platform.report_again(finished)
            platform.report(other, event_id=event_id)
        else:
            processes = "/control/processes"
            control.post(f"{processes}/{finished}/finish", json={"is_reported": False})
            control.post(f"{processes}/{finished}/report_again")
            control.post(f"{processes}/{other}/report", json={"event_id": event_id})
        receiver.wait_for(4)

    events = [json.loads(it.body) for it in receiver.received]
    assert [it["id"] for it in events] == [event_id, events[1]["id"], event_id, event_id]
    reports = [it["payload"]["object"] for it in events]
    assert [(it["process_id"], it["status"]) for it in reports] == [
        (finished, "OVERDUE"),
        (other, "PENDING"),
        (finished, "FINISHED"),
        (other, "PENDING"),
    ]
    assert events[2]["created_at"] == events[0]["created_at"] < events[3]["created_at"]
