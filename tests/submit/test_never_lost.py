"""A log that cannot be written loses no answer; lower-level errors are all outcomes."""

import asyncio
import ssl
import threading

import httpcore
import httpx
import pytest

from pipeline.contract.paths import Address
from pipeline.errors import InboxUnavailable
from pipeline.files import reread
from pipeline.http.asgi import Message, Request
from pipeline.inbox import Receipt
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.submit import attempt, ready
from pipeline.submit import platform as platforms
from pipeline.submit.attempt import Sent, Submissions
from pipeline.submit.decision import Busy, Order, Terms
from pipeline.submit.gateway import Gateway
from pipeline.submit.platform import Platform, failure_of
from pipeline.submit.ready import Ready
from tests.submit.test_answerable import says_its_seller_is
from tests.support.commands import run, submit
from tests.support.machine import hung_disk
from tests.support.marketplace import REVENUE, Marketplace, Review


class Failing:
    """A recorder whose disk is full for the first so many entries of a kind."""

    def __init__(self, recorder: GroupCommit, kind: str, times: int) -> None:
        self._recorder, self._kind, self._times = recorder, kind, times

    async def record(self, draft: Draft) -> Receipt:
        if draft.kind == self._kind and self._times > 0:
            self._times -= 1
            raise InboxUnavailable("The inbox cannot be written", "the disk is full")
        return await self._recorder.record(draft)


async def attempts(
    marketplace: Marketplace, review: Review, *, failing: str, times: int, calls: int = 1
) -> tuple[list[object], Sent | None]:
    """The results of so many attempts on a failing disk."""
    recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
    submissions = Submissions(
        marketplace.inbox,
        Failing(recorder, failing, times),
        Platform(marketplace.settings()),
        Terms("block", False),
    )
    order = Order(review.process_id, review.seller_id, review.payload, "api", "test")
    try:
        results: list[object] = [await submissions.attempt(order) for _ in range(calls)]
    finally:
        await submissions.close()
        await asyncio.to_thread(recorder.close)
    first = results[0]
    return results, first if isinstance(first, Sent) else None


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "RECORD_AGAIN_SECONDS", 0.3)
    monkeypatch.setattr(attempt, "FINISH_SECONDS", 0.1)


def test_a_200_that_cannot_be_recorded_is_passed_on_and_recorded_as_soon_as_it_can(
    marketplace: Marketplace, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """The text log said each second that it waits, and never that it waits no more."""
    review = marketplace.review()
    _, sent = asyncio.run(attempts(marketplace, review, failing=SUBMISSION_FINISHED, times=3))
    assert sent is not None
    assert (sent.outcome, sent.is_recorded) == ("accepted", False)
    assert marketplace.outcomes(review.process_id) == ["accepted"]
    waiting = "waits to be recorded: The inbox cannot be written: the disk is full"
    assert [(it.levelname, it.getMessage()) for it in caplog.records if "the end of" in it.msg] == [
        ("ERROR", f"the end of the attempt {sent.attempt_id} {waiting}"),
        ("WARNING", f"the end of the attempt {sent.attempt_id} is recorded now"),
    ]


@pytest.mark.parametrize("wait", ["0", "4"])
def test_a_command_whose_answer_was_not_recorded_says_which_it_was_and_what_to_do(
    marketplace: Marketplace, impatient: None, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    """It said nothing and ended with 1, as if it had been refused, or said "not answered yet" of
    what the platform had accepted. `wait`: until the attempt's time is over, or not."""
    monkeypatch.setattr(attempt, "DRAIN_SECONDS", 0.1)
    review = marketplace.review()
    marketplace.inbox.execute(
        "create trigger full before insert on entries when new.kind = 'submission_finished'"
        " begin select raise(abort, 'database or disk is full'); end"
    )
    short = {"PRAZO_REQUEST_TIMEOUT_SECONDS": "1"}
    done = run(marketplace, *submit(marketplace, review), "--wait", wait, **short)
    assert done.code == 3
    assert f"{review.process_id}: the platform answered 200 accepted, and the log" in done.err
    assert f"`prazo resume --process {review.process_id}` then sends the same bytes" in done.err
    assert "not answered yet" not in done.err
    marketplace.inbox.execute("drop trigger full")
    assert run(marketplace, "resume", "--process", review.process_id, **short).code == 0
    assert marketplace.outcomes(review.process_id) == ["unknown", "accepted"]


def test_while_an_answer_waits_to_be_recorded_its_process_is_busy(
    marketplace: Marketplace, impatient: None
) -> None:
    review = marketplace.review()
    results, _ = asyncio.run(
        attempts(marketplace, review, failing=SUBMISSION_FINISHED, times=2, calls=2)
    )
    assert isinstance(results[1], Busy)
    assert len(marketplace.puts(review.process_id)) == 1


def test_without_a_durable_start_nothing_is_sent(marketplace: Marketplace) -> None:
    review = marketplace.review()
    with pytest.raises(InboxUnavailable):
        asyncio.run(attempts(marketplace, review, failing=SUBMISSION_STARTED, times=1))
    assert marketplace.puts(review.process_id) == []


def test_an_attempt_that_nobody_waits_for_any_more_goes_on_to_its_end(
    marketplace: Marketplace,
) -> None:
    """As where the seller's page is stopped: its start stood in the log, and what the platform
    answered did not."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=0.5, process_id=review.process_id)

    async def left_alone() -> None:
        recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
        platform = Platform(marketplace.settings())
        submissions = Submissions(marketplace.inbox, recorder, platform, Terms("block", False))
        order = Order(review.process_id, review.seller_id, review.payload, "api", "test")
        waiting = asyncio.create_task(submissions.attempt(order))
        while marketplace.platform.faults():
            await asyncio.sleep(0.01)
        waiting.cancel()
        await submissions.close()
        await asyncio.to_thread(recorder.close)
        assert waiting.cancelled()

    asyncio.run(left_alone())
    assert marketplace.outcomes(review.process_id) == ["accepted"]


def send(
    marketplace: Marketplace,
    *reviews: Review,
    heard: list[tuple[str, Sent]] | None = None,
    is_listed: bool = True,
) -> list[Ready]:
    """Sends the answers of reviews; those that were held. `heard`: gets what was sent."""
    return ready.send(
        marketplace.settings(),
        [it.process_id for it in reviews],
        via="cli",
        recorded_by="test",
        is_listed=is_listed,
        on_sent=lambda *each: None if heard is None else heard.append(each),
    )


def test_where_one_of_many_cannot_be_recorded_the_others_come_to_their_end(
    marketplace: Marketplace,
) -> None:
    """What was under way was broken off. The platform had processed it, the log did not have its
    answer, and anyone who had sent it was told of the error alone."""
    sent, refused = marketplace.review(), marketplace.review()
    for review in (sent, refused):
        says_its_seller_is(marketplace, review, "individual")
    marketplace.platform.add_fault(kind="slow", seconds=0.5, process_id=sent.process_id)
    marketplace.inbox.execute(
        "create trigger full before insert on leases"
        f" when new.name = 'submission {refused.process_id}'"
        " begin select raise(abort, 'database or disk is full'); end"
    )
    heard: list[tuple[str, Sent]] = []
    with pytest.raises(InboxUnavailable, match="disk is full"):
        send(marketplace, sent, refused, heard=heard)
    [(process_id, result)] = heard
    assert isinstance(result, Sent)
    assert (process_id, result.outcome) == (sent.process_id, "accepted")
    assert marketplace.outcomes(sent.process_id) == ["accepted"]
    assert marketplace.starts(refused.process_id) == []


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (200, ["accepted"]),
        (400, ["invalid_payload"]),
        (404, ["not_found"]),
        (503, ["platform_error"]),
    ],
)
def test_of_two_who_send_the_same_list_one_after_the_other_the_second_sends_nothing(
    marketplace: Marketplace, answer: int, ended: list[str]
) -> None:
    """Both had pressed before either was done: the platform got each review twice, and both pages
    said that it was accepted. Whoever names the process themselves may send it again."""
    review = marketplace.review()
    says_its_seller_is(marketplace, review, "individual")
    if answer != 200:
        marketplace.platform.add_fault(kind="status", status=answer, process_id=review.process_id)

    heard: list[tuple[str, Sent]] = []
    assert send(marketplace, review, heard=heard) == []
    assert send(marketplace, review, heard=heard) == [Ready(review.process_id, is_over=True)]
    assert len(heard) == 1
    assert marketplace.outcomes(review.process_id) == ended
    assert send(marketplace, review, heard=heard, is_listed=False) == []
    assert len(heard) == 2
    assert len(marketplace.puts(review.process_id)) == 2


def test_what_the_platform_found_invalid_may_be_sent_from_a_list_once_it_is_answered_again(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    says_its_seller_is(marketplace, review, "individual")
    marketplace.platform.add_fault(kind="status", status=400, process_id=review.process_id)
    for _ in range(2):
        assert send(marketplace, review) == []
        marketplace.collect(review.process_id, review.seller_id, {"revenue": REVENUE})
        marketplace.collect(review.process_id, review.seller_id, {}, step="confirmed")
    assert marketplace.outcomes(review.process_id) == ["invalid_payload", "accepted"]


def test_a_submission_waits_alone_for_a_disk_that_has_hung_since_the_start(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one that came had the loop look at our files again, for ten seconds, in which no webhook
    was answered."""
    review, settings = marketplace.review(), marketplace.settings()
    credentials = settings.platform_credentials_file
    assert credentials is not None
    credentials.unlink()
    address = Address(str(settings.marketplace_id), review.seller_id)

    async def receive() -> Message:
        return {"type": "http.request", "body": review.payload}

    async def asked() -> None:
        recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
        with monkeypatch.context() as patched:
            patched.setattr(reread, "READ_SECONDS", 0.05)
            gateway = Gateway(settings, marketplace.inbox, recorder)
        request = Request({"method": "PUT"}, {b"host": b"127.0.0.1"}, receive)
        putting = asyncio.create_task(gateway.put(address, request))
        while len([it for it in threading.enumerate() if it.name == "reads credentials"]) < 2:
            await asyncio.sleep(0.01)
        assert not putting.done()  # the loop goes on
        disk.set()
        answer = await putting
        await gateway.close()
        await asyncio.to_thread(recorder.close)
        assert answer is not None
        assert answer.status_code == 503

    with hung_disk(credentials) as disk:
        asyncio.run(asked())


def test_an_error_of_our_own_after_the_start_is_unknown_never_silent(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(platforms, "_exchange", broken)
    review = marketplace.review()
    _, sent = asyncio.run(attempts(marketplace, review, failing="", times=0))
    assert sent is not None
    assert sent.outcome == "unknown"
    assert marketplace.outcomes(review.process_id) == ["unknown"]


# Errors


def _subclasses(root: type[BaseException]) -> set[type[BaseException]]:
    return {root, *(it for child in root.__subclasses__() for it in _subclasses(child))}


def test_every_error_of_httpx_is_an_outcome() -> None:
    for kind in _subclasses(httpx.HTTPError):
        is_timeout = issubclass(kind, httpx.TimeoutException)
        error = kind.__new__(kind)
        assert failure_of(error) == ("timeout" if is_timeout else "network_error"), kind


def test_every_network_error_of_the_layer_below_reaches_us_as_one_of_httpx() -> None:
    """httpx maps them in one table; an addition there must not slip through ours."""
    from httpx._transports.default import _load_httpcore_exceptions

    mapped = _load_httpcore_exceptions()
    below = {
        kind
        for name in dir(httpcore)
        if isinstance(kind := getattr(httpcore, name), type) and issubclass(kind, Exception)
    }
    assert below - set(mapped) == {httpcore.ConnectionNotAvailable}  # never leaves its pool
    assert all(issubclass(it, httpx.TransportError) for it in mapped.values())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError("x"), "network_error"),
        (ConnectionResetError(), "network_error"),
        (ssl.SSLError("x"), "network_error"),
        (ssl.SSLCertVerificationError("x"), "tls_refused"),
    ],
)
def test_errors_of_sockets_and_tls_are_failures_of_the_connection(
    error: Exception, outcome: str
) -> None:
    assert failure_of(error) == outcome


def test_running_out_of_time_is_a_timeout_and_a_bug_is_neither() -> None:
    assert failure_of(TimeoutError()) == "timeout"
    assert failure_of(RuntimeError()) is None
