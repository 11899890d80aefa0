"""Makes the drafts of what people do: every one has a name, and a reason where an auditor will
ask for one."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pipeline import names
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.log.entries import Draft
from pipeline.texts import is_blank, printable

MAX_REASON_CHARACTERS = 2000
UNDONE: Final = "undone"
"""The reason of what takes an entry back within seconds, by one click."""
ASSIGNED: Final = "assigned on the dashboard"
SEARCHED: Final = "a search by part of a name or an address"
WRITTEN: Final[Mapping[str, str]] = {
    UNDONE: N_("undone"),
    ASSIGNED: N_("assigned on the dashboard"),
    SEARCHED: N_("a search by part of a name or an address"),
}
"""Reasons that nobody typed, as entries have them: what people read for each."""


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
        body=canonical_json({"reason": reason, **content}),
        actor=actor,
        process_id=process_id,
        seller_id=seller_id,
        attempt_id=attempt_id,
    )


def signed(
    kind: str,
    content: Mapping[str, JsonValue],
    *,
    actor: str | None,
    recorded_by: str,
    process_id: str | None = None,
    seller_id: str | None = None,
    what: str | None = None,
) -> Draft:
    """The draft of something a person did and puts a name to; it needs no reason beside it. `what`:
    how messages call it, where that is not its kind. Raises `WrongUsage` without a name."""
    if is_blank(actor):
        finding = f"The {what or kind} was not recorded"
        raise WrongUsage(finding, "a name is needed", "say who did it")
    _require_anothers(actor)
    return Draft(
        kind=kind,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json(dict(content)),
        actor=actor,
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
