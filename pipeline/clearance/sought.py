"""Says by what people were looked up, so that the log can hold it for good.

An entry about people's work is never rewritten. So what was typed stands in it by a keyed digest:
with the key of tax ids one can tell whether a value is the one that was looked for, and without it
no one can try all CPFs.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pipeline import instants
from pipeline.clearance.acts import personal_columns
from pipeline.contract import review_types
from pipeline.contract.body import JsonValue
from pipeline.contract.event_types import SELLER_EVENTS
from pipeline.contract.listed import listed
from pipeline.inbox import Inbox
from pipeline.language.codes import SELLER_STATES, SELLER_TYPES, SEVERITIES, STATES
from pipeline.ledger.facts import Keys
from pipeline.ledger.views.formats import plain

DIGEST: Final = "hmac:"
_OWN_WORDS: Final = ("true", "false", *STATES, *SEVERITIES, *SELLER_TYPES, *SELLER_STATES)
_OF: Final = {
    "process_id": "select 1 from entries where process_id = $1 limit 1",
    "seller_id": "select 1 from entries where seller_id = $1 limit 1",
    "attempt_id": "select 1 from entries where attempt_id = $1 limit 1",
}


@cache
def words() -> frozenset[str]:
    """What filters ask for besides people, which stands as it was typed: codes of the contract and
    of ours."""
    by_contract = (code for _, code in listed())
    of_events = (it.partition(".")[2] for it in SELLER_EVENTS)
    return frozenset((*by_contract, *of_events, *review_types.NAMES, *_OWN_WORDS))


class Sought:
    """Turns what somebody typed into what the log may hold."""

    def __init__(self, inbox: Inbox, keys: Keys) -> None:
        self._inbox = inbox
        self._keys = keys

    def value(self, column: str, value: object) -> JsonValue:
        """One value of a filter by a column."""
        if isinstance(value, list | tuple):
            return [self.value(column, it) for it in value]
        if not isinstance(value, str):
            return plain(value)
        is_instant = column not in personal_columns() and instants.parse(value) is not None
        if value in words() or is_instant or self.is_known(column, value):
            return value
        return DIGEST + self._keys.of_typed(value).hex()

    def filters(self, values: Mapping[str, Any]) -> dict[str, JsonValue]:
        """The values of filters by several columns; both ends of a range, too."""
        return {column: self.value(column, it) for column, it in values.items()}

    def subject(self, where: Mapping[str, object], column: str) -> str | None:
        """The id by which an entry belongs to a stream: one that the log knows. What else somebody
        typed there may be anything."""
        value = where.get(column)
        return value if isinstance(value, str) and self.is_known(column, value) else None

    def is_known(self, column: str, value: str) -> bool:
        """Whether a value is the id of a process, seller or attempt of the log."""
        return column in _OF and bool(self._inbox.query(_OF[column], value))
