"""Records what a person does about an alert: they see to it, or put it off.

The log has the person who acknowledges it by name, and no one else hears of it any more.
"""

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Subject
from pipeline.alert_rules import LONGEST_SNOOZE_DAYS
from pipeline.errors import CallerError
from pipeline.inbox import Inbox, Outcome
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
) -> None:
    """Records that somebody sees to an alert. `is_once`: the same person's second time adds
    nothing, unless the first was dated by a clock that was ahead, and counts for nothing yet.
    Raises `CallerError` without a name, or where there is no such alert."""
    subject = subject_of(inbox, alert)
    draft = entries.acknowledged(
        alert, subject, actor=actor, recorded_by=recorded_by, reason=reason
    )
    _record(inbox, draft, (alert, actor or "") if is_once else ())


def snooze(
    inbox: Inbox,
    alert: str,
    *,
    until: int,
    reason: str,
    actor: str | None,
    recorded_by: str,
    is_once: bool = False,
) -> None:
    """Records that somebody put an alert off until an instant, in microseconds. `is_once`: the same
    person's second time until then adds nothing, as for `acknowledge`. Raises `CallerError` without
    a name, a reason or a later instant, where there is no such alert, or where it was raised too
    long before then."""
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
    _record(inbox, draft, (alert, actor or "", str(until)) if is_once else ())


def _record(inbox: Inbox, draft: Draft, once_by: tuple[str, ...]) -> None:
    """Appends it. `once_by`: what makes another press the same one; empty where none is."""
    if not once_by:
        inbox.append([draft])
        return
    once = entries.once(draft, *once_by)
    [receipt] = inbox.append([once])
    if receipt.outcome is Outcome.DUPLICATE:
        [(seq, at)] = inbox.query(_RECORDED, once.ingest_key)
        if at > inbox.clock() + instants.ALLOWED_AHEAD:
            inbox.append([entries.once(draft, *once_by, f"after {seq}")])


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
