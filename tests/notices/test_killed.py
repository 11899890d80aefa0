"""Killed at any step, nothing is said to be sent that was not, and nothing is sent unsaid."""

import json
import os
import signal
import sys
from collections.abc import Iterable
from itertools import product

from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.notices.sending import Order
from pipeline.notices.unanswered import UNANSWERED, mark_all
from tests import depth, fork_server
from tests.alert.sinks import WebhookServer
from tests.docs.pages import ROOT
from tests.notices.killed import STEPS
from tests.notices.office import Office

EXPECTED = {
    ("link", "before"): (0, 0, ""),
    ("link", "after"): (0, 0, ""),
    ("entry", "before"): (0, 0, ""),
    ("entry", "after"): (1, 0, "uncertain"),
    ("service", "before"): (1, 0, "uncertain"),
    ("service", "after"): (1, 1, "uncertain"),
    ("result", "before"): (1, 1, "uncertain"),
    ("result", "after"): (1, 1, "accepted"),
    ("end", "before"): (1, 1, "accepted"),
    ("end", "after"): (1, 1, "accepted"),
}
"""Where it was killed -> entries, messages that the service has, and what is said of them in the
end."""


def moments(steps: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A seller for each moment: a step, and whether it is killed before or after it. Between the
    end of one step and the next nothing happens, so a short run tries that moment once."""
    *others, last = steps
    found = [*product((*others, last), ("before",)), (last, "after")]
    if depth.is_whole():
        found += product(others, ("after",))
    return {f"sel_{step}_{when}": (step, when) for step, when in found}


def test_killed_at_each_step_the_log_says_no_more_and_no_less(office: Office) -> None:
    sellers = moments(STEPS)
    for seller_id in sellers:
        office.seller(seller_id)
        office.review(f"prc_of_{seller_id}", seller_id)
    with WebhookServer().running() as server:
        rules = office.webhook(server.url, address=False)
        secret = str(rules.channels["sms"].secret_file)
        environment = {**os.environ, **office.environment()}
        running = [
            fork_server.start(
                [sys.executable, "-m", "tests.notices.killed", seller_id, server.url, secret, *how],
                env=environment,
                cwd=ROOT,
            )
            for seller_id, how in sellers.items()
        ]
        assert [it.wait(300) for it in running] == [-signal.SIGKILL] * len(sellers)
        mark_all(office.inbox, now=office.inbox.now() + UNANSWERED)
        found = {}
        for seller_id, how in sellers.items():
            entries = office.said(SELLER_NOTICE, seller_id=seller_id)
            results = office.said(SELLER_NOTICE_RESULT, seller_id=seller_id)
            assert len(results) == len(entries)
            taken = {_message_of(it.body) for it in server.taken}
            found[how] = (
                len(entries),
                sum(it["message_id"] in taken for it in entries),
                *({it["result"] for it in results} or {""}),
            )
        assert found == {how: EXPECTED[how] for how in sellers.values()}
        came = sum(messages for _, messages, _ in found.values())
        assert len(server.taken) == came >= 3, "nothing is sent that no entry names"

        # A second press writes, once the dead one's lease ends, to those of whom no entry says that
        # a message may have gone.
        office.inbox.execute("update leases set held_until = 0")
        done = office.sending(rules).send([*sellers], Order("sms", "user:test", "Ana"))
        assert {it.seller_id: (it.result, it.why) for it in done} == {
            each: ("refused", "just_sent") if found[how][0] else ("accepted", None)
            for each, how in sellers.items()
        }


def _message_of(body: bytes) -> str:
    return str(json.loads(body)["data"]["message_id"])
