"""Reads `assign.toml`: who gets new reviews by rule. Each fault is named."""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from pipeline import settings_files
from pipeline.alert_rules.parts import Part
from pipeline.contract.review_types import Name, named
from pipeline.files.reread import RereadFile

_WHAT: Final = "The settings of assignment"
_PAGE: Final = "docs/operations.md#assignment-by-rule"


class Assigned(Part):
    """A person who gets reviews."""

    limit: int | None = Field(None, ge=1, le=100_000)
    """Unfinished reviews that they have at most before the rule gives them another."""
    review_types: tuple[Name, ...] | None = None
    """None: every type."""

    def takes(self, review_type: str | None) -> bool:
        """Whether they see to such reviews. No type counts as `UNLISTED`."""
        return self.review_types is None or named(review_type).name in self.review_types


class AssignRules(Part):
    """All of `assign.toml`."""

    by: Literal["turn", "load"] = "turn"
    """turn: whoever got one longest ago. load: whoever has the fewest."""
    people: dict[str, Assigned] = Field(min_length=1)
    """By their names, under which reviews are assigned to them."""


def load(path: Path) -> AssignRules:
    """The rules of a file. Raises `SettingsError`, which names every fault."""
    return settings_files.read(path, AssignRules, what=_WHAT, page=_PAGE)


def reread(path: Path) -> RereadFile[AssignRules]:
    """The same, read again when the file changes; a fault leaves in force what was read before."""
    return RereadFile(
        path,
        lambda text: settings_files.parsed(text, path, AssignRules, what=_WHAT, page=_PAGE),
    )
