"""A process was given to somebody, by a person or by rule."""

from collections.abc import Mapping
from typing import Final

from pipeline.contract.body import canonical_json
from pipeline.language.catalogue import N_
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind
from pipeline.names import BY_RULE

ASSIGNMENT: Final = "assignment"

RULES_WORDS: Final[Mapping[str, str]] = {
    BY_RULE: N_("by rule"),
    "in turn": N_("in turn"),
    "fewest unfinished reviews": N_("fewest unfinished reviews"),
}
"""Who assigned where no person did, and why, as entries have them: what people read for each."""

KIND: Final = Kind(
    ASSIGNMENT,
    N_("Assignment"),
    icon=":material/person_add:",
    typed=NOTHING_TYPED,
    is_in_files=True,
)


def by_rule(
    assignee: str, *, turn_of: str, reason: str, process_id: str, seller_id: str | None
) -> Draft:
    """The draft that says: the rule gave a process to somebody. `turn_of`: whose turn it was, for
    whom the assignee may stand in."""
    said = {"assignee": assignee, "turn_of": turn_of, "reason": reason}
    return Draft(
        kind=ASSIGNMENT,
        occurred_at=None,
        recorded_by=BY_RULE,
        body=canonical_json(said),
        process_id=process_id,
        seller_id=seller_id,
        actor=BY_RULE,
    )
