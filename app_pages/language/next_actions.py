"""Says what to do next about a process, in the reader's language, and how."""

from collections.abc import Mapping
from typing import Any, Final

from app_pages.language import formats
from app_pages.language.i18n import N_, _, ngettext
from pipeline.language import codes
from pipeline.language import next_actions as texts
from pipeline.language.next_actions import NextAction

_AS_ACI: Final = N_(
    "The contract does not list the type of this review: it is answered like an inconsistency"
    " (ACI), with the requested fields and nothing else. Ask the platform what it is."
)


_REASONS: Final[Mapping[str, str]] = {
    "act_now": N_("the next step is yours."),
    "expired": N_("the deadline has passed, and somebody else has to answer."),
    "waiting_for_platform": N_("the platform has to answer."),
    "waiting_for_seller": N_("the seller was contacted, and has to answer."),
}
_TOO_CLOSE: Final = N_("the deadline is too close to wait.")
_BY_SCHEDULE: Final = N_("the schedule writes to the seller.")


_ABOUT_TICKETS: Final = ("open_ticket", "await_platform")


def either(code: str) -> str:
    """The name of a next action; of a wait in whatever queue also what stands in for it."""
    return " / ".join(_(name) for name in texts.names(code))


def of(process: Mapping[str, Any]) -> NextAction:
    """What to do next about a process: its next action, or what stands in for a wait where the
    deadline is too close to wait."""
    return texts.of(process["next_action"], process.get("queue"))


def reason(process: Mapping[str, Any]) -> str:
    """In which queue a process stands, and why (docs/rules.md#queues)."""
    queue = process["queue"]
    why = _REASONS[queue]
    if queue == "act_now" and process["next_action"] in texts.INSTEAD:
        why = _TOO_CLOSE
    elif queue == "waiting_for_seller" and process["next_action"] != "await_seller":
        why = _BY_SCHEDULE
    return f"{_(codes.QUEUES[queue])}: {_(why)}"


def how(process: Mapping[str, Any]) -> str:
    """How the next action of a process is done; of a reminder also how much is answered already, of
    a submission also as what a review of a type that the contract does not list is answered. A
    ticket comes before all that is left for the seller (docs/rules.md#next-actions), who has to
    answer all the same."""
    action, required = process["next_action"], process.get("fields_required")
    said = [_(of(process).how)]
    if action == "submit" and process["review_type"] is None:
        said.append(_(_AS_ACI))
    if action in _ABOUT_TICKETS and required and process["fields_answered"] < required:
        said.append(_("The seller still has to answer, too: the ticket does not do it for them."))
    if action in ("remind_seller", *_ABOUT_TICKETS) and required:
        answered = ngettext(
            "Answered: {n} of {total} required field.",
            "Answered: {n} of {total} required fields.",
            required,
            n=formats.number(process["fields_answered"]),
            total=formats.number(required),
        )
        said.append(answered)
    return " ".join(said)
