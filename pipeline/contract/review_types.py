"""The types of review that the contract lists, and all in which they differ. No I/O."""

from typing import TYPE_CHECKING, Final, Literal, NamedTuple


class ReviewType(NamedTuple):
    """A type of review. Of its days the last ones but `pending_days` are OVERDUE."""

    name: str  # as views and people say it
    code: str  # as the platform writes it
    total_days: int  # from its opening to its deadline
    pending_days: int  # the first of these, in which it is PENDING; 0: it is OVERDUE at once
    is_partial: bool  # takes the requested fields alone; else all of the seller's type, and these


REVIEW_TYPES: Final = (
    ReviewType("ACP", "REGISTRATION_REVIEW_REQUIRED", 60, 30, is_partial=False),
    ReviewType("ACI", "INCONSISTENT_DATA_UPDATE_REQUIRED", 30, 0, is_partial=True),
)

UNLISTED: Final = REVIEW_TYPES[1]
"""As which a review counts whose type the contract does not list: to send data that nobody asked
for would be the graver mistake (docs/rules.md#review-processes)."""

NAMES: Final = tuple(it.name for it in REVIEW_TYPES)

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(sorted(NAMES))]  # settings refuse any other by it

_BY_NAME: Final = {it.name: it for it in REVIEW_TYPES}
_BY_CODE: Final = {it.code: it for it in REVIEW_TYPES}


def named(name: str | None) -> ReviewType:
    """The type of that name, or as which it counts."""
    return UNLISTED if name is None else _BY_NAME.get(name, UNLISTED)


def of_code(code: object) -> ReviewType | None:
    """The type that the platform writes so; None where the contract lists none."""
    return _BY_CODE.get(code) if isinstance(code, str) else None
