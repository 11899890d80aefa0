"""How sellers were notified, and who has to act next (docs/rules.md#seller-notices)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from . import schedules
from .model import Delivery, Entry, Log, notice_order
from .processes import OPEN, RANK, Process, processes
from .reading import HOUR, whole_seconds
from .sellers import amount, record, seller_events

BY_HAND = ("phone", "letter")
"""What nobody but a person can record, and so a person may take back."""

MAKES_CONTACT = ("accepted", "delivered", "opened")
WITHDRAWS = ("bounced", "failed")
RESULTS = (*MAKES_CONTACT, *WITHDRAWS, "uncertain")
SELLER_STEPS = ("opened", "answered", "confirmed")

PATIENCE = 72 * HOUR
EVEN_WHILE_AWAITING = 72 * HOUR


@dataclass(frozen=True)
class Notice:
    """A message or call about one process, and all that was reported of it by `as_of`."""

    entry: Entry
    results: list[Entry]
    retractions: list[Entry]

    @property
    def channel(self) -> str:
        return self.entry.line["channel"]

    @property
    def is_by_hand(self) -> bool:
        return self.channel in BY_HAND

    def first(self, result: str) -> datetime | None:
        return earliest(entry for entry in self.results if entry.line["result"] == result)

    @property
    def retracted_at(self) -> datetime | None:
        """A retraction counts for nothing but for a call or a letter."""
        return earliest(self.retractions) if self.is_by_hand else None

    @property
    def made_by(self) -> Entry | None:
        """What makes it a contact: the call or the posting itself, else its first good result."""
        if self.channel == "letter":
            return self.entry
        if self.channel == "phone":
            return self.entry if self.entry.line.get("outcome") == "reached" else None
        good = [entry for entry in self.results if entry.line["result"] in MAKES_CONTACT]
        return min(good, key=notice_order, default=None)

    @property
    def withdrawn_at(self) -> datetime | None:
        ends = [self.retracted_at, *(self.first(result) for result in WITHDRAWS)]
        return min((at for at in ends if at is not None), default=None)


@dataclass(frozen=True)
class Contact:
    """When a process's seller was contacted, and since when that does not count, if so."""

    at: datetime
    channel: str
    message_id: str | None
    process_id: str
    by: str | None
    entry: Entry
    withdrawn_at: datetime | None = None

    @property
    def stands(self) -> bool:
        return self.withdrawn_at is None

    @property
    def order(self) -> tuple:
        """Among contacts of one instant; a step, which has no message, comes last."""
        return (self.channel, self.message_id is None, self.message_id or "", self.process_id)


def earliest(entries: Iterable[Entry]) -> datetime | None:
    return min((entry.occurred_at for entry in entries), default=None)


def notices(log: Log) -> list[Notice]:
    """In order of message and process. What names no process is about each one of its message."""
    found = []
    for entry in log.notices:
        results, retractions = (
            [it for it in reported if is_about(it, entry)]
            for reported in (log.notice_results, log.retractions)
        )
        found.append(Notice(entry, results, retractions))
    return sorted(found, key=lambda notice: place(notice.entry))


def place(entry: Entry) -> tuple:
    return entry.line["message_id"], entry.line["process_id"]


def is_about(reported: Entry, notice: Entry) -> bool:
    same_process = reported.line.get("process_id") in (None, notice.line["process_id"])
    return same_process and reported.line["message_id"] == notice.line["message_id"]


def contacts(log: Log) -> dict[str, list[Contact]]:
    """Per process, those by messages and those by steps of a collection journey."""
    found: dict[str, list[Contact]] = {}
    for contact in [*by_notices(log), *by_steps(log)]:
        found.setdefault(contact.process_id, []).append(contact)
    return found


def by_notices(log: Log) -> list[Contact]:
    return [
        Contact(
            at=notice.made_by.occurred_at,
            channel=notice.channel,
            message_id=notice.entry.line["message_id"],
            process_id=notice.entry.line["process_id"],
            by=notice.entry.line.get("actor"),
            entry=notice.made_by,
            withdrawn_at=notice.withdrawn_at,
        )
        for notice in notices(log)
        if notice.made_by is not None
    ]


def by_steps(log: Log) -> list[Contact]:
    """The seller's own steps, and invitations of other systems: a link of ours has an end."""
    return [
        Contact(
            at=entry.occurred_at,
            channel=entry.line["channel"],
            message_id=None,
            process_id=entry.line["process_id"],
            by=None,
            entry=entry,
        )
        for entry in log.collections
        if is_contact(entry)
    ]


def is_contact(step: Entry) -> bool:
    if step.line.get("step") == "invited":
        return step.line.get("expires_at") is None
    return step.line.get("step") in SELLER_STEPS and step.line.get("source") == "seller"


def last_standing(found: Iterable[Contact]) -> Contact | None:
    standing = [contact for contact in found if contact.stands]
    latest = max((contact.at for contact in standing), default=None)
    return min(
        (contact for contact in standing if contact.at == latest),
        key=lambda contact: contact.order,
        default=None,
    )


def seller_notices(log: Log) -> list[dict]:
    """One row per message and process."""
    sellers = {process.process_id: process.seller_id for process in processes(log)}
    standing = {
        (contact.message_id, contact.process_id): contact.at
        for contact in by_notices(log)
        if contact.stands
    }
    rows = []
    for notice in notices(log):
        said = notice.entry.line
        rows.append(
            {
                "message_id": said["message_id"],
                "process_id": said["process_id"],
                "seller_id": sellers.get(said["process_id"]),
                "channel": notice.channel,
                "rung": said.get("rung"),
                "template": said.get("template"),
                "language": said.get("language"),
                "actor": said.get("actor"),
                "outcome": said.get("outcome"),
                "promised_for": said.get("promised_for"),
                "note": said.get("note") if notice.is_by_hand else None,
                "sent_at": notice.entry.occurred_at,
                **{f"{result}_at": notice.first(result) for result in RESULTS},
                "retracted_at": notice.retracted_at,
                "contacted_at": standing.get(place(notice.entry)),
            }
        )
    return rows


def seller_watchlist(log: Log) -> list[dict]:
    """One row per seller with an open review: EXPIRED, OVERDUE, PENDING, then by deadline."""
    of_seller: dict[str, list[Process]] = {}
    for process in processes(log):
        if process.state in OPEN and process.seller_id is not None:
            of_seller.setdefault(process.seller_id, []).append(process)
    all_contacts = contacts(log)
    events_of = seller_events(log)
    rows = [
        {
            **row(log, all_contacts, seller_id, of_seller[seller_id]),
            **stake(events_of.get(seller_id, [])),
            "expiry_disabled_at": disabled_at(log, seller_id, events_of.get(seller_id, [])),
        }
        for seller_id in of_seller
    ]
    return sorted(
        rows,
        key=lambda row: (-RANK[row["worst_state"]], row["next_deadline_at"], row["seller_id"]),
    )


def stake(events: list[Delivery]) -> dict:
    """The balance by the latest event that carries one, and when that event was created."""
    found = [(event, amount((record(event) or {}).get("current_balance"))) for event in events]
    event, balance = next((it for it in reversed(found) if it[1] is not None), (None, None))
    return {"current_balance": balance, "balance_at": event.created_at if event else None}


def disabled_at(log: Log, seller_id: str, events: list[Delivery]) -> datetime | None:
    """When the seller was last disabled between the deadline of a review and its finish."""
    of_it = [process for process in processes(log) if process.seller_id == seller_id]
    return max(
        (
            event.created_at
            for event in events
            for process in of_it
            if event.event_type == "seller.disabled"
            and process.deadline_at is not None
            and process.deadline_at <= event.created_at
            and (process.finished_at is None or event.created_at < process.finished_at)
        ),
        default=None,
    )


def row(
    log: Log, all_contacts: dict[str, list[Contact]], seller_id: str, of_it: list[Process]
) -> dict:
    states = [process.state for process in of_it]
    next_deadline_at = min(process.deadline_at for process in of_it)
    savable = [process.deadline_at for process in of_it if process.state != "EXPIRED"]
    last = last_standing(
        contact for process in of_it for contact in all_contacts.get(process.process_id, [])
    )
    assigned = {log.assignees.get(process.process_id) for process in of_it}
    return {
        "seller_id": seller_id,
        "worst_state": max(states, key=RANK.__getitem__),
        "next_deadline_at": next_deadline_at,
        "seconds_to_deadline": whole_seconds(next_deadline_at - log.as_of),
        "next_savable_deadline_at": min(savable, default=None),
        "pending": states.count("PENDING"),
        "overdue": states.count("OVERDUE"),
        "expired": states.count("EXPIRED"),
        "last_contact_at": last.at if last else None,
        "last_contact_channel": last.channel if last else None,
        "last_contact_by": last.by if last else None,
        "assignees": sorted(assigned - {None}),
        "unassigned": sum(log.assignees.get(it.process_id) is None for it in of_it),
        "review_types": sorted({it.review_type for it in of_it} - {None}),
    }


def asking(log: Log) -> dict[str, str]:
    """Per unfinished process, what is next where only the seller is left to be asked."""
    all_contacts = contacts(log)
    reminded = {entry.line.get("process_id") for entry in log.of_kind("reminded")}
    found = {}
    for process in processes(log):
        if process.state == "FINISHED":
            continue
        last = last_standing(all_contacts.get(process.process_id, []))
        if last is not None and log.as_of - last.at < PATIENCE:
            found[process.process_id] = "await_seller"
        elif last is not None or process.process_id in reminded:
            found[process.process_id] = "remind_seller"
        else:
            found[process.process_id] = "start_collection"
    return found


def savable_first(process: Process) -> tuple:
    """Its place among unfinished processes: what is ahead, the soonest first; then what has passed,
    the latest first; then what has no deadline."""
    if process.deadline_at is None:
        return 2, timedelta(0), process.process_id
    left = process.deadline_at - process.as_of
    return (0 if left > timedelta(0) else 1), abs(left), process.process_id


def queue(log: Log, process: Process, action: str) -> str:
    """Where an unfinished process waits, by its next action."""
    left = None if process.deadline_at is None else process.deadline_at - process.as_of
    is_short = left is not None and timedelta(0) < left < EVEN_WHILE_AWAITING
    is_ours = not action.startswith("await_")
    if action in ("start_collection", "remind_seller"):
        last = last_standing(contacts(log).get(process.process_id, []))
        is_ours = not schedules.asks_by_itself(
            log, process, called_at(log, process.process_id), last and last.at
        )
        is_short = False
    if is_ours or (is_short and action != "await_answer"):
        return "act_now"
    if process.state == "EXPIRED":
        return "expired"
    if action in ("await_answer", "await_platform", "await_retry"):
        return "waiting_for_platform"
    return "waiting_for_seller"


def called_at(log: Log, process_id: str) -> datetime | None:
    """When the latest call was made that nobody took back, whatever came of it."""
    calls = [
        notice.entry.occurred_at
        for notice in notices(log)
        if notice.channel == "phone"
        and notice.retracted_at is None
        and notice.entry.line["process_id"] == process_id
    ]
    return max(calls, default=None)


def reported_processes(log: Log) -> list[tuple[int, str | None]]:
    """On which processes' timelines a result or retraction stands: of one that names none, each of
    its message, as far as notices say so by now; else on none."""
    found: list[tuple[int, str | None]] = []
    for reported in [*log.notice_results, *log.retractions]:
        if named := reported.line.get("process_id"):
            found.append((reported.seq, named))
            continue
        about = {it.line["process_id"] for it in log.notices if is_about(reported, it)}
        found += [(reported.seq, process) for process in sorted(about) or [None]]
    return sorted(found, key=lambda pair: (pair[0], pair[1] or ""))
