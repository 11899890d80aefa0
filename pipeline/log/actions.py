"""Makes the drafts of what people do: every one has a name, and a reason where an auditor will
ask for one."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from pipeline import names
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import WrongUsage
from pipeline.log.entries import Draft
from pipeline.texts import is_blank, printable

MAX_REASON_CHARACTERS = 2000

EXPORT: Final = "export"

TICKET: Final = "ticket"

REMINDED: Final = "reminded"

CALENDAR: Final = "calendar"

SAVED_VIEW: Final = "saved_view"

REPORT: Final = "report"


class By(NamedTuple):
    """Who wants something done, and why, as the entry of it says; the arguments of `action`."""

    reason: str
    actor: str | None
    recorded_by: str


def action(
    kind: str,
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    process_id: str | None = None,
    seller_id: str | None = None,
    attempt_id: str | None = None,
    **content: JsonValue,
) -> Draft:
    """The draft of an occurrence that a person answers for. `content` is added to its body.

    Raises `WrongUsage` without a reason or a name, or for one that is too long.
    """
    if is_blank(reason) or is_blank(actor):
        raise WrongUsage(
            f"The {kind} was not recorded",
            "a reason and a name are needed",
            "say why, and who asks for it",
        )
    _require_anothers(actor)
    for said, text in (("reason", reason), ("name", actor or "")):
        if len(text) > MAX_REASON_CHARACTERS:
            what = f"The {said} is over {MAX_REASON_CHARACTERS} characters"
            raise WrongUsage(what, remedy="shorten it")
    return Draft(
        kind=kind,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json({"actor": actor, "reason": reason, **content}),
        process_id=process_id,
        seller_id=seller_id,
        attempt_id=attempt_id,
    )


def ticket(
    step: Literal["opened", "closed"],
    *,
    number: str | None = None,
    actor: str | None,
    recorded_by: str,
    process_id: str,
    seller_id: str | None,
) -> Draft:
    """The draft that says: a person opened a support ticket with the platform about a process, or
    closed it (docs/rules.md#tickets).

    Raises `WrongUsage` without a name, or when a ticket is opened without a number.
    """
    if step == "opened" and is_blank(number):
        raise WrongUsage(
            "The ticket was not recorded",
            "its number is needed",
            "give the number that the platform's support gave it",
        )
    return _signed(
        TICKET,
        {"step": step, **({} if number is None else {"number": number.strip()})},
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
    )


def reminder(
    channel: str, *, actor: str | None, recorded_by: str, process_id: str, seller_id: str | None
) -> Draft:
    """The draft that says: a person reminded the seller of a collection, by one of a collection's
    channels. Raises `WrongUsage` without a name."""
    return _signed(
        REMINDED,
        {"channel": channel},
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
    )


def calendar_made(
    feed_id: str,
    *,
    token_sha256: str,
    assignee: str | None,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: a person made a calendar feed of the deadlines of one assignee, or of
    all (docs/alerts.md#calendar). `token_sha256`: of the secret in its address, which no entry
    holds. Raises `WrongUsage` without a name, or for an assignee without one."""
    if assignee is not None and is_blank(assignee):
        raise WrongUsage(
            "The calendar was not made",
            "the assignee has no name",
            "give the name as it stands in assignments, or make one for all",
        )
    made: dict[str, JsonValue] = {"step": "made", "feed": feed_id, "token_sha256": token_sha256}
    if assignee is not None:
        made["assignee"] = assignee.strip()
    return _signed(CALENDAR, made, actor=actor, recorded_by=recorded_by)


def calendar_revoked(feed_id: str, *, actor: str | None, recorded_by: str) -> Draft:
    """The draft that says: a person revoked a calendar feed. Raises `WrongUsage` without a
    name."""
    revoked: dict[str, JsonValue] = {"step": "revoked", "feed": feed_id}
    return _signed(CALENDAR, revoked, actor=actor, recorded_by=recorded_by)


def view_step(
    step: Literal["saved", "dropped"],
    page: str,
    name: str,
    *,
    query: str | None = None,
    for_all: bool,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: a person saved a view of a page under a name, or dropped it. `query`:
    what stands in its URL. `for_all`: whether everybody finds it, or only who saved it. Raises
    `WrongUsage` where somebody, or the view, has no name."""
    if is_blank(name):
        raise WrongUsage("The view was not saved", "it has no name", "give it one")
    content: dict[str, JsonValue] = {
        "step": step,
        "page": page,
        "name": name.strip(),
        "for_all": for_all,
    }
    if query is not None:
        content["query"] = query
    return _signed(SAVED_VIEW, content, actor=actor, recorded_by=recorded_by)


def report_step(
    step: Literal["subscribed", "ended"],
    name: str,
    *,
    actor: str | None,
    recorded_by: str,
    **said: JsonValue,
) -> Draft:
    """The draft that says: a person subscribed a recipient to a scheduled report, or ended it
    (docs/alerts.md#reports). `said`: what the file of alerts would say of it. Raises `WrongUsage`
    where somebody, or the report, has no name."""
    if is_blank(name):
        raise WrongUsage("The report was not scheduled", "it has no name", "give it one")
    content: dict[str, JsonValue] = {"step": step, "name": name.strip(), **said}
    return _signed(REPORT, content, actor=actor, recorded_by=recorded_by)


def _signed(
    kind: str,
    content: Mapping[str, JsonValue],
    *,
    actor: str | None,
    recorded_by: str,
    process_id: str | None = None,
    seller_id: str | None = None,
) -> Draft:
    """The draft of something a person did and puts a name to; it needs no reason beside it."""
    if is_blank(actor):
        what = "reminder" if kind == REMINDED else kind
        raise WrongUsage(f"The {what} was not recorded", "a name is needed", "say who did it")
    _require_anothers(actor)
    return Draft(
        kind=kind,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json({"actor": actor, **content}),
        process_id=process_id,
        seller_id=seller_id,
    )


def _require_anothers(actor: str | None) -> None:
    """Raises `WrongUsage` for a name of the program's own."""
    if actor != names.NOBODY and names.is_ours(actor or ""):
        raise WrongUsage(
            "Nothing was recorded",
            f"the name {printable(actor)!r} is one of Prazo's own, or looks like it",
            "give the name of a person",
        )


def exporting(
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    process_id: str | None,
    seller_id: str | None,
    **content: JsonValue,
) -> Draft:
    """The draft that says: a package is about to be made. `content` fixes what will be in it.

    Raises `WrongUsage` like `action`.
    """
    return action(
        EXPORT,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        **content,
    )
