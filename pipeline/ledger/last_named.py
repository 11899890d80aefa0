"""Remembers which entry named a process or a seller last."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from pipeline.log.entries import Entry

MOST_SUBJECTS: Final = 20_000
"""Processes and sellers of which an entry is remembered: of ten seconds of full traffic."""


def named_in(entries: Sequence[Entry]) -> dict[str, int]:
    """The processes and sellers that entries name, each with the seq of the last that names it, in
    order of these."""
    named: dict[str, int] = {}
    for entry in reversed(entries):
        seq, process_id, seller_id = entry.seq, entry.process_id, entry.seller_id
        if process_id is not None:
            named.setdefault(process_id, seq)
        if seller_id is not None:
            named.setdefault(seller_id, seq)
    return dict(reversed(named.items()))


class LastNamed:
    """Which entry named a process or a seller last: by this a reader tells without a question
    whether an answer about one still holds. Remembers those that were named last."""

    def __init__(self, size: int) -> None:
        self._seqs: OrderedDict[str, int] = OrderedDict()
        self._forgotten = size  # up to here, whoever is not remembered may have been named

    def add(self, named: Mapping[str, int]) -> None:
        """Takes note of what entries name that were appended (`named_in`)."""
        for subject, seq in named.items():
            self._seqs[subject] = seq
            self._seqs.move_to_end(subject)
        while len(self._seqs) > MOST_SUBJECTS:
            _, self._forgotten = self._seqs.popitem(last=False)

    def of(self, subject: str) -> int:
        """No entry after this one names it. 0 or more; safe to ask from any thread."""
        return self._seqs.get(subject, self._forgotten)
