"""The gateway: a plain HTTP client that knows only the contract changes its base URL, no more."""

import base64
import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.submit import retries
from pipeline.submit.casefile import CaseFiles
from pipeline.submit.retries import Waiting
from tests.support.gateway import Answer, Client, receiving
from tests.support.machine import free_port, wait_until
from tests.support.marketplace import Marketplace, Review, payload


def violations(answer: Answer) -> set[tuple[str, str]]:
    return {(it["path"], it["rule"]) for it in answer.json["violations"]}


# What the platform answers


def test_an_accepted_review_is_answered_as_the_platform_answered_it(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    answer = gateway.put(review)
    [finish] = marketplace.finishes(review.process_id)
    assert answer.status == 200
    assert not answer.is_ours
    assert answer.body == finish.body
    assert answer.headers["content-type"] == "application/json"
    assert marketplace.state(review.process_id) == "FINISHED"
    [start] = marketplace.starts(review.process_id)
    assert start.particulars["via"] == "gateway"
    assert start.recorded_by == "loopback"


@pytest.mark.parametrize("status", [400, 401, 404, 409, 418, 429, 500, 503])
def test_the_platforms_errors_go_back_as_they_came(
    marketplace: Marketplace, gateway: Client, status: int
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=status, retry_after="7", process_id=review.process_id
    )
    answer = gateway.put(review)
    assert answer.status == status
    assert not answer.is_ours
    assert answer.body == (b'{"error":{"status":%d,"message":"as the sandbox was asked"}}' % status)
    assert answer.headers["retry-after"] == "7"


def test_one_call_is_one_attempt_and_the_caller_retries(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    assert gateway.put(review).status == 500
    assert len(marketplace.puts(review.process_id)) == 1
    assert gateway.put(review).status == 200
    assert marketplace.outcomes(review.process_id) == ["platform_error", "accepted"]


def test_our_credentials_go_to_the_platform_and_the_callers_do_not(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    gateway.put(review, Authorization="Bearer the-callers-own", Idempotency_Key="something-else")
    [put] = marketplace.puts(review.process_id)
    known = marketplace.platform.credentials
    pair = base64.b64encode(f"{known.username}:{known.password}".encode()).decode()
    assert put.headers["authorization"] == f"Basic {pair}"
    assert put.headers["idempotency-key"] == review.process_id
    assert put.body == review.payload


def test_an_answer_over_a_mebibyte_is_passed_on_cut_and_says_so(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="oversized_answer", size=2 * 2**20, process_id=review.process_id
    )
    answer = gateway.put(review)
    assert answer.status == 200
    assert len(answer.body) == 2**20
    assert "prazo-truncated" in answer.headers


# What we answer


def test_no_answer_in_time_is_504_and_may_have_been_processed(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="never_answers", process_id=review.process_id)
    answer = gateway.put(review)
    assert answer.status == 504
    assert answer.is_ours
    assert "may have processed it" in answer.json["error"]
    assert answer.json["why"] == "no answer in time"
    assert marketplace.outcomes(review.process_id) == ["timeout"]


def test_a_broken_connection_is_502_and_may_have_been_processed(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="drops_connection", processes=True, process_id=review.process_id
    )
    answer = gateway.put(review)
    assert answer.status == 502
    assert answer.is_ours
    assert "may have processed it" in answer.json["error"]
    assert gateway.put(review).status == 200
    assert marketplace.outcomes(review.process_id) == ["network_error", "accepted"]


def test_where_the_proxy_leads_to_no_platform_it_is_502_and_says_that_nothing_was_sent(
    marketplace: Marketplace,
) -> None:
    """It may not say that the platform may have processed it: somebody would wait for that."""
    review = marketplace.review()
    with receiving(marketplace, PRAZO_PLATFORM_PROXY=f"http://127.0.0.1:{free_port()}") as client:
        answer = client.put(review)
    assert (answer.status, answer.is_ours) == (502, True)
    assert "nothing was sent to the platform" in answer.json["error"]
    assert "nobody listens at the forward proxy" in answer.json["why"]
    assert marketplace.outcomes(review.process_id) == ["network_error"]


def test_a_failed_handshake_is_502_says_that_nothing_was_processed_and_is_counted(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    pair = marketplace.platform.certificates.expired_client
    with receiving(
        marketplace,
        PRAZO_CLIENT_CERT_FILE=str(pair.certificate),
        PRAZO_CLIENT_KEY_FILE=str(pair.key),
    ) as client:
        answer = client.put(review)
        metrics = client.request("GET", "/metrics", b"", {}).body.decode()
    assert (answer.status, answer.is_ours) == (502, True)
    assert "it has not processed this" in answer.json["error"]
    assert "the platform hung up before any request" in answer.json["why"]
    assert 'prazo_gateway_attempts_total{outcome="tls_refused"} 1.0' in metrics
    assert marketplace.outcomes(review.process_id) == ["tls_refused"]


def test_what_the_rules_refuse_is_422_with_every_violation_and_nothing_sent(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review(is_answered=False)
    body = {"process_id": review.process_id, "type": "individual", "revenue": "9_to_1", "x": 1}
    answer = gateway.put(review, json.dumps(body).encode())
    assert answer.status == 422
    assert answer.is_ours
    assert "nothing was sent" in answer.json["error"]
    assert violations(answer) == {
        ("revenue", "wrong_format"),
        ("x", "unknown_key"),
        ("revenue", "field_without_evidence"),
    }
    assert set(answer.json["violations"][0]) == {"path", "rule", "found", "expected", "section"}
    assert "9_to_1" not in answer.body.decode()
    assert marketplace.puts(review.process_id) == []
    assert marketplace.outcomes(review.process_id) == ["refused"]


def test_without_a_process_id_the_sellers_open_processes_are_named(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    second = marketplace.platform.require_review(
        review.seller_id, "ACI", requested_fields=("address.city",)
    )
    marketplace.hear()
    answer = gateway.put(review, b'{"type": "individual", "revenue": "1000_to_5000"}')
    assert answer.status == 422
    assert violations(answer) == {("process_id", "missing")}
    assert sorted(answer.json["open_processes"]) == sorted([review.process_id, second])
    assert "left_out" not in answer.json


def test_where_a_seller_has_too_many_processes_to_name_the_answer_says_so(
    marketplace: Marketplace, gateway: Client
) -> None:
    for number in range(203):
        marketplace.collect(f"prc_many_{number}", "sel_many", {})
    answer = gateway.put(Review("", "sel_many", b'{"type": "individual"}'))
    assert answer.status == 422
    assert answer.json["left_out"] == "3 older processes were not looked at"


ANONYMOUS = b'{"type":  "individual", "revenue": "1000_to_5000"}'


def test_without_a_process_id_a_call_is_for_the_sellers_one_open_process(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    answer = gateway.put(review, ANONYMOUS)
    assert not answer.is_ours
    [put] = marketplace.puts(review.process_id)  # found by our Idempotency-Key
    assert put.body == ANONYMOUS
    [start] = marketplace.starts(review.process_id)
    assert (start.body, start.process_id) == (ANONYMOUS, review.process_id)


def test_without_a_process_id_the_bytes_of_an_earlier_attempt_name_its_process(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    assert gateway.put(review, ANONYMOUS).status == 500
    marketplace.platform.require_review(review.seller_id, "ACI", requested_fields=("revenue",))
    marketplace.hear()
    assert not gateway.put(review, ANONYMOUS).is_ours
    assert [it.body for it in marketplace.puts(review.process_id)] == [ANONYMOUS] * 2


def test_of_a_finished_process_other_bytes_are_409_and_the_same_go_to_the_platform(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    assert gateway.put(review).status == 200
    other = gateway.put(review, review.payload + b" ")
    assert (other.status, other.is_ours) == (409, True)
    assert violations(other) == {("process_id", "process_finished")}
    assert "nothing was sent" in other.json["error"]
    assert not gateway.put(review).is_ours
    assert len(marketplace.puts(review.process_id)) == 2


def test_a_callers_other_payload_replaces_the_try_that_came_by_the_gateway(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    assert gateway.put(review).status == 500
    assert gateway.put(review, review.payload + b" ").status == 200
    assert marketplace.inbox.find(process_id=review.process_id, kind="replacement") == []


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"process_id": 7}', b'{"process_id": ""}', b"\xff", b'{"a":NaN}']
)
def test_a_body_that_names_no_process_is_422(
    marketplace: Marketplace, gateway: Client, body: bytes
) -> None:
    review = marketplace.review()
    answer = gateway.put(review, body)
    assert (answer.status, answer.is_ours) == (422, True)


def test_another_marketplace_than_ours_is_422(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review()
    answer = Client(gateway.port, "mkt_other").put(review)
    assert (answer.status, answer.is_ours) == (422, True)
    assert violations(answer) == {("marketplace_id", "marketplace_mismatch")}
    assert marketplace.puts(review.process_id) == []
    assert marketplace.outcomes(review.process_id) == ["refused"]
    [start] = marketplace.starts(review.process_id)
    assert start.particulars["marketplace_id"] == "mkt_other"
    assert start.seller_id is None  # that marketplace's seller, not ours


def test_all_that_is_wrong_with_path_and_body_is_named_at_once(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    answer = Client(gateway.port, "mkt_other").put(
        review._replace(seller_id=".."), payload(review.process_id, "x")
    )
    assert violations(answer) >= {
        ("marketplace_id", "marketplace_mismatch"),
        ("seller_id", "wrong_format"),
        ("revenue", "wrong_format"),
    }


def test_a_refusal_of_a_wrong_path_holds_no_retry(
    marketplace: Marketplace, gateway: Client
) -> None:
    """The same bytes, but judged by the path: what waits for its retry is as good as before."""
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=503, retry_after="600", process_id=review.process_id
    )
    gateway.put(review)
    Client(gateway.port, "mkt_other").put(review)
    case = CaseFiles(marketplace.inbox).open(review.process_id, instants.now())
    standing = retries.standing(case.attempts)
    assert isinstance(standing, Waiting)
    assert not standing.is_held


def test_another_seller_than_the_processs_is_422(marketplace: Marketplace, gateway: Client) -> None:
    review, other = marketplace.review(), marketplace.review()
    answer = gateway.put(review._replace(seller_id=other.seller_id))
    assert violations(answer) == {("seller_id", "seller_mismatch")}


@pytest.mark.parametrize("seller_id", [".", "..", "", "a\0b", "x" * 2000])
def test_an_id_that_is_not_a_segment_of_a_path_is_never_forwarded(
    marketplace: Marketplace, gateway: Client, seller_id: str
) -> None:
    review = marketplace.review()
    seen = len(marketplace.platform.requests)
    answer = gateway.put(review._replace(seller_id=seller_id))
    assert (answer.status, answer.is_ours) == (422, True)
    assert ("seller_id", "wrong_format") in violations(answer)
    assert len(marketplace.platform.requests) == seen
    assert marketplace.outcomes(review.process_id) == ["refused"]


def test_an_id_with_a_slash_or_a_percent_arrives_as_it_was(
    marketplace: Marketplace, gateway: Client
) -> None:
    """The platform does not know this seller: what counts is the path by which it was asked."""
    review = Review("prc_odd", "sel/../x%2e?é", payload("prc_odd"))
    marketplace.append_review(review, "OVERDUE")
    marketplace.collect(review.process_id, review.seller_id, {"revenue": "1000_to_5000"})
    answer = gateway.put(review)
    assert answer.status == 404
    assert not answer.is_ours
    [put] = marketplace.puts("prc_odd")
    assert put.path.endswith("/sellers/sel%2F..%2Fx%252e%3F%C3%A9/registration/review")


def test_while_an_attempt_is_under_way_the_next_is_503_with_retry_after(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=3.0, process_id=review.process_id)
    answers: list[Answer] = []
    first = threading.Thread(target=lambda: answers.append(gateway.put(review)))
    first.start()
    wait_until(lambda: len(marketplace.starts(review.process_id)) == 1)
    second = gateway.put(review)
    first.join()
    assert (second.status, second.is_ours) == (503, True)
    assert 1 <= int(second.headers["retry-after"]) <= 5
    assert answers[0].status == 200
    assert len(marketplace.puts(review.process_id)) == 1


def test_of_many_calls_at_once_one_is_sent_at_a_time(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=1.0, process_id=review.process_id)
    answers: list[Answer] = []
    callers = [
        threading.Thread(target=lambda: answers.append(gateway.put(review))) for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    # On a busy machine one comes after the first has ended: its bytes may go again.
    kinds = [it.kind for it in marketplace.inbox.find(process_id=review.process_id)]
    of_attempts = [it for it in kinds if it.startswith("submission")]
    assert of_attempts == ["submission_started", "submission_finished"] * (len(of_attempts) // 2)
    relayed = [it.status for it in answers if not it.is_ours]
    assert relayed == [200] * len(marketplace.puts(review.process_id))
    assert {it.status for it in answers if it.is_ours} <= {503}


def test_a_caller_that_hangs_up_leaves_an_attempt_with_its_end(
    marketplace: Marketplace, gateway: Client
) -> None:
    import http.client

    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=1.5, process_id=review.process_id)
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port)
    path = (
        f"/v1/marketplaces/{gateway.marketplace_id}/sellers/{review.seller_id}/registration/review"
    )
    connection.request("PUT", path, review.payload)
    wait_until(lambda: len(marketplace.starts(review.process_id)) == 1)
    connection.close()
    wait_until(lambda: len(marketplace.finishes(review.process_id)) == 1)
    assert marketplace.outcomes(review.process_id) == ["accepted"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
def test_other_methods_are_405(marketplace: Marketplace, gateway: Client, method: str) -> None:
    path = f"/v1/marketplaces/{gateway.marketplace_id}/sellers/s/registration/review"
    answer = gateway.request(method, path, b"", {})
    assert (answer.status, answer.headers["allow"], answer.is_ours) == (405, "PUT", True)


def test_a_compressed_body_is_415_and_one_over_the_limit_413(
    marketplace: Marketplace, gateway: Client
) -> None:
    review = marketplace.review()
    assert gateway.put(review, Content_Encoding="gzip").status == 415
    assert gateway.put(review, b"x" * (2**20 + 1)).status == 413
    assert marketplace.starts(review.process_id) == []


@pytest.mark.parametrize(
    "header", [{"Origin": "https://a.example"}, {"Host": "a.example"}, {"Forwarded": "for=1"}]
)
def test_without_tokens_only_this_machine_may_call(
    marketplace: Marketplace, gateway: Client, header: dict[str, str]
) -> None:
    review = marketplace.review()
    answer = gateway.put(review, **header)
    assert (answer.status, answer.is_ours) == (403, True)
    assert "nothing was sent" in answer.json["error"]
    assert marketplace.starts(review.process_id) == []


# Tokens and settings, each with a receiver of its own


def test_a_token_with_the_scope_submit_is_needed_as_bearer_or_password(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    lines = [
        f"{name}:{scopes}:{hashlib.sha256(name.encode()).hexdigest()}"
        for name, scopes in {"shop": "submit,collect", "reader": "read"}.items()
    ]
    tokens = tmp_path / "tokens"
    tokens.write_text("\n".join(lines) + "\n")
    reviews = [marketplace.review() for _ in range(2)]
    pair = base64.b64encode(b"anything:shop").decode()
    with receiving(marketplace, PRAZO_API_TOKENS_FILE=str(tokens)) as client:

        def put(number: int, authorization: str, **headers: Any) -> tuple[int, bool]:
            answer = client.put(reviews[number], Authorization=authorization, **headers)
            return answer.status, answer.is_ours

        assert put(0, "") == (401, True)
        assert put(0, "Bearer wrong") == (401, True)
        assert put(0, "Basic !!!") == (401, True)
        assert put(0, "Bearer reader") == (403, True)
        assert marketplace.starts(reviews[0].process_id) == []
        assert put(0, "Bearer shop") == (200, False)
        assert put(1, f"Basic {pair}", Content_Type="application/json") == (200, False)
    assert marketplace.starts(reviews[0].process_id)[0].recorded_by == "shop"


def test_without_a_platform_set_up_submissions_are_503_and_webhooks_taken(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    with receiving(marketplace, PRAZO_PLATFORM_CREDENTIALS_FILE="/nowhere") as client:
        answer = client.put(review)
        assert (answer.status, answer.is_ours) == (503, True)
        assert int(answer.headers["retry-after"]) > 0
        body = b'{"id": "evt_w", "type": "seller.updated", "payload": {"object": {"id": "s"}}}'
        assert client.request("POST", "/webhooks", body, {}).status == 200
    assert marketplace.starts(review.process_id) == []
