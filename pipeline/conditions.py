"""Lists the conditions of alerts: those that the log shows, as the headers under
`queries/model/alerts/conditions/` name them, and those beside the log. No I/O but reading these
files.

A condition's part of a header begins with `condition:` and its code, which the settings name:

    place       where it stands among the others
    severity    breach or risk
    role        who sees to it: officer or admin
    name        in a few words; left out where a rule of findings of that code has one
    advice      what to do first, where it is about no process
    default     no: it alarms only where the settings name it

All texts are English, and have their Portuguese in the catalogue.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple, cast

from pipeline import findings, headers
from pipeline.language.catalogue import N_

LABELS: Final = frozenset({"condition", "place", "severity", "role", "name", "advice", "default"})
BREACH: Final = "breach"
"""The condition of which each rule is a kind of its own."""


Role = Literal["officer", "admin"]
"""Who sees to an alert."""


class Condition(NamedTuple):
    """What is said of the alerts of a condition."""

    severity: str  # breach or risk
    name: str
    advice: str | None = None
    role: Role = "admin"
    place: int = 0
    is_default: bool = True
    lasts: bool = False
    """Only a `cleared` entry ends it."""


_CERTIFICATE: Final = N_(
    "Run `prazo doctor` where Prazo runs: it names the file. If it is the certificate, ask the"
    " platform for another"
)
_LEDGER: Final = N_(
    "Start what holds the ledger again, or read in its log what holds it up. Deliveries are"
    " recorded all the same"
)
BESIDE_THE_LOG: Final[Mapping[str, Condition]] = {
    "inbox_down": Condition(
        "breach",
        N_("Nothing can be recorded now"),
        N_(
            "Run `prazo doctor` where Prazo runs: it says why. Until then no delivery of the"
            " platform's is taken there, and no alert can be acknowledged"
        ),
        lasts=True,
    ),
    "receiver_down": Condition(
        "breach",
        N_("The receiver does not answer, or cannot record"),
        N_(
            "Run `prazo doctor` on the receiver's machine: disk, rights, database. Until then the"
            " platform's deliveries, or collections, get 503 or no answer"
        ),
        lasts=True,
    ),
    "ledger_down": Condition("breach", N_("The ledger does not answer"), _LEDGER, lasts=True),
    "ledger_behind": Condition("risk", N_("The ledger lags behind"), _LEDGER, lasts=True),
    "ledger_unverified": Condition(
        "breach",
        N_("The ledger is not verified"),
        N_("Run `prazo verify`: it names each fault"),
        lasts=True,
    ),
    "platform_files": Condition(
        "risk", N_("The files for the platform cannot be used"), _CERTIFICATE, lasts=True
    ),
    "channel_files": Condition(
        "risk",
        N_("Files that channels of alerts need cannot be used"),
        N_(
            "Run `prazo doctor` where Prazo runs: it says what is wrong with each file. Until then"
            " nobody is notified by these channels"
        ),
        lasts=True,
    ),
    "backup_old": Condition(
        "risk",
        N_("There is no recent backup"),
        N_("Run `prazo backup DIR`, and look why the last ones failed"),
        lasts=True,
    ),
    "rehearsal_old": Condition(
        "risk",
        N_("A restore was not rehearsed for long"),
        N_("Run `prazo restore DIR --rehearse`: nothing that runs is touched"),
        lasts=True,
    ),
    "certificate_ends": Condition("risk", N_("A certificate for the platform ends"), _CERTIFICATE),
}
"""What a process that sends alerts looks for itself (docs/alerts.md#beside-the-log)."""


@cache
def of_log() -> Mapping[str, Condition]:
    """Every condition that the log shows, by its code, in the order in which settings list them.
    Raises `OperatorError` where a header says too little of one."""
    folder = "model/alerts/conditions"
    return headers.listed(folder, "condition", LABELS, _condition, "pipeline/conditions.py")


def macros() -> str:
    """SQL of the macros by which views ask for facts of a condition."""
    lasting = [f"'{code}'" for code, it in BESIDE_THE_LOG.items() if it.lasts]
    in_force = ", ".join(f'"{code}"' for code, it in of_log().items() if it.is_default)
    return "\n".join(
        (
            f"create or replace macro lasts(kind) as kind in ({', '.join(lasting)});",
            f"create or replace macro conditions_in_force() as '[{in_force}]';",
            *map(_fact, ("severity", "role")),
        )
    )


def _fact(name: str) -> str:
    cases = " ".join(f"when '{code}' then '{getattr(it, name)}'" for code, it in of_log().items())
    return f"create or replace macro condition_{name}(condition) as case condition {cases} end;"


def _condition(said: Mapping[str, str]) -> Condition:
    named = said.get("name") or findings.rules()[said["condition"]].name
    return Condition(
        severity=said["severity"],
        name=named,
        advice=said.get("advice"),
        role=cast(Role, said["role"]),
        place=int(said["place"]),
        is_default=said.get("default") != "no",
    )
