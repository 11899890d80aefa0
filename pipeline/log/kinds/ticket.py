"""A support ticket with the platform (docs/rules.md#tickets)."""

from typing import Final, Literal

from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind
from pipeline.texts import is_blank

TICKET: Final = "ticket"

KIND: Final = Kind(
    TICKET,
    N_("Support ticket"),
    icon=":material/support_agent:",
    steps={
        "opened": N_("Support ticket opened"),
        "closed": N_("Support ticket closed"),
    },
    typed=frozenset({"number"}),
    is_in_files=True,
    touches_process=True,
)


def ticket(
    step: Literal["opened", "closed"],
    *,
    number: str | None = None,
    reason: str | None = None,
    actor: str | None,
    recorded_by: str,
    process_id: str,
    seller_id: str | None,
) -> Draft:
    """The draft that says: a person opened a support ticket with the platform about a process, or
    closed it (docs/rules.md#tickets). What was just said wrongly is taken back by the other step,
    with a reason.

    Raises `WrongUsage` without a name, or when a ticket is opened without a number.
    """
    if step == "opened" and is_blank(number):
        raise WrongUsage(
            "The ticket was not recorded",
            "its number is needed",
            "give the number that the platform's support gave it",
        )
    return signed(
        TICKET,
        {
            "step": step,
            **({} if number is None else {"number": number.strip()}),
            **({} if reason is None else {"reason": reason}),
        },
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
    )
