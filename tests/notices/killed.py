"""Sends one notice and is killed before or after one step of it: a process of its own."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

from pipeline.inbox import open_inbox
from pipeline.journey import links
from pipeline.notices import channels
from pipeline.notices.rules import NoticeRules
from pipeline.notices.sending import Order, Sending
from pipeline.settings import Settings

STEPS: dict[str, tuple[Any, str]] = {
    "link": (links, "mint"),
    "entry": (Sending, "_record"),
    "service": (channels, "hand_over"),
    "result": (Sending, "_answer"),
    "end": (Sending, "_end"),
}


def dying(real: Callable[..., Any], when: str) -> Callable[..., Any]:
    def step(*args: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*args, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return found

    return step


def main() -> None:
    seller_id, url, secret, step, when = sys.argv[1:]
    where, name = STEPS[step]
    setattr(where, name, dying(getattr(where, name), when))
    settings = Settings.load()
    rules = NoticeRules.model_validate({"channels": {"sms": {"url": url, "secret_file": secret}}})
    with closing(open_inbox(settings.inbox)) as inbox:
        Sending(settings, inbox, rules=rules).send([seller_id], Order("sms", "user:test", "Ana"))


if __name__ == "__main__":
    main()
