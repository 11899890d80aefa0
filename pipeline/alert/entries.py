"""Makes the drafts of what happens to an alert. Each step of each alert exists once.

An alert is an entry before anybody is told of it, and each try and its answer are entries, so the
log says who was told what and when. None of them names an address: the recipient's name does.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, Self

from pipeline import instants
from pipeline.alert_rules.recipients import Via
from pipeline.alert_rules.references import RUNGS
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import CallerError
from pipeline.log.actions import MAX_REASON_CHARACTERS
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.alert import ALERT
from pipeline.texts import is_blank

DIGEST: Final = "digest"
REPORT: Final = "report"
RECORDED_BY: Final = "alerts"

Step = Literal[
    "raised",  # it became due
    "tried",  # a message about it is about to leave
    "sent",  # the channel took the message
    "failed",  # the channel did not
    "undelivered",  # it is not tried any longer, or there is nobody to tell
    "cleared",  # what it was about is over; for what the log itself does not show
    "acknowledged",  # somebody sees to it
    "snoozed",  # somebody put it off
    "taken_back",  # who acknowledged it or put it off a moment ago did not mean it
]


class Due(NamedTuple):
    """An alert that is due: a row of the view `alerts`, or what we see beside the log, which is
    about no process."""

    alert: str
    kind: str
    severity: str
    role: str
    since: int
    assignee: str | None = None
    process_id: str | None = None  # masked where it looks personal, as everything in a message
    seller_id: str | None = None
    review_type: str | None = None
    state: str | None = None
    deadline_at: int | None = None
    next_action: str | None = None
    seq: int | None = None
    raised_at: int | None = None  # by any entry, also one that came by a file
    ledger_at: int | None = None  # of the newest entry of a ledger that stands still
    files: tuple[str, ...] = ()  # that cannot be used, by their places in the alerts' settings

    @property
    def is_rung(self) -> bool:
        """Whether it is a rung of the ladder, and no condition."""
        return self.kind in RUNGS or self.kind.startswith("before_")


class Subject(NamedTuple):
    """What an alert is about, by its true ids: the streams to which its entries belong."""

    process_id: str | None = None
    seller_id: str | None = None

    @classmethod
    def of(cls, due: Due, entry: Entry, is_mask: Callable[[str, str], bool]) -> Self:
        """The subject of `due`, whose ids may be masked. `entry` is about the same and has the true
        ids. An id is left out where the masked one is not its mask: then the inbox is no longer the
        one that `due` came from."""

        def true(shown: str | None, recorded: str | None) -> str | None:
            if shown is None or "***" not in shown:
                return shown
            return recorded if recorded is not None and is_mask(shown, recorded) else None

        return cls(true(due.process_id, entry.process_id), true(due.seller_id, entry.seller_id))


class Address(NamedTuple):
    """One way to one recipient at one level of escalation."""

    to: str
    via: Via | Literal[""]  # empty: there is nobody to tell
    level: int


NOBODY: Final = Address("", "", 0)


class Item(NamedTuple):
    """An alert in a message. `number`: of the try to deliver it to this address, from 1 on.
    `tries_before`: how many tries were made before somebody put the alert off."""

    due: Due
    level: int
    number: int
    tries_before: int = 0


class Try(NamedTuple):
    """An alert on its way to one recipient by one channel. `message`: the name of the message that
    holds it."""

    item: Item
    to: str
    via: Via
    message: str


def raised(due: Due, subject: Subject, now: int) -> Draft:
    """The draft that says: an alert became due."""
    said: dict[str, JsonValue] = {
        "about": due.kind,
        "severity": due.severity,
        "role": due.role,
        "since": instants.canonical(due.since),
    }
    if due.deadline_at is not None:
        said["deadline_at"] = instants.canonical(due.deadline_at)
    if due.files:
        said["files"] = list(due.files)
    return _draft("raised", due.alert, subject, now, said, once=("raised",))


def key_of_raised(alert: str) -> bytes:
    """The ingest key of the entry by which an alert was raised."""
    return _key(["alert", alert, "raised"])


def key_of_cleared(alert: str) -> bytes:
    """The ingest key of the entry that clears an alert."""
    return _key(["alert", alert, "cleared"])


def tried(made: Try, subject: Subject, now: int) -> Draft:
    """The draft that says: a message about an alert is about to leave. The process that gets it
    recorded sends it, and no other."""
    return _about_a_try("tried", made, subject, now)


def answered(
    made: Try, subject: Subject, now: int, *, fault: str | None, may_have_it: bool = False
) -> Draft:
    """The draft that says what came of a try. `fault`: why the channel did not take it, as far as
    we know; None where it did. `may_have_it`: the channel may have taken it all the same."""
    step: Step = "sent" if fault is None else "failed"
    more: dict[str, JsonValue] = {} if fault is None else {"answer": str(fault)}
    if may_have_it:
        more["may_have_it"] = True
    return _about_a_try(step, made, subject, now, **more)


def beside(draft: Draft) -> Draft:
    """The draft of a step that another process recorded first, of the same try, while neither knew
    of the other. Two messages left, so it becomes an entry of its own. Recording it twice adds
    nothing."""
    assert draft.ingest_key is not None
    return draft._replace(
        ingest_key=_key(["beside", draft.ingest_key.hex(), str(draft.occurred_at)])
    )


def may_have_arrived(draft: Draft) -> bool:
    """Whether a draft that ends a try says that the channel took the message, or may have."""
    said = json.loads(draft.body or b"null")
    return said["step"] == "sent" or "may_have_it" in said


def undelivered(
    alert: str, address: Address, why: str, subject: Subject, now: int, *, tries_before: int = 0
) -> Draft:
    """The draft that says: this address is told no longer, and why. `tries_before`: tries before
    somebody put the alert off; after each such time, an address can be given up once more."""
    said: dict[str, JsonValue] = {**address._asdict(), "answer": why}
    again = [str(tries_before)] if tries_before else []
    once = ("undelivered", address.to, address.via, str(address.level), *again)
    return _draft("undelivered", alert, subject, now, said, once=once)


def cleared(alert: str, now: int) -> Draft:
    """The draft that says: what the alert was about is over."""
    return _draft("cleared", alert, Subject(), now, {}, once=("cleared",))


def acknowledged(
    alert: str, subject: Subject, *, actor: str | None, recorded_by: str, reason: str | None = None
) -> Draft:
    """The draft that says: somebody sees to an alert. Raises `CallerError` without a name."""
    return _signed("acknowledged", alert, subject, actor, recorded_by, reason, {})


def snoozed(
    alert: str,
    subject: Subject,
    *,
    now: int,
    until: int,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: somebody put an alert off until an instant, in microseconds. Raises
    `CallerError` without a name or a reason, or where that instant is past."""
    if until <= now:
        raise CallerError(
            "The alert was not snoozed", "its end is past", "name an instant that is to come"
        )
    if is_blank(reason):
        raise CallerError(
            "The alert was not snoozed", "a reason is needed", "say why it can wait until then"
        )
    said: dict[str, JsonValue] = {"until": instants.canonical(until)}
    return _signed("snoozed", alert, subject, actor, recorded_by, reason, said)


def taken_back(
    alert: str,
    subject: Subject,
    of: Literal["acknowledged", "snoozed"],
    at: int,
    *,
    actor: str | None,
    recorded_by: str,
    reason: str,
) -> Draft:
    """The draft that takes back that step of an alert which was taken at an instant, in
    microseconds, and no other. Raises `CallerError` without a name."""
    said: dict[str, JsonValue] = {"of": of, "at": instants.canonical(at)}
    return _signed("taken_back", alert, subject, actor, recorded_by, reason, said)


def once(draft: Draft, alert: str, *of: str) -> Draft:
    """The draft of a person's step with an ingest key made of the words `of`: recording it twice
    adds nothing."""
    return draft._replace(ingest_key=_key(["alert", alert, "by link", *of]))


def _about_a_try(step: Step, made: Try, subject: Subject, now: int, **more: JsonValue) -> Draft:
    (due, level, number, _), to, via, message = made
    said: dict[str, JsonValue] = {
        "to": to,
        "via": via,
        "level": level,
        "try": number,
        "message": message,
        "about": due.kind,
        **more,
    }
    # A try ends once, whether it went well or not.
    once = ("tried" if step == "tried" else "answered", to, via, str(level), str(number))
    return _draft(step, due.alert, subject, now, said, once=once)


def _signed(
    step: Step,
    alert: str,
    subject: Subject,
    actor: str | None,
    recorded_by: str,
    reason: str | None,
    said: Mapping[str, JsonValue],
) -> Draft:
    if is_blank(actor):
        raise CallerError(f"The alert was not {step}", "a name is needed", "say who did it")
    if reason is not None and len(reason) > MAX_REASON_CHARACTERS:
        what = f"The reason is over {MAX_REASON_CHARACTERS} characters"
        raise CallerError(what, remedy="shorten it")
    why = {} if reason is None or is_blank(reason) else {"reason": reason.strip()}
    draft = _draft(step, alert, subject, None, {**said, **why})
    return draft._replace(recorded_by=recorded_by, actor=actor)


def _draft(
    step: Step,
    alert: str,
    subject: Subject,
    now: int | None,
    said: Mapping[str, JsonValue],
    *,
    once: tuple[str, ...] | None = None,
) -> Draft:
    return Draft(
        kind=ALERT,
        occurred_at=now,
        recorded_by=RECORDED_BY,
        body=canonical_json({"alert": alert, "step": step, **said}),
        process_id=subject.process_id,
        seller_id=subject.seller_id,
        ingest_key=None if once is None else _key(["alert", alert, *once]),
    )


def _key(parts: list[str]) -> bytes:
    return hashlib.sha256(canonical_json(list(parts))).digest()
