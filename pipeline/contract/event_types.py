"""The types of events that the contract lists, and all in which they differ. No I/O."""

from typing import Final, Literal, NamedTuple

Family = Literal["review", "seller", "bank account"]


class EventType(NamedTuple):
    """A type of event."""

    code: str  # as the platform writes it
    family: Family  # what its payload is about, by which it is read
    status: str | None = None  # that its seller has from then on


EVENT_TYPES: Final = (
    EventType("seller.created", "seller"),  # until another event says more, it is under analysis
    EventType("seller.enabled", "seller", "enabled"),
    EventType("seller.denied", "seller", "denied"),
    EventType("seller.disabled", "seller", "disabled"),
    EventType("seller.updated", "seller"),
    EventType("seller.deleted", "seller", "deleted"),
    EventType("bank_account.associated", "bank account"),
    EventType("bank_account.deleted", "bank account"),
    EventType("regulatory.registration.review.required", "review"),
)

FAMILIES: Final = {it.code: it.family for it in EVENT_TYPES}
"""Code of each type -> its family."""

[REVIEW_REQUIRED] = (code for code, family in FAMILIES.items() if family == "review")
SELLER_EVENTS: Final = frozenset(it for it, family in FAMILIES.items() if family == "seller")
