"""Killed between start and finish, in a retry, during backoff: the log accounts for every attempt.

Real processes, SIGKILL, and the sandbox as the judge of what was processed.
"""

import signal

from tests.support.commands import end, kill, payload_file, rows, run, start, submit
from tests.support.machine import wait_until
from tests.support.marketplace import Marketplace, Review

SHORT = {"PRAZO_REQUEST_TIMEOUT_SECONDS": "6"}


def killed_in_the_middle_of_a_retry(marketplace: Marketplace) -> Review:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    marketplace.platform.add_fault(kind="never_answers", process_id=review.process_id)
    process = start(marketplace, *submit(marketplace, review), **SHORT)
    # A start is in the log before its request is sent: killed between the two, the fault stayed.
    wait_until(lambda: not marketplace.platform.faults())
    kill(process)
    return review


def killed_between_start_and_finish(marketplace: Marketplace) -> Review:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="never_answers", processes=True, process_id=review.process_id
    )
    process = start(marketplace, *submit(marketplace, review), **SHORT)
    wait_until(lambda: marketplace.state(review.process_id) == "FINISHED")
    kill(process)
    assert marketplace.outcomes(review.process_id) == ["in_flight"]
    assert marketplace.finishes(review.process_id) == []
    return review


def killed_during_backoff(marketplace: Marketplace) -> Review:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=503, retry_after="4", process_id=review.process_id
    )
    process = start(marketplace, *submit(marketplace, review), **SHORT)
    wait_until(lambda: len(marketplace.finishes(review.process_id)) == 1)
    kill(process)
    return review


def test_killed_at_any_step_the_same_bytes_are_resumed_and_sent_when_they_are_due(
    marketplace: Marketplace,
) -> None:
    retried = killed_in_the_middle_of_a_retry(marketplace)
    begun = killed_between_start_and_finish(marketplace)
    waiting = killed_during_backoff(marketplace)
    assert run(marketplace, "resume", **SHORT).code == 0

    assert marketplace.outcomes(retried.process_id) == ["platform_error", "unknown", "accepted"]
    assert marketplace.outcomes(begun.process_id) == ["unknown", "accepted"]
    assert marketplace.outcomes(waiting.process_id) == ["platform_error", "accepted"]
    for review in (retried, begun, waiting):
        assert marketplace.state(review.process_id) == "FINISHED"
        assert {it.body for it in marketplace.starts(review.process_id)} == {review.payload}
    [process_row] = rows(marketplace, "process_state", begun.process_id)
    assert (process_row["state"], process_row["attempts"]) == ("FINISHED", 2)
    [finish, _] = marketplace.finishes(waiting.process_id)
    _, retry = marketplace.starts(waiting.process_id)
    assert retry.occurred_at >= finish.occurred_at + 4_000_000


def test_the_resumer_of_serve_finds_what_others_left_and_ends_on_sigterm(
    marketplace: Marketplace,
) -> None:
    """It runs all along, and sends what a command that was killed had begun."""
    resumer = start(marketplace, "resume", "--follow", **SHORT)
    try:
        review = marketplace.review()
        marketplace.platform.add_fault(
            kind="status", status=500, times=2, process_id=review.process_id
        )
        process = start(marketplace, *submit(marketplace, review), "--wait", "0", **SHORT)
        assert end(process).code == 3
        wait_until(lambda: marketplace.state(review.process_id) == "FINISHED")
        wait_until(lambda: len(marketplace.finishes(review.process_id)) == 3)
        assert marketplace.outcomes(review.process_id) == [
            "platform_error",
            "platform_error",
            "accepted",
        ]
    finally:
        resumer.terminate()
    assert end(resumer).code == 0


def test_a_command_that_is_interrupted_takes_the_answer_that_is_on_its_way(
    marketplace: Marketplace,
) -> None:
    """Ctrl-C while the platform worked: it accepted, and the log never heard of it."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=2, process_id=review.process_id)
    process = start(marketplace, *submit(marketplace, review), **SHORT)
    wait_until(lambda: not marketplace.platform.faults())
    process.send_signal(signal.SIGINT)
    end(process)  # with 130, or with 0 where the answer was here before the signal
    assert marketplace.outcomes(review.process_id) == ["accepted"]


def test_two_processes_of_ours_never_send_the_same_review_at_once(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=0.5, times=None)
    payload_file(marketplace, review)
    processes = [start(marketplace, *submit(marketplace, review)) for _ in range(3)]
    assert [end(it).code for it in processes] == [0] * 3
    # The very bytes may go again, one after the other (docs/rules.md#what-may-be-sent).
    kinds = [it.kind for it in marketplace.inbox.find(process_id=review.process_id)]
    of_attempts = [it for it in kinds if it.startswith("submission")]
    assert of_attempts == ["submission_started", "submission_finished"] * (len(of_attempts) // 2)
    assert len(marketplace.puts(review.process_id)) == len(of_attempts) // 2
    assert set(marketplace.outcomes(review.process_id)) == {"accepted"}
