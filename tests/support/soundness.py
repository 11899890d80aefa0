"""What every log must be, stated without the code that makes it so."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence

from pipeline.inbox import Inbox
from pipeline.log.entries import Entry


def all_entries(inbox: Inbox) -> list[Entry]:
    entries: list[Entry] = []
    while some := inbox.read(len(entries), 1000):
        entries += some
    return entries


def assert_sound(entries: Sequence[Entry], log: str) -> None:
    """`seq` and both streams have no gaps, no time goes back, and each leaf fits its entry."""
    assert [it.seq for it in entries] == list(range(1, len(entries) + 1))
    recorded = [it.recorded_at for it in entries]
    assert recorded == sorted(recorded)

    processes: dict[str, list[int]] = defaultdict(list)
    sellers: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        assert (entry.process_n, entry.process_prev) == _next(processes, entry.process_id)
        assert (entry.seller_n, entry.seller_prev) == _next(sellers, entry.seller_id)
        if entry.process_id:
            processes[entry.process_id].append(entry.seq)
        if entry.seller_id:
            sellers[entry.seller_id].append(entry.seq)
        assert_leaf_fits(entry, log)


def _next(streams: dict[str, list[int]], name: str | None) -> tuple[int | None, int | None]:
    if name is None:
        return None, None
    seqs = streams[name]
    return len(seqs) + 1, seqs[-1] if seqs else None


def assert_leaf_fits(entry: Entry, log: str) -> None:
    leaf = json.loads(entry.leaf)
    assert leaf["log"] == log
    columns = ("seq", "kind", "origin", "recorded_by", "status")
    numbers = ("process_n", "process_prev", "seller_n", "seller_prev")
    for column in columns + numbers:
        assert leaf.get(column) == getattr(entry, column)
    if entry.body is None:
        assert entry.salt is None
        assert "body_commitment" not in leaf
    else:
        assert entry.salt is not None
        committed = hashlib.sha256(entry.salt + entry.body).hexdigest()
        assert leaf["body_commitment"] == committed
        assert leaf["body_size"] == len(entry.body)
    if entry.record is not None:
        assert leaf["record_digest"] == hashlib.sha256(entry.record).hexdigest()
