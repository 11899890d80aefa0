"""A change of the alerts' file on the page Alerts (docs/alerts.md#changed-on-the-page)."""

from collections.abc import Sequence
from typing import Final, Literal

from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind

ALERT_SETTINGS: Final = "alert_settings"

KIND: Final = Kind(
    ALERT_SETTINGS,
    N_("Who is notified was changed"),
    icon=":material/tune:",
    steps={"not_written": N_("A change of who is notified was not written")},
    typed=frozenset({"parts"}),
)


def alert_settings(
    step: Literal["changed", "not_written"],
    parts: Sequence[str],
    *,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: a person changed parts of the alerts' file, such as
    `recipients.ana.email`; or that the change recorded before could not be written. No entry holds
    their values, among which are addresses. Raises `WrongUsage` without a name."""
    said = {"step": step, "parts": list(parts)}
    return signed(ALERT_SETTINGS, said, actor=actor, recorded_by=recorded_by)
