"""Examines seller notices: their file, its secrets, and whether there is a way to sellers."""

import os
from collections.abc import Iterator

from pipeline import alert_rules
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.stores import owners_alone
from pipeline.errors import PrazoError
from pipeline.notices import channels, rules
from pipeline.settings import Settings


def notices(settings: Settings, _: AtHand) -> Iterator[Diagnosis]:
    """Nothing where no file names them: then they are sent by hand alone, by e-mail."""
    if settings.notices_file is None:
        return
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
