"""Says before a change of who is notified which open alerts it sends to whom.

Whoever a route newly leads to hears of all that is open, not only of what comes
(docs/alerts.md#who-is-told).
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from pipeline import instants
from pipeline.alert.alarms import Recorded
from pipeline.alert.decision import untold
from pipeline.alert.entries import Due
from pipeline.alert_rules import AlertRules
from pipeline.inbox import Inbox


class Sent(NamedTuple):
    """How many open alerts a change sends to one recipient."""

    at_once: int
    later: int  # in their working hours, or with their digest


def sent_by(
    inbox: Inbox, dues: Collection[Due], before: AlertRules, after: AlertRules, now: int
) -> dict[str, Sent]:
    """Recipient -> what they get of what is due once `after` is in force, and would not by
    `before`; whoever gets nothing is not among them. Raises `InboxUnavailable`."""
    recorded = Recorded(inbox)
    recorded.read_on(now - after.remembered_hours * instants.HOUR, list)
    from_ = now - after.look_back_days * instants.DAY
    # What was raised so long ago that its entries were not read is over.
    may_be_sent = [
        due
        for due in dues
        if due.alert in recorded.alarms or (due.raised_at is None and due.since > from_)
    ]
    known = {(it.to, it.alert) for it in untold(may_be_sent, recorded.alarms, before, now)}
    would_be = untold(may_be_sent, recorded.alarms, after, now)
    new = [it for it in would_be if (it.to, it.alert) not in known]
    at_once = Counter(it.to for it in new if it.is_time)
    later = Counter(it.to for it in new if not it.is_time)
    return {it: Sent(at_once[it], later[it]) for it in after.recipients if at_once[it] or later[it]}
