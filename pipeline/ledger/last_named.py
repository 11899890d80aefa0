"""Remembers which entry named a process or a seller last."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from pipeline.log.entries import Entry

MOST_SUBJECTS: Final = 20_000
"""Processes and sellers of which an entry is remembered: of ten seconds of full traffic."""


class LastNamed:
    """Which entry named a process or a seller last: by this a reader tells without a question
    whether an answer about one still holds. Remembers those that were named last."""

    def __init__(self, size: int) -> None:
        self._seqs: OrderedDict[str, int] = OrderedDict()
        self._forgotten = size  # up to here, whoever is not remembered may have been named

    def add(self, entries: Sequence[Entry]) -> None:
        """Takes note of a batch that was appended."""
        for entry in entries:
            for subject in (entry.process_id, entry.seller_id):
                if subject is not None:
                    self._seqs[subject] = entry.seq
                    self._seqs.move_to_end(subject)
        while len(self._seqs) > MOST_SUBJECTS:
            _, self._forgotten = self._seqs.popitem(last=False)

    def of(self, subject: str) -> int:
        """No entry after this one names it. 0 or more; safe to ask from any thread."""
        return self._seqs.get(subject, self._forgotten)
