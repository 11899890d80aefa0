"""Puts findings into words: how grave they are, and what broke which rule (docs/rules.md#findings).
What a rule means, may cost and asks for stands in the header of its view."""

from collections.abc import Mapping
from typing import Final

from app_pages.language import formats
from app_pages.language.code_texts import Colour
from app_pages.language.i18n import _
from pipeline import findings
from pipeline.language import codes

SEVERITY_COLOURS: Final[Mapping[str, Colour]] = {
    "breach": "red",
    "risk": "orange",
    "notice": "blue",
}
SEVERITY_ICONS: Final[Mapping[str, str]] = {
    "breach": ":material/gavel:",
    "risk": ":material/warning:",
    "notice": ":material/info:",
}


RULES: Final = findings.rules()


def chip(severity: str) -> str:
    """How grave a finding is, as a chip: a colour, and a word for readers who cannot see it."""
    return formats.badge(
        _(codes.SEVERITIES[severity]), SEVERITY_COLOURS[severity], SEVERITY_ICONS[severity]
    )


def name(rule: str) -> str:
    """A rule's short name; the code itself where it is not listed."""
    return _(RULES[rule].name) if rule in RULES else rule
