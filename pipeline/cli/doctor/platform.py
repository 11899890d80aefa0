"""Examines the way to the platform: certificates, credentials and, if asked to, the platform."""

import asyncio
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from cryptography.x509 import Certificate

from pipeline import instants
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.errors import SettingsError
from pipeline.http import addresses
from pipeline.http.certificates import (
    begin_of,
    end_of,
    first_to_begin,
    first_to_end,
    last_to_begin,
    last_to_end,
)
from pipeline.settings import Settings
from pipeline.submit.decision import bands_in
from pipeline.submit.platform import Platform, PlatformAnswer
from pipeline.submit.platform import faults as platform_faults
from pipeline.submit.platform.certificate_asked import OurCertificate
from pipeline.texts import counted

UNAUTHORIZED: Final = 401
SERVER_ERRORS: Final = 500
FORBIDDEN: Final = 403
_NO_ANSWER_HELP: Final = (
    "compare PRAZO_PLATFORM_URL, PRAZO_PLATFORM_CA_FILE, PRAZO_CLIENT_CERT_FILE and"
    " PRAZO_CLIENT_KEY_FILE with what the platform gave you"
)
AS_ISSUED: Final = "put the file as it was issued in its place"
EXPIRY_DAYS: Final = 30
"""A certificate that ends sooner is worth a warning: issuing one takes weeks in some places."""


def platform(settings: Settings) -> Iterator[Diagnosis]:
    """The way to the platform, as far as files tell; nothing is sent."""
    yield from _revenue_bands(settings)
    if settings.platform_url is None:
        yield Diagnosis("platform", "ok", "not set up: reviews can be watched but not submitted")
        return
    for fault in platform_faults(settings):
        yield Diagnosis("platform", "fault", fault.finding, fault.remedy)
    for name, path, begins, ends in (
        ("client certificate", settings.client_cert_file, last_to_begin, first_to_end),
        ("platform's CA", settings.platform_ca_file, first_to_begin, last_to_end),
    ):
        if path is not None and path.exists():
            yield _validity(name, path, begins, ends)
    if settings.platform_ca_file is None:
        yield Diagnosis("platform", "ok", "the system's authorities vouch for the platform")


def _revenue_bands(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the file of bands can be used, also where only the seller's page reads it."""
    if settings.revenue_bands_file is None:
        return
    try:
        known = bands_in(settings.revenue_bands_file)
    except SettingsError as error:
        yield Diagnosis("revenue bands", "fault", error.finding, error.remedy)
    else:
        found = f"{counted(len(known), 'band')} in {settings.revenue_bands_file}"
        yield Diagnosis("revenue bands", "ok", found)


def asked_platform(settings: Settings) -> Iterator[Diagnosis]:
    """What the platform itself says of our certificate and our credentials."""
    if settings.platform_url is None:
        yield Diagnosis("handshake", "fault", "no platform is set up", "set PRAZO_PLATFORM_URL")
        return
    answer = asyncio.run(_safe_answer(settings))
    if answer.status is None:
        found, remedy = answer.detail or str(answer.error), answer.remedy or _NO_ANSWER_HELP
        yield Diagnosis("handshake", "fault", found, remedy)
        return
    yield _handshake(addresses.shown(settings.platform_url), answer)
    if (offset := _clock_offset(answer)) is not None:
        yield offset
    found = f"a GET of the review endpoint is answered {answer.status}"
    if answer.status == UNAUTHORIZED:
        yield Diagnosis(
            "credentials",
            "fault",
            found,
            "compare the credentials and PRAZO_PLATFORM_AUTH with what the platform gave you, and"
            " ask it whether it knows this client certificate",
        )
    elif answer.status == FORBIDDEN:
        yield Diagnosis(
            "credentials",
            "warning",
            f"{found}: they may be known, and not allowed to ask this",
            "ask the platform whether they may submit reviews",
        )
    elif answer.status >= SERVER_ERRORS:
        yield Diagnosis(
            "credentials", "warning", f"{found}: nobody can tell", "ask again when it is well"
        )
    else:
        yield Diagnosis("credentials", "ok", f"{found}, not 401")


def _handshake(platform: str | None, answer: PlatformAnswer) -> Diagnosis:
    """Of a platform that has answered: whether it was by mutual TLS."""
    found = f"{platform} answers over {answer.tls or 'TLS'}"
    match answer.certificate:
        case OurCertificate.GIVEN:
            how = "mutual TLS: it asked for our certificate, and was given it"
            return Diagnosis("handshake", "ok", f"{found}, {how}")
        case OurCertificate.WITHHELD:
            return Diagnosis(
                "handshake",
                "fault",
                f"{found}, and asked for a certificate that ours is not: it was given none",
                "ask the platform for which key and signature it takes client certificates, and"
                " have one issued that fits",
            )
        case OurCertificate.NOT_ASKED:
            return Diagnosis(
                "handshake",
                "warning",
                f"{found}, and never asked for our certificate: this is not mutual TLS, whoever has"
                " the credentials can submit as well",
                "ask the platform whether PRAZO_PLATFORM_URL is the address that wants a client"
                " certificate",
            )
    return Diagnosis(
        "handshake", "ok", f"{found}; this Python does not tell whether it asked for a certificate"
    )


def _clock_offset(answer: PlatformAnswer) -> Diagnosis | None:
    """How far this machine's clock is from the platform's, by the `Date` of an answer over TLS;
    None where that says nothing, or they agree."""
    try:
        theirs = parsedate_to_datetime(answer.header("date") or "")
    except ValueError:
        return None
    offset = instants.now() - instants.from_datetime(theirs)
    if abs(offset) <= instants.ALLOWED_AHEAD:
        return None
    return Diagnosis(
        "clock",
        "fault",
        f"the clock is {offset / instants.SECOND:+,.0f} s off the platform's",
        "set the clock (NTP): entries are dated by it, and nothing else may contradict it",
    )


async def _safe_answer(settings: Settings) -> PlatformAnswer:
    platform = Platform(settings)
    try:
        return await platform.get_nothing(seconds=settings.request_timeout_seconds)
    finally:
        await platform.close()


def _validity(
    name: str,
    path: Path,
    begins: Callable[[Path], Certificate],
    ends: Callable[[Path], Certificate],
) -> Diagnosis:
    """Of the certificates in a file with which all of it begins and ends."""
    try:
        begins_at, ends_at = begin_of(begins(path)), end_of(ends(path))
    except OSError as error:
        found, remedy = f"cannot be read: {error.strerror}", "check its path and its permissions"
        return Diagnosis("certificates", "fault", f"the {name} {path} {found}", remedy)
    except ValueError as error:
        return Diagnosis("certificates", "fault", f"the {name} {path}: {error}", AS_ISSUED)
    if begins_at > instants.now():
        return Diagnosis(
            "certificates",
            "fault",
            f"the {name} {path} begins {instants.readable(begins_at)}",
            "until then the handshake fails: put the former one back, and check this machine's"
            " clock",
        )
    days = (ends_at - instants.now()) // instants.DAY
    found = f"the {name} {path} ends {instants.readable(ends_at)}"
    if days < 0:
        return Diagnosis(
            "certificates", "fault", found, "the handshake fails: put a new one in its place now"
        )
    if days < EXPIRY_DAYS:
        return Diagnosis(
            "certificates",
            "warning",
            f"{found}, in {counted(days, 'day')}",
            "order its successor",
        )
    return Diagnosis("certificates", "ok", f"{found}, in {counted(days, 'day')}")
