"""Drafts of what people do to the log's data: each with a reason and a name, none without."""

from collections.abc import Mapping
from typing import Final

from pipeline import instants
from pipeline.contract import JsonValue, canonical_json
from pipeline.errors import CallerError
from pipeline.occurrences import UNMASK, Draft

MAX_REASON_CHARACTERS = 2000

EXPORT: Final = "export"


def act(
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
    """An occurrence that a person answers for; raises `CallerError` without reason or name."""
    if not reason.strip() or not (actor or "").strip():
        raise CallerError(
            f"The {kind} was not recorded",
            "a reason and a name are needed",
            "say why, and who asks for it",
        )
    if len(reason) > MAX_REASON_CHARACTERS:
        raise CallerError(f"The reason is over {MAX_REASON_CHARACTERS} characters")
    return Draft(
        kind=kind,
        occurred_at=instants.now(),
        recorded_by=recorded_by,
        body=canonical_json({"actor": actor, "reason": reason, **content}),
        process_id=process_id,
        seller_id=seller_id,
        attempt_id=attempt_id,
    )


def unmasking(
    view: str,
    where: Mapping[str, object],
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """Somebody is about to see a view's personal columns, of the rows that the filter leaves; the
    entry is one of the process or the seller that it names."""

    def named(column: str) -> str | None:
        value = where.get(column)
        return value if isinstance(value, str) else None

    return act(
        UNMASK,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=named("process_id"),
        seller_id=named("seller_id"),
        view=view,
        filters={column: str(value) for column, value in where.items()},
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
    """A package is about to be made; `content` says of what, and fixes what will be in it."""
    return act(
        EXPORT,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        **content,
    )
