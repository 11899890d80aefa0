"""How an entry stands in the inbox's table: webhooks compressed, everything else as it is.

Webhooks are most of a log, short, and much alike. With a dictionary of what they have in common,
their bodies and leaves take a quarter of the bytes (docs/performance.md#size).

Bytes that cannot be decompressed are handed over as they stand in the table, and so is whatever is
not a webhook, of which other statements read the bytes as they stand. They fit no commitment and
cannot be read as a leaf, so a check of the entry says that it was altered.
"""

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from zstandard import (
    ZstdCompressionDict,
    ZstdCompressor,
    ZstdDecompressor,
    ZstdError,
    frame_content_size,
)

from pipeline.log.entries import Entry
from pipeline.log.kinds.webhook import WEBHOOK

Row = Sequence[Any]
"""The columns of an entry; behind them, whether its body and its leaf are compressed."""

MAX_BYTES: Final = 4096
"""Of a body or a leaf that is compressed. A sender could make much of few bytes, and a reader is
promised how many it is given at once."""
LEVEL: Final = 1
"""The fastest: the others leave 1 to 3 % less, and take three to seven times as long."""

_IS_AGAIN: Final = Entry._fields.index("is_again")
BODY: Final = Entry._fields.index("body")
SALT: Final = Entry._fields.index("salt")
LEAF: Final = Entry._fields.index("leaf")
_PERSON: Final = Entry._fields.index("person")
_BESIDE: Final = ("person", "person_salt")
"""Of an entry's columns, those that stand in the map of people."""
_OF_PERSON: Final = "(select {} from actors where actors.pseudonym = entries.pseudonym)"
_NAMED: Final = dict(zip(_BESIDE, map(_OF_PERSON.format, ("name", "salt")), strict=True))


@functools.cache
def dictionary() -> bytes:
    """Made by `python -m tests.benchmarks.dictionary`. It never changes: another one would be of
    another version, and frames say by its number which one they need."""
    return (Path(__file__).parent / "webhooks.dictionary").read_bytes()


class Rows:
    """Entries as rows and back, for one inbox."""

    columns: tuple[str, ...] = (
        *(it for it in Entry._fields if it not in _BESIDE),
        "is_compressed",
    )
    is_compressed = f"(is_compressed and kind = '{WEBHOOK}')"
    selected = ", ".join((*(_NAMED.get(it, it) for it in Entry._fields), is_compressed))

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary
        prepared = ZstdCompressionDict(dictionary)
        prepared.precompute_compress(LEVEL)  # or each call would read the dictionary
        self._compressor = ZstdCompressor(LEVEL, prepared)
        self._of_thread = threading.local()

    def to_rows(self, entries: Sequence[Entry]) -> Sequence[Row]:
        """The rows of entries, by `columns`. For one thread at a time."""
        rows: list[list[Any]] = [
            [*entry[:_PERSON], entry.ingest_key, _is_short_webhook(entry)] for entry in entries
        ]
        if short := [row for row in rows if row[-1]]:
            # All in one call: each one gives the interpreter away, and waits to have it back.
            parts = [part for row in short for part in (row[BODY], row[LEAF])]
            frames = iter(self._compressor.multi_compress_to_buffer(parts))
            for row in short:
                row[BODY], row[LEAF] = next(frames).tobytes(), next(frames).tobytes()
        return rows

    def to_entries(self, rows: Sequence[Row]) -> list[Entry]:
        """The entries of rows that were asked for by `selected`."""
        decompressor = self._decompressor()
        entries = []
        for *values, is_compressed in rows:
            values[_IS_AGAIN] = bool(values[_IS_AGAIN])  # SQLite has numbers for it
            if is_compressed:
                if values[SALT] is not None:  # what stays of an erased body is not compressed
                    values[BODY] = values[BODY] and _plain(decompressor, values[BODY])
                values[LEAF] = _plain(decompressor, values[LEAF])
            entries.append(Entry._make(values))
        return entries

    def leaf(self, row: Row | None) -> bytes | None:
        """The leaf of a row of `leaf` and `is_compressed`; None where there is none."""
        if row is None:
            return None
        leaf, is_compressed = row
        return _plain(self._decompressor(), leaf) if is_compressed else leaf

    def _decompressor(self) -> ZstdDecompressor:
        own: ZstdDecompressor | None = getattr(self._of_thread, "decompressor", None)
        if own is None:
            own = ZstdDecompressor(ZstdCompressionDict(self._dictionary))
            self._of_thread.decompressor = own
        return own


def _is_short_webhook(entry: Entry) -> bool:
    return (
        entry.kind == WEBHOOK
        and entry.body is not None
        and entry.salt is not None
        and 0 < len(entry.body) <= MAX_BYTES
        and len(entry.leaf) <= MAX_BYTES
    )


def _plain(decompressor: ZstdDecompressor, frame: bytes) -> bytes:
    try:
        if 0 < frame_content_size(frame) <= MAX_BYTES:
            return decompressor.decompress(frame, allow_extra_data=False)
    except ZstdError:
        pass
    return frame
