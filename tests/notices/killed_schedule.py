"""Sends by the schedule to one seller, and is killed before or after one step."""

import json
import sys
from contextlib import closing
from pathlib import Path

from pipeline.http.outgoing.mail_server import Mail
from pipeline.inbox import open_inbox
from pipeline.notices import channels
from pipeline.notices.dispatcher import NoticeDispatcher
from pipeline.notices.rules import NoticeRules
from pipeline.notices.sending import Sending
from pipeline.settings import Settings
from tests.notices.killed import STEPS, dying

SHORT_PAUSES = (0.05, 0.05)
"""Between the tries of a webhook."""
STEPS_OF_SCHEDULE = {"claim": (Sending, "_claim"), **STEPS}


def main() -> None:
    seller_id, step, when, given = sys.argv[1:]
    where, name = STEPS_OF_SCHEDULE[step]
    setattr(where, name, dying(getattr(where, name), when))
    channels.PAUSES = SHORT_PAUSES  # type: ignore[misc]
    settings, said = Settings.load(), json.loads(Path(given).read_text())
    rules = NoticeRules.model_validate(said["rules"])
    mail = Mail.model_validate(said["mail"])
    with closing(open_inbox(settings.inbox)) as inbox:
        sends = NoticeDispatcher(settings, inbox, lambda: rules, lambda: mail)
        sends.scope.read_on()
        sends._one(seller_id, inbox.now(), None)


if __name__ == "__main__":
    main()
