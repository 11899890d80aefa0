"""Examines the seller's page: whether it answers, and whether its settings fit together."""

import os
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Final

from pipeline import alert_rules
from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.stores import owners_alone
from pipeline.errors import SettingsError
from pipeline.http import addresses
from pipeline.http.outgoing import direct
from pipeline.http.outgoing.receivers import object_in
from pipeline.http.standard_webhooks import secrets_in
from pipeline.journey.screens import Screens
from pipeline.settings import Settings
from pipeline.written import read_small

ANSWER_SECONDS: Final = 5.0


def journey(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Nothing where sellers have no page, but for a message that promises a link to it."""
    rules = _rules(settings)
    recipients = {} if rules is None else rules.recipients
    promised = [name for name, it in recipients.items() if it.seller_links]
    if settings.journey_url is None:
        if promised:
            found = f"messages to {', '.join(promised)} are to hold links, and there is no page"
            yield Diagnosis("seller's page", "fault", found, "set PRAZO_JOURNEY_URL")
        return
    Screens(settings)  # a logo that cannot be used is a fault
    yield _answer(settings, at_hand)
    yield from _submitting(settings)
    yield from _codes(settings, rules)
    browser = settings.journey_browser
    if browser is not None and not os.access(browser, os.X_OK):
        found = f"{browser} cannot be run: there are no pictures of screens"
        yield Diagnosis("seller's page", "warning", found, "correct PRAZO_JOURNEY_BROWSER")


def _answer(settings: Settings, at_hand: AtHand) -> Diagnosis:
    url = addresses.local(settings.journey_host, settings.journey_port)
    try:
        with direct.opened(f"{url}/healthz", ANSWER_SECONDS) as answer:
            is_ours = "frame-ancestors" in (answer.headers.get("Content-Security-Policy") or "")
            log = str(object_in(answer).get("log", ""))
    except (OSError, HTTPException) as error:
        found = f"nothing answers at {url} ({getattr(error, 'reason', None) or error})"
        return Diagnosis(
            "seller's page", "fault", found, advice.run(settings, "journey", "run", here=True)
        )
    if not is_ours:
        found = f"what answers at {url} is another program"
        return Diagnosis("seller's page", "fault", found, "correct PRAZO_JOURNEY_PORT")
    if (other := at_hand.other_than(log)) is not None:
        return Diagnosis(
            "seller's page",
            "fault",
            f"what answers at {url} records into the log {log}, and {other}",
            "give each its own PRAZO_JOURNEY_PORT; if both should be one, correct PRAZO_INBOX, and"
            " start that page again",
        )
    return Diagnosis("seller's page", "ok", f"it answers at {url}, for {settings.journey_url}")


def _submitting(settings: Settings) -> Iterator[Diagnosis]:
    if settings.journey_submit == "auto" and settings.platform_url is None:
        yield Diagnosis(
            "seller's page",
            "fault",
            "confirmed answers are to go out by themselves, and the platform is not set up",
            "set PRAZO_PLATFORM_URL, or PRAZO_JOURNEY_SUBMIT to ready",
        )
    else:
        said = "go out by themselves" if settings.journey_submit == "auto" else "wait for a person"
        yield Diagnosis("seller's page", "ok", f"confirmed answers {said}")


def _rules(settings: Settings) -> alert_rules.AlertRules | None:
    """The alerts' settings; None where they cannot be used, which the check of alerts says."""
    try:
        return alert_rules.load(settings.alerts_file)
    except SettingsError:
        return None


def _codes(settings: Settings, rules: alert_rules.AlertRules | None) -> Iterator[Diagnosis]:
    path = settings.journey_code_secret_file
    if path is not None:
        yield from _secret(path)
        yield Diagnosis("seller's page", "ok", f"{settings.journey_code_url} sends codes")
    elif rules is None:
        return  # whether there is mail to send them by stands in that file
    elif rules.mail is not None:
        found = "codes go by e-mail, where a link was made with an address"
        yield Diagnosis("seller's page", "ok", found)
    else:
        yield Diagnosis(
            "seller's page",
            "warning",
            "no code can be sent: a link that was opened opens nothing on another device",
            "set PRAZO_JOURNEY_CODE_URL, or [mail] in the file of PRAZO_ALERTS_FILE",
        )


def _secret(path: Path) -> Iterator[Diagnosis]:
    secrets_in(read_small(path), path)  # what cannot be used is a fault
    yield owners_alone(path)
