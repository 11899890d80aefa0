"""Findings about how sellers were notified of their reviews."""

from collections.abc import Iterator
from datetime import datetime

from tests.support.oracle.model import Log
from tests.support.oracle.notices import Contact, by_notices, contacts
from tests.support.oracle.processes import Process, processes
from tests.support.oracle.reading import DAY

from .finding import BREACH, RISK, finding, process_of
from .processes import reached


def never_notified(log: Log) -> Iterator[dict]:
    """EXPIRED or finished late, and no contact stands from the first receipt to the end."""
    for process, known_at, found_contacts in judged(log):
        if process.state != "EXPIRED" and not process.finished_late:
            continue
        end, seq = reached(process, "EXPIRED", process.deadline_at)
        at = without_contact(found_contacts, known_at, end)
        if known_at < end and at is not None:
            shown_by = process.finish.entry_seq if process.finish else seq
            yield finding("never_notified", BREACH, at, shown_by, process)


def notified_late(log: Log) -> Iterator[dict]:
    """Half of the time to the first deadline has passed, and no contact stands in it."""
    for process, known_at, found_contacts in judged(log):
        deadline_at = first_deadline(process)
        if deadline_at <= known_at:
            continue
        half = known_at + (deadline_at - known_at) // 2
        was_finished = process.finish is not None and process.finished_at < half
        at = without_contact(found_contacts, known_at, half)
        if log.as_of >= half and not was_finished and at is not None:
            yield finding("notified_late", RISK, at, first_received(process)[1], process)


def judged(log: Log) -> Iterator[tuple[Process, datetime, list[Contact]]]:
    """Processes opened since the log's first notice: before it, the log says nothing of sellers."""
    sent = [entry.occurred_at for entry in log.of_kind("seller_notice")]
    if not sent:
        return
    all_contacts = contacts(log)
    for process in processes(log):
        if process.events and process.opened_at >= min(sent):
            known_at = first_received(process)[0]
            yield process, known_at, all_contacts.get(process.process_id, [])


def first_received(process: Process) -> tuple[datetime, int]:
    return min((event.delivery.occurred_at, event.seq) for event in process.events)


def first_deadline(process: Process) -> datetime:
    carried = [event.deadline_at for event in process.events if event.deadline_at is not None]
    return carried[0] if carried else process.opened_at + process.traits.total


def without_contact(found: list[Contact], start: datetime, end: datetime) -> datetime | None:
    """When a span, both ends included, was over without a contact that stands: at its end, or at
    the last withdrawal of one in it; None where one stands."""
    within = [contact for contact in found if start <= contact.at <= end]
    if any(contact.stands for contact in within):
        return None
    return max([end, *(contact.withdrawn_at for contact in within)])


def contact_recorded_late(log: Log) -> Iterator[dict]:
    """One row per message and process whose contact was recorded over 24 h after it happened."""
    for contact in by_notices(log):
        entry = contact.entry
        is_late = entry.recorded_at - entry.occurred_at > DAY
        if contact.stands and entry.origin == "live" and is_late:
            process = process_of(log, contact.process_id)
            row = finding(
                "contact_recorded_late",
                RISK,
                entry.recorded_at,
                entry.seq,
                process,
                contact.channel,
            )
            yield {**row, "process_id": contact.process_id}
