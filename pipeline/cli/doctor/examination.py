"""Runs the checks of an installation in turn."""

from collections.abc import Callable, Iterator
from typing import Final

from pipeline.cli.doctor import doors, erasures, forwarding, journeys, platform, stores
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.errors import PrazoError, of_the_machine
from pipeline.settings import Settings, unknown


def examine(settings: Settings, *, asks_platform: bool = False) -> Iterator[Diagnosis]:
    """Every check in turn; one that cannot be made is a fault of its own, never an exception.

    Nothing is sent to the platform unless `asks_platform` says so.
    """
    for name, check in (*_CHECKS, *(_WITH_THE_PLATFORM if asks_platform else ())):
        try:
            yield from check(settings)
        except (PrazoError, OSError) as error:
            fault = of_the_machine(error) if isinstance(error, OSError) else error
            yield Diagnosis(name, "fault", fault.finding, fault.remedy)


def _names(_: Settings) -> Iterator[Diagnosis]:
    """Finds misspelt names of settings, which would silently leave the default in force."""
    for name, remedy in unknown().items():
        yield Diagnosis("settings", "warning", f"there is no setting {name}", remedy)


_CHECKS: Final[tuple[tuple[str, Callable[[Settings], Iterator[Diagnosis]]], ...]] = (
    ("settings", _names),
    ("receiver", doors.receiver),
    ("deliveries", doors.authenticity),
    ("API", doors.tokens),
    ("login", doors.login),
    ("open", doors.open_paths),
    ("secrets", stores.secrets),
    ("platform", platform.platform),
    ("packages", stores.packages),
    ("disk", stores.disk),
    ("inbox", stores.inbox),
    ("signing key", stores.signing_key),
    ("artifacts", stores.artifacts),
    ("heartbeats", stores.routines),
    ("forwarding", forwarding.forwarding),
    ("seller's page", journeys.journey),
    ("erasures", erasures.erasures),
    ("kept head", stores.kept_head),
    ("ledger", stores.ledger),
)
_WITH_THE_PLATFORM: Final[tuple[tuple[str, Callable[[Settings], Iterator[Diagnosis]]], ...]] = (
    ("handshake", platform.asked_platform),
)
