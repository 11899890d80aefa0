"""Says what became of messages to sellers, also by receipts of services that name no process.

No index finds a receipt by its message, so those are read once, from the oldest message that is
asked about.
"""

import itertools
import threading
from collections.abc import Container
from typing import Final, NamedTuple

from pipeline.inbox import Inbox
from pipeline.log.entries import Entry, content_of
from pipeline.log.kinds.seller_notice_result import RESULTS, SELLER_NOTICE_RESULT

_BETWEEN: Final = """
    select seq from entries
    where seq > $1 and seq <= $2 and kind = $3 and process_id is null order by seq"""


class Result(NamedTuple):
    """One thing that is said of a message."""

    seq: int
    word: str
    at: int
    """When it came about, in microseconds."""


class Results:
    """Reads them from one log. Safe from several threads."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._lock = threading.Lock()
        self._since = self._until = -1  # what was read: entries after the one, up to the other
        self._reported: dict[str, list[Result]] = {}

    def is_any(self, notice: Entry, words: Container[str] = tuple(RESULTS)) -> bool:
        """Whether one of these is said of the message of an entry, for the process that the entry
        names. Raises `InboxUnavailable`."""
        said = itertools.chain(self._named(notice), self.reported(notice))
        return any(it.word in words for it in said)

    def has_failed(self, notice: Entry) -> bool:
        """Whether the message of an entry was not sent, by the latest that is said of it. Raises as
        `is_any` does."""
        said = max([*self._named(notice), *self.reported(notice)], default=None)
        return said is not None and said.word == "failed"

    def _named(self, notice: Entry) -> list[Result]:
        message = content_of(notice).get("message_id")
        own = self._inbox.find(process_id=notice.process_id, kind=SELLER_NOTICE_RESULT)
        return [_result(it) for it in own if content_of(it).get("message_id") == message]

    def reported(self, notice: Entry) -> list[Result]:
        """What is said of the message of an entry without a process, in the order of the log.
        Raises as `is_any` does."""
        last, _ = self._inbox.last()
        with self._lock:
            if self._until < 0:
                self._since = self._until = notice.seq
            if notice.seq < self._since:
                self._take(notice.seq, self._since)
                self._since = notice.seq
            if last > self._until:
                self._take(self._until, last)
                self._until = last
            return sorted(self._reported.get(content_of(notice).get("message_id", ""), ()))

    def _take(self, after: int, upto: int) -> None:
        for (seq,) in self._inbox.query(_BETWEEN, after, upto, SELLER_NOTICE_RESULT):
            entry = self._inbox.entry(seq)
            said = {} if entry is None else content_of(entry)
            if entry is not None and {"message_id", "result"} <= said.keys():
                self._reported.setdefault(said["message_id"], []).append(_result(entry))


def _result(entry: Entry) -> Result:
    return Result(entry.seq, str(content_of(entry).get("result")), entry.occurred_at)
