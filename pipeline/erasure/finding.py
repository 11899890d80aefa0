"""Finds what the log holds of a seller, and why it may not be erased yet. It asks the inbox alone.

What people of the marketplace did stays, with their names and reasons: an audit asks for it. What a
note says of the seller goes, and so does what somebody supplied to a delivery, and by what they
looked the seller up. A reason goes where it quotes the person.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import instants
from pipeline.erasure.quoting import SEQS_PER_QUESTION, Person, quoting, some_at_a_time
from pipeline.errors import CallerError
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import owners
from pipeline.inbox.erased import erased_in
from pipeline.ledger.facts import Keys, facts_of
from pipeline.ledger.facts.rows import Artifact, SellerEvent
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Entry, content_of
from pipeline.log.kinds import kinds
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.export import EXPORT
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.submit.casefile import CaseFiles
from pipeline.texts import some_of

ERASED_KINDS: Final = frozenset(it for it, kind in kinds().items() if kind.is_about_seller)
"""Whose bytes say something of a seller."""

_DELETED: Final = "seller.deleted"
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_OF_NOBODY: Final = f"""
    select {{columns}} from entries
    where seq > $1 and seq <= $2
        and (
            kind = '{QUARANTINE}'
            or (kind = '{WEBHOOK}' and seller_id is null and process_id is null)
        )
    order by seq
    limit $3"""
ENTRIES_PER_READ: Final = 64


@dataclass(frozen=True, slots=True)
class Found:
    """What the log holds of a seller."""

    seller_id: str
    entries: Mapping[str | None, Sequence[Entry]]
    """By process, those whose bytes are to be erased; None: of no process."""
    elsewhere: Mapping[str | None, Sequence[Entry]]
    """Entries of people's work with others that quote the seller, by process; likewise to be
    erased."""
    with_why: frozenset[int]
    """Of entries of people's work, those whose reasons stay."""
    artifacts: frozenset[str]
    """Digests of all that its collections name, erased or not, and of all that was stored for it
    though its entry never came."""
    exports: Sequence[int]
    """Entries of the packages that were made of the seller or one of its processes."""

    @property
    def kinds(self) -> dict[str, int]:
        """How many entries of each kind are to be erased."""
        return dict(Counter(it.kind for some in self._all for it in some))

    @property
    def is_none(self) -> bool:
        """Whether nothing is to be erased."""
        return not any(self._all)

    @property
    def _all(self) -> list[Sequence[Entry]]:
        return [*self.entries.values(), *self.elsewhere.values()]


def find(inbox: Inbox, keys: Keys, seller_id: str) -> Found:
    """Everything of a seller. Raises `CallerError` where the log knows none, where its answers are
    still needed: a process of it is not finished, and the platform has not deleted it; and where an
    entry is not as it was recorded, since nothing could tell that afterwards."""
    named = inbox.find(seller_id=seller_id)
    stored = owners.of_seller(inbox, seller_id)
    if not (named or stored):
        raise CallerError(
            "Nothing was erased",
            f"no entry names the seller {seller_id!r}, nor do artifacts",
            "give the id as the platform spells it: `prazo show seller_state`",
        )
    processes = _processes(named)
    of_seller = _of_seller(inbox, seller_id, named)
    by_seq = {it.seq: it for it in [*of_seller, *_unplaced(inbox, seller_id, of_seller)]}
    _require_as_recorded(inbox, by_seq.values())
    _require_done(inbox, keys, of_seller, processes)
    entries: dict[str | None, list[Entry]] = defaultdict(list)
    for _, entry in sorted(by_seq.items()):
        if _is_about_seller(entry):
            entries[entry.process_id].append(entry)
    person = person_of(by_seq.values(), keys)
    elsewhere: dict[str | None, list[Entry]] = defaultdict(list)
    quoted = [*quoting(inbox, person, [seller_id, *processes])]
    for entry in (it.entry for it in quoted):
        if entry.seq in by_seq:
            if not _is_about_seller(entry):
                entries[entry.process_id].append(entry)
        else:
            elsewhere[_process_of(inbox, entry)].append(entry)
    return Found(
        seller_id,
        entries,
        elsewhere,
        frozenset(it.entry.seq for it in quoted if it.says_why),
        frozenset(artifacts_of(of_seller, keys)) | stored,
        [it.seq for it in of_seller if it.kind == EXPORT],
    )


def person_of(entries: Iterable[Entry], keys: Keys) -> Person:
    """What these entries, some of which may be erased already, say of a person."""
    person = Person(keys)
    for entry in entries:
        if entry.kind in (WEBHOOK, COLLECTION):
            person.know(facts_of(entry, keys))
    return person


def _process_of(inbox: Inbox, entry: Entry) -> str | None:
    """The process in whose stream the erasure of an entry stands: no other seller is forgotten."""
    if entry.process_id is None and entry.seller_id is not None:
        return next(iter(_processes(inbox.find(seller_id=entry.seller_id))), None)
    return entry.process_id


def recorded_again(inbox: Inbox, seller_id: str, until: int) -> list[int]:
    """Entries of a seller that an inbox had lost and has again, with the bytes that came, though
    they had come before `until`, when the seller was forgotten."""
    of_seller = _of_seller(inbox, seller_id, inbox.find(seller_id=seller_id))
    return [
        entry.seq
        for entry in [*of_seller, *_unplaced(inbox, seller_id, of_seller)]
        if _is_about_seller(entry)
        and (came := instants.parse(entry.particulars.get("was_recorded_at"))) is not None
        and came <= until
    ]


def _is_about_seller(entry: Entry) -> bool:
    """Whether its bytes are there and say something of the seller."""
    if entry.received is None:
        return False
    of_seller = kinds()[entry.kind].of_seller
    return entry.kind in ERASED_KINDS or not of_seller.isdisjoint(content_of(entry))


def _processes(named: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(it.process_id for it in named if it.process_id))


def _of_seller(inbox: Inbox, seller_id: str, named: Sequence[Entry]) -> list[Entry]:
    """What names the seller, and what its processes have of it."""
    by_seq = {it.seq: it for it in named}
    for process_id in _processes(named):
        by_seq |= {it.seq: it for it in _in_process(inbox, process_id, seller_id)}
    return [by_seq[seq] for seq in sorted(by_seq)]


def _in_process(inbox: Inbox, process_id: str, seller_id: str) -> Iterator[Entry]:
    """What a process has of the seller, and what names nobody. The end of an attempt that names
    nobody is whose its start is: events may put one process to two sellers."""
    entries = inbox.find(process_id=process_id)
    senders = {it.attempt_id: it.seller_id for it in entries if it.kind == SUBMISSION_STARTED}
    for entry in entries:
        whose = entry.seller_id
        if entry.kind == SUBMISSION_FINISHED:
            whose = whose or senders.get(entry.attempt_id)
        if whose in (None, seller_id):
            yield entry


def _require_as_recorded(inbox: Inbox, entries: Iterable[Entry]) -> None:
    """What stays of changed bytes would be fixed as if it had been recorded, and the salt that
    tells would be gone."""
    erased = erased_in(inbox)
    changed = sorted(it.seq for it in entries if uncommitted(it, inbox.identity, erased))
    if changed:
        raise CallerError(
            "The seller was not forgotten",
            f"entries {some_of(changed)} of the seller are not as they were recorded",
            "put the inbox right first: `prazo restore --from-ledger`, or a backup",
        )


def _require_done(
    inbox: Inbox, keys: Keys, of_seller: Sequence[Entry], processes: Sequence[str]
) -> None:
    """Where the platform deleted the seller, nobody can be asked for the rest any more."""
    facts = (fact for it in of_seller if it.kind == WEBHOOK for fact in facts_of(it, keys))
    if any(isinstance(it, SellerEvent) and it.event_type == _DELETED for it in facts):
        return
    files = CaseFiles(inbox)
    cases = {process_id: files.open(process_id).process for process_id in processes}
    waiting = [
        f"{process_id} ({case.state})"
        for process_id, case in cases.items()
        if case is not None and case.has_review_event and case.state != "FINISHED"
    ]
    if waiting:
        raise CallerError(
            "The seller was not forgotten",
            f"not finished: {', '.join(waiting)}",
            "the platform still asks for this seller's data: finish these first, or have the"
            " platform delete the seller",
        )


def _unplaced(inbox: Inbox, seller_id: str, of_seller: Sequence[Entry]) -> Iterator[Entry]:
    """Deliveries of which the log does not say whose they are: those in quarantine whose bytes were
    read since, or were completed by hand, as an entry of the seller; and those that name the
    seller's id somewhere."""
    read_as = {it.particulars.get("replay_of") for it in of_seller if it.kind == WEBHOOK}
    # Few at once: a body may have a megabyte.
    of_nobody = some_at_a_time(inbox, _OF_NOBODY, seqs=SEQS_PER_QUESTION, entries=ENTRIES_PER_READ)
    for entry in of_nobody:
        if entry.seq in read_as or _names(entry.received or b"", seller_id):
            yield entry


def _names(body: bytes, seller_id: str) -> bool:
    """Whether a delivery that may break off anywhere has the id as a text, whatever in it is
    escaped, or as the whole number under a name that ends in `id`: it is read as its digits."""
    text = _ESCAPED.sub(_unescaped, body.decode("utf-8", "replace"))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if f'"{seller_id}"' in text:
        return True
    return seller_id.isdecimal() and bool(
        re.search(rf'id"\s*:\s*{seller_id}(?![\w.+-])', text, re.ASCII)
    )


def _unescaped(found: re.Match[str]) -> str:
    code, other = found.groups()
    return chr(int(code, 16)) if code else str(other)


def artifacts_of(entries: Iterable[Entry], keys: Keys) -> Iterator[str]:
    """Digests of all artifacts that collections among these name, erased or not."""
    for entry in entries:
        if entry.kind == COLLECTION:
            for fact in facts_of(entry, keys):
                if isinstance(fact, Artifact) and fact.sha256 is not None:
                    yield fact.sha256
