"""A sender that was paused between its decision and its first byte sends nothing any more."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.files import reread
from pipeline.inbox import leases
from pipeline.inbox.group_commit import GroupCommit
from pipeline.inbox.leases import Lease, Spent
from pipeline.submit import permit as permits
from pipeline.submit import resume as sending
from pipeline.submit.attempt import Result, Sent, Submissions
from pipeline.submit.decision import Busy, Order, Terms
from pipeline.submit.permit import MARGIN, LeasePermit
from pipeline.submit.platform import Platform, Withheld
from tests import depth, fork_server
from tests.faults.once.race import is_stopped
from tests.support.machine import hung_disk, wait_until
from tests.support.marketplace import Marketplace, Review

TIMEOUT_SECONDS = 4


def order_of(review: Review) -> Order:
    return Order(review.process_id, review.seller_id, review.payload, "api", "test")


def attempt(
    marketplace: Marketplace,
    review: Review,
    once_open: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Result:
    """One, in this process."""

    async def run() -> Result:
        recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
        submissions = Submissions(
            marketplace.inbox,
            recorder,
            Platform(marketplace.settings(**settings)),
            Terms("block", False),
        )
        try:
            once_open()
            return await submissions.attempt(order_of(review))
        finally:
            await submissions.close()
            await asyncio.to_thread(recorder.close)

    return asyncio.run(run())


def name_of(review: Review) -> str:
    return f"submission {review.process_id}"


# Paused


def paused_sender(marketplace: Marketplace, where: str) -> "subprocess.Popen[bytes]":
    return fork_server.start(
        [sys.executable, "-m", "tests.faults.once.resumer", "0", "paused", "1", where],
        env=marketplace.process_environment(PRAZO_REQUEST_TIMEOUT_SECONDS=str(TIMEOUT_SECONDS)),
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to see it stopped by")
@pytest.mark.parametrize("where", depth.few(["after_handshake", "after_start"], 2))
def test_a_sender_stopped_before_its_first_byte_sends_nothing_once_others_have(
    marketplace: Marketplace, where: str
) -> None:
    """It went on as if no time had passed, and the platform had the review twice at once."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    settings = marketplace.settings(request_timeout_seconds=TIMEOUT_SECONDS)
    sending.submit(
        settings, review.process_id, review.payload, recorded_by="test", patience_seconds=0
    )
    sender = paused_sender(marketplace, where)
    try:
        wait_until(lambda: is_stopped(sender))
        left = sending.resume_all(
            settings, recorded_by="test", patience_seconds=30, on_attempt=lambda *_: None
        )
        assert left == []
        assert marketplace.outcomes(review.process_id) == ["platform_error", "unknown", "accepted"]
        sender.send_signal(signal.SIGCONT)
        wait_until(lambda: len(marketplace.finishes(review.process_id)) == 3)
    finally:
        sender.send_signal(signal.SIGCONT)
        sender.kill()
        sender.wait()
    assert len(marketplace.puts(review.process_id)) == 2
    assert marketplace.outcomes(review.process_id) == ["platform_error", "timeout", "accepted"]
    [withheld] = [it for it in marketplace.finishes(review.process_id) if it.status is None]
    assert withheld.particulars["error"] == "timeout"
    assert str(withheld.particulars["detail"]).startswith("nothing was sent: ")


def test_a_disk_that_hangs_with_the_credentials_takes_of_the_attempts_time(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two seconds it takes one and a half, and the platform answers after one. The request went
    on for two seconds more, in which the lease of its process ended."""
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)
    monkeypatch.setattr(reread, "LOOK_SECONDS", 1.5)
    review, settings = marketplace.review(), marketplace.settings()
    marketplace.platform.add_fault(kind="slow", seconds=1.0, process_id=review.process_id)
    credentials = settings.platform_credentials_file
    assert credentials is not None

    with contextlib.ExitStack() as hanging:
        sent = attempt(
            marketplace,
            review,
            lambda: hanging.enter_context(hung_disk(credentials)) and None,
            request_timeout_seconds=2,
        )
    assert isinstance(sent, Sent)
    assert sent.outcome == "timeout"


@pytest.mark.parametrize("step", ["ask", "look"])
def test_what_the_permit_withholds_is_never_processed_and_the_same_bytes_may_go_again(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    review = marketplace.review()

    async def ask(_: LeasePermit) -> None:
        raise Withheld("a test")

    looks: list[int] = []

    def look(_: LeasePermit) -> None:
        looks.append(1)
        if len(looks) == 2:  # between the headers and the body
            raise Withheld("a test")

    with monkeypatch.context() as withholding:
        withholding.setattr(LeasePermit, step, {"ask": ask, "look": look}[step])
        result = attempt(marketplace, review)
    assert isinstance(result, Sent)
    assert (result.outcome, result.answer.is_withheld) == ("timeout", True)
    assert result.answer.detail == "nothing was sent: a test"
    assert marketplace.state(review.process_id) != "FINISHED"
    again = attempt(marketplace, review)
    assert isinstance(again, Sent)
    assert again.outcome == "accepted"


@pytest.mark.parametrize(("passed", "is_withheld"), [(0, False), (8.5, False), (9.1, True)])
def test_with_less_than_a_tenth_of_its_time_left_a_request_is_withheld(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, passed: float, is_withheld: bool
) -> None:
    now = instants.since_boot()
    monkeypatch.setattr(instants, "since_boot", lambda: now)
    length = 10 * instants.SECOND + MARGIN
    lease = leases.take(marketplace.inbox, "x", "test", length, Spent())
    assert isinstance(lease, Lease)
    taken_at = lease.taken_at - round(passed * instants.SECOND)
    permit = LeasePermit(marketplace.inbox, lease._replace(taken_at=taken_at), 10)
    if not is_withheld:
        permit.look()
        asyncio.run(permit.ask())
        return
    with pytest.raises(Withheld, match=r"its time was over: 9\.\d s had passed"):
        permit.look()
    with pytest.raises(Withheld, match=r"its time was over: 9\.\d s had passed"):
        asyncio.run(permit.ask())


# Leases


def test_while_somebody_holds_the_lease_nothing_is_sent_and_nothing_is_recorded(
    marketplace: Marketplace,
) -> None:
    """Even where the log has nothing yet that says so."""
    review = marketplace.review()
    lease = leases.take(
        marketplace.inbox, name_of(review), "another", 30 * instants.SECOND, Spent()
    )
    assert isinstance(lease, Lease)
    result = attempt(marketplace, review)
    assert isinstance(result, Busy)
    assert 20 * instants.SECOND < result.until - instants.now() <= 30 * instants.SECOND
    assert marketplace.starts(review.process_id) == []
    leases.release(marketplace.inbox, lease)
    assert isinstance(attempt(marketplace, review), Sent)


def test_the_finish_ends_the_lease_without_another_write(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)
    for _ in range(2):
        assert isinstance(attempt(marketplace, review), Sent)
    numbers = [it.particulars["lease"] for it in marketplace.starts(review.process_id)]
    assert numbers == [1, 2]
    [(number, until)] = marketplace.inbox.query(
        "select number, held_until from leases where name = $1", name_of(review)
    )
    assert number == 2
    assert until > instants.since_boot(), "its time is not over: the log has ended it"


def test_a_lease_under_which_nothing_was_started_is_given_back(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each decision met another entry, as where the process is very busy."""
    review = marketplace.review()

    async def never(*_: object) -> bool:
        return False

    with monkeypatch.context() as busy:
        busy.setattr(Submissions, "_record_at", never)
        assert isinstance(attempt(marketplace, review), Busy)
    assert isinstance(attempt(marketplace, review), Sent)


def test_a_dead_holders_lease_ends_no_later_than_the_margin_after_its_attempt(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the log calls the attempt under way; the two rules must agree."""
    review = marketplace.review()
    taken: list[Lease] = []
    take = leases.take

    def noted(*given: Any) -> Any:
        taken.append(take(*given))  # type: ignore[arg-type]
        return taken[-1]

    monkeypatch.setattr(permits.leases, "take", noted)
    before = instants.since_boot()
    attempt(marketplace, review, request_timeout_seconds=7)
    [lease] = taken
    [start] = marketplace.starts(review.process_id)
    timeout_at = start.occurred_at + 7 * instants.SECOND
    ends_at = instants.now() + lease.until - instants.since_boot()
    assert lease.taken_at >= before
    assert lease.length == 7 * instants.SECOND + MARGIN
    assert 0 < ends_at - timeout_at <= MARGIN + instants.SECOND


# What the system still holds


@contextlib.contextmanager
def stalling(url: str) -> Iterator[tuple[str, threading.Event]]:
    """A way to the platform that takes the first 8 KiB and, until the event is set, no more."""
    go_on = threading.Event()
    host, _, port = url.removeprefix("https://").partition(":")

    def forward(source: socket.socket, target: socket.socket, *, stalls: bool) -> None:
        taken = 0
        with contextlib.suppress(OSError):
            while data := source.recv(2048):
                target.sendall(data)
                taken += len(data)
                if stalls and taken >= 8192:
                    go_on.wait(60)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client, socket.create_connection((host, int(port))) as platform:
            back = threading.Thread(
                target=forward, args=(platform, client), kwargs={"stalls": False}
            )
            back.start()
            forward(client, platform, stalls=True)
            back.join(60)

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the sender's side holds it
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", go_on
        go_on.set()
        thread.join(60)


def test_what_the_system_still_holds_when_an_attempt_ends_is_not_delivered_later(
    marketplace: Marketplace,
) -> None:
    """A closed socket went on delivering: the review arrived whole after its time was over."""
    review = marketplace.review()
    large = review._replace(payload=review.payload + b" " * 200_000)
    with stalling(marketplace.platform.url) as (url, go_on):
        result = attempt(marketplace, large, platform_url=url, request_timeout_seconds=3)
        go_on.set()
    assert isinstance(result, Sent)
    assert (result.outcome, result.answer.is_withheld) == ("timeout", False)
    whole = [it for it in marketplace.puts(review.process_id) if it.body == large.payload]
    assert whole == []
    assert marketplace.state(review.process_id) != "FINISHED"
