"""Several writers on one log: threads of a process, and processes."""

import threading
from concurrent.futures import ThreadPoolExecutor

from pipeline.inbox import Inbox, open_inbox
from tests.inbox.appender import appenders
from tests.inbox.drafts import note, webhook
from tests.support.soundness import all_entries, assert_sound


def test_threads_share_one_log_without_gaps_and_readers_see_only_whole_prefixes(inbox: Inbox):
    def write(name: int) -> list[int]:
        seqs = []
        for turn in range(20):
            drafts = [note(process_id=f"p{turn % 4}", seller_id="s") for _ in range(1 + turn % 3)]
            seqs += [it.entry.seq for it in inbox.append(drafts) if it.entry]
        return seqs

    is_over = threading.Event()

    def read() -> None:
        is_last = False
        while not is_last:
            is_last = is_over.is_set()
            seqs = [it.seq for it in inbox.read(0, 1000)]
            assert seqs == list(range(1, len(seqs) + 1))
            assert inbox.last()[0] >= len(seqs)

    with ThreadPoolExecutor() as threads:
        readers = [threads.submit(read) for _ in range(2)]
        try:
            acknowledged = [seq for seqs in threads.map(write, range(4)) for seq in seqs]
        finally:
            is_over.set()
        for reader in readers:
            reader.result()
    assert sorted(acknowledged) == list(range(1, 4 * 39 + 1))
    assert_sound(all_entries(inbox), inbox.log)


def test_an_event_that_arrives_on_two_threads_at_once_is_new_once(inbox: Inbox):
    together = threading.Barrier(4)

    def deliver(event: int) -> bool:
        together.wait()
        [receipt] = inbox.append([webhook(f"e{event}")])
        assert receipt.entry is not None
        return receipt.entry.is_again

    with ThreadPoolExecutor(4) as threads:
        for event in range(10):
            again = list(threads.map(deliver, [event] * 4))
            assert sorted(again) == [False, True, True, True]


def test_processes_share_one_log_though_all_of_them_found_none(location: str):
    """They start together where no inbox is, so that making it is a race too."""
    with appenders(location, "a", "b", "c") as writers:
        for writer in writers:
            writer.tell(0)
        assert [it.answer()["seqs"] for it in writers] == [[], [], []]
        for _ in range(15):
            for writer in writers:
                writer.tell(2)
        answers = [[writer.answer() for _ in range(15)] for writer in writers]
    acknowledged = [seq for its in answers for answer in its for seq in answer["seqs"]]
    assert sorted(acknowledged) == list(range(1, 91))

    inbox = open_inbox(location, create=False)
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    assert len({it.event_id for it in entries}) == 90
    inbox.close()
