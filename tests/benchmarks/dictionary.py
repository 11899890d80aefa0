"""Makes the dictionary that new inboxes compress webhooks with, and says what it saves:

    python -m tests.benchmarks.dictionary [FILE]

It is trained with what the simulated platform sends, each delivery once as it stands and once as
other writers of JSON would put it, and with the leaves of both. It is measured with what the
platform sends to others: another seed of its history. Salts are random, so no two dictionaries are
the same.
"""

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import zstandard

from pipeline.inbox import open_inbox
from pipeline.inbox.schema import rows
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.webhook import WEBHOOK
from sandbox.market.history import history

NOW: Final = 1_793_836_800_000_000  # 2026-11-05T00:00:00Z
DICTIONARY_BYTES: Final = 4096
"""One of 32 KiB leaves an eighth less, and is read into each thread's memory."""


def main(file: str | None = None) -> None:
    others = _recorded(_deliveries(sellers=600, seed=99))
    if file is None:
        dictionary = rows.dictionary()
    else:
        parts: list[bytes | bytearray | memoryview] = []
        for entry in _recorded(_deliveries(sellers=600)):
            parts += [entry.body or b"", entry.leaf]
        dictionary = zstandard.train_dictionary(DICTIONARY_BYTES, parts).as_bytes()
        Path(file).write_bytes(dictionary)
    stored = rows.Rows(dictionary).to_rows(others)
    before = sum(len(it.body or b"") + len(it.leaf) for it in others)
    after = sum(len(row[rows.BODY]) + len(row[rows.LEAF]) for row in stored)
    print(
        f"{len(others):,} webhooks: {before / len(others):,.0f} bytes each,"
        f" {after / len(others):,.0f} compressed: {after / before:.2f}"
    )


def _deliveries(sellers: int, seed: int = 7) -> list[Draft]:
    past = history(NOW, sellers=sellers, seed=seed)
    sent = [it["body"] for it in past if it["kind"] == "webhook"]
    drafts = [_draft(body) for body in sent]
    whole = [it for it in drafts if it.kind == WEBHOOK]  # a few deliveries are broken on their way
    return whole + [_draft(json.dumps(json.loads(it.body or b""))) for it in whole]


def _draft(body: str) -> Draft:
    return delivery(body.encode(), occurred_at=NOW, recorded_by="webhook")


def _recorded(drafts: Sequence[Draft]) -> list[Entry]:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_inbox(Path(folder) / "inbox.db")) as inbox,
    ):
        receipts = inbox.append(drafts)
        entries = [it.entry for it in receipts if it.entry is not None]
    random.Random(7).shuffle(entries)
    return entries


if __name__ == "__main__":
    main(*sys.argv[1:])
