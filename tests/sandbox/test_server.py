"""The running sandbox over real HTTP and mutual TLS: every answer, every fault."""

import json
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

import sandbox
from sandbox.platform.certificates import KeyPair, issue
from sandbox.platform.state_machine import Policy
from sandbox.server import Handle
from tests.sandbox.real_http import Receiver, client_of
from tests.support.machine import wait_until

DAY_SECONDS = 86_400


def review_path(platform: Handle, seller_id: str) -> str:
    return f"/v1/marketplaces/{platform.marketplace_id}/sellers/{seller_id}/registration/review"


def an_open_aci(platform: Handle, **changes: Any) -> tuple[str, str]:
    """Seller and process of an ACI for the revenue alone."""
    seller_id = platform.adopt_seller()
    process_id = platform.require_review(seller_id, "ACI", requested_fields=("revenue",), **changes)
    return seller_id, process_id


def send(
    client: httpx.Client,
    platform: Handle,
    seller_id: str,
    process_id: str,
    revenue: Any = "1000_to_5000",
    **headers: str,
) -> httpx.Response:
    return client.put(
        review_path(platform, seller_id),
        json={"process_id": process_id, "type": "individual", "revenue": revenue},
        headers={"Idempotency-Key": process_id, **headers},
    )


# Mutual TLS


def answer_to(platform: Handle, pair: KeyPair | None) -> bytes:
    """The first bytes of an answer over TLS; none where the connection ended with the handshake.

    In TLS 1.3 a client finishes its own half first, and hears of the refusal when it reads.
    """
    context = ssl.create_default_context(cafile=str(platform.certificates.authority))
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    port = int(platform.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), 5) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="127.0.0.1") as shaken:
                shaken.sendall(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                return shaken.recv(12)
        except (ssl.SSLError, ConnectionError):
            return b""


def test_with_a_client_certificate_the_door_is_open(platform: Handle) -> None:
    assert answer_to(platform, platform.certificates.client) == b"HTTP/1.1 401"


def test_without_a_client_certificate_the_handshake_ends(platform: Handle) -> None:
    assert answer_to(platform, None) == b""
    assert platform.requests == []


def test_an_expired_client_certificate_is_refused(platform: Handle) -> None:
    assert answer_to(platform, platform.certificates.expired_client) == b""
    assert platform.requests == []


def test_a_client_certificate_of_another_authority_is_refused(platform: Handle) -> None:
    assert answer_to(platform, platform.certificates.stranger_client) == b""
    assert platform.requests == []


def test_a_refused_handshake_is_an_error_to_an_http_client_too(platform: Handle) -> None:
    with (
        client_of(platform, platform.certificates.stranger_client) as client,
        pytest.raises(httpx.TransportError),
    ):
        client.put("/")
    assert platform.requests == []


def test_a_client_that_trusts_another_authority_refuses_the_server(platform: Handle) -> None:
    context = ssl.create_default_context(cafile=str(platform.certificates.stranger_authority))
    with (
        httpx.Client(verify=context, trust_env=False) as client,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        client.put(platform.url)


def test_only_their_owner_can_read_the_certificates_and_keys(tmp_path: Path) -> None:
    (tmp_path / "client.key.pem").touch(mode=0o644)  # an older file is narrowed as well
    issue(tmp_path)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


# Answers


def test_a_good_submission_is_answered_200_and_finishes_the_process(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    assert platform.process(process_id)["status"] == "OVERDUE"

    response = send(client, platform, seller_id, process_id)
    assert response.status_code == 200
    assert response.json() == {"process_id": process_id, "status": "FINISHED"}
    assert platform.process(process_id)["status"] == "FINISHED"

    (request,) = platform.requests
    assert request.method == "PUT"
    assert request.path == review_path(platform, seller_id)
    assert request.headers["idempotency-key"] == process_id
    assert json.loads(request.body)["revenue"] == "1000_to_5000"
    assert request.status == 200


def test_a_bad_payload_is_answered_400_with_every_field(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    response = client.put(
        review_path(platform, seller_id),
        json={"process_id": process_id, "type": "firm", "revenue": 3_000, "email": "a@b.example"},
    )
    assert response.status_code == 400
    named = {fault["field"] for fault in response.json()["error"]["violations"]}
    assert named == {"type", "revenue", "email"}
    assert platform.process(process_id)["status"] == "OVERDUE"


def test_the_body_must_be_declared_as_json(platform: Handle, client: httpx.Client) -> None:
    seller_id, process_id = an_open_aci(platform)
    sent = {"Content-Type": "text/plain"}
    assert send(client, platform, seller_id, process_id, **sent).status_code == 400


def test_the_pair_and_the_token_are_admitted_and_nothing_else(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    path, body = review_path(platform, seller_id), b"{}"
    json_type = {"Content-Type": "application/json"}
    user, password = platform.credentials.username, platform.credentials.password

    def status(**terms: Any) -> int:
        headers = json_type | terms.pop("headers", {})
        return client.put(path, content=body, headers=headers, **terms).status_code

    assert status(auth=(user, password)) == 400  # admitted, then judged
    bearer = f"Bearer {platform.credentials.token}"
    assert status(headers={"Authorization": bearer}, auth=None) == 400
    assert status(auth=(user, "wrong")) == 401
    assert status(auth=("wrong", password)) == 401
    assert status(headers={"Authorization": "Bearer wrong"}, auth=None) == 401
    assert status(headers={"Authorization": "Digest x"}, auth=None) == 401
    assert status(auth=None) == 401
    assert platform.process(process_id)["status"] == "OVERDUE"


def test_unknown_sellers_processes_and_marketplaces_are_answered_404(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    other_seller, _ = an_open_aci(platform)
    assert send(client, platform, "sel_nobody", process_id).status_code == 404
    assert send(client, platform, seller_id, "prc_nothing").status_code == 404
    assert send(client, platform, other_seller, process_id).status_code == 404
    path = review_path(platform, seller_id).replace(platform.marketplace_id, "mkt_other")
    assert client.put(path, json={"process_id": process_id}).status_code == 404
    assert client.put("/v1/elsewhere", json={}).status_code == 404


def test_an_encoded_slash_belongs_to_the_id(platform: Handle, client: httpx.Client) -> None:
    """Decoded first and split afterwards, this path would name the seller `sel_x/y`'s parent."""
    path = review_path(platform, "sel_x%2Fregistration%2Freview")
    response = client.put(path, json={})
    assert response.json()["error"]["message"] == "no such seller"


def test_a_retry_with_the_same_key_and_bytes_gets_the_same_200(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    first = send(client, platform, seller_id, process_id)
    again = send(client, platform, seller_id, process_id)
    assert (again.status_code, again.content) == (200, first.content)


def test_another_payload_after_the_end_is_answered_409(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    assert send(client, platform, seller_id, process_id).status_code == 200
    other = send(client, platform, seller_id, process_id, revenue="5000_to_9000")
    assert other.status_code == 409


def test_an_expired_process_is_still_accepted(platform: Handle, client: httpx.Client) -> None:
    seller_id, process_id = an_open_aci(platform, days_ago=31)
    assert platform.process(process_id)["status"] == "EXPIRED"
    assert send(client, platform, seller_id, process_id).status_code == 200


def test_a_number_as_revenue_is_accepted_where_the_policy_says_so() -> None:
    with (
        sandbox.running(policy=Policy(accept_numeric_revenue=True)) as platform,
        client_of(platform) as client,
    ):
        seller_id, process_id = an_open_aci(platform)
        assert send(client, platform, seller_id, process_id, revenue=3_000).status_code == 200


# Faults


@pytest.mark.parametrize("status", [500, 503, 429])
def test_an_error_is_answered_as_often_as_ordered_and_processes_nothing(
    platform: Handle, client: httpx.Client, status: int
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="status", status=status, times=2, retry_after="7")
    for _ in range(2):
        response = send(client, platform, seller_id, process_id)
        assert response.status_code == status
        assert response.headers["Retry-After"] == "7"
        assert platform.process(process_id)["status"] == "OVERDUE"
    assert send(client, platform, seller_id, process_id).status_code == 200


def test_a_fault_for_one_process_spares_the_others(platform: Handle, client: httpx.Client) -> None:
    struck_seller, struck = an_open_aci(platform)
    spared_seller, spared = an_open_aci(platform)
    platform.add_fault(kind="status", status=500, process_id=struck, times=None)
    assert send(client, platform, spared_seller, spared).status_code == 200
    assert send(client, platform, struck_seller, struck).status_code == 500
    assert send(client, platform, struck_seller, struck).status_code == 500
    platform.clear_faults()
    assert send(client, platform, struck_seller, struck).status_code == 200


def test_a_slow_answer_comes_in_the_end(platform: Handle, client: httpx.Client) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="slow", seconds=0.5)
    began = time.monotonic()
    assert send(client, platform, seller_id, process_id).status_code == 200
    assert time.monotonic() - began >= 0.5


def test_a_slow_submission_is_processed_although_nobody_waits_for_it(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="slow", seconds=0.4)
    client.timeout = httpx.Timeout(30, read=0.1)
    with pytest.raises(httpx.ReadTimeout):
        send(client, platform, seller_id, process_id)
    wait_until(lambda: platform.process(process_id)["status"] == "FINISHED")


def test_an_answer_that_never_comes_leaves_the_process_as_it_was(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="never_answers")
    client.timeout = httpx.Timeout(30, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        send(client, platform, seller_id, process_id)
    assert platform.process(process_id)["status"] == "OVERDUE"
    wait_until(lambda: [request.status for request in platform.requests] == [None])


@pytest.mark.parametrize("kind", ["never_answers", "drops_connection"])
def test_a_lost_answer_was_processed_and_a_retry_gets_its_200(
    platform: Handle, client: httpx.Client, kind: str
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind=kind, processes=True)
    client.timeout = httpx.Timeout(30, read=0.3)
    with pytest.raises(httpx.TransportError):
        send(client, platform, seller_id, process_id)
    wait_until(lambda: platform.process(process_id)["status"] == "FINISHED")
    client.timeout = 5
    assert send(client, platform, seller_id, process_id).status_code == 200


def test_a_dropped_connection_has_no_byte_of_an_answer(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="drops_connection")
    with pytest.raises(httpx.TransportError):
        send(client, platform, seller_id, process_id)
    assert platform.process(process_id)["status"] == "OVERDUE"


def test_a_connection_closed_half_way_has_a_status_and_half_a_body(
    platform: Handle, client: httpx.Client
) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="closes_half_way")
    with client.stream(
        "PUT",
        review_path(platform, seller_id),
        json={"process_id": process_id, "type": "individual", "revenue": "1_to_2"},
    ) as response:
        assert response.status_code == 200
        chunks = response.iter_raw()
        got = next(chunks)
        with pytest.raises(httpx.RemoteProtocolError):
            next(chunks)
    whole = b'{"process_id":"' + process_id.encode() + b'","status":"FINISHED"}'
    assert got == whole[: len(whole) // 2]
    assert platform.process(process_id)["status"] == "FINISHED"


def test_an_oversized_answer_is_as_large_as_ordered(platform: Handle, client: httpx.Client) -> None:
    seller_id, process_id = an_open_aci(platform)
    platform.add_fault(kind="oversized_answer", size=3_000_000)
    response = send(client, platform, seller_id, process_id)
    assert (response.status_code, len(response.content)) == (200, 3_000_000)


def test_an_unknown_fault_is_named_with_those_there_are(platform: Handle) -> None:
    with pytest.raises(ValueError, match="no such fault: 'earthquake'; there are status, slow"):
        platform.add_fault(kind="earthquake")
    with pytest.raises(ValueError, match="nothing but kind, times, process_id, processes, status"):
        platform.add_fault(kind="slow", minutes=3)


def test_it_stops_at_once_although_an_answer_is_still_owed() -> None:
    with sandbox.running() as platform, client_of(platform) as client:
        seller_id, process_id = an_open_aci(platform)
        platform.add_fault(kind="never_answers")
        client.timeout = httpx.Timeout(30, read=0.1)
        with pytest.raises(httpx.ReadTimeout):
            send(client, platform, seller_id, process_id)
        began = time.monotonic()
    assert time.monotonic() - began < 5


# Time and webhooks


def test_time_can_leap_and_what_was_due_is_said(platform: Handle, receiver: Receiver) -> None:
    platform.point_webhooks_at(f"{receiver.url}/webhooks")
    seller_id = platform.adopt_seller()
    process_id = platform.require_review(seller_id, "ACP")
    platform.advance(31 * DAY_SECONDS)
    assert platform.process(process_id)["status"] == "OVERDUE"
    platform.advance(30 * DAY_SECONDS)
    assert platform.process(process_id)["status"] == "EXPIRED"

    receiver.wait_for(3)
    subjects = [json.loads(got.body)["payload"]["object"] for got in receiver.received]
    assert [subject["status"] for subject in subjects] == ["PENDING", "OVERDUE", "EXPIRED"]


def test_scaled_time_lets_an_analysis_end_in_moments(platform: Handle) -> None:
    platform.set_scale(3_600)
    seller_id = platform.create_seller()

    def status() -> str:
        (seller,) = (s for s in platform.sellers() if s["seller_id"] == seller_id)
        return str(seller["status"])

    wait_until(lambda: status() == "enabled")


def test_a_flood_delivers_every_event_once(platform: Handle, receiver: Receiver) -> None:
    platform.point_webhooks_at(f"{receiver.url}/webhooks")
    platform.adopt_seller()
    platform.flood(200)
    ids = [json.loads(got.body)["id"] for got in receiver.received]
    assert len(ids) == 200
    assert len(set(ids)) == 200


def test_events_wait_until_there_is_an_endpoint(platform: Handle, receiver: Receiver) -> None:
    seller_id = platform.adopt_seller()
    process_id = platform.require_review(seller_id, "ACP")
    assert receiver.received == []
    platform.point_webhooks_at(f"{receiver.url}/webhooks")
    receiver.wait_for(1)
    assert process_id in receiver.received[0].body.decode()


# The control endpoint


def test_a_demo_can_be_directed_over_http(platform: Handle, client: httpx.Client) -> None:
    with httpx.Client(base_url=platform.control_url, trust_env=False) as control:
        seller = control.post("/control/sellers", json={"adopted": True}).json()
        assert (seller["type"], seller["status"]) == ("individual", "enabled")
        review = {
            "seller_id": seller["seller_id"],
            "review_type": "ACI",
            "requested_fields": ["revenue"],
            "days_ago": 3,
        }
        process = control.post("/control/reviews", json=review).json()
        assert process["status"] == "OVERDUE"
        assert control.get("/control/processes").json() == [process]

        control.post("/control/faults", json={"kind": "status", "status": 503})
        assert [f["kind"] for f in control.get("/control/faults").json()] == ["status"]
        sent = (seller["seller_id"], process["process_id"])
        assert send(client, platform, *sent).status_code == 503
        assert send(client, platform, *sent).status_code == 200
        assert [seen["status"] for seen in control.get("/control/requests").json()] == [503, 200]

        control.post("/control/faults", json={"kind": "slow", "times": None})
        assert control.delete("/control/faults").json() == []
        control.post(f"/control/sellers/{seller['seller_id']}/disable")
        (seen,) = control.get("/control/sellers").json()
        assert seen["status"] == "disabled"


def test_a_denied_seller_can_be_made_over_http(platform: Handle) -> None:
    with httpx.Client(base_url=platform.control_url, trust_env=False) as control:
        reason = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
        control.post("/control/sellers", json={"is_business": True, "denied_for": [reason]})
        control.post("/control/time", json={"advance_seconds": DAY_SECONDS})
        (seller,) = control.get("/control/sellers").json()
    assert (seller["type"], seller["status"]) == ("business", "denied")


def test_a_process_can_be_reported_finished_and_given_another_deadline_over_http(
    platform: Handle,
) -> None:
    _, process_id = an_open_aci(platform, days_ago=29)
    with httpx.Client(base_url=platform.control_url, trust_env=False) as control:
        path = f"/control/processes/{process_id}"
        before = platform.process(process_id)["deadline_at"]
        moved = control.post(f"{path}/deadline", json={"days": 9}).json()
        assert 7.9 < (moved["deadline_at"] - before) / (DAY_SECONDS * 1_000_000) < 8.1
        assert control.post(f"{path}/report").json()["status"] == "OVERDUE"
        assert control.post(f"{path}/finish").json()["status"] == "FINISHED"


@pytest.mark.parametrize(
    ("path", "terms", "status"),
    [
        ("/control/faults", {"kind": "earthquake"}, 400),
        ("/control/faults", {"kind": "slow", "colour": "red"}, 400),
        ("/control/reviews", {"seller_id": "sel_nobody", "review_type": "ACP"}, 404),
        ("/control/reviews", {"seller_id": "sel_nobody", "review_type": "XYZ"}, 400),
        ("/control/sellers/sel_nobody/disable", {}, 404),
        ("/control/flood", {"deliveries": 10_000_000}, 400),
        ("/control/time", {"advance_seconds": -1}, 400),
    ],
)
def test_the_control_endpoint_says_what_is_wrong(
    platform: Handle, path: str, terms: dict[str, Any], status: int
) -> None:
    response = httpx.post(platform.control_url + path, json=terms, trust_env=False)
    assert response.status_code == status
    assert response.json()["error"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--days", "2"), "days must be at least 105: the situations reach that far"),
        (("--sellers", "1"), "sellers must be at least "),
    ],
)
def test_a_past_that_is_too_short_for_its_situations_is_refused_in_one_line(
    tmp_path: Path, asked: tuple[str, str], said: str
) -> None:
    """It ended in a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", "--folder", str(tmp_path), *asked],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert f"error: {said}" in done.stderr
    assert "Traceback" not in done.stderr
