"""How webhooks stand in the table: compressed, and read back as they came or seen to be altered."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdDecompressor

from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.schema import rows
from pipeline.log.entries import Entry
from tests.inbox.drafts import note, webhook
from tests.support.events import EVENT_TYPES, sample
from tests.support.postgres import PostgresServer
from tests.support.sqlite import opened

BODY = b'{"id":"evt_1","type":"seller.created","created_at":"2026-03-01T12:00:00Z"}'
BODIES = {
    "short": BODY,
    "one byte": b"x",
    "no text": bytes(range(256)),
    "like a compressed one": ZstdCompressor().compress(BODY),
    "the longest that is compressed": b"y" * 4096,
    "one byte longer": b"y" * 4097,
    "empty": b"",
}


def test_a_body_is_read_back_as_it_came(inbox: Inbox):
    for before, (name, body) in enumerate(BODIES.items()):
        [receipt] = inbox.append([webhook(f"e {name}", body=body, process_id=f"p {name}")])
        assert receipt.entry is not None
        assert receipt.entry.body == body
        found = inbox.find(process_id=f"p {name}")
        assert inbox.read(before, 10) == found == [receipt.entry]
        assert inbox.leaf(before + 1) == receipt.entry.leaf


def test_bodies_of_a_group_do_not_change_places(inbox: Inbox):
    bodies = [*BODIES.values(), *(sample(it) for it in EVENT_TYPES)]
    drafts = [webhook(f"e{n}", body=it) for n, it in enumerate(bodies)]
    inbox.append([note(body=b"first"), *drafts, note(body=b"last")])
    assert [it.body for it in inbox.read(0, 100)] == [b"first", *bodies, b"last"]


def test_only_short_webhooks_are_compressed(inbox: Inbox):
    inbox.append([note(), webhook("e1", body=BODY), webhook("e2", body=b"z" * 4097)])
    sql = "select body, leaf, is_compressed from entries order by seq"
    other, short, long = inbox.query(sql)
    entries = inbox.read(0, 10)
    assert (other[0], other[1], bool(other[2])) == (b'{"a":1}', entries[0].leaf, False)
    assert (long[0], long[1], bool(long[2])) == (b"z" * 4097, entries[2].leaf, False)
    assert bool(short[2])
    assert len(short[1]) < len(entries[1].leaf) / 2


def test_what_the_platform_sends_takes_a_third_of_its_bytes(inbox: Inbox):
    """Each type once: a quarter is left of what comes in its usual proportions."""
    bodies = [sample(it) for it in EVENT_TYPES]
    inbox.append([webhook(f"e{n}", body=it) for n, it in enumerate(bodies)])
    stored = sum(
        len(body) + len(leaf) for body, leaf in inbox.query("select body, leaf from entries")
    )
    plain = sum(len(it.body or b"") + len(it.leaf) for it in inbox.read(0, 100))
    assert stored < plain / 3


def change(location: str, table: str, statement: str) -> None:
    """What somebody does who may write to the database."""
    if location.startswith("postgresql"):
        names = {"table": f"prazo.{table}", "blob": "'\\x", "true": "true"}
        PostgresServer.execute(location, statement.format(**names))
    else:
        names = {"table": table, "blob": "x'", "true": "1"}
        with closing(opened(location)) as file:
            file.execute(statement.format(**names))


@pytest.mark.parametrize(
    "done",
    [
        "delete from {table} where name = 'dictionary'",
        "update {table} set value = {blob}' where name = 'dictionary'",
    ],
)
def test_nothing_depends_on_the_copy_of_the_dictionary(inbox: Inbox, location: str, done: str):
    """Else what was acknowledged could be written by another one, and be lost with that."""
    inbox.append([webhook("e1", body=BODY)])
    change(location, "meta", done)
    inbox.append([webhook("e2", body=BODY)])
    with closing(open_inbox(location)) as again:
        again.append([webhook("e3", body=BODY)])
        assert [it.body for it in again.read(0, 10)] == [BODY] * 3


def test_a_row_is_read_by_hand_with_the_copy_of_the_dictionary(inbox: Inbox):
    [receipt] = inbox.append([webhook("e1", body=BODY)])
    assert receipt.entry is not None
    [(copy,)] = inbox.query("select value from meta where name = 'dictionary'")
    [(body, leaf)] = inbox.query("select body, leaf from entries")
    by_hand = ZstdDecompressor(ZstdCompressionDict(copy))
    assert by_hand.decompress(body) == BODY
    assert by_hand.decompress(leaf) == receipt.entry.leaf


def test_only_webhooks_are_decompressed(inbox: Inbox, location: str):
    """Statements over other kinds read the bytes as they stand: a frame there would say one thing
    to them, and another to anyone who verifies."""
    inbox.append([note(body=b"plain")])
    frame = ZstdCompressor().compress(b"plain")
    given = "seq", "body", "leaf", "is_compressed", "ingest_key"
    others = ", ".join(it for it in inbox.rows.columns if it not in given)
    change(
        location,
        "entries",
        f"insert into {{table}} (seq, body, leaf, is_compressed, {others})"
        f" select 2, {{blob}}{frame.hex()}', {{blob}}{frame.hex()}', {{true}}, {others}"
        " from {table}",
    )
    [read] = inbox.read(1, 10)
    assert read.body == read.leaf == inbox.leaf(2) == frame


def test_many_threads_write_and_read(inbox: Inbox):
    def work(writer: int) -> bool:
        for number in range(20):
            body = b'{"writer":%d,"number":%d}' % (writer, number)
            [receipt] = inbox.append([webhook(f"e{writer}-{number}", body=body)])
            assert receipt.entry is not None
            [read] = inbox.read(receipt.entry.seq - 1, 1)
            assert (read.body, read.leaf) == (body, inbox.leaf(read.seq))
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))
    assert len({it.body for it in inbox.read(0, 100)}) == 80


def _stored() -> tuple[rows.Rows, bytes]:
    """How rows stand in a new inbox, and a leaf as it stands there."""
    in_table = rows.Rows(rows.dictionary())
    compressor = ZstdCompressor(dict_data=ZstdCompressionDict(rows.dictionary()))
    return in_table, compressor.compress(b'{"v":1}')


def test_altered_bytes_are_handed_over_as_they_stand():
    """They cannot be read as a leaf, so anyone who checks them names the entry."""
    in_table, stored = _stored()
    assert in_table.leaf((stored, True)) == b'{"v":1}'
    altered = [
        stored + b"x",
        stored + stored,
        stored[:-1],
        b"",
        b'{"v":1}',
        stored[:5] + b"\xff\xff\xff\xff" + stored[9:],
        ZstdCompressor().compress(b"") + b"x",
    ]
    assert [in_table.leaf((bytes_, True)) for bytes_ in altered] == altered


def test_a_body_that_was_taken_out_is_seen_to_be_gone():
    in_table, stored = _stored()
    entry = Entry(
        1, "webhook", 0, 0, "live", "webhook", *[None] * 9, False, *[None] * 3, stored, *[None] * 4
    )
    [read] = in_table.to_entries([(*entry, True)])
    assert (read.body, read.leaf) == (None, b'{"v":1}')


def test_few_bytes_do_not_become_many():
    """Somebody who can write to the table could fill the memory of anyone who reads."""
    in_table, _ = _stored()
    bomb = ZstdCompressor().compress(bytes(50_000_000))
    assert len(bomb) < 5000
    assert in_table.leaf((bomb, True)) == bomb


def test_a_leaf_that_is_not_there_is_none():
    assert rows.Rows(rows.dictionary()).leaf(None) is None


def test_the_dictionary_never_changes():
    """A new one would be another step of the tables, with a number of its own."""
    assert (
        hashlib.sha256(rows.dictionary()).hexdigest()
        == "830ec13b8ec0eacd7da5723d48db66a70eb7de200731df6fdeececc4422d87ed"
    )
