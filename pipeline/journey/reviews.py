"""Says what a review asks for now, for the seller who answers: from the log, read once a change.

A case file takes tens of milliseconds, and a seller asks for twenty screens. So what it said is
kept, with each link from its making on, for as long as the process gets no entries but collections,
which change nothing of what is asked, and its seller no event that may say what kind they are.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from pipeline.contract.body import parse_json
from pipeline.errors import Unreadable
from pipeline.inbox import Inbox
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.submit.casefile import CaseFile, CaseFiles
from pipeline.submit.demand import Process, Wanted, asks_for_nothing, known_type, wanted

MAX_KEPT: Final = 2000
MAX_FIELDS: Final = 120
"""That one journey asks for."""
_SINCE: Final = f"""
    select 1 from entries where process_id = $1 and process_n > $2 and kind <> '{COLLECTION}'
    limit 1"""
_SAID_SINCE: Final = f"""
    select 1 from entries
    where seller_id = $1 and seq > $2 and kind = '{WEBHOOK}' and process_id is null limit 1"""
_NEWEST: Final = "select coalesce(max(seq), -1) from entries"


@dataclass(frozen=True, slots=True)
class Review:
    """A process as its seller's page needs it, after `process_n` entries."""

    process: Process | None  # None: nothing names it
    recorded_type: str | None  # of the seller's latest record
    process_n: int
    to_correct: tuple[str, ...] = ()
    """Fields that the platform refused by name, in the last attempt."""
    refused_at: int | None = None
    """When it found that attempt's payload invalid."""
    accepted_at: int | None = None
    """When the last attempt began that the platform accepted."""
    seq: int = -1
    """Up to which the log had been read."""

    @classmethod
    def read(cls, text: str) -> Self:
        """A review as `text` wrote it."""
        said = json.loads(text)
        process = said["process"]
        if process is not None:
            process["requested_fields"] = tuple(process["requested_fields"])
            process = Process(**process)
        return cls(**{**said, "process": process, "to_correct": tuple(said["to_correct"])})

    @property
    def text(self) -> str:
        """All of it as JSON."""
        return json.dumps(asdict(self))

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to be answered."""
        return self.process is not None and self.process.state == "FINISHED"

    @property
    def seller_type(self) -> str | None:
        """What the log knows of it."""
        return known_type(self.process, self.recorded_type)

    def wanted(self, answered_type: str | None = None) -> Wanted:
        """The fields that are asked. `answered_type`: what the seller said of themselves, where
        the log does not know it."""
        seller_type = self.seller_type or answered_type
        return wanted(self.process, seller_type)

    def asks_any_of(self, paths: Sequence[str] | None) -> bool:
        """Whether a link for these fields has a question left: the platform may have asked for
        others since. None: for all that is asked."""
        asked = self.wanted("business")
        return paths is None or not {*asked.needed, *asked.optional}.isdisjoint(paths)

    @property
    def unanswerable(self) -> str | None:
        """Why no seller can answer it; None where one can."""
        process = self.process
        if process is None or not process.has_review_event:
            return "no review event names the process, so nobody knows what it asks for"
        if process.seller_id is None:
            return "nothing says which seller it is about"
        if process.state == "FINISHED":
            return f"{process.process_id} is FINISHED"
        if asks_for_nothing(process):
            return "the platform's event asks for nothing"
        asked = self.wanted("business")
        if not asked.needed and not asked.optional and self.seller_type is not None:
            return "the platform's event asks for nothing but what its own records say"
        if len(asked.needed) + len(asked.optional) > MAX_FIELDS:
            return f"the platform asks for more than {MAX_FIELDS} fields"
        return None


class Reviews:
    """Looks at processes, from any thread."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._files = CaseFiles(inbox)
        self._kept: OrderedDict[str, Review] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, process_id: str, known: str | None = None) -> Review:
        """The process now, but for what time alone changes. `known`: what it was once, as
        `Review.text` wrote it. Raises `InboxUnavailable`."""
        with self._lock:
            kept = self._kept.get(process_id)
        if kept is None and known is not None:
            kept = Review.read(known)
        if kept is not None and self._still_holds(process_id, kept):
            return kept
        return self.look_whole(process_id)[0]

    def look_whole(self, process_id: str) -> tuple[Review, CaseFile]:
        """The process now, with all that its entries say. Raises `InboxUnavailable`."""
        [(newest,)] = self._inbox.query(_NEWEST)
        case = self._files.open(process_id)
        review = replace(_judged(self._inbox, case), seq=newest)
        with self._lock:
            self._kept[process_id] = review
            self._kept.move_to_end(process_id)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return review, case

    def _still_holds(self, process_id: str, kept: Review) -> bool:
        if self._inbox.query(_SINCE, process_id, kept.process_n):
            return False
        seller_id = None if kept.process is None else kept.process.seller_id
        return seller_id is None or not self._inbox.query(_SAID_SINCE, seller_id, kept.seq)


def _judged(inbox: Inbox, case: CaseFile) -> Review:
    """The process, with the asked fields that the platform's answer to the last attempt names,
    where it found the payload invalid. The contract does not show that answer: a field counts as
    named where its path is a text or a key of it."""
    last = next((it for it in case.attempts if it.is_last), None)
    if last is None or last.outcome != "invalid_payload":
        accepted = (it.ordered_at for it in case.attempts if it.outcome == "accepted")
        accepted_at = max(accepted, default=None)
        return Review(case.process, case.seller_type, case.process_n, accepted_at=accepted_at)
    ends = inbox.find(attempt_id=last.attempt_id, kind=SUBMISSION_FINISHED)
    try:
        said = parse_json(next((it.received for it in ends if it.received), b"null"))
    except Unreadable:
        return Review(case.process, case.seller_type, case.process_n, refused_at=last.outcome_at)
    named = set(_texts(said))
    seller_type = known_type(case.process, case.seller_type) or _answered_type(case)
    asked = wanted(case.process, seller_type)
    to_correct = tuple(path for path in (*asked.needed, *asked.optional) if path in named)
    return Review(case.process, case.seller_type, case.process_n, to_correct, last.outcome_at)


def _answered_type(case: CaseFile) -> str | None:
    answer = case.answers.get("type")
    return answer.value if answer is not None and isinstance(answer.value, str) else None


def _texts(value: Any) -> list[str]:
    """Every text and key in a JSON value, however deep."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                found.append(text)
            case list() as items:
                waiting.extend(items)
            case dict() as members:
                found.extend(members)
                waiting.extend(members.values())
    return found
