"""A step of an alert (docs/alerts.md#what-is-recorded)."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import NOTHING_TYPED, Kind

ALERT: Final = "alert"

KIND: Final = Kind(
    ALERT,
    N_("Alert"),
    icon=":material/notifications:",
    steps={
        "raised": N_("Alert raised"),
        "tried": N_("Alert on its way"),
        "sent": N_("Alert sent"),
        "failed": N_("Alert not taken by the channel"),
        "undelivered": N_("Alert not delivered"),
        "cleared": N_("Alert over"),
        "acknowledged": N_("Alert acknowledged"),
        "snoozed": N_("Alert snoozed"),
        "taken_back": N_("Step of an alert undone"),
    },
    shows=("about", "recipient", "channel"),
    typed=NOTHING_TYPED,
    is_in_files=True,
)
