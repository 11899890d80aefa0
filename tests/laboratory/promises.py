"""What must be true whatever happened: of the log, of what the platform saw, and of the views.

The checks read the stores with the product's plainest means and judge by what was asked and
answered: who was told 200, which PUTs arrived, and what the oracle makes of the log.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from pipeline import instants
from pipeline.log.entries import Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.log.reconciling import WAS
from sandbox.platform.api import Request
from tests.laboratory.journal import Broken
from tests.queries.test_views_match_the_oracle import assert_same
from tests.support import oracle
from tests.support.soundness import assert_sound

COMPARED = ("process_state", "submission_attempts", "redeliveries")
"""Views whose rows must be the oracle's; in the long run all that it knows."""
WHOLLY_OURS = 2 * instants.SECOND
"""After its arrival the platform may still hold a request whose sender was paused beyond its
lease; so long it is certainly ours (TIMEOUT_SECONDS and its margin, less what came before)."""

Rows = Callable[[str, datetime], list[dict[str, Any]]]
"""The product's rows of a view at an instant."""


@dataclass
class Acknowledged:
    """Something that was answered 200, and where it stands now."""

    seq: int  # 0: nobody knows, since its entry was lost
    body: bytes
    was: int = 0  # the seq that was lost


class Promises:
    """What was promised so far in a run."""

    def __init__(self) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.asked: Counter[bytes] = Counter()
        """How often each body was sent: it cannot be in the log more often."""
        self.accepted: set[str] = set()
        """Processes of which the platform's 200 was passed on to a caller."""
        self._head = self._kept = 0

    # --- what was answered ---

    def acknowledge(self, seq: int, body: bytes) -> None:
        """A delivery was answered 200."""
        taken = next((it for it in self.acknowledged if it.seq == seq), None)
        if taken is not None:
            raise Broken(f"entry {seq} was given to two deliveries")
        self.acknowledged.append(Acknowledged(seq, body))

    def lose(self, fork: int) -> None:
        """The inbox, and the head in it, were put back to so many entries."""
        self._head = 0
        for one in self.acknowledged:
            if one.seq > fork:
                one.seq, one.was = 0, one.seq

    def find_again(self, entries: Sequence[Entry]) -> None:
        """The inbox was reconciled: what was lost stands where the log says that it was recorded
        again, or where it was before if nothing else had been recorded since."""
        again = {it.particulars.get("was_seq"): it for it in entries}
        for one in self.acknowledged:
            if one.seq:
                continue
            found = again.get(one.was)
            if found is None and one.was <= len(entries):
                found = entries[one.was - 1]
            if found is None or found.body != one.body:
                raise Broken(f"entry {one.was} was acknowledged, lost, and not recorded again")
            one.seq = found.seq

    # --- the log ---

    def check_log(self, entries: Sequence[Entry], log: str) -> None:
        """It is sound, and has each acknowledged delivery once, where it was said to be."""
        try:
            assert_sound(entries, log)
        except AssertionError as error:
            raise Broken(f"the log is not sound: {error}") from error
        for one in self.acknowledged:
            found = entries[one.seq - 1].body if one.seq <= len(entries) else None
            if found != one.body:
                raise Broken(f"entry {one.seq}, which was acknowledged, is {found!r}")
        deliveries = [it for it in entries if it.kind in (WEBHOOK, QUARANTINE)]
        held = Counter(it.body for it in deliveries if it.body is not None)
        for body, count in held.items():
            if count > self.asked[body]:
                raise Broken(f"{body!r} was sent {self.asked[body]} times and recorded {count}")

    def check_heads(self, head: int, kept: int) -> None:
        """Sizes of the heads in the inbox and outside of it: they only grow."""
        for name, before, now in (("inbox", self._head, head), ("file", self._kept, kept)):
            if now < before:
                raise Broken(f"the head in the {name} shrank from {before} to {now}")
        self._head, self._kept = head, kept

    # --- what the platform saw ---

    def check_puts(self, entries: Sequence[Entry], requests: Sequence[Request]) -> None:
        """Each PUT has its start before it, and no two of a process were under way at once."""
        starts = _starts(entries)
        puts: dict[str, list[Request]] = defaultdict(list)
        for request in requests:
            if request.method == "PUT":
                puts[request.headers["idempotency-key"]].append(request)
        for process_id, those in puts.items():
            those.sort(key=lambda put: put.arrived_at)
            if len(those) > len(starts[process_id]):
                raise Broken(
                    f"{process_id}: {len(those)} PUTs and {len(starts[process_id])} starts"
                )
            for earlier, later in pairwise(those):
                ended_at = min(earlier.ended_at, earlier.arrived_at + WHOLLY_OURS)
                if later.arrived_at < ended_at:
                    ahead = (ended_at - later.arrived_at) / instants.SECOND
                    raise Broken(f"{process_id}: a PUT came {ahead:.3f} s before the last ended")

    def check_accepted(self, entries: Sequence[Entry]) -> None:
        """What a caller was told that the platform accepted, the log says too."""
        ends = [it for it in entries if it.kind == SUBMISSION_FINISHED]
        recorded = {it.process_id for it in ends if it.status == 200}
        if missing := self.accepted - recorded:
            raise Broken(f"the platform's 200 is not in the log: {sorted(missing)}")

    # --- what is shown ---

    def check_views(self, entries: Sequence[Entry], rows: Rows, views: Sequence[str]) -> None:
        """The rows of the views are the oracle's over the same log."""
        history = list(lines_of(entries))
        as_of = instants.of(max((it.occurred_at for it in entries), default=0))
        moment = as_of.replace(tzinfo=None)
        for view in views:
            try:
                assert_same(view, rows(view, moment), oracle.rows(view, history, moment))
            except AssertionError as error:
                raise Broken(f"{view} is not what the rules say: {error}") from error


def _starts(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The starts of attempts that our own rules did not stop, by process."""
    ends = [it for it in entries if it.kind == SUBMISSION_FINISHED]
    refused = {it.attempt_id for it in ends if it.particulars.get("error") == "refused"}
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == SUBMISSION_STARTED and entry.attempt_id not in refused:
            found[entry.process_id or ""].append(entry)
    return found


def lines_of(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The entries as lines of a history, as the oracle takes them."""
    for entry in entries:
        said = {name: it for name, it in entry.particulars.items() if name not in WAS}
        body = None if entry.body is None else entry.body.decode("utf-8")
        line: dict[str, Any] = {
            "kind": entry.kind,
            "occurred_at": instants.canonical(entry.occurred_at),
            "recorded_at": instants.canonical(entry.recorded_at),
            "origin": entry.origin,
        }
        named = {
            "attempt_id": entry.attempt_id,
            "process_id": entry.process_id,
            "seller_id": entry.seller_id,
        }
        if entry.kind in (WEBHOOK, QUARANTINE):
            yield {**line, "kind": WEBHOOK, "body": body}
        elif entry.kind == SUBMISSION_STARTED:
            yield {**line, **named, **said, "body": body}
        elif entry.kind == SUBMISSION_FINISHED:
            yield {**line, **named, "error": None, **said, "status": entry.status, "body": body}
        elif entry.kind == COLLECTION:
            yield {**json.loads(body or "{}"), **named, **line}
        else:
            yield {**line, **named, "body": body}
