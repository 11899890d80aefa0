"""A calendar feed of deadlines (docs/alerts.md#calendar)."""

from typing import Final

from pipeline.contract.body import JsonValue
from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind
from pipeline.texts import is_blank

CALENDAR: Final = "calendar"

KIND: Final = Kind(
    CALENDAR,
    N_("Calendar of deadlines"),
    icon=":material/calendar_add_on:",
    typed=NOTHING_TYPED,
    is_in_files=True,
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
    return signed(CALENDAR, made, actor=actor, recorded_by=recorded_by)


def calendar_revoked(feed_id: str, *, actor: str | None, recorded_by: str) -> Draft:
    """The draft that says: a person revoked a calendar feed. Raises `WrongUsage` without a
    name."""
    revoked: dict[str, JsonValue] = {"step": "revoked", "feed": feed_id}
    return signed(CALENDAR, revoked, actor=actor, recorded_by=recorded_by)
