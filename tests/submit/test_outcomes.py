"""Every outcome of docs/rules.md#outcomes, from the real sandbox over real mutual TLS."""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.submit import resume
from pipeline.submit.attempt import Sent
from pipeline.submit.decision import Approval, Order
from pipeline.submit.outcomes import outcome_of
from pipeline.submit.platform import PlatformAnswer
from pipeline.submit.resume import Ended, open_submissions
from pipeline.submit.retries import GivenUp, Idle, Waiting
from tests import depth
from tests.submit.attempts import submit
from tests.support.ledgers import ledger_of, rows
from tests.support.machine import free_port
from tests.support.marketplace import Marketplace, Review


def test_an_accepted_review_finishes_the_process(marketplace: Marketplace) -> None:
    review = marketplace.review()
    ended = submit(marketplace, review)
    assert isinstance(ended.result, Sent)
    assert (ended.result.outcome, ended.result.answer.status) == ("accepted", 200)
    assert ended.is_finished
    assert marketplace.state(review.process_id) == "FINISHED"
    assert marketplace.outcomes(review.process_id) == ["accepted"]


def test_what_is_sent_is_the_payload_byte_for_byte_under_the_process_as_idempotency_key(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    spaced = review.payload.replace(b": ", b" :  ")
    submit(marketplace, review, payload=spaced)
    [put] = marketplace.puts(review.process_id)
    assert put.body == spaced
    assert put.headers["idempotency-key"] == review.process_id
    assert put.headers["content-type"] == "application/json"
    assert put.headers["authorization"].startswith("Basic ")


def sent(ended: Ended) -> Sent:
    assert isinstance(ended.result, Sent)
    return ended.result


# Answers


@pytest.mark.parametrize(
    ("status", "outcome", "standing"),
    depth.few(  # whatever the status, it comes the same way; what each means is tried below
        [
            (400, "invalid_payload", Idle),
            (401, "unauthorized", Idle),
            (404, "not_found", Idle),
            (429, "rate_limited", Waiting),
            (409, "conflict", Idle),
            (500, "platform_error", Waiting),
            (503, "platform_error", Waiting),
            (302, "unexpected_status", Idle),
            (418, "unexpected_status", Idle),
            (202, "unexpected_status", Idle),
        ],
        3,
    ),
)
def test_each_status_has_its_outcome_and_only_some_are_sent_again(
    marketplace: Marketplace, status: int, outcome: str, standing: type
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=status, process_id=review.process_id)
    ended = submit(marketplace, review)
    assert sent(ended).outcome == outcome
    assert isinstance(ended.standing, standing)
    assert marketplace.outcomes(review.process_id) == [outcome]
    [finish] = marketplace.finishes(review.process_id)
    assert finish.status == status
    assert len(marketplace.puts(review.process_id)) == 1


def test_the_platforms_answer_is_kept_byte_for_byte_with_its_content_type(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=404, process_id=review.process_id)
    submit(marketplace, review)
    [finish] = marketplace.finishes(review.process_id)
    assert finish.body == b'{"error":{"status":404,"message":"as the sandbox was asked"}}'
    assert finish.particulars == {
        "client_certificate": "given",
        "content_type": "application/json",
    }


def test_a_start_says_how_it_came_in_and_under_which_key_it_goes_out(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    submit(marketplace, review, settings={"request_timeout_seconds": 7})
    [start] = marketplace.starts(review.process_id)
    assert start.body == review.payload
    assert start.seller_id == review.seller_id
    assert start.recorded_by == "test"
    assert start.particulars == {
        "via": "api",
        "marketplace_id": marketplace.platform.marketplace_id,
        "idempotency_key": review.process_id,
        "timeout_seconds": 7.0,
        "lease": 1,
    }


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_is_kept_and_obeyed(marketplace: Marketplace, status: int) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=status, retry_after="120", process_id=review.process_id
    )
    before = instants.now()
    ended = submit(marketplace, review, patience_seconds=5)
    assert len(marketplace.puts(review.process_id)) == 1
    assert isinstance(ended.standing, Waiting)
    assert ended.standing.due_at >= before + 120 * instants.SECOND
    [finish] = marketplace.finishes(review.process_id)
    assert finish.particulars["retry_after_at"] == instants.canonical(ended.standing.due_at)


def test_a_retry_after_beyond_the_calendar_leaves_the_answer_in_the_log(
    marketplace: Marketplace,
) -> None:
    """It could not be written down, so that the end of an attempt that was sent was lost."""
    review = marketplace.review()
    beyond = "Fri, 31 Dec 9999 23:59:59 -0100"
    marketplace.platform.add_fault(
        kind="status", status=429, retry_after=beyond, process_id=review.process_id
    )
    ended = submit(marketplace, review)
    assert sent(ended).outcome == "rate_limited"
    [finish] = marketplace.finishes(review.process_id)
    assert finish.status == 429


def test_retry_after_of_a_500_is_not_asked_for_by_the_rules(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=500, retry_after="120", process_id=review.process_id
    )
    ended = submit(marketplace, review)
    assert sent(ended).retry_after_at is None


def test_an_answer_over_a_mebibyte_is_cut_and_says_so(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="oversized_answer", size=3 * 2**20, process_id=review.process_id
    )
    ended = submit(marketplace, review)
    assert sent(ended).outcome == "accepted"
    assert ended.is_finished
    [finish] = marketplace.finishes(review.process_id)
    assert len(finish.body or b"") == 2**20
    assert finish.particulars["is_truncated"] is True


# No answer


def test_no_answer_in_time_is_a_timeout(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="never_answers", process_id=review.process_id)
    began = time.monotonic()
    ended = submit(marketplace, review, settings={"request_timeout_seconds": 1})
    assert sent(ended).outcome == "timeout"
    assert time.monotonic() - began < 15
    [finish] = marketplace.finishes(review.process_id)
    assert (finish.status, finish.particulars["error"]) == (None, "timeout")


def test_an_answer_that_comes_drop_by_drop_is_cut_off_at_the_limit(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """A limit on each read alone would let a slow platform hold an attempt for ever."""
    with dripping() as (url, authority):
        review = marketplace.review()
        began = time.monotonic()
        ended = submit(
            marketplace,
            review,
            settings={
                "platform_url": url,
                "platform_ca_file": authority,
                "request_timeout_seconds": 2,
            },
        )
        assert sent(ended).outcome == "timeout"
        assert time.monotonic() - began < 15


def test_a_connection_closed_without_an_answer_is_a_network_error(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="drops_connection", process_id=review.process_id)
    ended = submit(marketplace, review)
    assert sent(ended).outcome == "network_error"
    assert isinstance(ended.standing, Waiting)
    assert marketplace.outcomes(review.process_id) == ["network_error"]


def test_a_200_whose_body_breaks_off_is_accepted(marketplace: Marketplace) -> None:
    """The status had come, and the platform has processed it: an answer 200 is never lost."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="closes_half_way", process_id=review.process_id)
    ended = submit(marketplace, review)
    assert sent(ended).outcome == "accepted"
    assert sent(ended).answer.is_truncated
    assert marketplace.state(review.process_id) == "FINISHED"
    assert marketplace.outcomes(review.process_id) == ["accepted"]


def test_nobody_listening_is_a_network_error(marketplace: Marketplace) -> None:
    port = free_port()
    review = marketplace.review()
    ended = submit(marketplace, review, settings={"platform_url": f"https://127.0.0.1:{port}"})
    assert sent(ended).outcome == "network_error"


def test_a_name_that_nobody_knows_is_a_network_error(marketplace: Marketplace) -> None:
    review = marketplace.review()
    ended = submit(marketplace, review, settings={"platform_url": "https://platform.invalid"})
    assert sent(ended).outcome == "network_error"


# Credentials and certificates


def test_the_credentials_may_be_a_bearer_token(marketplace: Marketplace, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(marketplace.platform.credentials.token + "\n")
    review = marketplace.review()
    ended = submit(
        marketplace,
        review,
        settings={"platform_auth": "bearer", "platform_credentials_file": token},
    )
    assert sent(ended).outcome == "accepted"


def test_wrong_credentials_are_unauthorized(marketplace: Marketplace, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("somebody:else\n")
    review = marketplace.review()
    ended = submit(marketplace, review, settings={"platform_credentials_file": wrong})
    assert sent(ended).outcome == "unauthorized"


def test_credentials_and_certificates_are_read_again_when_they_change(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """Rotation without a restart: first both wrong, then the right ones in the same files."""
    certificates, credentials = marketplace.platform.certificates, tmp_path / "rotated"
    credentials.write_text("somebody:else\n")
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    certificate.write_bytes(certificates.stranger_client.certificate.read_bytes())
    key.write_bytes(certificates.stranger_client.key.read_bytes())
    settings = marketplace.settings(
        platform_credentials_file=credentials, client_cert_file=certificate, client_key_file=key
    )
    reviews = [marketplace.review() for _ in range(3)]

    async def rotate() -> list[str]:
        async with open_submissions(settings) as (_, submissions):

            async def attempt(review: Review) -> str:
                order = Order(review.process_id, review.seller_id, review.payload, "api", "test")
                result = await submissions.attempt(order)
                assert isinstance(result, Sent)
                return result.outcome

            outcomes = [await attempt(reviews[0])]
            certificate.write_bytes(certificates.client.certificate.read_bytes())
            await asyncio.sleep(1.1)  # half a rotation: the pair does not fit, the former stays
            outcomes.append(await attempt(reviews[1]))
            key.write_bytes(certificates.client.key.read_bytes())
            name, secret = marketplace.platform.credentials, credentials
            secret.write_text(f"{name.username}:{name.password}\n")
            await asyncio.sleep(1.1)
            outcomes.append(await attempt(reviews[2]))
            return outcomes

    assert asyncio.run(rotate()) == ["tls_refused", "tls_refused", "accepted"]


@pytest.mark.parametrize(
    "missing",
    [
        "platform_url",
        "marketplace_id",
        "platform_credentials_file",
    ],
)
def test_what_is_not_set_is_named_and_nothing_is_recorded(
    marketplace: Marketplace, missing: str
) -> None:
    review = marketplace.review()
    settings = marketplace.settings().model_copy(update={missing: None})
    with pytest.raises(SettingsError, match=f"PRAZO_{missing.upper()}"):
        resume.submit(settings, review.process_id, review.payload, recorded_by="test")
    assert marketplace.starts(review.process_id) == []


def test_a_key_that_is_not_the_certificates_is_reported_before_anything_is_recorded(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    key = marketplace.platform.certificates.stranger_client.key
    with pytest.raises(SettingsError, match="PRAZO_CLIENT_KEY_FILE"):
        submit(marketplace, review, settings={"client_key_file": key})
    assert marketplace.starts(review.process_id) == []


def test_redirects_are_not_followed(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=307, process_id=review.process_id)
    assert sent(submit(marketplace, review)).outcome == "unexpected_status"
    assert len(marketplace.puts(review.process_id)) == 1


# Retries


def test_retries_follow_until_the_review_is_accepted(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, times=2, process_id=review.process_id)
    began = time.monotonic()
    ended = submit(marketplace, review, patience_seconds=30)
    assert sent(ended).outcome == "accepted"
    assert time.monotonic() - began >= 0.8 + 1.6  # the pauses of 1 s and 2 s, a fifth shorter
    assert marketplace.outcomes(review.process_id) == [
        "platform_error",
        "platform_error",
        "accepted",
    ]
    bodies = {it.body for it in marketplace.puts(review.process_id)}
    keys = {it.headers["idempotency-key"] for it in marketplace.puts(review.process_id)}
    assert (bodies, keys) == ({review.payload}, {review.process_id})


def test_an_answer_lost_after_processing_is_asked_for_again_under_the_same_key(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="drops_connection", processes=True, process_id=review.process_id
    )
    ended = submit(marketplace, review, patience_seconds=30)
    assert ended.is_finished
    assert marketplace.outcomes(review.process_id) == ["network_error", "accepted"]


def test_a_try_that_is_over_is_given_up(marketplace: Marketplace) -> None:
    """30 attempts are in the log from elsewhere; the 31st of the same bytes is a person's."""
    review = marketplace.review()
    began = instants.now() - 10 * instants.HOUR
    for number in range(30):
        at = began + number * instants.MINUTE
        marketplace.append(
            kind="submission_started",
            occurred_at=instants.canonical(at),
            attempt_id=f"{review.process_id}-{number}",
            process_id=review.process_id,
            seller_id=review.seller_id,
            body=review.payload.decode(),
        )
        marketplace.append(
            kind="submission_finished",
            occurred_at=instants.canonical(at + instants.SECOND),
            attempt_id=f"{review.process_id}-{number}",
            process_id=review.process_id,
            status=500,
        )
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    ended = submit(marketplace, review, patience_seconds=30)
    assert isinstance(ended.standing, GivenUp)
    assert len(marketplace.puts(review.process_id)) == 1
    other, why = review.payload + b" ", Approval("the seller corrected it", "maria")
    assert submit(marketplace, review, other, replacement=why).is_finished
    [replacement] = marketplace.inbox.find(process_id=review.process_id, kind="replacement")
    assert b"the seller corrected it" in (replacement.body or b"")


@contextlib.contextmanager
def dripping() -> Iterator[tuple[str, str]]:
    """A TLS server that answers a byte every 0.2 s and never comes to an end of its headers."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    stopping = threading.Event()

    def drip(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            raw, _ = listener.accept()
            with context.wrap_socket(raw, server_side=True) as shaken:
                shaken.recv(65536)
                shaken.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stopping.wait(0.2):
                    shaken.sendall(b"x")

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        authority.cert_pem.tempfile() as certificate,
    ):
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}", os.fspath(certificate)
        finally:
            stopping.set()
            thread.join(5)


def test_every_status_and_error_means_here_what_the_log_will_say_of_it() -> None:
    """A caller hears of the outcome before any view does."""
    statuses = {*depth.few(range(100, 1000), 7), 200, 201, 299, 400, 401, 404, 409, 429, 500, 503}
    answers = [PlatformAnswer(status=status) for status in sorted(statuses)]
    answers += [
        PlatformAnswer(error=error)
        for error in ("timeout", "tls_refused", "network_error", "refused", "internal_error")
    ]
    lines = [
        {
            "kind": "submission_finished",
            "occurred_at": "2026-03-01T12:00:00Z",
            "attempt_id": f"a{number:04}",
            "process_id": "p1",
            "status": answer.status,
            "error": answer.error,
        }
        for number, answer in enumerate(answers)
    ]
    with ledger_of(lines) as reader:
        said = {it["attempt_id"]: it["outcome"] for it in rows(reader, "submission_attempts")}
    assert len(said) == len(answers) > 130
    assert [outcome_of(it.status, it.error) for it in answers] == [
        said[f"a{n:04}"] for n in range(len(answers))
    ]
