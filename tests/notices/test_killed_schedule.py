"""The schedule, killed at each step, by a real mail server and a real service that fails now and
then: in the end everybody was written to once, but for what the log calls uncertain."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from pipeline import instants
from pipeline.http.outgoing import asking
from pipeline.http.outgoing import mails as smtp_mails
from pipeline.http.outgoing.mail_server import Mail
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.ndjson import read_line
from pipeline.notices import channels, ladders, started
from pipeline.notices.dispatcher import NoticeDispatcher
from pipeline.notices.rules import NoticeRules
from tests import depth, fork_server
from tests.alert.sinks import MailServer, Posted, WebhookServer
from tests.docs.pages import ROOT
from tests.notices.killed_schedule import SHORT_PAUSES, STEPS_OF_SCHEDULE
from tests.notices.office import Office
from tests.notices.test_killed import moments

RESULTS = ("accepted", "uncertain", "failed")
REFUSED, UNWANTED, SILENT = "sel_refused", "sel_unwanted", "sel_silent"
"""Sellers whom service and mail server do not know, the second of whom the mail server refuses once
it has read the message; and of whom they say nothing in time at first."""


class Moody(WebhookServer):
    """Answers 503, then 500 although it has the message, then that it took it."""

    def __init__(self) -> None:
        super().__init__()
        self.moods = Counter[bytes]()
        self.is_over = Event()

    def status_for(self, posted: Posted) -> int:
        seller_id = json.loads(posted.body)["data"]["seller_id"]
        message = posted.headers[b"webhook-id"]
        mood, self.moods[message] = self.moods[message], self.moods[message] + 1
        if seller_id == SILENT and mood == 0:
            self.is_over.wait(60)
        return 422 if seller_id in (REFUSED, UNWANTED) else (503, 500, 204)[min(mood, 2)]


class Gruff(MailServer):
    """Refuses for good a recipient, and a message; and keeps silent of one that it has."""

    def __init__(self, folder: Path, is_over: Event) -> None:
        super().__init__(folder)
        self.is_over = is_over

    async def handle_RCPT(
        self, _: Any, __: Any, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if address.startswith(REFUSED):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if envelope.rcpt_tos[0].startswith(UNWANTED):
            return "550 no such mailbox after all"
        said = await super().handle_DATA(server, session, envelope)
        while envelope.rcpt_tos[0].startswith(SILENT) and not self.is_over.is_set():
            await asyncio.sleep(0.05)
        return said


@pytest.mark.parametrize("channel", depth.few(["sms", "email"], 2))
def test_killed_at_each_step_everybody_is_written_to_once_but_what_is_uncertain(
    office: Office, tmp_path: Path, channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sellers = moments(STEPS_OF_SCHEDULE)
    moody = Moody()
    with Gruff(tmp_path, moody.is_over).running() as mails, moody.running() as service:
        in_file, mail = rules_of(office, service.url, channel), office.mail(mails)
        rules = NoticeRules.model_validate(in_file)
        start = {"actor": "Ana", "recorded_by": "user:test"}
        started.start(office.inbox, ladders.of_rules(rules), backlog=False, **start)
        for seller_id in (*sellers, REFUSED, UNWANTED, SILENT):
            office.seller(seller_id, email=f"{seller_id}@seller.example")
            office.review(f"prc_of_{seller_id}", seller_id)
        given = tmp_path / "given.json"
        said = {"rules": in_file, "mail": mail.model_dump(mode="json")}
        given.write_text(json.dumps(said))
        running = [
            fork_server.start(
                [
                    sys.executable,
                    "-m",
                    "tests.notices.killed_schedule",
                    seller_id,
                    *how,
                    str(given),
                ],
                env={**os.environ, **office.environment()},
                cwd=ROOT,
            )
            for seller_id, how in sellers.items()
        ]
        assert [it.wait(300) for it in running] == [-signal.SIGKILL] * len(sellers)
        office.inbox.execute("update leases set held_until = 0")
        monkeypatch.setattr(asking, "ANSWER_SECONDS", 2.0)
        monkeypatch.setattr(smtp_mails, "SMTP_SECONDS", 2.0)
        monkeypatch.setattr(channels, "PAUSES", SHORT_PAUSES)
        live_on(office, rules, mail)
        report_late_and_twice(office)
        live_on(office, rules, mail, days=1)

        uncertain = {it["process_id"] for it in results(office) if it["result"] == "uncertain"}
        if channel == "email":
            taken = Counter(str(it["to"]).partition("@")[0] for it in mails.taken)
        else:
            came = {it.headers[b"webhook-id"]: json.loads(it.body)["data"] for it in service.taken}
            taken = Counter(it["seller_id"] for it in came.values())
            tries = Counter(json.loads(it.body)["data"]["seller_id"] for it in service.taken)
            assert [tries[it] for it in (REFUSED, UNWANTED, SILENT)] == [1, 1, 3]
        moody.is_over.set()
        said = [(it["process_id"], it["result"]) for it in results(office)]
        for seller_id in (REFUSED, UNWANTED):
            assert [said.count((f"prc_of_{seller_id}", it)) for it in RESULTS] == [0, 0, 1]
        # A mail server may take an id twice, so nothing is sent again of which nobody knows.
        silent = [1, 0, 0] if channel == "sms" else [0, 1, 0]
        assert [said.count((f"prc_of_{SILENT}", it)) for it in RESULTS] == silent
    for seller_id in (REFUSED, UNWANTED):
        assert taken[seller_id] == (channel == "sms"), (
            "a mail server that refuses has taken nothing"
        )
    for seller_id in (*sellers, SILENT):
        may_lack = channel == "email" and f"prc_of_{seller_id}" in uncertain
        assert taken[seller_id] == 1 or (may_lack and taken[seller_id] == 0), seller_id
    assert sum(taken.values()) >= len(sellers) - 2, "killed between the entry and the service"


def rules_of(office: Office, url: str, channel: str) -> dict[str, Any]:
    sms = office.webhook(url, address=False)
    always = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "holidays": ""}
    return {
        "channels": {"sms": sms.channels["sms"].model_dump(mode="json")},
        "schedule": {"ACI": {"rungs": [{"after": "0d", "channel": channel}]}},
        "hours": {**always, "start": "00:00", "end": "23:59", "zone": "UTC"},
    }


def live_on(office: Office, rules: NoticeRules, mail: Mail, *, days: float = 0) -> None:
    """Turns of whoever takes over, over an hour from then on."""
    for minutes in (12, 20, 40, 60):
        now = office.inbox.now() + round(days * instants.DAY) + minutes * instants.MINUTE
        NoticeDispatcher(
            office.settings(), office.inbox, lambda: rules, lambda: mail, now=lambda at=now: at
        ).turn()


def results(office: Office) -> list[dict[str, Any]]:
    return office.said(SELLER_NOTICE_RESULT)


def report_late_and_twice(office: Office) -> None:
    """A service reports of its messages, of some twice, of some never."""
    for n, notice in enumerate(office.notices()):
        line = {"kind": SELLER_NOTICE_RESULT, "message_id": notice["message_id"]}
        line |= {"result": "delivered", "detail": None}
        for _ in range(n % 3):
            line["occurred_at"] = instants.canonical(office.inbox.now())
            office.inbox.append([read_line(json.dumps(line).encode(), recorded_by="token:sms")])
