"""Examines seller notices: their file, its secrets, ways to sellers, whether a schedule is run."""

import os
from collections.abc import Iterator

from pipeline import alert_rules, instants
from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.stores import beaten, owners_alone
from pipeline.errors import PrazoError
from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.notices import channels, rules
from pipeline.notices.started import is_started
from pipeline.settings import Settings


def notices(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Nothing of ways where no file names them: then they are sent by hand alone, by e-mail."""
    if settings.notices_file is not None:
        yield from _ways(settings)
    yield from schedule(settings, at_hand())


def schedule(settings: Settings, inbox: Inbox) -> Iterator[Diagnosis]:
    """Whether it is run, once a person has started it. Raises `InboxUnavailable`."""
    if not is_started(inbox):
        return
    remedy = advice.run(settings, "notices", "run")
    beat = heartbeats(inbox).get(Part.NOTICES)
    last = beaten("schedule", beat, inbox.now(), instants.MINUTE, remedy)
    if last.verdict == "ok":
        yield last
    else:
        found = f"a person started the schedule of notices, and nothing runs it: {last.found}"
        yield Diagnosis("schedule", "fault", found, remedy)


def _ways(settings: Settings) -> Iterator[Diagnosis]:
    known = rules.load(settings.notices_file)
    for path in known.secret_files():
        if os.access(path, os.R_OK):
            yield owners_alone(path)
    mail = alert_rules.load(settings.alerts_file).mail
    ways = known.ways(has_mail=mail is not None)
    for channel in ways:
        try:
            channels.check(known, mail, channel)
        except PrazoError as error:
            yield Diagnosis("seller notices", "fault", error.finding, error.remedy)
        else:
            yield Diagnosis("seller notices", "ok", f"they can be sent by {channel}")
    if not ways:
        yield Diagnosis(
            "seller notices",
            "warning",
            "there is no channel by which sellers are notified",
            "name one under [channels] of the file of PRAZO_NOTICES_FILE, or a mail server in"
            " [mail] of that of PRAZO_ALERTS_FILE (docs/notices.md#channels)",
        )
    if settings.journey_url is None:
        yield Diagnosis(
            "seller notices",
            "warning",
            "no notice can be sent: sellers have no page to which its link leads",
            "set PRAZO_JOURNEY_URL to the page's public address (docs/journey.md)",
        )
