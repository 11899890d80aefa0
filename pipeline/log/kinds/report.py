"""A subscription to a scheduled report (docs/alerts.md#reports)."""

from typing import Final, Literal

from pipeline.contract.body import JsonValue
from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind
from pipeline.texts import is_blank

REPORT: Final = "report"

KIND: Final = Kind(
    REPORT,
    N_("Scheduled report"),
    icon=":material/outgoing_mail:",
    typed=frozenset({"name", "query", "filters", "page", "recipient"}),
    is_in_files=True,
)


def report_step(
    step: Literal["subscribed", "ended"],
    name: str,
    *,
    actor: str | None,
    recorded_by: str,
    **said: JsonValue,
) -> Draft:
    """The draft that says: a person subscribed a recipient to a scheduled report, or ended it
    (docs/alerts.md#reports). `said`: what the file of alerts would say of it. Raises `WrongUsage`
    where somebody, or the report, has no name."""
    if is_blank(name):
        raise WrongUsage("The report was not scheduled", "it has no name", "give it one")
    content: dict[str, JsonValue] = {"step": step, "name": name.strip(), **said}
    return signed(REPORT, content, actor=actor, recorded_by=recorded_by)
