"""The inbox's contract, on both engines: order, streams, counting once, reading, refusing."""

import json
import os
from pathlib import Path

import apsw
import psycopg
import pytest

from pipeline import instants
from pipeline.errors import InboxMissing, InboxUnavailable
from pipeline.inbox import Head, Inbox, Outcome, SignedHead, open_inbox
from pipeline.log.entries import Draft
from tests.inbox.drafts import NOON, draft, note, webhook
from tests.support.soundness import all_entries, assert_sound
from tests.support.sqlite import opened

# --- recording -------------------------------------------------------------------------------


def test_entries_are_numbered_from_one_without_gaps_across_batches(inbox: Inbox):
    first = inbox.append([note(), note()])
    second = inbox.append([note()])
    assert [it.entry.seq for it in [*first, *second] if it.entry] == [1, 2, 3]
    assert_sound(all_entries(inbox), inbox.log)


def test_an_entry_is_read_back_exactly_as_its_receipt_says(inbox: Inbox):
    """Every column is filled here, with what an engine could get wrong: bytes that are not text,
    characters beyond the BMP, an instant before 1970, the greatest numbers."""
    everything = draft(
        kind="submission_finished",
        occurred_at=-1,
        recorded_by="token:açaí 😀",
        body=bytes(range(256)),
        particulars={"error": "timeout", "attempt": 2},
        origin="ingested",
        event_id="evt 'quoted' \\ \"double\" \n",
        attempt_id="tentativa-😀",
        process_id="p" * 512,
        seller_id="日" * 512,
        status=599,
        ingest_key=bytes(range(32)),
    )
    [receipt] = inbox.append([everything])
    assert inbox.read(0, 10) == [receipt.entry]
    entry = receipt.entry
    assert entry is not None
    assert entry.body == bytes(range(256))
    assert entry.occurred_at == -1
    assert entry.seller_id == "日" * 512
    assert entry.is_again is False


def test_an_empty_body_is_not_a_missing_one(inbox: Inbox):
    inbox.append([note(body=b""), note(body=None)])
    assert [it.body for it in inbox.read(0, 10)] == [b"", None]


def test_an_empty_batch_records_nothing(inbox: Inbox):
    assert inbox.append([]) == []
    assert inbox.last() == (0, 0)


def test_streams_number_and_link_the_entries_of_a_process_and_of_a_seller(inbox: Inbox):
    inbox.append([note(process_id="p1", seller_id="s1"), note(process_id="p2", seller_id="s1")])
    inbox.append([note(), note(process_id="p1", seller_id="s2"), note(seller_id="s1")])
    streams = [
        (entry.process_n, entry.process_prev, entry.seller_n, entry.seller_prev)
        for entry in inbox.read(0, 10)
    ]
    assert streams == [
        (1, None, 1, None),
        (1, None, 2, 1),
        (None, None, None, None),
        (2, 1, 1, None),
        (None, None, 3, 2),
    ]


def test_a_process_and_a_seller_of_one_name_are_two_streams(inbox: Inbox):
    inbox.append([note(process_id="same")])
    inbox.append([note(seller_id="same")])
    [_, second] = inbox.read(0, 10)
    assert (second.seller_n, second.seller_prev) == (1, None)


def test_names_that_differ_in_case_accents_or_spaces_are_different_streams(inbox: Inbox):
    names = ["açai", "Açai", "açaí", "ac\u0327ai", "açai ", " açai"]
    inbox.append([note(process_id=name) for name in names])
    assert [it.process_n for it in inbox.read(0, 10)] == [1, 1, 1, 1, 1, 1]


def test_recorded_at_stands_still_while_the_clock_goes_back(inbox: Inbox):
    readings = iter([NOON, NOON - 3_600_000_000, NOON + 1])
    inbox.clock = lambda: next(readings)
    for _ in range(3):
        inbox.append([note()])
    assert [it.recorded_at for it in inbox.read(0, 10)] == [NOON, NOON, NOON + 1]


def test_the_clock_may_go_back_between_two_processes(inbox: Inbox, location: str):
    inbox.clock = lambda: NOON
    inbox.append([note()])
    other = open_inbox(location)
    other.clock = lambda: NOON - 1
    other.append([note()])
    other.close()
    assert inbox.last() == (2, NOON)


# --- counting once ---------------------------------------------------------------------------


def test_an_event_is_again_when_its_id_came_before(inbox: Inbox):
    inbox.append([webhook("e1"), webhook("e2"), webhook("e1")])
    inbox.append([webhook("e1", body=b"altered"), webhook("e3")])
    assert [it.is_again for it in inbox.read(0, 10)] == [False, False, True, True, False]


def test_an_attempt_is_again_only_with_the_same_kind(inbox: Inbox):
    def started() -> Draft:
        return draft(kind="submission_started", attempt_id="a1")

    def finished() -> Draft:
        return draft(kind="submission_finished", attempt_id="a1")

    inbox.append([started(), finished(), started()])
    inbox.append([finished(), draft(kind="submission_started", attempt_id="a2")])
    assert [it.is_again for it in inbox.read(0, 10)] == [False, False, True, True, False]


def test_an_event_id_and_an_attempt_id_of_one_name_do_not_meet(inbox: Inbox):
    inbox.append([draft(kind="submission_started", attempt_id="same")])
    inbox.append([webhook("same")])
    assert [it.is_again for it in inbox.read(0, 10)] == [False, False]


def test_other_kinds_are_never_again_in_one_batch_or_in_two(inbox: Inbox):
    """A note about an attempt was once "again" in a later batch, but not in the same one."""
    inbox.append([note(attempt_id="a1"), note(attempt_id="a1")])
    inbox.append([note(attempt_id="a1")])
    assert [it.is_again for it in inbox.read(0, 10)] == [False, False, False]


def test_whatever_an_id_looks_like_it_is_found_again(inbox: Inbox):
    names = ['["a", 1]', '{"a":1}', '"', "\\", "a,b", "null", "1", "\u2028é\x01", "😀" * 200, "$1"]
    for before, name in zip(range(0, 60, 6), names, strict=True):
        for again in (False, True):
            receipts = inbox.append(
                [
                    webhook(event_id=name, process_id=name, seller_id=name),
                    webhook(event_id="other", process_id="other", seller_id=None),
                    draft(kind="submission_started", attempt_id=name, process_id=name),
                ]
            )
            first, _, attempt = [it.entry for it in receipts]
            assert (first.is_again, attempt.is_again) == (again, again), name
        assert (first.process_n, first.process_prev) == (3, before + 3), name
        assert first.seller_prev == before + 1, name
        assert (attempt.process_n, attempt.process_prev) == (4, before + 4), name


def test_the_entries_of_a_group_have_salts_of_their_own(inbox: Inbox):
    drawn = []

    def random(size: int) -> bytes:
        drawn.append(size)
        return os.urandom(size)

    inbox.random = random
    receipts = inbox.append(
        [webhook(event_id=f"e{n}", particulars={"a": 1} if n < 3 else {}) for n in range(20)]
    )
    salts = [it.entry.salt for it in receipts]
    records = [json.loads(it.entry.record)["salt"] for it in receipts[:3]]
    assert len({*salts, *map(bytes.fromhex, records)}) == 23
    assert {len(it) for it in salts} == {32}
    assert drawn == [640, 32, 32, 32]  # one for each entry, and those of records when they are over


def test_a_line_with_a_known_ingest_key_adds_nothing(inbox: Inbox):
    key, other = b"k" * 32, b"o" * 32
    first = inbox.append([note(ingest_key=key), note(ingest_key=key), note(ingest_key=other)])
    second = inbox.append([note(ingest_key=other), note(), note(ingest_key=key)])
    assert [it.outcome for it in first] == ["recorded", "duplicate", "recorded"]
    assert [it.outcome for it in second] == ["duplicate", "recorded", "duplicate"]
    assert [it.entry is None for it in second] == [True, False, True]
    assert_sound(all_entries(inbox), inbox.log)
    assert inbox.last()[0] == 3


# --- expected_process_n, expected_seller_n ---------------------------------------------------


@pytest.mark.parametrize(
    ("of", "expected"),
    [("process_id", "expected_process_n"), ("seller_id", "expected_seller_n")],
)
def test_a_draft_is_a_conflict_once_its_process_or_seller_has_moved_on(
    inbox: Inbox, of: str, expected: str
):
    inbox.append([note(**{of: "x1"})])
    receipts = inbox.append(
        [
            note(**{of: "x1", expected: 0}),
            note(**{of: "x1", expected: 1}),
            note(**{of: "x1", expected: 1}),
            note(**{of: "x2", expected: 0}),
            note(**{of: "x1", expected: 2}),
        ]
    )
    assert [it.outcome for it in receipts] == [
        Outcome.CONFLICT,
        Outcome.RECORDED,
        Outcome.CONFLICT,
        Outcome.RECORDED,
        Outcome.RECORDED,
    ]
    assert [it.seq for it in inbox.find(**{of: "x1"})] == [1, 2, 4]
    assert_sound(all_entries(inbox), inbox.log)


# --- append-only -----------------------------------------------------------------------------


def test_entries_are_neither_changed_nor_deleted(inbox: Inbox, location: str):
    inbox.append([note()])
    for statement in (
        "update {entries} set body = null",
        "update {entries} set kind = 'other' where seq = 1",
        "delete from {entries}",
        "delete from {entries} where seq = 1",
    ):
        with pytest.raises(
            (apsw.ConstraintError, psycopg.errors.RaiseException), match="append-only"
        ):
            _execute(location, statement)
        assert inbox.read(0, 10)[0].body == b'{"a":1}'


def _execute(location: str, statement: str) -> None:
    if location.startswith("postgresql"):
        with psycopg.connect(location) as server:
            server.execute(statement.format(entries="prazo.entries").encode())
    else:
        file = opened(location)
        try:
            file.execute(statement.format(entries="entries"))
        finally:
            file.close()


# --- reading ---------------------------------------------------------------------------------


def test_read_starts_after_a_seq_and_ends_at_the_limit(inbox: Inbox):
    inbox.append([note() for _ in range(5)])
    assert [it.seq for it in inbox.read(0, 2)] == [1, 2]
    assert [it.seq for it in inbox.read(2, 10)] == [3, 4, 5]
    assert inbox.read(5, 10) == []
    assert inbox.read(99, 10) == []


@pytest.mark.parametrize("most", [2**15 - 1, 2**31 - 1])
def test_read_goes_on_where_a_seq_takes_another_size_of_integer(inbox: Inbox, most: int):
    """On PostgreSQL the seq and the limit were added as integers of 16 bits: from entry 24,576 on
    nothing was followed, no deadline was told of, and no backup could be made."""
    assert inbox.read(most - 1000, 4096) == []
    assert inbox.read(most, 4096) == []


def test_read_ends_with_the_entry_whose_body_reaches_max_bytes(inbox: Inbox):
    """Else a batch of the ledger could hold thousands of bodies of a megabyte."""
    inbox.append([note(body=b"x" * 10), note(body=None), *(note(body=b"x" * 10) for _ in range(3))])
    assert [it.seq for it in inbox.read(0, 10, max_bytes=1)] == [1]
    assert [it.seq for it in inbox.read(0, 10, max_bytes=10)] == [1]
    assert [it.seq for it in inbox.read(0, 10, max_bytes=11)] == [1, 2, 3]
    assert [it.seq for it in inbox.read(1, 10, max_bytes=20)] == [2, 3, 4]
    assert [it.seq for it in inbox.read(0, 2, max_bytes=40)] == [1, 2]
    assert [it.seq for it in inbox.read(0, 10, max_bytes=1000)] == [1, 2, 3, 4, 5]


def test_find_gives_the_entries_that_match_everything_in_order(inbox: Inbox):
    inbox.append(
        [
            webhook("e1", process_id="p1", seller_id="s1"),
            draft(kind="submission_started", attempt_id="a1", process_id="p1", seller_id="s1"),
            webhook("e2", process_id="p2", seller_id="s1"),
            draft(kind="quarantine"),
            webhook("e1", process_id="p1", seller_id="s1"),
        ]
    )

    def found(**conditions: str) -> list[int]:
        return [it.seq for it in inbox.find(**conditions)]

    assert found(process_id="p1") == [1, 2, 5]
    assert found(seller_id="s1") == [1, 2, 3, 5]
    assert found(event_id="e1") == [1, 5]
    assert found(attempt_id="a1") == [2]
    assert found(kind="quarantine") == [4]
    assert found(process_id="p1", kind="webhook") == [1, 5]
    assert found(process_id="p2", event_id="e1") == []
    assert found(process_id="' or 1=1 --") == []


def test_find_without_a_condition_is_a_mistake_of_the_caller(inbox: Inbox):
    with pytest.raises(ValueError, match="condition"):
        inbox.find()


def test_last_is_the_newest_entry(inbox: Inbox):
    inbox.clock = lambda: NOON
    assert inbox.last() == (0, 0)
    inbox.append([note(), note()])
    assert inbox.last() == (2, NOON)


# --- heads -----------------------------------------------------------------------------------


def test_the_head_only_grows(inbox: Inbox):
    assert inbox.head() is None
    inbox.put_head(Head(5, b"r5"))
    inbox.put_head(Head(3, b"r3"))
    assert inbox.head() == Head(5, b"r5")
    inbox.put_head(Head(5, b"another root at the same size"))
    assert inbox.head() == Head(5, b"r5")
    inbox.put_head(Head(8, b"r8"))
    assert inbox.head() == Head(8, b"r8")


def test_signed_checkpoints_are_all_kept_and_the_first_of_a_size_stays(inbox: Inbox):
    assert inbox.checkpoint() is None
    assert inbox.checkpoints() == []
    inbox.put_checkpoint(SignedHead(10, "ten\n— prazo assinatura=\n"))
    inbox.put_checkpoint(SignedHead(2, "two"))
    inbox.put_checkpoint(SignedHead(2, "two, signed again"))
    assert inbox.checkpoint() == SignedHead(10, "ten\n— prazo assinatura=\n")
    assert inbox.checkpoints() == [
        SignedHead(2, "two"),
        SignedHead(10, "ten\n— prazo assinatura=\n"),
    ]


# --- opening and closing ---------------------------------------------------------------------


def test_a_log_keeps_its_name_key_entries_and_head_over_a_reopening(inbox: Inbox, location: str):
    inbox.append([note()])
    inbox.put_head(Head(1, b"root"))
    again = open_inbox(location)
    assert (again.log, again.log_key) == (inbox.log, inbox.log_key)
    assert again.read(0, 10) == inbox.read(0, 10)
    assert again.head() == Head(1, b"root")
    again.close()


def test_two_logs_have_two_names_and_two_keys(inbox: Inbox, tmp_path: Path):
    other = open_inbox(tmp_path / "other.db")
    assert inbox.log != other.log
    assert inbox.log_key != other.log_key
    assert len(inbox.log_key) == 32
    other.close()


def test_without_create_a_missing_inbox_is_reported_and_nothing_is_made(location: str):
    """A mistyped PRAZO_INBOX must not start an empty log that looks like a loss of everything."""
    for _ in range(2):
        with pytest.raises(InboxMissing, match="There is no inbox at") as raised:
            open_inbox(location, create=False)
    assert "PRAZO_INBOX" in raised.value.remedy


def test_of_a_path_within_a_folder_that_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody stood in another one, and saw `data/inbox.db`, as ever."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InboxMissing) as raised:
        open_inbox("data/inbox.db", create=False)
    assert (
        raised.value.finding == f"There is no inbox at data/inbox.db: {tmp_path} has no such file"
    )


def test_without_create_an_inbox_that_is_there_opens(inbox: Inbox, location: str):
    inbox.append([note()])
    again = open_inbox(location, create=False)
    assert again.last()[0] == 1
    again.close()


def test_a_probe_leaves_no_entry(inbox: Inbox):
    inbox.probe()
    inbox.probe()
    assert inbox.last() == (0, 0)


def test_a_closed_inbox_neither_writes_nor_reads(inbox: Inbox):
    inbox.append([note()])
    inbox.close()
    with pytest.raises(InboxUnavailable, match="closed"):
        inbox.append([note()])
    with pytest.raises(InboxUnavailable, match="closed"):
        inbox.last()
    with pytest.raises(InboxUnavailable, match="closed"):
        inbox.put_head(Head(1, b"root"))


def test_a_draft_that_cannot_be_recorded_leaves_no_trace_and_no_lock(inbox: Inbox):
    with pytest.raises(TypeError):
        inbox.append([note(), note(particulars={"no JSON": object()})])
    assert inbox.last() == (0, 0)
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    assert receipt.entry.seq == 1


def test_the_tables_beside_the_log_take_one_statement_on_both_engines(inbox: Inbox):
    put = "insert into leases (name, number, holder, held_until) values ($1, $2, $3, $4)"
    assert inbox.execute(put, "p1", 7, "here", 100) == 1
    assert inbox.query("select holder, number from leases where name = $1", "p1") == [("here", 7)]
    assert inbox.execute("update leases set number = 8 where name = $1", "p2") == 0


def test_a_registered_signing_key_is_never_changed(inbox: Inbox):
    put = "insert into signing_keys (number, verification_key, registered_at) values (1, $1, 5)"
    inbox.execute(put, "log+1234+key")
    with pytest.raises(InboxUnavailable, match="append-only"):
        inbox.execute("update signing_keys set verification_key = $1", "log+1234+other")
    with pytest.raises(InboxUnavailable, match="append-only"):
        inbox.execute("delete from signing_keys")


def test_the_clock_of_an_inbox_is_near_ours(inbox: Inbox):
    assert abs(inbox.now() - instants.now()) < instants.MINUTE
