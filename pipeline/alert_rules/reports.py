"""Scheduled reports: which list, or the page for the boss, goes to whom by mail, and when."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, Self
from urllib.parse import parse_qsl

from pydantic import Field, field_validator, model_validator

from pipeline.alert_rules.parts import ClockTime, Part
from pipeline.alert_rules.recipients import Day
from pipeline.contract import review_types
from pipeline.language.codes import QUEUES, UNFINISHED
from pipeline.texts import is_tax_id, names_person

ALL: Final = "all"
FIRST_QUEUE: Final = "act_now"
"""What the Watchlist shows until another queue is chosen, or all of them."""
CHANCE: Final = "chance"
FILTERS: Final[Mapping[str, tuple[str, ...] | None]] = {
    "queue": (*QUEUES, ALL),
    "state": UNFINISHED,
    "due": ("7",),
    "type": tuple(sorted(review_types.NAMES)),
    "action": None,
    "whose": (ALL, "mine", "unassigned"),
    "period": (ALL, "this_week", "this_month", "last_month"),
    "assignee": None,
    "seller": None,
    "by": (CHANCE,),
    "sort": None,
}
"""What may stand behind the question mark of the Watchlist's address -> its values; None: any.
The order of a report is its own: the most urgent first."""
NOT_IN_MESSAGES: Final = "a tax id or an e-mail address, which no message names"


def names_a_person(filters: str) -> bool:
    """Whether filters name a seller by what looks personal. Reports see masks of such ids: they
    would find none, and their link would show it."""
    sellers = (it for name, it in parse_qsl(filters) if name == "seller")
    return any(is_tax_id(it) or names_person(it) for it in sellers)


class Report(Part):
    """A list of unfinished processes, as the page Watchlist shows it under some filters; or the
    page for the boss, which Trends hands out."""

    to: tuple[str, ...] = Field(min_length=1)
    page: Literal["watchlist", "trends"] = "watchlist"
    filters: str = ""
    """As they stand in the page's address, behind the question mark."""
    saved: str | None = None
    """A saved view of the page, for all, in place of filters."""
    at: ClockTime
    days: Literal["business", "weekly", "month_end"] = "business"
    weekday: Day = "mon"

    @field_validator("filters")
    @classmethod
    def _known_filters(cls, text: str) -> str:
        for name, value in parse_qsl(text, keep_blank_values=True):
            if name not in FILTERS:
                raise ValueError(f"{name!r} is not a filter: use {', '.join(FILTERS)}")
            known = FILTERS[name]
            if known is not None and value not in known:
                raise ValueError(f"{name}={value}: use one of {', '.join(known)}")
        if names_a_person(text):
            raise ValueError(f"seller: this looks like {NOT_IN_MESSAGES}")
        return text

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.filters and self.saved is not None:
            raise ValueError("give filters, or the name of a saved view")
        if self.page == "trends" and (self.filters or self.saved is not None):
            raise ValueError("the page trends takes neither filters nor a saved view")
        return self

    def described(self) -> Iterator[str]:
        """Its list, its time and whom it goes to, in the form of the file."""
        if self.page == "trends":
            yield "page: trends"
        elif self.saved is None:
            yield f"filters: {self.filters or '-'}"
        else:
            yield f"saved: {self.saved}"
        when = f"weekly {self.weekday}" if self.days == "weekly" else self.days
        yield f"{when} {self.at:%H:%M}"
        yield f"to: {' '.join(self.to)}"
