"""What waits for a retry is sent when it is due, whatever else happens to its process meanwhile."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import LIVE
from pipeline.log.ndjson import read_line
from pipeline.submit import resume as sending
from pipeline.submit.attempt import Submissions
from pipeline.submit.casefile import CaseFile
from pipeline.submit.decision import Refused, Terms
from pipeline.submit.platform import Platform
from pipeline.submit.resumer import Patience, Resumer
from pipeline.submit.retries import Standing, UnderWay
from tests import depth
from tests.submit.attempts import a_waiting_retry, submit
from tests.support.marketplace import Marketplace, Review
from tests.support.sqlite import copy

Interruption = Callable[[Marketplace, Review], None]


def resume(marketplace: Marketplace, seconds: float) -> list[tuple[str, int]]:
    return sending.resume_all(
        marketplace.settings(),
        recorded_by="test",
        patience_seconds=seconds,
        on_attempt=lambda *_: None,
    )


# What happens during the wait


def refused_by_gateway(marketplace: Marketplace, review: Review) -> None:
    ended = submit(marketplace, review, review.payload + b" ", via="gateway")
    assert isinstance(ended.result, Refused)


def refused_by_command(marketplace: Marketplace, review: Review) -> None:
    ended = submit(marketplace, review, review.payload + b" ", via="cli")
    assert isinstance(ended.result, Refused)


def ingested(marketplace: Marketplace, review: Review) -> None:
    """Another system's attempt of yesterday evening, and its end."""
    known = {"attempt_id": f"other of {review.process_id}", "process_id": review.process_id}
    at = instants.now() - 12 * instants.HOUR
    marketplace.append(
        kind="submission_started",
        occurred_at=instants.canonical(at),
        seller_id=review.seller_id,
        body="{}",
        **known,
    )
    marketplace.append(
        kind="submission_finished",
        occurred_at=instants.canonical(at + instants.SECOND),
        status=400,
        **known,
    )


INTERRUPTIONS: Sequence[Interruption] = depth.few(
    (ingested, refused_by_command, refused_by_gateway), 2
)


def assert_sent_again(marketplace: Marketplace, reviews: Iterable[Review]) -> None:
    for review in reviews:
        assert [it.body for it in marketplace.puts(review.process_id)] == [review.payload] * 2
        assert marketplace.state(review.process_id) == "FINISHED"


def test_a_fresh_resumer_sends_what_waits_whatever_came_after_it(marketplace: Marketplace) -> None:
    """A refusal of other bytes once made every resumer forget the retry, for good."""
    reviews = [a_waiting_retry(marketplace, seconds=1) for _ in INTERRUPTIONS]
    for interrupt, review in zip(INTERRUPTIONS, reviews, strict=True):
        interrupt(marketplace, review)
    assert resume(marketplace, 10) == []
    assert_sent_again(marketplace, reviews)


def test_a_running_resumer_sends_what_waits_whatever_comes_meanwhile(
    marketplace: Marketplace,
) -> None:
    reviews = [a_waiting_retry(marketplace, seconds=4) for _ in INTERRUPTIONS]
    left: list[object] = []
    running = threading.Thread(target=lambda: left.extend(resume(marketplace, 20)))
    running.start()
    time.sleep(1)  # it has read the inbox by now; if not, the test is the one above
    for interrupt, review in zip(INTERRUPTIONS, reviews, strict=True):
        interrupt(marketplace, review)
    running.join()
    assert left == []
    assert_sent_again(marketplace, reviews)


class _Interrupted(Submissions):
    """Something happens between the reading of a process's case and its judgement."""

    happening: Callable[[], Any] | None = None

    async def standing(self, process_id: str) -> tuple[Standing, CaseFile]:
        stale = await super().standing(process_id)
        if self.happening is not None:
            happening, self.happening = self.happening, None
            await happening()
        return stale


def test_an_entry_that_comes_while_a_process_is_looked_at_is_not_lost(
    marketplace: Marketplace,
) -> None:
    """The look had read that nothing waits, and then removed what the entry had put down."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=400, process_id=review.process_id)
    submit(marketplace, review)
    marketplace.platform.add_fault(kind="status", status=500, process_id=review.process_id)

    async def run() -> list[tuple[str, int]]:
        recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
        submissions = _Interrupted(
            marketplace.inbox, recorder, Platform(marketplace.settings()), Terms("block", False)
        )
        resumer = Resumer(
            marketplace.inbox, submissions, recorded_by="test", on_attempt=lambda *_: None
        )

        async def another_attempt() -> None:
            await asyncio.to_thread(submit, marketplace, review)
            await asyncio.sleep(1)  # several turns: the resumer reads the attempt's entries

        submissions.happening = another_attempt
        try:
            return await resumer.run_for(Patience(10))
        finally:
            await submissions.close()
            await asyncio.to_thread(recorder.close)

    assert asyncio.run(run()) == []
    assert marketplace.outcomes(review.process_id) == [
        "invalid_payload",
        "platform_error",
        "accepted",
    ]


class _Broken(Submissions):
    """A bug of ours in the case of one process."""

    stumbles_at = ""

    async def standing(self, process_id: str) -> tuple[Standing, CaseFile]:
        if process_id == self.stumbles_at:
            raise RuntimeError("a bug")
        return await super().standing(process_id)


def test_a_bug_in_one_processs_case_costs_no_other_its_retry_and_it_waits_on(
    marketplace: Marketplace,
) -> None:
    first, second = (a_waiting_retry(marketplace, seconds=1) for _ in range(2))

    async def run() -> list[tuple[str, int]]:
        recorder = GroupCommit(marketplace.inbox, asyncio.get_running_loop())
        submissions = _Broken(
            marketplace.inbox, recorder, Platform(marketplace.settings()), Terms("block", False)
        )
        submissions.stumbles_at = first.process_id
        resumer = Resumer(
            marketplace.inbox, submissions, recorded_by="test", on_attempt=lambda *_: None
        )
        try:
            return await resumer.run_for(Patience(5))
        finally:
            await submissions.close()
            await asyncio.to_thread(recorder.close)

    left = asyncio.run(run())
    assert [process_id for process_id, _ in left] == [first.process_id]
    assert marketplace.outcomes(first.process_id) == ["platform_error"]
    assert marketplace.outcomes(second.process_id) == ["platform_error", "accepted"]


def test_what_stands_where_it_has_read_before_is_read_once_the_inbox_was_put_back(
    marketplace: Marketplace,
) -> None:
    """An older copy is put back under a running resumer; as many others come as were lost."""
    location = marketplace.settings().inbox
    older = marketplace.folder / "older.db"
    copy(location, older)
    lost = a_waiting_retry(marketplace)

    async def run() -> tuple[set[str], set[str]]:
        inbox = open_inbox(location)
        recorder = GroupCommit(inbox, asyncio.get_running_loop())
        submissions = Submissions(
            inbox, recorder, Platform(marketplace.settings()), Terms("block", False)
        )
        resumer = Resumer(inbox, submissions, recorded_by="test", on_attempt=lambda *_: None)
        try:
            await resumer._read_on()
            before = set(resumer._look_at)
            await asyncio.to_thread(put_back)
            await resumer._read_on()
            return before, set(resumer._look_at) - before
        finally:
            await submissions.close()
            await asyncio.to_thread(recorder.close)
            inbox.close()

    others: list[Review] = []

    def put_back() -> None:
        marketplace.inbox.close()
        copy(older, location)
        marketplace.inbox = open_inbox(location)
        others.append(a_waiting_retry(marketplace))

    before, after = asyncio.run(run())
    assert before == {lost.process_id}
    assert after == {others[0].process_id}


# How long it is waited


def a_dead_attempt(marketplace: Marketplace, *, timeout_seconds: int = 30) -> Review:
    """Started by a process that was killed: until its timeout is over it may be answered."""
    review = marketplace.review()
    started = {
        "kind": "submission_started",
        "occurred_at": instants.canonical(instants.now()),
        "attempt_id": f"dead of {review.process_id}",
        "process_id": review.process_id,
        "seller_id": review.seller_id,
        "timeout_seconds": timeout_seconds,
        "body": review.payload.decode(),
    }
    draft = read_line(json.dumps(started).encode(), recorded_by="test")
    ours = {**draft.particulars, "via": "api"}
    marketplace.inbox.append([draft._replace(particulars=ours, origin=LIVE)])
    return review


def test_without_patience_nobody_waits_for_a_dead_attempt(marketplace: Marketplace) -> None:
    """It once took the dead attempt's whole timeout."""
    review = a_dead_attempt(marketplace)
    began = time.monotonic()
    ended = submit(marketplace, review)
    asked = sending.resume(
        marketplace.settings(), review.process_id, recorded_by="test", patience_seconds=0
    )
    assert time.monotonic() - began < 15
    assert isinstance(ended.standing, UnderWay)
    assert isinstance(asked.standing, UnderWay)
    assert marketplace.puts(review.process_id) == []


def test_prazo_resume_waits_for_a_dead_attempt_no_longer_than_it_is_allowed(
    marketplace: Marketplace,
) -> None:
    review = a_dead_attempt(marketplace, timeout_seconds=600)
    [start] = marketplace.starts(review.process_id)
    end = start.occurred_at + 600 * instants.SECOND
    assert resume(marketplace, 1) == [(review.process_id, end)]
    assert instants.now() < end, "it has waited to the end of the attempt"
