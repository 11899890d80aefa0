"""Says of a seller, from the inbox alone, what is open, where they are reached, and why not.

No ledger is asked, so nothing is sent about a process that was finished a moment ago.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pipeline.contract.events import read_event
from pipeline.errors import Unreadable
from pipeline.http.outgoing.mail_server import mailbox
from pipeline.inbox import Inbox
from pipeline.journey.reviews import Review, Reviews
from pipeline.language.catalogue import N_
from pipeline.log.entries import LIVE, Entry, content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, wish_in
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.notices.schedule import Said, kept_back
from pipeline.submit.casefile import CaseFile
from pipeline.submit.ready import unconfirmed
from pipeline.submit.rules import SELLER
from pipeline.texts import names_person

DELETED: Final = "seller.deleted"
MOST_PROCESSES: Final = 50
"""Of a seller, the newest ones, are looked at."""

Refused = Literal[
    "unknown",
    "personal_id",
    "deleted",
    "finished",
    "answered",
    "unanswerable",
    "no_address",
    "unusable_address",
    "other_address",
    "links_enough",
    "busy",
    "came_back",
    "no_template",
    "again",
    "again_failed",
    "again_unknown",
    "not_due",
    "not_me",
    "stop_writing",
    "held",
    "just_sent",
]
REFUSALS: Final[Mapping[str, str]] = {
    "unknown": N_("Nothing in the log names this seller."),
    "personal_id": N_("The seller's id is itself personal, so it goes into no message."),
    "deleted": N_(
        "The platform deleted this seller: nobody can answer any more. Ask the platform"
        " whether the review still stands."
    ),
    "finished": N_("No review of this seller is open."),
    "answered": N_("Everything is answered and confirmed: send the answers to the platform."),
    "unanswerable": N_("The platform's events do not say what is asked."),
    "no_address": N_("The seller's record has no address for this channel."),
    "unusable_address": N_("The address in the seller's record cannot be one."),
    "other_address": N_("The seller's record has another address by now."),
    "links_enough": N_("As many links of a process work as may: revoke some first."),
    "busy": N_("Another notice to this seller is on its way."),
    "came_back": N_("The last message to this address by this channel came back."),
    "no_template": N_("The settings no longer have the template of what is due."),
    "again": N_("This notice was sent before."),
    "again_failed": N_(
        "This list was sent before, and the message to this seller failed: press again to send it."
    ),
    "again_unknown": N_(
        "This list was sent before, and nobody knows yet whether the message to this seller went"
        " out."
    ),
    "not_due": N_("By the schedule nothing is due."),
    "not_me": N_("Whoever has this seller's link said that they are not the seller."),
    "stop_writing": N_("The seller wants no more messages."),
    "held": N_("Messages to this seller are stopped."),
    "just_sent": N_("A message went to this seller within the last hour."),
}
"""Why no message goes to a seller, as people read it."""


@dataclass(frozen=True, slots=True)
class Open:
    """An open review, and how far its answers have come."""

    process_id: str
    review_type: str | None
    state: str
    deadline_at: int | None
    needed: tuple[str, ...]
    missing: tuple[str, ...]
    is_done: bool
    """Every field is answered and confirmed."""
    process_n: int
    opened_at: int = 0
    unanswerable: str | None = None
    now: int = 0
    refused_at: int | None = None
    """When the platform refused fields by name, where these are what is asked for."""

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.state == "EXPIRED" or (
            self.deadline_at is not None and self.deadline_at <= self.now
        )

    @property
    def is_begun(self) -> bool:
        """Whether some of it is answered, and not all."""
        return not self.is_done and len(self.missing) < len(self.needed)


@dataclass(frozen=True, slots=True)
class Seller:
    """A seller as a message needs them."""

    seller_id: str
    is_known: bool = False
    is_deleted: bool = False
    addresses: dict[str, str] = field(default_factory=dict)
    """`email` and `phone` of the latest record, as far as it has them."""
    reviews: tuple[Open, ...] = ()
    """The most urgent first."""
    kept_back: Refused | None = None
    """The seller's wish, or `held`: nobody who does not know of it writes to them."""

    @property
    def to_ask(self) -> tuple[Open, ...]:
        """The reviews about which there is something to ask."""
        return tuple(it for it in self.reviews if not it.is_done and it.unanswerable is None)

    @property
    def refused(self) -> Refused | None:
        """Why nobody may write to them, whatever the channel; None where somebody may."""
        if names_person(self.seller_id):
            return "personal_id"
        if not self.is_known:
            return "unknown"
        if self.is_deleted:
            return "deleted"
        if not self.reviews:
            return "finished"
        if not self.to_ask:
            return "answered" if any(it.is_done for it in self.reviews) else "unanswerable"
        return None


class Sellers:
    """Looks at sellers, from any thread."""

    def __init__(self, inbox: Inbox, reviews: Reviews | None = None) -> None:
        self._inbox = inbox
        self.reviews = reviews or Reviews(inbox)

    def look(self, seller_id: str) -> Seller:
        """The seller now. Raises `InboxUnavailable`."""
        entries = self._inbox.find(seller_id=seller_id)
        named = list(dict.fromkeys(it.process_id for it in entries if it.process_id))
        is_deleted, addresses = of_records(
            entry for entry in entries if entry.kind == WEBHOOK and entry.process_id is None
        )
        found = []
        if not is_deleted:
            found = [self._open(it, seller_id) for it in named[-MOST_PROCESSES:]]
        reviews = [it for it in found if it is not None]
        reviews.sort(key=lambda each: (each.is_late, each.deadline_at or 0, each.process_id))
        return Seller(
            seller_id, bool(entries), is_deleted, addresses, tuple(reviews), _kept_back(entries)
        )

    def _open(self, process_id: str, seller_id: str) -> Open | None:
        """The process, if it is an open review of this seller."""
        review, case = self.reviews.look_whole(process_id)
        process = review.process
        if process is None or not process.has_review_event or process.seller_id != seller_id:
            return None
        return None if review.is_finished else standing_of(process_id, review, case)


def accepted_type(review: Review, case: CaseFile) -> tuple[bool, str | None]:
    """Whether the platform has accepted, in an attempt, what the seller of a finished review
    answered; and the type of the review. Pure."""
    process, at = review.process, review.accepted_at
    if process is None or not review.is_finished or at is None:
        return False, None
    answers = case.answers.values()
    is_theirs = any(it.source == SELLER and it.answered_at <= at for it in answers)
    return is_theirs, process.review_type


def standing_of(process_id: str, review: Review, case: CaseFile) -> Open:
    """How far the answers to an unfinished review have come. Pure."""
    process = review.process
    assert process is not None
    said = case.answers.get("type")
    answered_type = said.value if said is not None and isinstance(said.value, str) else None
    needed = review.to_correct or review.wanted(answered_type or "individual").needed
    since = review.refused_at if review.to_correct else process.opened_at
    missing = tuple(it for it in needed if not _is_answered(case, it, since or 0))
    return Open(
        process_id=process_id,
        review_type=process.review_type,
        state=process.state,
        deadline_at=process.deadline_at,
        needed=tuple(needed),
        missing=missing,
        is_done=bool(needed) and not missing and not unconfirmed(case),
        process_n=case.process_n,
        opened_at=process.opened_at or 0,
        unanswerable=review.unanswerable,
        now=case.now,
        refused_at=review.refused_at if review.to_correct else None,
    )


def _kept_back(entries: Sequence[Entry]) -> Refused | None:
    """What keeps messages back from a seller, by the entries about them."""
    steps = [it for it in entries if it.kind == NOTICE_SCHEDULE]
    if (wish := wish_in(steps)) is not None:
        return wish
    said = (Said(it.kind, it.occurred_at, content_of(it), it.origin == LIVE) for it in steps)
    return "held" if kept_back(said) == "held" else None


def _is_answered(case: CaseFile, path: str, since: int) -> bool:
    """Whether the seller has answered a field since it was asked for."""
    leaves = [
        given for name, given in case.answers.items() if name == path or name.startswith(f"{path}.")
    ]
    return any(it.source == SELLER and it.answered_at >= since for it in leaves)


def of_records(events: Iterable[Entry]) -> tuple[bool, dict[str, str]]:
    """Whether the seller was deleted, and their addresses: each from the latest event that carries
    it, a person's before a business's."""
    is_deleted, latest = False, dict[str, tuple[int, int, str]]()
    for entry in events:
        if entry.received is None:
            continue
        try:
            event = read_event(entry.received)
        except Unreadable:
            continue
        is_deleted |= event.type == DELETED
        if event.seller is None:
            continue
        at = entry.occurred_at if event.created_at is None else event.created_at
        for name in ("email", "business_email", "phone_number", "business_phone"):
            value = event.seller.fields.get(name)
            if isinstance(value, str) and value.strip():
                latest[name] = max(latest.get(name, (0, 0, "")), (at, entry.seq, value.strip()))
    found = {name: it[2] for name, it in latest.items()}
    email = found.get("email") or found.get("business_email")
    phone = found.get("phone_number") or found.get("business_phone")
    named = {"email": email, "phone": phone}
    return is_deleted, {name: it for name, it in named.items() if it is not None}


def is_mailbox(address: str) -> bool:
    """Whether a mail server would take an address."""
    try:
        return len(mailbox(address)) <= 254
    except ValueError:
        return False
