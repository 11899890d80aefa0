"""Records what a person does about an alert: they see to it, put it off, or take that back.

The log has the person who acknowledges it by name, and no one else hears of it any more.
"""

from typing import Literal

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Subject
from pipeline.alert_rules import LONGEST_SNOOZE_DAYS
from pipeline.errors import CallerError
from pipeline.inbox import Inbox
from pipeline.log.entries import Draft

_RAISED = "select process_id, seller_id, occurred_at from entries where ingest_key = $1"
_RECORDED = "select seq, occurred_at from entries where ingest_key = $1"


def acknowledge(
    inbox: Inbox,
    alert: str,
    *,
    actor: str | None,
    recorded_by: str,
    reason: str | None = None,
    is_once: bool = False,
) -> int:
    """Records that somebody sees to an alert; when, in microseconds. `is_once`: the same person's
    second time adds nothing, unless the first was dated by a clock that was ahead, and counts for
    nothing yet. Raises `CallerError` without a name, or where there is no such alert."""
    subject = subject_of(inbox, alert)
    draft = entries.acknowledged(
        alert, subject, actor=actor, recorded_by=recorded_by, reason=reason
    )
    return _record(inbox, draft, (alert, actor or "") if is_once else ())


def snooze(
    inbox: Inbox,
    alert: str,
    *,
    until: int,
    reason: str,
    actor: str | None,
    recorded_by: str,
    is_once: bool = False,
) -> int:
    """Records that somebody put an alert off until an instant; when. Both are in microseconds.
    `is_once`: the same person's second time until then adds nothing, as for `acknowledge`. Raises
    `CallerError` without a name, a reason or a later instant, where there is no such alert, or
    where it was raised too long before then."""
    subject, raised_at = _raised(inbox, alert)
    latest = raised_at + LONGEST_SNOOZE_DAYS * instants.DAY
    if until > latest:
        raise CallerError(
            "The alert was not snoozed",
            f"it can be put off for {LONGEST_SNOOZE_DAYS} days from when it was raised, which is"
            f" until {instants.readable(latest)}",
            "name an earlier instant, or acknowledge it if somebody sees to it",
        )
    draft = entries.snoozed(
        alert,
        subject,
        now=inbox.clock(),
        until=until,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
    )
    return _record(inbox, draft, (alert, actor or "", str(until)) if is_once else ())


def take_back(
    inbox: Inbox,
    alert: str,
    of: Literal["acknowledged", "snoozed"],
    at: int,
    *,
    actor: str,
    recorded_by: str,
    reason: str,
) -> None:
    """Takes back that step which was taken at an instant, in microseconds; what others did stands.
    Raises `CallerError` without a name, or where there is no such alert."""
    draft = entries.taken_back(
        *(alert, subject_of(inbox, alert), of, at),
        actor=actor,
        recorded_by=recorded_by,
        reason=reason,
    )
    _record(inbox, draft, ())


def _record(inbox: Inbox, draft: Draft, once_by: tuple[str, ...]) -> int:
    """Appends it; when it happened. `once_by`: what makes another press the same one; empty where
    none is."""
    if not once_by:
        return _happened(inbox, draft)
    once = entries.once(draft, *once_by)
    [receipt] = inbox.append([once])
    if receipt.entry is not None:
        return receipt.entry.occurred_at
    [(seq, at)] = inbox.query(_RECORDED, once.ingest_key)
    if at > inbox.clock() + instants.ALLOWED_AHEAD:
        return _happened(inbox, entries.once(draft, *once_by, f"after {seq}"))
    return int(at)


def _happened(inbox: Inbox, draft: Draft) -> int:
    [receipt] = inbox.append([draft])
    if receipt.entry is not None:
        return receipt.entry.occurred_at
    [(_, at)] = inbox.query(_RECORDED, draft.ingest_key)
    return int(at)


def subject_of(inbox: Inbox, alert: str) -> Subject:
    """What an alert is about. Raises `CallerError` for one that was never raised."""
    return _raised(inbox, alert)[0]


def _raised(inbox: Inbox, alert: str) -> tuple[Subject, int]:
    """What an alert is about, and when it was raised."""
    found = inbox.query(_RAISED, entries.key_of_raised(alert))
    if not found:
        raise CallerError(
            f"There is no alert {alert!r} that was raised",
            "nobody was told of it, or its name is another",
            "`prazo alerts` lists the names of those that are due",
        )
    process_id, seller_id, raised_at = found[0]
    return Subject(process_id, seller_id), raised_at
