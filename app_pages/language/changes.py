"""Puts changes into words: what came, became overdue, expired, was finished or denied."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from app_pages.language import occurrences, rulebook, sellers
from app_pages.language.code_texts import Colour
from app_pages.language.i18n import N_
from pipeline.language import codes


class Change(NamedTuple):
    """A kind of change: its name, its colour and its icon."""

    name: str
    colour: Colour
    icon: str


CHANGES: Final[Mapping[str, Change]] = {
    "opened": Change(N_("New"), "blue", ":material/fiber_new:"),
    "overdue": Change(codes.STATES["OVERDUE"], "orange", ":material/alarm:"),
    "expired": Change(codes.STATES["EXPIRED"], "red", ":material/event_busy:"),
    "finished": Change(codes.STATES["FINISHED"], "green", ":material/check_circle:"),
    "denied": Change(N_("Denied"), "violet", ":material/block:"),
    "finding": Change(N_("Finding"), "gray", ":material/gavel:"),
    "alert": Change(N_("Alert"), "gray", ":material/notifications:"),
}


def what(row: Mapping[str, Any]) -> str:
    """What a row of `changes` says beyond its kind: the rule, what an alert is about, or why a
    seller was denied; empty for others."""
    if row["change"] == "denied":
        return ", ".join(sellers.reason(pair) for pair in row["reasons"] or ())
    if row["code"] is None:
        return ""
    if row["change"] == "finding":
        return rulebook.name(row["code"])
    return occurrences.alert_name(row["code"])
