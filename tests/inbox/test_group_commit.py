"""Many waiting requests, one commit: who is answered, when, and with what."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipeline.errors import InboxUnavailable
from pipeline.inbox import Receipt
from pipeline.inbox.group_commit import GroupCommit
from pipeline.inbox.sqlite.inbox import SqliteInbox
from pipeline.log.entries import Draft
from tests.inbox.drafts import note
from tests.support.soundness import all_entries, assert_sound


class GatedInbox(SqliteInbox):
    """A real inbox whose commits wait for a gate, and whose groups can be looked at."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = threading.Event()
        self.gate.set()
        self.has_begun = threading.Event()
        self.groups: list[int] = []
        self.failure: Exception | None = None

    def append(self, drafts: Sequence[Draft]) -> list[Receipt]:
        self.groups.append(len(drafts))
        self.has_begun.set()
        self.gate.wait(10)
        if self.failure is not None:
            raise self.failure
        return super().append(drafts)

    async def stand_still(self, commit: GroupCommit) -> asyncio.Task[Receipt]:
        """Closes the gate on a commit of one draft: what comes now has to wait."""
        self.gate.clear()
        self.has_begun.clear()
        first = asyncio.create_task(commit.record(note()))
        await asyncio.to_thread(self.has_begun.wait, 10)
        return first


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[GatedInbox]:
    inbox = GatedInbox(tmp_path / "inbox.db")
    yield inbox
    inbox.close()


@asynccontextmanager
async def group_commit(inbox: SqliteInbox, **options: float) -> AsyncIterator[GroupCommit]:
    commit = GroupCommit(inbox, asyncio.get_running_loop(), **options)
    try:
        yield commit
    finally:
        await asyncio.to_thread(commit.close)


def waiting(commit: GroupCommit, *drafts: Draft) -> list[asyncio.Task[Receipt]]:
    return [asyncio.create_task(commit.record(draft)) for draft in drafts]


def seqs(receipts: Sequence[Receipt | BaseException]) -> list[int]:
    return [it.entry.seq for it in receipts if isinstance(it, Receipt) and it.entry]


def test_whatever_waits_goes_into_one_commit_and_is_answered_only_after_it(inbox: GatedInbox):
    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            others = waiting(commit, *(note() for _ in range(49)))
            await asyncio.sleep(0.05)
            assert not any(it.done() for it in [first, *others])
            assert inbox.last() == (0, 0)
            inbox.gate.set()
            receipts = await asyncio.gather(first, *others)
            assert inbox.last()[0] == 50
            assert seqs(receipts) == list(range(1, 51))
            assert inbox.groups == [1, 49]

    asyncio.run(scenario())
    assert_sound(all_entries(inbox), inbox.log)


def test_each_request_gets_the_receipt_of_its_own_draft(inbox: GatedInbox):
    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            others = waiting(commit, *(note(body=f"{n}".encode()) for n in range(20)))
            inbox.gate.set()
            receipts = await asyncio.gather(*others)
            await first
            assert [it.entry.body for it in receipts if it.entry] == [
                f"{n}".encode() for n in range(20)
            ]

    asyncio.run(scenario())


def test_a_failed_commit_answers_all_that_waited_for_it_and_the_next_one_goes_on(
    inbox: GatedInbox,
):
    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            others = waiting(commit, *(note() for _ in range(5)))
            await asyncio.sleep(0)
            inbox.failure = InboxUnavailable("The disk is gone")
            inbox.gate.set()
            answers = await asyncio.gather(first, *others, return_exceptions=True)
            assert [type(it) for it in answers] == [InboxUnavailable] * 6
            inbox.failure = None
            assert seqs([await commit.record(note())]) == [1]

    asyncio.run(scenario())


def test_a_draft_that_cannot_be_recorded_turns_down_nobody_else(inbox: GatedInbox):
    """It would come again with every retry, and take each time anyone who came at that moment."""

    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            others = waiting(commit, note(), note(particulars={"no JSON": object()}), note())
            inbox.gate.set()
            answers = await asyncio.gather(first, *others, return_exceptions=True)
            assert [type(it) for it in answers] == [Receipt, Receipt, InboxUnavailable, Receipt]
            assert seqs(answers) == [1, 2, 3]

    asyncio.run(scenario())


def test_a_caller_that_has_gone_costs_nobody_an_answer_and_leaves_no_entry(inbox: GatedInbox):
    """It was answered 503 when we stopped waiting for it: it sends again."""

    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            gone, patient = waiting(commit, note(), note())
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.sleep(0)
            inbox.gate.set()
            assert seqs(await asyncio.gather(first, patient)) == [1, 2]

    asyncio.run(scenario())


def test_while_the_thread_is_stuck_those_who_wait_are_answered_in_time(inbox: GatedInbox):
    """And what nobody waits for any more is not written once it goes on, but for the entry in
    whose commit it was stuck."""

    async def scenario() -> None:
        async with group_commit(inbox, patience_seconds=0.5) as commit:
            first = await inbox.stand_still(commit)
            hasty, *others = waiting(commit, note(), note(), note())
            answers = await asyncio.gather(first, hasty, *others, return_exceptions=True)
            assert [type(it) for it in answers] == [InboxUnavailable] * 4
            assert not inbox.gate.is_set()
            with pytest.raises(InboxUnavailable, match="has not ended"):  # at once: no use to wait
                await commit.record(note())
            assert inbox.groups == [1]
            inbox.gate.set()
            while commit._writing_since is not None or commit._waiting:
                await asyncio.sleep(0.001)
            assert seqs([await commit.record(note(body=b"after"))]) == [2]

    asyncio.run(scenario())
    assert [it.body for it in all_entries(inbox)] == [note().body, b"after"]


def test_each_waits_until_its_own_limit(inbox: GatedInbox):
    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            [patient] = waiting(commit, note())
            with pytest.raises(InboxUnavailable, match="not recorded in time"):
                await commit.record(note(), until=time.monotonic() + 0.1)
            assert not patient.done()
            inbox.gate.set()
            assert seqs(await asyncio.gather(first, patient)) == [1, 2]

    asyncio.run(scenario())


def test_a_trial_waits_for_the_same_thread_as_entries_and_adds_none(inbox: GatedInbox):
    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            trial = asyncio.create_task(commit.probe())
            [other] = waiting(commit, note())
            await asyncio.sleep(0.05)
            assert not trial.done()
            inbox.gate.set()
            await trial
            assert seqs(await asyncio.gather(first, other)) == [1, 2]
            inbox.close()
            with pytest.raises(InboxUnavailable, match="closed already"):
                await commit.probe()

    asyncio.run(scenario())


def test_closing_records_and_answers_what_waits_and_turns_down_what_comes_later(
    inbox: GatedInbox,
):
    async def scenario() -> None:
        commit = GroupCommit(inbox, asyncio.get_running_loop())
        first = await inbox.stand_still(commit)
        others = waiting(commit, *(note() for _ in range(10)))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(commit.close))
        while not commit._is_closed:
            await asyncio.sleep(0.001)
        with pytest.raises(InboxUnavailable, match="stopping"):
            await commit.record(note())
        assert not closing.done()
        inbox.gate.set()
        await closing
        assert len(seqs(await asyncio.gather(first, *others))) == 11

    asyncio.run(scenario())
    assert inbox.last()[0] == 11


def test_a_loop_that_ended_before_the_commit_leaves_the_entry_and_no_error(inbox: GatedInbox):
    """A receiver that was told to stop at once: the thread must not die on the closed loop."""

    async def scenario() -> GroupCommit:
        commit = GroupCommit(inbox, asyncio.get_running_loop())
        await inbox.stand_still(commit)
        return commit

    commit = asyncio.run(scenario())
    inbox.gate.set()
    commit.close()
    assert inbox.last()[0] == 1


def test_too_many_waiting_requests_are_turned_down_at_once(
    inbox: GatedInbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.inbox.group_commit.MAX_WAITING", 3)

    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            others = waiting(commit, note(), note())
            await asyncio.sleep(0)
            with pytest.raises(InboxUnavailable, match="too slow"):
                await commit.record(note())
            inbox.gate.set()
            assert seqs(await asyncio.gather(first, *others)) == [1, 2, 3]
            assert seqs([await commit.record(note())]) == [4]

    asyncio.run(scenario())


def test_waiting_bodies_take_a_bounded_amount_of_memory(
    inbox: GatedInbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.inbox.group_commit.MAX_BYTES_WAITING", 1000)

    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            [large] = waiting(commit, note(body=b"x" * 1000))
            await asyncio.sleep(0)
            with pytest.raises(InboxUnavailable, match="too slow"):
                await commit.record(note(body=b""))
            inbox.gate.set()
            await asyncio.gather(first, large)
            assert seqs([await commit.record(note(body=b"x" * 999))]) == [3]

    asyncio.run(scenario())


def test_a_commit_takes_no_more_entries_and_bytes_than_its_limits(
    inbox: GatedInbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.inbox.group_commit.MAX_ENTRIES_PER_COMMIT", 4)
    monkeypatch.setattr("pipeline.inbox.group_commit.MAX_BYTES_PER_COMMIT", 100)

    async def scenario() -> None:
        async with group_commit(inbox) as commit:
            first = await inbox.stand_still(commit)
            small = [note(body=b"x") for _ in range(5)]
            large = [note(body=b"x" * 60) for _ in range(3)]
            others = waiting(commit, *small, *large)
            await asyncio.sleep(0)
            inbox.gate.set()
            await asyncio.gather(first, *others)

    asyncio.run(scenario())
    assert inbox.groups == [1, 4, 3, 1]
