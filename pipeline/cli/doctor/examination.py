"""Runs the checks of an installation in turn."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from pipeline.cli.doctor import (
    alerts,
    assignment,
    doors,
    environment,
    erasures,
    forwarding,
    journeys,
    notices,
    platform,
    releases,
    stores,
)
from pipeline.cli.doctor.at_hand import AtHand, SaidBefore
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.proxies import proxied
from pipeline.errors import PrazoError, of_the_machine
from pipeline.settings import Settings, unknown


def examine(
    settings: Settings, *, asks_platform: bool = False, proxies: Sequence[str] = ()
) -> Iterator[Diagnosis]:
    """Every check in turn; one that cannot be made is a fault of its own, never an exception.

    Nothing is sent to the platform unless `asks_platform` says so. `proxies`: URLs at which a proxy
    should pass on to a receiver.
    """
    with AtHand(settings) as inbox:
        checks = [
            *((name, partial(check, settings)) for name, check in _OF_SETTINGS),
            *((name, partial(check, settings, inbox)) for name, check in _OF_THE_INBOX),
            *((name, partial(check, settings)) for name, check in _OF_WHAT_RUNS),
            *(
                (name, partial(check, settings))
                for name, check in _OF_THE_PLATFORM
                if asks_platform
            ),
            *(("proxy", partial(proxied, url, settings)) for url in proxies),
        ]
        for name, check in checks:
            try:
                yield from check()
            except SaidBefore:
                continue
            except (PrazoError, OSError) as error:
                inbox.hear(error)
                fault = of_the_machine(error) if isinstance(error, OSError) else error
                yield Diagnosis(name, "fault", fault.finding, fault.remedy)


def _names(_: Settings) -> Iterator[Diagnosis]:
    """Finds misspelt names of settings, which would silently leave the default in force."""
    for name, remedy in unknown().items():
        yield Diagnosis("settings", "warning", f"there is no setting {name}", remedy)


_Checks = tuple[tuple[str, Callable[[Settings], Iterator[Diagnosis]]], ...]

_OF_SETTINGS: Final[_Checks] = (
    ("settings", _names),
    ("environment", environment.environment),
    ("deliveries", doors.authenticity),
    ("API", doors.tokens),
    ("login", doors.login),
    ("open", doors.open_paths),
    ("secrets", stores.secrets),
    ("platform", platform.platform),
    ("packages", stores.packages),
    ("assignment", assignment.assignment),
    ("disk", stores.disk),
)
_OF_THE_INBOX: Final[tuple[tuple[str, Callable[[Settings, AtHand], Iterator[Diagnosis]]], ...]] = (
    ("inbox", stores.inbox),
    ("sending", stores.sending),
    ("receiver", doors.receiver),
    ("releases", releases.releases),
    ("signing key", stores.signing_key),
    ("artifacts", stores.artifacts),
    ("alerts", alerts.alerts),
    ("seller notices", notices.notices),
    ("heartbeats", stores.routines),
    ("forwarding", forwarding.forwarding),
    ("erasures", erasures.erasures),
    ("artifacts", erasures.unnamed_bytes),
    ("kept head", stores.kept_head),
    ("seller's page", journeys.journey),
    ("ledger", stores.ledger),
)
_OF_WHAT_RUNS: Final[_Checks] = (("ledger", erasures.drafts_left),)
_OF_THE_PLATFORM: Final[_Checks] = (("handshake", platform.asked_platform),)
